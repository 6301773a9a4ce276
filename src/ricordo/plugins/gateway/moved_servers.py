"""The gateway: ``install --gateway`` moves a program's other MCP servers behind Ricordo.

These are taken in first, which starts each once. Only those that answered leave the program's file. A record beside
that file keeps its bytes, so that ``uninstall`` can restore it; if somebody changed the file since, only the entries
are put back.
"""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call
from ricordo.cli.command import GLOBAL_OPTIONS, Verb
from ricordo.cli.terminal import one_line
from ricordo.config.files import read_bytes, replace_file, write_json
from ricordo.digests import hash_of
from ricordo.errors import Unreadable, UsageError
from ricordo.plugins.install.file_edits import edited, parsed
from ricordo.plugins.install.pieces import NAME, Piece
from ricordo.programs.table import SERVER_KEYS

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo
    from ricordo.plugins.gateway.values import ServerFound
    from ricordo.plugins.gateway.verbs import Agree

MOST_SHOWN = 20
_OPTIONS = (
    click.Option(["--gateway"], is_flag=True, help="Start its other MCP servers once, and move them behind Ricordo."),
    click.Option(["--yes", "-y"], is_flag=True, help="With --gateway: start a project's servers without asking."),
)


def add_gateway(command: Verb) -> None:
    """Give ``install`` the flag ``--gateway``."""
    own = len(command.params) - len(GLOBAL_OPTIONS)
    command.params[own:own] = _OPTIONS
    command.examples += ("ricordo install claude-desktop --gateway",)
    command.details += (
        " With --gateway the program's other MCP servers are taken in as tools and leave its file; uninstall puts them"
        " back. Those in a project's file, which others may have written, are started only after your yes."
    )
    command.callback = click.pass_obj(_install)


def _install(call: Call, agent: str, scope: str | None, only_print: bool, *, gateway: bool, yes: bool) -> int:
    from ricordo.plugins.install.command import set_up

    if not gateway:
        return set_up(call, agent, scope, only_print=only_print)

    def before(pieces: list[Piece], scope: str) -> tuple[list[str], dict[str, Any]]:
        moved, notes = moved_behind(call, pieces, is_agreed=yes or scope == "user")
        return notes, {"moved": moved}

    return set_up(call, agent, scope, only_print=only_print, change=gateway_pieces, before=before)


def moved_behind(call: Call, pieces: list[Piece], *, is_agreed: bool) -> tuple[list[str], list[str]]:
    """The servers that moved behind the gateway, and notes for the user."""

    from ricordo.plugins.gateway.command import agreed, can_ask

    def agree(found: ServerFound) -> bool:
        return is_agreed or (can_ask(call) and agreed(found))

    moved, notes = [], []
    with call.engine(create=True) as engine:
        for piece in pieces:
            if piece.what == "MCP server":
                names, said = _move_behind(engine, piece, agree)
                moved += names
                notes += said
        notes += _allow_some(engine, moved, is_asked=can_ask(call))
    return moved, [*notes, f"Behind the gateway now: {', '.join(moved) or 'nothing; there were no other servers'}."]


def moved_back(call: Call, pieces: list[Piece]) -> list[str]:
    """Put back the servers that an installation with --gateway moved; returns notes for the user."""
    behind = [piece for piece in pieces if piece.what == "MCP server" and _record_of(piece.path).exists()]
    if not behind:
        return []
    with call.engine(create=True) as engine:
        names = [name for piece in behind for name in _move_back(engine, piece)]
    return [f"Put back: {', '.join(names)}."]


def _record_of(path: Path) -> Path:
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
                    hint="Take them in with ‹:tools add --from FILE›, and install without ‹gateway›.",
                )
            args = [*piece.content["args"], "--toolset", "core", "--toolset", "tools"]
            piece = replace(piece, content={**piece.content, "args": args})
        found.append(piece)
    return found


def _move_behind(engine: Ricordo, piece: Piece, agree: Agree) -> tuple[list[str], list[str]]:
    """Move the servers of a program's file behind the gateway, each only if ``agree`` says so.

    Returns the names of those that moved, and notes on others.
    """
    before = read_bytes(piece.path)
    if before is None or _record_of(piece.path).exists():
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
    why = {name: one.problem for name, one in listed.items() if one.problem}
    why |= dict.fromkeys(refused, "it is in the project's file, and nobody said yes to starting it (--yes does)")
    notes = [
        f"{name} stays where it is: {why.get(name, 'it cannot be started by others')}"
        for name in names
        if name not in moved
    ]
    if moved:
        drops = [("drop", (*piece.at, name), None) for name in moved]
        after = edited(piece, text, drops).encode()
        record = {
            "before": base64.b64encode(before).decode(),
            "after": hash_of(after),
            "moved": {name: _servers(piece, text)[name] for name in moved},
            "new": [name for name in moved if name not in known],
        }
        write_json(_record_of(piece.path), record)
        replace_file(piece.path, after, mode=piece.path.stat().st_mode & 0o777)
    return moved, [*notes, *report.notes]


def _allow_some(engine: Ricordo, moved: Sequence[str], *, is_asked: bool) -> list[str]:
    """Ask which tools of the servers that moved may be called though they do not say that they only read.

    Returns notes about those that stop working until the user allows them.
    """
    from ricordo.engine.setting_changes import change_setting
    from ricordo.plugins.gateway.index import may_call

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


def _move_back(engine: Ricordo, piece: Piece) -> list[str]:
    """Put the servers back after our own entry was removed from the file; returns their names."""
    record = read_bytes(_record_of(piece.path))
    if record is None:
        return []
    try:
        kept = json.loads(record)
        before, moved, new = base64.b64decode(kept["before"]), dict(kept["moved"]), list(kept["new"])
    except (ValueError, KeyError, TypeError) as problem:
        raise Unreadable(f"{_record_of(piece.path)} cannot be read: {problem}", hint="Nothing was changed.") from None
    now = read_bytes(piece.path)
    if now is None or hash_of(now) == kept["after"]:
        restored = before
    else:
        text = now.decode("utf-8-sig") or ("" if piece.form == "toml" else "{}")
        missing = moved.keys() - _servers(piece, text).keys()  # others were written again by somebody meanwhile
        puts = [("put", (*piece.at, name), entry) for name, entry in moved.items() if name in missing]
        restored = edited(piece, text, puts).encode()
    mode = piece.path.stat().st_mode & 0o777 if now is not None else 0o600
    piece.path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(piece.path, restored, mode=mode)
    _record_of(piece.path).unlink()
    behind = {one.name for one in engine.tools.servers()}
    with suppress(OSError):
        engine.tools.remove(*[name for name in new if name in behind])
    return list(moved)


def _servers(piece: Piece, text: str) -> dict[str, Any]:
    data = parsed(piece, text)
    found = data.get(piece.at[0]) if isinstance(data, dict) else None
    return {name: entry for name, entry in found.items() if isinstance(entry, dict)} if isinstance(found, dict) else {}
