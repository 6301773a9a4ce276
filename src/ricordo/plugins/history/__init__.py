"""The history of git repositories: commits as items, linked to the files that they changed, and why lines are there."""

from ricordo.plugin import Plugin

PLUGIN = Plugin(
    __name__,
    "Adds the commits of git repositories, and says why a line is there.",
    verbs=("verbs:HistoryVerbs",),
    cli="show",
    pages="pages",
    public={"BlameReport": "values:BlameReport"},
    drives={"git": "commits:refresh"},
    on={
        "add_history": "commits:add",
        "items_of_folder": "commits:items_of_folder",
        "further_versions": "commits:further_versions",
        "read_place": "blame:read_place",
    },
)
