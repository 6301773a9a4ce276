"""Commands that set up agents' programs: install, uninstall; and the gateway, behind which install --gateway moves a
program's other MCP servers.

The servers are taken in first, which starts each once. Only those that answered leave the program's file. A record
beside that file keeps its bytes, so that ``uninstall`` can restore it; if somebody changed the file since,
only the entries are put back.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call
from ricordo.cli.command import verb
from ricordo.cli.terminal import Screen, one_line
from ricordo.config.files import read_bytes, replace_file, write_json
from ricordo.config.loading import load_config
from ricordo.config.places import locate
from ricordo.errors import Unreadable, UsageError
from ricordo.programs.file_edits import edited, install_all, installed, parsed, uninstall_all
from ricordo.programs.pieces import NAME, Piece, boundaries, default_scope, is_passing, pieces_for, program_command
from ricordo.programs.table import PROGRAMS, SERVER_KEYS

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.engine.tools import Agree
    from ricordo.values.tools import ServerFound

MOST_SHOWN = 20
NOBODY_SAID_YES = "it is in the project's file, and nobody said yes to starting it (--yes does)"


def _agent_and_scope(function: Callable[..., int]) -> Callable[..., int]:
    """Which program, and for which projects."""
    function = click.option(
        "--project", "scope", flag_value="project", help="For the project here (default for vscode)."
    )(function)
    function = click.option(
        "--user", "scope", flag_value="user", help="For all your projects (default, but for vscode)."
    )(function)
    return click.argument("agent", type=click.Choice(sorted(PROGRAMS)), metavar="AGENT")(function)


@verb(
    "install",
    examples=[
        "ricordo install claude-code",
        "ricordo install codex --print",
        "ricordo install vscode",
        "ricordo install cursor --project",
        "ricordo install claude-desktop --gateway",
    ],
)
@_agent_and_scope
@click.option("--print", "only_print", is_flag=True, help="Only show what to add, and to which file.")
@click.option("--gateway", is_flag=True, help="Start its other MCP servers once, and move them behind Ricordo.")
@click.option("--yes", "-y", is_flag=True, help="With --gateway: start a project's servers without asking.")
def install(call: Call, agent: str, scope: str | None, only_print: bool, gateway: bool, yes: bool) -> int:
    """AGENT is claude-code, claude-desktop, cline, codex, continue, cursor, gemini, opencode, qwen, vscode, windsurf
    or zed. The MCP server is added to the program's settings; Claude Code, Codex, Gemini CLI and Qwen Code also get
    hooks, and Claude Code a skill. Everything else in a file stays as it is, comments included. A copy of the file as
    it was is kept beside it until you uninstall. Running it again changes nothing. A broken file is left alone.
    With --gateway the program's other MCP servers are taken in as tools and leave its file; uninstall puts them back.
    Those in a project's file, which others may have written, are started only after your yes.
    """
    scope = _scope(agent, scope)
    pieces = pieces_for(agent, scope, Path.cwd(), program_command())
    if gateway:
        pieces = gateway_pieces(pieces)
    if only_print:
        return _show(call, agent, scope, pieces)
    for piece in pieces:
        installed(piece)  # a file that cannot be changed is noticed before any file is changed
    moved, gateway_notes = _moved_behind(call, pieces, is_agreed=yes or scope == "user") if gateway else ([], [])
    changes = install_all(pieces)
    plain: dict[str, Any] = {"agent": agent, "scope": scope, "files": [change.to_dict() for change in changes]}
    plain["notes"] = [*gateway_notes, *_notes(call, agent, scope)]
    if gateway:
        plain["moved"] = moved
    return call.answer(plain, lambda screen: _draw(screen, plain))


@verb("uninstall", examples=["ricordo uninstall claude-code", "ricordo uninstall vscode"])
@_agent_and_scope
def uninstall(call: Call, agent: str, scope: str | None) -> int:
    """It removes what install wrote, the copies of files it kept, and folders that are empty then. It does not touch
    the store, nor what others wrote into the same files.
    """
    scope = _scope(agent, scope)
    pieces = pieces_for(agent, scope, Path.cwd(), program_command())
    changes = uninstall_all(pieces, boundaries(Path.cwd()))
    notes = _moved_back(call, pieces)
    plain = {"agent": agent, "scope": scope, "files": [change.to_dict() for change in changes], "notes": notes}
    return call.answer(plain, lambda screen: _draw(screen, plain))


def _moved_behind(call: Call, pieces: list[Piece], *, is_agreed: bool) -> tuple[list[str], list[str]]:
    """The servers that moved behind the gateway, and notes for the user."""
    from ricordo.cli.cmd_tools import agreed, can_ask

    def agree(found: ServerFound) -> bool:
        return is_agreed or (can_ask(call) and agreed(found))

    moved, notes = [], []
    with call.engine(create=True) as engine:
        for piece in pieces:
            if piece.what == "MCP server":
                names, said = move_behind(engine, piece, agree)
                moved += names
                notes += said
        notes += allow_some(engine, moved, is_asked=can_ask(call))
    return moved, [*notes, f"Behind the gateway now: {', '.join(moved) or 'nothing; there were no other servers'}."]


def _moved_back(call: Call, pieces: list[Piece]) -> list[str]:
    """Put back the servers that an installation with --gateway moved; returns notes for the user."""
    behind = [piece for piece in pieces if piece.what == "MCP server" and record_of(piece.path).exists()]
    if not behind:
        return []
    with call.engine(create=True) as engine:
        names = [name for piece in behind for name in move_back(engine, piece)]
    return [f"Put back: {', '.join(names)}."]


def _scope(agent: str, given: str | None) -> str:
    if given == "project" and not PROGRAMS[agent].project_servers:
        raise UsageError(
            f"{PROGRAMS[agent].title} has no settings for a single project",
            hint=f"Leave out --project: ricordo install {agent}",
        )
    return given or default_scope(agent)


def _show(call: Call, agent: str, scope: str, pieces: list[Piece]) -> int:
    files = [{"what": piece.what, "path": str(piece.path), "content": piece.snippet()} for piece in pieces]

    def draw(screen: Screen) -> None:
        for file in files:
            screen.line(screen.dim(f"# {file['what']}: {file['path']}"))
            screen.line(file["content"] + "\n")

    return call.answer({"agent": agent, "scope": scope, "files": files}, draw)


def _notes(call: Call, agent: str, scope: str) -> list[str]:
    notes = [f"Restart {PROGRAMS[agent].title} to use it."]
    if agent == "codex":
        notes.append("Codex asks you to review new hooks: type /hooks there and trust them.")
    if is_passing(program_command()):
        notes.append(
            "This Ricordo is kept only for a while, and the files name its place. Run 'uv tool install ricordo' (or "
            "'pipx install ricordo'), and then 'ricordo install' again."
        )
    if scope == "project":
        notes.append("The files name the program on this machine; others run 'ricordo install' themselves.")
    if not locate(call.store, load_config(), Path.cwd(), call.tier).location.is_there:
        notes.append("There is no store yet: 'ricordo init' makes one for this project, 'ricordo add' one for you.")
    return notes


def _draw(screen: Screen, plain: dict[str, Any]) -> None:
    for file in plain["files"]:
        screen.line(f"{file['status']:<9}  {file['what']:<10}  {file['path']}")
        if "backup" in file:
            screen.note(f"           as it was: {file['backup']}")
    for note in plain["notes"]:
        screen.note(note)


def record_of(path: Path) -> Path:
    """Where a file's bytes are kept while its servers are behind the gateway."""
    return path.with_name(f"{path.name}.{NAME}-gateway")


