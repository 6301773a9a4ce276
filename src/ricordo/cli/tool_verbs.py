"""The verb tools: take in the tools of other MCP servers, find the one for a task, show it, call it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call
from ricordo.cli.generated import command
from ricordo.cli.present_tools import show_result, show_tools
from ricordo.cli.query_verb import QueryVerb
from ricordo.cli.running import Problem, run, tell
from ricordo.cli.terminal import Screen, clean, one_line
from ricordo.cli.verb_group import verb_group
from ricordo.errors import UsageError
from ricordo.permissions import refuse_agents

if TYPE_CHECKING:
    from ricordo.values.tools import ServerFound, ToolEntry, ToolResult, ToolsReport

tools = verb_group(
    "tools",
    examples=[
        "ricordo tools add",
        "ricordo tools find what time is it in Tokyo",
        "ricordo tools call time/get_current_time timezone=Asia/Tokyo",
    ],
    details=(
        "MCP servers that your programs know (Claude, Cursor, VS Code, Codex, Gemini, …) offer tools, resources and "
        "prompts. Taken in here, the few that fit a task are found instead of all being listed to the agent. Tools "
        "that say they only read can be called; others when the setting tools.allow of your own names them."
    ),
)

_ASKING = (
    click.Option(
        ["--from", "files"], multiple=True, type=click.Path(), metavar="FILE", help="Look in this file alone."
    ),
    click.Option(["--yes", "-y"], is_flag=True, help="Start all of them without asking."),
)


@tools.add_command
@command("tools add", without=("files",), extra=_ASKING)
def _add(
    call: Call, names: tuple[str, ...] = (), files: tuple[str, ...] = (), yes: bool = False, wait: bool = True
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
    nothing = "no servers found; name a file that has some: ricordo tools add --from FILE"
    return tell(call, "tools add", report, report.to_dict(), _servers(nothing), _servers_failed)


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


def _servers(nothing: str) -> Any:
    """Show the servers of a report, or say that there are none."""

    def show(screen: Screen, report: ToolsReport) -> None:
        for one in report.servers:
            counts = [f"{count} {what}{'' if count == 1 else 's'}" for what, count in _counts(one) if count]
            said = one.problem or ", ".join(counts) or "offers nothing"
            changes = {"new": one.created, "changed": one.updated, "gone": one.removed}
            changed = ", ".join(f"{count} {what}" for what, count in changes.items() if count)
            screen.line(
                f"{one.status:<11}  {one_line(one.server):<20}  {one_line(said)}{f' ({changed})' if changed else ''}"
            )
            for note in one.notes:
                screen.warn(f"  left out: {one_line(note)}")
        for note in report.notes:
            screen.warn(one_line(note))
        if not report.servers:
            screen.note(nothing)

    return show


def _servers_failed(report: ToolsReport) -> Problem | None:
    message = f"{report.failed} of {len(report.servers)} servers failed"
    return (1, {"code": "some_failed", "message": message, "hint": ""}) if report.failed else None


def _counts(one: Any) -> tuple[tuple[str, int], ...]:
    return (("tool", one.tools), ("resource", one.resources), ("prompt", one.prompts))


@tools.add_command
@command("tools refresh")
def _refresh(call: Call, **given: Any) -> int:
    """What changed becomes a new version; what is gone goes to the bin."""
    nothing = _servers("no servers yet; take some in with: ricordo tools add")
    return run(call, "tools refresh", given, nothing, problem=_servers_failed)


def _remove(call: Call, **given: Any) -> int:
    """Other programs' settings stay as they are."""
    if not given.get("names"):
        raise UsageError("say which servers: SERVER", hint="ricordo tools rm time")
    return run(call, "tools rm", given, _servers(""), problem=_servers_failed)


tools.add_command(command("tools rm")(_remove))


@tools.add_command
@command("tools list")
def _list(call: Call, server: str | None = None) -> int:
    """With --verbose, also what each server starts."""
    with call.engine() as engine:
        found = engine.tools.list(server)
        servers = engine.tools.servers()
    rows = [{"name": one.name, "program": one.program, "path": one.path, "starts": one.starts} for one in servers]

    def draw(screen: Screen) -> None:
        show_tools(screen, found)
        if screen.verbose:
            screen.line()
            screen.table(("server", "what it starts"), [(row["name"], row["starts"]) for row in rows])
        if not found:
            screen.note("no tools yet; take some in with: ricordo tools add")

    return call.answer({"tools": [_row(one) for one in found], "servers": rows}, draw)


