"""Moves the MCP servers of a program behind our gateway, and puts them back as they were.

The servers are taken in first, which starts each once. Only those that answered leave the program's file. A record
beside that file keeps its bytes, so that ``uninstall`` can restore it; if somebody changed the file since,
only the entries are put back.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shlex
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.terminal import one_line
from ricordo.config.files import read_bytes, replace_file
from ricordo.engine.setting_changes import change_setting
from ricordo.errors import Unreadable, UsageError
from ricordo.programs import json_text
from ricordo.programs.pieces import NAME, Piece
from ricordo.programs.table import SERVER_KEYS

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.engine.tool_index import Agree
    from ricordo.values.tools import ServerFound


MOST_SHOWN = 20
NOBODY_SAID_YES = "it is in the project's file, and nobody said yes to starting it (--yes does)"


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
        after = _without(piece, text, moved)
        record = {
            "before": base64.b64encode(before).decode(),
            "after": hashlib.sha256(after).hexdigest(),
            "moved": {name: _servers(piece, text)[name] for name in moved},
            "new": [name for name in moved if name not in known],
        }
        replace_file(record_of(piece.path), json.dumps(record).encode())
        replace_file(piece.path, after, mode=piece.path.stat().st_mode & 0o777)
    return moved, [*notes, *report.notes]


def allow_some(engine: Ricordo, moved: Sequence[str], *, is_asked: bool) -> list[str]:
    """Ask which tools of the servers that moved may be called though they do not say that they only read.

    Returns notes about those that stop working until the user allows them.
    """
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
        restored = _with(piece, now.decode("utf-8-sig"), moved)
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
    try:
        data = tomllib.loads(text) if piece.form == "toml" else json_text.loads(text)
    except ValueError as problem:
        raise Unreadable(f"{piece.path} cannot be read: {problem}", hint="Nothing was changed.") from None
    found = data.get(piece.at[0]) if isinstance(data, dict) else None
    return {name: entry for name, entry in found.items() if isinstance(entry, dict)} if isinstance(found, dict) else {}


def _without(piece: Piece, text: str, names: Sequence[str]) -> bytes:
    if piece.form == "toml":
        import tomlkit

        document: Any = tomlkit.parse(text)
        for name in names:
            del document[piece.at[0]][name]
        return tomlkit.dumps(document).encode()
    for name in names:
        text = json_text.drop(text, (*piece.at, name))
    return text.encode()


def _with(piece: Piece, text: str, entries: dict[str, Any]) -> bytes:
    """The text with the entries in it again, except those that somebody has written again meanwhile."""
    missing = {name: entry for name, entry in entries.items() if name not in _servers(piece, text)}
    if piece.form == "toml":
        import tomlkit

        document: Any = tomlkit.parse(text)
        if piece.at[0] not in document:
            document.add(piece.at[0], tomlkit.table(is_super_table=True))
        for name, entry in missing.items():
            document[piece.at[0]][name] = entry
        return tomlkit.dumps(document).encode()
    for name, entry in missing.items():
        text = json_text.put(text or "{}", (*piece.at, name), entry)
    return text.encode()
