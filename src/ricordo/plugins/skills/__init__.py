"""Skills of agents: the SKILL.md files of their programs as items, and the one that fits a task."""

from ricordo.config.declare import setting
from ricordo.frozen import frozen
from ricordo.plugin import Command, Plugin


@frozen
class SkillsSettings:
    """Skills besides those in the usual folders."""

    command: str = setting("", "A command that prints more skills, as a JSON list.")


PLUGIN = Plugin(
    __name__,
    "Indexes skills, and finds the one for a task.",
    verbs=("verbs:SkillVerbs",),
    commands={
        "skills": Command(
            "agents",
            "Index skills, and find the one for a task.",
            "search",
            "A skill is a folder with a file SKILL.md, which has a name, a description, and instructions. Skills are"
            " searched in the workspace, then in your home folder, then in system folders; if two have the same name,"
            " the first is used.",
        )
    },
    cli="show",
    settings={"skills": SkillsSettings},
    public={"Skill": "values:Skill"},
    on={"context_lines": "verbs:suggested", "item_files": "intake:files_of"},
)