def gateway_pieces(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces with our server started as a gateway."""
    found = []
    for piece in pieces:
        if piece.what == "MCP server":
            if piece.form not in ("entry", "toml") or piece.at[0] not in SERVER_KEYS:
                raise UsageError(
                    "this program keeps its servers in a form that cannot be moved",
                    hint="Take them in with 'ricordo tools add --from FILE', and install without --gateway.",
                )
            args = [*piece.content["args"], "--toolset", "core", "--toolset", "tools"]
            piece = replace(piece, content={**piece.content, "args": args})
        found.append(piece)
    return found


def move_behind(engine: Ricordo, piece: Piece, agree: Agree) -> tuple[list[str], list[str]]:
    """Move the servers of a program's file behind the gateway, each only if ``agree`` says so.

    Returns the names of those that moved, and notes on others.
    """
    before = read_bytes(piece.path)
    if before is None or record_of(piece.path).exists():
        return [], []
    text = before.decode("utf-8-sig")
    names = [name for name in _servers(piece, text) if name != NAME]
    if not names:
        return [], []
    known = {one.name for one in engine.tools.servers()}
    refused: set[str] = set()

    def asked(found: ServerFound) -> bool:
        fine = agree(found)
        refused.update(() if fine else (found.name,))
        return fine

    report = engine.tools.add(agree=asked, files=[piece.path])
    listed = {one.server: one for one in report.servers}
    moved = [name for name in names if name in listed and listed[name].status == "listed"]
    engine.tools.remove(*[name for name in listed if name not in moved and name not in known])
    notes = [
        f"{name} stays where it is: {NOBODY_SAID_YES if name in refused else _why(listed.get(name))}"
        for name in names
        if name not in moved
    ]
    if moved:
        drops = [("drop", (*piece.at, name), None) for name in moved]
        after = edited(piece, text, drops).encode()
        record = {
            "before": base64.b64encode(before).decode(),
            "after": hashlib.sha256(after).hexdigest(),
            "moved": {name: _servers(piece, text)[name] for name in moved},
            "new": [name for name in moved if name not in known],
        }
        write_json(record_of(piece.path), record)
        replace_file(piece.path, after, mode=piece.path.stat().st_mode & 0o777)
    return moved, [*notes, *report.notes]


def allow_some(engine: Ricordo, moved: Sequence[str], *, is_asked: bool) -> list[str]:
    """Ask which tools of the servers that moved may be called though they do not say that they only read.

    Returns notes about those that stop working until the user allows them.
    """
    from ricordo.engine.setting_changes import change_setting
    from ricordo.engine.tools import may_call

    waiting = [one.name for one in engine.tools.list() if one.server in moved and not one.callable]
    before = engine.config.tools.allow
    if not waiting:
        return []
    chosen = _asked_for(waiting) if is_asked else []
    if chosen:
        change_setting("tools.allow", ", ".join([*before, *chosen]))
    left = [name for name in waiting if not may_call(name, {}, chosen)]
    if not left:
        return []
    shown = ", ".join(left[:MOST_SHOWN]) + (f" and {len(left) - MOST_SHOWN} more" if len(left) > MOST_SHOWN else "")
    command = shlex.join(["ricordo", "config", "set", "tools.allow", ", ".join([*before, *chosen, left[0]])])
    return [f"These stop working until you allow them, because they may change things: {shown}. Such as: {command}"]


def _asked_for(waiting: Sequence[str]) -> list[str]:
    """The names or patterns that the user allows."""
    click.echo("These tools do not say that they only read, so agents cannot call them unless you allow it:", err=True)
    for name in waiting:
        click.echo(f"  {one_line(name)}", err=True)
    said = click.prompt("Allow which? Names or patterns such as notes/*, 'all' or 'none'", default="none", err=True)
    words = [word for word in said.replace(",", " ").split() if word != "none"]
    return list(waiting) if words == ["all"] else words


def move_back(engine: Ricordo, piece: Piece) -> list[str]:
    """Put the servers back after our own entry was removed from the file; returns their names."""
    record = read_bytes(record_of(piece.path))
    if record is None:
        return []
    try:
        kept = json.loads(record)
        before, moved, new = base64.b64decode(kept["before"]), dict(kept["moved"]), list(kept["new"])
    except (ValueError, KeyError, TypeError) as problem:
        raise Unreadable(f"{record_of(piece.path)} cannot be read: {problem}", hint="Nothing was changed.") from None
    now = read_bytes(piece.path)
    if now is None or hashlib.sha256(now).hexdigest() == kept["after"]:
        restored = before
    else:
        text = now.decode("utf-8-sig") or ("" if piece.form == "toml" else "{}")
        missing = moved.keys() - _servers(piece, text).keys()  # others were written again by somebody meanwhile
        puts = [("put", (*piece.at, name), entry) for name, entry in moved.items() if name in missing]
        restored = edited(piece, text, puts).encode()
    mode = piece.path.stat().st_mode & 0o777 if now is not None else 0o600
    piece.path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(piece.path, restored, mode=mode)
    record_of(piece.path).unlink()
    behind = {one.name for one in engine.tools.servers()}
    with suppress(OSError):
        engine.tools.remove(*[name for name in new if name in behind])
    return list(moved)


def _why(report: Any) -> str:
    return report.problem if report is not None and report.problem else "it cannot be started by others"


def _servers(piece: Piece, text: str) -> dict[str, Any]:
    data = parsed(piece, text)
    found = data.get(piece.at[0]) if isinstance(data, dict) else None
    return {name: entry for name, entry in found.items() if isinstance(entry, dict)} if isinstance(found, dict) else {}
