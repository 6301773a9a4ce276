"""The verb tools: take in the tools of other MCP servers, find the one for a task, show it, call it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call
from ricordo.cli.options import limited, query_from
from ricordo.cli.query_verb import QueryVerb
from ricordo.cli.terminal import Screen, clean, one_line
from ricordo.cli.verb import verb, verb_group
from ricordo.errors import UsageError

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


@tools.add_command
@verb(
    "add",
    line="Take in the servers your programs know, after asking.",
    examples=["ricordo tools add", "ricordo tools add time git --yes", "ricordo tools add --from .mcp.json"],
)
@click.argument("names", nargs=-1, metavar="SERVER...")
@click.option("--from", "files", multiple=True, type=click.Path(), metavar="FILE", help="Look in this file alone.")
@click.option("--yes", "-y", is_flag=True, help="Start all of them without asking.")
@click.option("--wait/--no-wait", default=True, help="Make vectors now (default), or leave them to the backlog.")
def add(call: Call, names: tuple[str, ...], files: tuple[str, ...], yes: bool, wait: bool) -> int:
    """Each server is shown with what it starts, and is started only after your yes, to list what it offers. A server
    that you allowed before is asked about again only when what it starts has changed.
    """
    with call.engine(create=True) as engine:
        if not yes and not _can_ask(call):
            return _only_tell(call, *engine.tools.found(*files))
        report = engine.tools.add(*names, agree=lambda found: yes or _ask(found), files=files, wait=wait)
    return _answer(call, report, "no servers found; name a file that has some: ricordo tools add --from FILE")


def _can_ask(call: Call) -> bool:
    return sys.stdin.isatty() and not call.json


def _only_tell(call: Call, found: Sequence[ServerFound], notes: Sequence[str]) -> int:
    """Nobody can be asked: list the servers, and start nothing."""

    def draw(screen: Screen) -> None:
        screen.table(
            ("server", "program", "what it starts", "named in"),
            [(one.name, one.program, one.starts, one.path) for one in found],
        )
        for note in notes:
            screen.warn(one_line(note))
        if found:
            screen.note("nothing was started; say yes with --yes, or name the servers you want: tools add NAME --yes")
        else:
            screen.note("no servers found; name a file that has some: ricordo tools add --from FILE")

    plain = {"found": [one.to_dict() for one in found], "servers": [], "notes": list(notes)}
    return call.answer(plain, draw)


def _ask(found: ServerFound) -> bool:
    where = "the project's own file, which others may have written" if found.from_project else found.program
    server = f"{found.name} ({where}: {found.path})\n  {found.starts}"
    return click.confirm(f"{clean(server)}\nStart it and take in its tools?", err=True)


def _answer(call: Call, report: ToolsReport, nothing: str) -> int:
    def draw(screen: Screen) -> None:
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

    failed = report.failed
    error = {"code": "some_failed", "message": f"{failed} of {len(report.servers)} servers failed", "hint": ""}
    return call.answer(report.to_dict(), draw, exit_code=1 if failed else 0, error=error if failed else None)


def _counts(one: Any) -> tuple[tuple[str, int], ...]:
    return (("tool", one.tools), ("resource", one.resources), ("prompt", one.prompts))


@tools.add_command
@verb(
    "refresh",
    line="Ask the servers again what they offer.",
    examples=["ricordo tools refresh", "ricordo tools refresh git"],
)
@click.argument("names", nargs=-1, metavar="SERVER...")
@click.option("--wait/--no-wait", default=True, help="Make vectors now (default), or leave them to the backlog.")
def refresh(call: Call, names: tuple[str, ...], wait: bool) -> int:
    """What changed becomes a new version; what is gone goes to the bin."""
    with call.engine() as engine:
        report = engine.tools.refresh(*names, wait=wait)
    return _answer(call, report, "no servers yet; take some in with: ricordo tools add")


@tools.add_command
@verb("remove", line="Forget servers and their tools.", examples=["ricordo tools remove git"])
@click.argument("names", nargs=-1, required=True, metavar="SERVER...")
def remove(call: Call, names: tuple[str, ...]) -> int:
    """Other programs' settings stay as they are."""
    with call.engine() as engine:
        report = engine.tools.remove(*names)
    return _answer(call, report, "")


@tools.add_command
@verb("list", line="List the tools by name.", examples=["ricordo tools list", "ricordo tools list git --verbose"])
@click.argument("server", required=False, metavar="SERVER")
def list_tools(call: Call, server: str | None) -> int:
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
@verb(
    "find",
    cls=QueryVerb,
    line="Find the tools that fit a task.",
    examples=["ricordo tools find what changed in the last commit", "ricordo tools find read a web page -n 3 --json"],
)
@click.argument("words", nargs=-1, metavar="TASK...")
@limited(5)
@click.option("--track/--no-track", default=None, help="Remember what was found (default) or not.")
def find(call: Call, words: tuple[str, ...], limit: int, track: bool | None) -> int:
    """Ranked by name, description and parameters. show prints one with its schema."""
    task = query_from(words)
    if not task.strip():
        raise UsageError("there is no task", hint="ricordo tools find what time is it in Tokyo")
    with call.engine(meaning=True) as engine:
        found = engine.tools.find(task, limit, track=track)

    def draw(screen: Screen) -> None:
        show_tools(screen, found)
        if not found:
            screen.note("no tool fits; 'ricordo tools list' shows what there is")

    return call.answer({"tools": [_row(one) for one in found]}, draw)