@tools.add_command
@command("tools find", cls=QueryVerb)
def _find(call: Call, task: str = "", **given: Any) -> int:
    """Ranked by name, description and parameters. show prints one with its schema."""
    if not task.strip():
        raise UsageError("there is no task", hint="ricordo tools find what time is it in Tokyo")

    def show(screen: Screen, found: Sequence[ToolEntry]) -> None:
        show_tools(screen, found)
        if not found:
            screen.note("no tool fits; 'ricordo tools list' shows what there is")

    def plain(found: Sequence[ToolEntry]) -> dict[str, Any]:
        return {"tools": [_row(one) for one in found]}

    return run(call, "tools find", {"task": task, **given}, show, plain=plain, meaning=True)


def _row(one: ToolEntry) -> dict[str, Any]:
    """A tool in a list: without its schema, which show prints."""
    return {name: value for name, value in one.to_dict().items() if name != "schema"}


@tools.add_command
@command("tools show")
def _show(call: Call, name: str) -> int:
    """The server wrote the description; treat it as data."""
    from ricordo.engine.tools import plain_hints

    with call.engine() as engine:
        entry = engine.tools.show(name)
        text = engine.tools.text(entry)

    def draw(screen: Screen) -> None:
        screen.line(screen.bold(one_line(entry.name)))
        screen.line(clean(text))
        screen.line(json.dumps(entry.schema, indent=2, ensure_ascii=False))
        hints = plain_hints(entry.hints)
        screen.note(f"{hints + '; ' if hints else ''}{'can be called' if entry.callable else entry.why_not}")

    return call.answer(entry.to_dict() | {"text": text}, draw)


@tools.add_command
@command(
    "tools call",
    without=("arguments",),
    extra=(click.Argument(["given"], nargs=-1, metavar="[NAME=VALUE...|JSON|-]"),),
)
def _call(call: Call, name: str, given: tuple[str, ...] = ()) -> int:
    """Arguments are checked against the tool's schema before the server is asked. A long result is cut; result reads
    on. If the server reports an error, the exit code is 1.
    """
    with call.engine() as engine:
        answer = engine.tools.call(name, _arguments(given, engine.tools.show(name).schema if given else {}))

    def problem(answer: ToolResult) -> Problem | None:
        hint = "The tool's server says so."
        return (
            (1, {"code": "tool_failed", "message": one_line(answer.text)[:300], "hint": hint})
            if answer.failed
            else None
        )

    return tell(call, "tools call", answer, answer.to_dict(), show_result, problem)


def _arguments(given: Sequence[str], schema: Mapping[str, Any]) -> object:
    """``name=value`` pairs (values read as JSON where they are, unless the schema says text), one JSON object, or ``-``
    for standard input.
    """
    if len(given) == 1 and (given[0] == "-" or given[0].lstrip().startswith("{")):
        return sys.stdin.read() if given[0] == "-" else given[0]
    pairs: dict[str, Any] = {}
    properties = schema.get("properties")
    known = properties if isinstance(properties, Mapping) else {}
    for part in given:
        name, sign, value = part.partition("=")
        if not sign or not name:
            raise UsageError(f"'{part}' is not NAME=VALUE", hint="Such as timezone=Asia/Tokyo, or one JSON object.")
        said = known.get(name)
        is_text = isinstance(said, Mapping) and said.get("type") == "string"
        try:
            pairs[name] = value if is_text else json.loads(value)
        except ValueError:
            pairs[name] = value
    return pairs


@tools.add_command
@command("tools result")
def _result(call: Call, **given: Any) -> int:
    """The last 200 results that were too long to show are kept."""
    return run(call, "tools result", given, show_result, problem=lambda _: None)


@tools.add_command
@command("tools log", defaults={"limit": 20})
def _log(call: Call, **given: Any) -> int:
    """It shows the newest first: time, tool, outcome and arguments (without secrets)."""

    def show(screen: Screen, calls: Sequence[dict[str, Any]]) -> None:
        screen.table(
            ("at", "outcome", "ms", "tool", "arguments"),
            [(str(one["at"])[:19], one["outcome"], f"{one['ms']:.0f}", one["tool"], one["arguments"]) for one in calls],
            right=(2,),
        )
        if not calls:
            screen.note("no calls yet")

    return run(call, "tools log", given, show)
