"""Tools of other servers on a terminal: ``tools add`` asks before it starts a server; and how tools are shown."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call
from ricordo.cli.generated import command, tell
from ricordo.cli.show import PRESENTERS, scored_table, shows
from ricordo.cli.terminal import Screen, clean, counted, one_line
from ricordo.permissions import refuse_agents
from ricordo.verbs.index import verb_named

if TYPE_CHECKING:
    from ricordo.plugins.gateway.values import ServerFound, ToolEntry, ToolResult, ToolsReport

_ASKING = (
    click.Option(
        ["--from", "files"], multiple=True, type=click.Path(), metavar="FILE", help="Look in this file alone."
    ),
    click.Option(["--yes", "-y"], is_flag=True, help="Start all of them without asking."),
)


@command("tools add", without=("files",), extra=_ASKING)
def _add(
    call: Call, names: tuple[str, ...] = (), files: tuple[str, ...] = (), yes: bool = False, *, wait: bool = True
) -> int:
    """Each server is shown with what it starts, and is started only after your yes, to list what it offers. A server
    that you allowed before is asked about again only when what it starts has changed.
    """
    if yes:
        refuse_agents("let servers be started")
    with call.engine(create=True) as engine:
        if not yes and not can_ask(call):
            return _only_tell(call, *engine.tools.found(*files))
        report = engine.tools.add(*names, agree=lambda found: yes or agreed(found), files=files, wait=wait)
    return tell(call, verb_named("tools add"), report)


def can_ask(call: Call) -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty() and not call.json


def _only_tell(call: Call, found: Sequence[ServerFound], notes: Sequence[str]) -> int:
    """Nobody can be asked: list the servers, and start nothing."""

    def draw(screen: Screen) -> None:
        for one in found:  # not as a table, which would cut what has to be read before a yes
            screen.line(f"{one_line(one.name)}  ({one_line(f'{one.program}: {one.path}')})")
            screen.line(f"  {one.starts}")
        for note in notes:
            screen.warn(one_line(note))
        if found:
            screen.note("nothing was started; say yes with --yes, or name the servers you want: tools add NAME --yes")
        else:
            screen.note("no servers found; name a file that has some: ricordo tools add --from FILE")

    plain = {"found": [one.to_dict() for one in found], "servers": [], "notes": list(notes)}
    return call.answer(plain, draw)


def agreed(found: ServerFound) -> bool:
    """Ask the user whether a server may be started."""
    where = "the project's own file, which others may have written" if found.from_project else found.program
    server = f"{found.name} ({where}: {found.path})\n  {found.starts}"
    return click.confirm(f"{clean(server)}\nStart it and take in its tools?", err=True)


@shows
def _show_tools(screen: Screen, tools: Sequence[ToolEntry]) -> None:
    rows = [(one.name, "yes" if one.callable else "no", one.description or one.title) for one in tools]
    scored_table(screen, ("tool", "call", "what it is for"), rows, [one.score for one in tools])


@shows
def _show_tool(screen: Screen, entry: ToolEntry) -> None:
    screen.line(screen.bold(one_line(entry.name)))
    screen.line(clean(entry.description or entry.title))
    screen.line(json.dumps(entry.schema, indent=2, ensure_ascii=False))
    screen.note("can be called" if entry.callable else entry.why_not)


@shows
def _show_result(screen: Screen, answer: ToolResult) -> None:
    screen.line(clean(answer.text))
    if answer.failed:
        screen.warn("the server answered with an error")
    if answer.next_char is not None:
        screen.note(
            f"{answer.chars:,} characters in all; read on: ricordo tools call result/{answer.id}/{answer.next_char}"
        )


@shows
def _show_server_reports(screen: Screen, report: ToolsReport) -> None:
    for one in report.servers:
        counts = (("tool", one.tools), ("resource", one.resources), ("prompt", one.prompts))
        offers = ", ".join(counted(count, what) for what, count in counts if count)
        changes = {"new": one.created, "changed": one.updated, "gone": one.removed}
        changed = ", ".join(f"{count} {what}" for what, count in changes.items() if count)
        text = one_line(one.problem or offers or "offers nothing")
        screen.line(f"{one.status:<11}  {one_line(one.server):<20}  {text}{f' ({changed})' if changed else ''}")
        for note in one.notes:
            screen.warn(f"  left out: {one_line(note)}")
    for note in report.notes:
        screen.warn(one_line(note))
    if not report.servers:
        screen.note("no servers; take some in with: ricordo tools add [--from FILE]")


def _show_tool_calls(screen: Screen, calls: Sequence[Mapping[str, Any]]) -> None:
    screen.table(
        ("at", "outcome", "ms", "tool", "arguments"),
        [(str(one["at"])[:19], one["outcome"], f"{one['ms']:.0f}", one["tool"], one["arguments"]) for one in calls],
        right=(2,),
        empty="no calls yet",
    )


PRESENTERS.update({"tools.log": _show_tool_calls})