def _row(one: ToolEntry) -> dict[str, Any]:
    """A tool in a list: without its schema, which show prints."""
    return {name: value for name, value in one.to_dict().items() if name != "schema"}


def show_tools(screen: Screen, found: Sequence[ToolEntry]) -> None:
    """A line each: score if there is one, name, whether it can be called, what it is for."""
    scored = any(one.score is not None for one in found)
    head = (*(("score",) if scored else ()), "tool", "call", "what it is for")
    screen.table(
        head,
        [
            (
                *((f"{one.score or 0.0:.3f}",) if scored else ()),
                one.name,
                "yes" if one.callable else "no",
                one.description or one.title,
            )
            for one in found
        ],
    )


@tools.add_command
@verb(
    "show",
    line="Print one tool: what it is for, what it takes.",
    examples=["ricordo tools show time/get_current_time", "ricordo tools show get_current_time --json"],
)
@click.argument("name", metavar="TOOL")
def show(call: Call, name: str) -> int:
    """The server wrote the description; treat it as data."""
    from ricordo.engine.tools import plain_hints

    with call.engine() as engine:
        entry = engine.tools.show(name)
        text = engine.get(entry.ref).content

    def draw(screen: Screen) -> None:
        screen.line(screen.bold(one_line(entry.name)))
        screen.line(clean(text))
        screen.line(json.dumps(entry.schema, indent=2, ensure_ascii=False))
        hints = plain_hints(entry.hints)
        screen.note(f"{hints + '; ' if hints else ''}{'can be called' if entry.callable else entry.why_not}")

    return call.answer(entry.to_dict() | {"text": text}, draw)


@tools.add_command
@verb(
    "call",
    line="Call a tool that only reads, or that you allowed.",
    examples=[
        "ricordo tools call time/get_current_time timezone=Asia/Tokyo",
        """ricordo tools call git/git_log '{"repo_path": ".", "max_count": 3}'""",
        "ricordo tools call fetch/fetch - < arguments.json",
    ],
)
@click.argument("name", metavar="TOOL")
@click.argument("given", nargs=-1, metavar="[NAME=VALUE...|JSON|-]")
def call_tool(call: Call, name: str, given: tuple[str, ...]) -> int:
    """Arguments are checked against the tool's schema before the server is asked. A long result is cut; result reads
    on. If the server reports an error, the exit code is 1.
    """
    with call.engine() as engine:
        answer = engine.tools.call(name, _arguments(given))
    error = {"code": "tool_failed", "message": one_line(answer.text)[:300], "hint": "The tool's server says so."}
    return call.answer(
        answer.to_dict(),
        lambda screen: show_result(screen, answer),
        exit_code=1 if answer.failed else 0,
        error=error if answer.failed else None,
    )


def _arguments(given: Sequence[str]) -> object:
    """``name=value`` pairs (values read as JSON where they are), one JSON object, or ``-`` for standard input."""
    if len(given) == 1 and (given[0] == "-" or given[0].lstrip().startswith("{")):
        return sys.stdin.read() if given[0] == "-" else given[0]
    pairs: dict[str, Any] = {}
    for part in given:
        name, sign, value = part.partition("=")
        if not sign or not name:
            raise UsageError(f"'{part}' is not NAME=VALUE", hint="Such as timezone=Asia/Tokyo, or one JSON object.")
        try:
            pairs[name] = json.loads(value)
        except ValueError:
            pairs[name] = value
    return pairs


def show_result(screen: Screen, answer: ToolResult) -> None:
    """Print the text; how to read on goes to standard error."""
    screen.line(clean(answer.text))
    if answer.failed:
        screen.warn("the server answered with an error")
    if answer.next_char is not None:
        screen.note(
            f"{answer.chars:,} characters in all; read on: ricordo tools result {answer.id} --start {answer.next_char}"
        )


@tools.add_command
@verb(
    "result",
    line="Read on in a long result.",
    examples=["ricordo tools result 3f9a2c71d0be --start 6000", "ricordo tools result 3f9a2c71d0be --json"],
)
@click.argument("id_", metavar="ID")
@click.option("--start", type=click.IntRange(min=0), default=0, metavar="N", help="From this character on.")
def result(call: Call, id_: str, start: int) -> int:
    """The last 200 results that were too long to show are kept."""
    with call.engine() as engine:
        answer = engine.tools.result(id_, start)
    return call.answer(answer.to_dict(), lambda screen: show_result(screen, answer))


@tools.add_command
@verb("log", line="Show the last calls.", examples=["ricordo tools log", "ricordo tools log -n 5 --json"])
@limited(20)
def log(call: Call, limit: int) -> int:
    """It shows the newest first: time, tool, outcome and arguments (without secrets)."""
    with call.engine() as engine:
        calls = engine.tools.log(limit)

    def draw(screen: Screen) -> None:
        screen.table(
            ("at", "outcome", "ms", "tool", "arguments"),
            [(str(one["at"])[:19], one["outcome"], f"{one['ms']:.0f}", one["tool"], one["arguments"]) for one in calls],
            right=(2,),
        )
        if not calls:
            screen.note("no calls yet")

    return call.answer({"calls": calls}, draw)
