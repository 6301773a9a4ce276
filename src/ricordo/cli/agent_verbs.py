"""Verbs that give agents what they need: skills and sessions with their parts, and what happened last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ricordo.cli.call import Call
from ricordo.cli.generated import command
from ricordo.cli.present_context import show_skills
from ricordo.cli.present_reports import show_saved_report
from ricordo.cli.query_verb import QueryVerb
from ricordo.cli.running import run
from ricordo.cli.terminal import Screen, clean, one_line
from ricordo.cli.verb_group import verb_group
from ricordo.errors import UsageError

if TYPE_CHECKING:
    from ricordo.values.context import Skill
    from ricordo.values.items import Item
    from ricordo.values.reports import AddReport
    from ricordo.values.sessions import Session

skills = verb_group(
    "skills",
    examples=[
        "ricordo skills add",
        "ricordo skills search fill in a PDF form",
        "ricordo skills show pdf",
    ],
    details=(
        "A skill is a folder with a file SKILL.md, which has a name, a description, and instructions. Skills are "
        "searched in the workspace, then in your home folder, then in system folders; if two have the same name, the "
        "first is used."
    ),
)


@skills.add_command
@command("skills add")
def _add_skills(call: Call, **given: Any) -> int:
    """Without a ROOT, it searches the usual folders, and asks skills.command."""

    def show(screen: Screen, report: AddReport) -> None:
        show_saved_report(screen, report)
        if not report.items:
            screen.note("no skills found; name a folder: ricordo skills add DIR")

    return run(call, "skills add", given, show)


@skills.add_command
@command("skills list")
def _list_skills(call: Call) -> int:
    """With --verbose, it shows the folder of each."""
    return _skills(call, "skills list", {}, "no skills yet; take some in with: ricordo skills add")


@skills.add_command
@command("skills search", cls=QueryVerb)
def _find_skills(call: Call, task: str = "", **given: Any) -> int:
    """Skills are ranked by name, description and text. 'ricordo skills show NAME' prints one."""
    if not task.strip():
        raise UsageError("say what the task is", hint="ricordo skills search fill in a PDF form")
    nothing = "no skill fits; 'ricordo skills list' shows what there is"
    return _skills(call, "skills search", {"task": task, **given}, nothing)


def _skills(call: Call, path: str, given: dict[str, Any], nothing: str) -> int:
    def show(screen: Screen, found: Sequence[Skill]) -> None:
        show_skills(screen, found)
        if not found:
            screen.note(nothing)

    return run(call, path, given, show)


@skills.add_command
@command("skills show")
def _show_skill(call: Call, **given: Any) -> int:
    """Paths in a skill are relative to its folder, which is printed to standard error."""

    def location(item: Item) -> str:
        return str(item.fields.metadata.get("location") or "")

    def show(screen: Screen, item: Item) -> None:
        screen.line(clean(item.content).rstrip("\n"))
        if place := location(item):
            screen.note(f"from {one_line(place)}")

    def plain(item: Item) -> dict[str, Any]:
        return item.to_dict() | {"name": item.title, "location": location(item)}

    return run(call, "skills show", given, show, plain=plain)


sessions = verb_group(
    "sessions",
    examples=["ricordo sessions add", "ricordo sessions list", "ricordo sessions show 3f2a91c0"],
    details="Alone, it lists the sessions that are kept.",
)


@sessions.add_command
@command("sessions add")
def _add_sessions(call: Call, **given: Any) -> int:
    """Files or folders; without any, what Claude Code, Codex, Gemini CLI, Qwen Code and opencode keep on this machine.
    Each event is taken in once, so you can run this as often as you like, also during a session.
    """
    return run(call, "sessions add", given, show_saved_report)


@sessions.add_command
@command("sessions list", defaults={"limit": 20})
def _list_sessions(call: Call, **given: Any) -> int:
    """Times are local."""
    from ricordo.cli.present_sessions import show_sessions

    def plain(found: Sequence[Session]) -> dict[str, Any]:
        return {"sessions": [session.to_dict(with_turns=False) for session in found]}

    return run(call, "sessions list", given, show_sessions, plain=plain)


@sessions.add_command
@command("sessions show", defaults={"limit": 100})
def _show_session(call: Call, **given: Any) -> int:
    """The beginning of an id is enough. With --verbose, turns are printed whole."""
    return run(call, "sessions show", given)


@command("recent", defaults={"limit": 20})
def recent(call: Call, **given: Any) -> int:
    """Like timeline, but newest first."""
    return run(call, "recent", given)
