"""Writes a piece into a program's own settings file, or removes it; nothing else in the file changes.

The file is read and checked first: one that is broken, or that has an entry by our name which starts something else, is
left alone, with an error. A copy of the file as it was is kept beside it until ``uninstall``.
"""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ricordo.config.files import read_bytes, replace_file
from ricordo.errors import Conflict, Unreadable
from ricordo.frozen import frozen
from ricordo.plugins.install import json_text
from ricordo.plugins.install.pieces import NAME, Piece

_MARK = "\ufeff"
_OURS = re.compile(r"(?:^|[\\/\s\"'])ricordo(?:\.exe)?[\"']? hook [a-z-]+(?: --within [0-9.]+)?$")

Edit = tuple[str, tuple[str | int, ...], Any]
"""What to do (``put``, ``append`` or ``drop``), the path, and the value."""


@frozen
class Change:
    """A change of a file. Its status is created, updated, unchanged, removed or absent."""

    piece: Piece
    status: str
    before: bytes | None = None
    after: bytes | None = None
    keeps: bool = False
    """Whether a copy of the file as it was is kept beside it."""

    @property
    def backup(self) -> Path:
        return backup_of(self.piece.path)

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = {"what": self.piece.what, "path": str(self.piece.path), "status": self.status}
        return plain | ({"backup": str(self.backup)} if self.keeps else {})


def backup_of(path: Path) -> Path:
    """The copy of a file as it was before we first changed it."""
    return path.with_name(f"{path.name}.before-{NAME}")


def install_all(pieces: Sequence[Piece]) -> list[Change]:
    """Write all pieces. Every one is checked before the first is written; several may go into one file."""
    for piece in pieces:
        installed(piece)
    originals = {piece.path: read_bytes(piece.path) for piece in pieces}
    changes = []
    for piece in pieces:
        change = installed(piece)
        if originals[piece.path] is None and change.status == "updated":
            change = replace(change, status="created", keeps=False)
        carry_out(change)
        changes.append(change)
    return changes


def uninstall_all(pieces: Sequence[Piece], stop_at: Sequence[Path]) -> list[Change]:
    """Remove all pieces, the copies of the files, and folders that are empty then, but none of ``stop_at``."""
    for piece in pieces:
        uninstalled(piece)
    changes = []
    for piece in pieces:
        changes.append(uninstalled(piece))
        carry_out(changes[-1])
    _clean_up(pieces, stop_at)
    return changes


def installed(piece: Piece) -> Change:
    """The change that writes the piece; nothing is written yet."""
    before = read_bytes(piece.path)
    if piece.form == "text":
        return _text_installed(piece, before)
    data, text = _read(piece, before)
    if not text:
        status = "created" if before is None else "updated"
        return Change(piece, status, before, f"{piece.snippet()}\n".encode(), before is not None)
    had = _found(piece, data)
    entry = {**(had if isinstance(had, dict) else {}), **piece.content}  # ours, with what the user added to it
    edits: list[Edit] = [("put", (*piece.at, NAME), entry)] if entry != had else []
    if piece.form == "hooks":
        edits = _hook_edits(piece, data)
    fresh = _encoded(edited(piece, text, edits), before)
    is_new = fresh != before
    return Change(piece, "updated" if is_new else "unchanged", before, fresh, is_new and not had)


def uninstalled(piece: Piece) -> Change:
    """The change that removes the piece; nothing is written yet."""
    before = read_bytes(piece.path)
    if before is None:
        return Change(piece, "absent")
    if piece.form == "text":
        ours = _is_our_text(piece, before)
        return Change(piece, "removed" if ours else "absent", before, None, ours and before.decode() != piece.content)
    try:
        data, text = _read(piece, before)
    except Conflict as problem:
        if NAME.encode() not in before:
            return Change(piece, "absent", before, before)
        raise Conflict(problem.message, hint="Nothing was changed. Take our part out yourself.") from None
    if not _found(piece, data):
        return Change(piece, "absent", before, before)
    former = _former(piece)
    after = edited(piece, text, _removing_edits(piece, data, former or {}))
    if piece.form == "toml":
        was = (read_bytes(backup_of(piece.path)) or b"").decode("utf-8", "replace").removeprefix(_MARK)
        after = was if was.strip() == after.strip() else after  # only blank lines differ
    if former is None and not (after.strip().strip("{}").strip()):  # nothing else is in the file, so it is ours
        return Change(piece, "removed", before, None)
    return Change(piece, "removed", before, _encoded(after, before))


def _clean_up(pieces: Sequence[Piece], stop_at: Sequence[Path]) -> None:
    """Delete copies and empty folders; the copy of a skill that the user edited stays."""
    for piece in pieces:
        if piece.form != "text":
            with suppress(FileNotFoundError):
                backup_of(piece.path).unlink()
        folder = piece.path.parent
        while not piece.path.exists() and folder not in stop_at and folder != folder.parent:
            try:
                folder.rmdir()
            except OSError:  # it is not empty, or not there
                break
            folder = folder.parent


def carry_out(change: Change) -> None:
    """Write the change to disk."""
    path, before = change.piece.path, change.before
    if change.status in ("unchanged", "absent"):
        return
    if change.keeps and before is not None and (change.piece.form == "text" or not change.backup.exists()):
        replace_file(change.backup, before)
    if change.after is None:
        path.unlink()
        return
    mode = path.stat().st_mode & 0o777 if before is not None else 0o600 if change.piece.is_private else 0o644
    if not change.piece.is_private:
        path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, change.after, mode=mode)
    if before is not None:
        path.chmod(mode)


def _read(piece: Piece, content: bytes | None) -> tuple[dict[str, Any], str]:
    """The file's content and its text, without a byte order mark; both are empty when the file is."""
    data = parsed(piece, content or b"")
    if data is None:
        return {}, ""
    _check_shape(piece, data)
    return data, (content or b"").decode().removeprefix(_MARK)


def _check_shape(piece: Piece, data: Any) -> None:
    inside = data.get(piece.at[0], {}) if isinstance(data, dict) else None
    odd = piece.at[0]
    if isinstance(inside, dict):
        events = piece.content if piece.form == "hooks" else ()
        odd = next((event for event in events if not isinstance(inside.get(event, []), list)), "")
    if odd:
        raise Conflict(
            f"{piece.path} is not as expected: there is something else where '{odd}' should be",
            hint="Nothing was changed. Correct the file, then try again.",
        )


def _found(piece: Piece, data: Mapping[str, Any]) -> Any:
    """Our entry in the file, or whether our hooks are in it. Another program's entry by our name is an error."""
    inside = data.get(piece.at[0], {})
    if piece.form == "hooks":
        return any(_is_our_hook(hook) for groups in inside.values() for _, hook in _hooks_in(groups))
    entry = inside.get(NAME)
    if entry is not None and not _is_our_entry(entry):
        raise Conflict(
            f"{piece.path} has another '{NAME}' in {piece.at[0]}, which starts something else",
            hint="Nothing was changed. Rename or remove that entry, then try again.",
        )
    return entry


def _is_our_entry(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    args = entry.get("args")
    command = entry.get("command", "")
    first = [str(word) for word in command] if isinstance(command, list) and command else [str(command)]
    words = [*first, *(map(str, args) if isinstance(args, list) else ())]
    return "mcp" in words and (Path(words[0].replace("\\", "/")).stem == NAME or NAME in words)


def _is_our_hook(hook: object) -> bool:
    if not isinstance(hook, dict) or not isinstance(hook.get("command"), str):
        return False
    return _OURS.search(hook["command"]) is not None


def _is_our_text(piece: Piece, content: bytes) -> bool:
    """Whether a file that is ours as a whole was written by us: it begins with the same line, or is our skill."""
    if re.match(rf"---\r?\nname: {NAME}\r?\n".encode(), content):
        return True
    first = str(piece.content).split("\n", 1)[0]
    return first.startswith("#") and content.decode("utf-8", "replace").startswith(first)


def _hooks_in(groups: object) -> list[tuple[tuple[str | int, ...], Any]]:
    """The hooks of an event, each with its path: in a group, or in the list itself."""
    found: list[tuple[tuple[str | int, ...], Any]] = []
    for place, group in enumerate(groups if isinstance(groups, list) else []):
        hooks = group.get("hooks") if isinstance(group, dict) else None
        if isinstance(hooks, list):
            found += [((place, "hooks", n), hook) for n, hook in enumerate(hooks)]
        else:
            found.append(((place,), group))
    return found


def _hook_edits(piece: Piece, data: Mapping[str, Any]) -> list[Edit]:
    edits: list[Edit] = [("put", (name,), value) for name, value in piece.beside.items() if name not in data]
    inside = data.get(piece.at[0], {})
    for event, groups in piece.content.items():
        ((_, hook),) = _hooks_in(groups)
        ours = [(path, one) for path, one in _hooks_in(inside.get(event)) if _is_our_hook(one)]
        if not ours:
            edits.append(("append", (*piece.at, event), groups[0]))
        elif (wanted := {**hook, **ours[0][1], "command": hook["command"]}) != ours[0][1]:  # a user's timeout stays
            edits.append(("put", (*piece.at, event, *ours[0][0]), wanted))
    return edits


def _removing_edits(piece: Piece, data: dict[str, Any], former: Mapping[str, Any]) -> list[Edit]:
    """Remove what is ours, and the objects and lists that were created for it."""
    edits: list[Edit] = []
    left = copy.deepcopy(data)

    def drop(*path: str | int) -> None:
        edits.append(("drop", path, None))
        _apply(left, edits[-1])

    at = piece.at[0]
    if piece.form != "hooks":
        drop(at, NAME)
    else:
        for event, groups in list(left[at].items()):
            for path, hook in reversed(_hooks_in(groups)):
                if _is_our_hook(hook):
                    drop(at, event, *path)
                    if len(path) > 1 and not groups[path[0]]["hooks"]:
                        drop(at, event, path[0])
            if groups == [] and event not in former.get(at, {}):
                drop(at, event)
    if not left[at] and at not in former:
        drop(at)
    if not left.get(at):
        for name in piece.beside:
            if name not in former and name in left:
                drop(name)
    return edits


def _former(piece: Piece) -> dict[str, Any] | None:
    """What the file held before we first wrote into it; None when there was no file."""
    content = read_bytes(backup_of(piece.path))
    if content is None:
        return None
    try:
        return _read(piece, content)[0]
    except (Conflict, Unreadable):
        return {}


def edited(piece: Piece, text: str, edits: Sequence[Edit]) -> str:
    """The text after the edits. It is checked: its value must be the old one with the edits, and nothing else."""
    if not edits:
        return text
    wanted = parsed(piece, text) or {}
    for edit in edits:
        _apply(wanted, edit)
    if piece.form == "toml":
        import tomlkit

        document: Any = tomlkit.parse(text)
        if piece.at[0] not in document:
            document.add(piece.at[0], tomlkit.table(is_super_table=True))
        for edit in edits:
            _apply(document, edit)
        text = tomlkit.dumps(document)
    else:
        ways: dict[str, Callable[..., str]] = {"put": json_text.put, "append": json_text.append}
        for way, path, value in edits:
            text = ways[way](text, path, value) if way in ways else json_text.drop(text, path)
    if _without_empty(parsed(piece, text)) != _without_empty(wanted):
        raise Conflict(
            f"{piece.path} is written in a way that cannot be changed safely",
            hint=f"Nothing was changed. The entry is:\n{piece.snippet()}",
        )
    return text


def _without_empty(data: Mapping[str, Any] | None) -> dict[str, Any]:
    """The tables that hold something; in TOML a table for others may be there without a line of its own."""
    return {name: value for name, value in (data or {}).items() if value != {}}


def parsed(piece: Piece, content: bytes | str) -> Any:
    """The value of a file's text, None if it is empty; an error names the file."""
    try:
        text = content if isinstance(content, str) else content.decode().removeprefix(_MARK)
        if not text.strip():
            return None
        return tomllib.loads(text) if piece.form == "toml" else json_text.loads(text)
    except (ValueError, RecursionError) as problem:
        raise Unreadable(
            f"{piece.path} is not valid {'TOML' if piece.form == 'toml' else 'JSON'}: {problem}",
            hint="Nothing was changed. Correct the file, then try again.",
        ) from None


def _apply(data: Any, edit: Edit) -> None:
    way, path, value = edit
    for name in path[:-1]:
        data = data.setdefault(name, {}) if isinstance(data, dict) else data[name]
    if way == "append":
        data.setdefault(path[-1], []).append(value)
    elif way == "put":
        data[path[-1]] = value
    else:
        del data[path[-1]]


def _text_installed(piece: Piece, before: bytes | None) -> Change:
    if before is not None and not _is_our_text(piece, before):
        raise Conflict(
            f"{piece.path} was not written by Ricordo", hint="Nothing was changed. Move that file away, then try again."
        )
    after = str(piece.content).encode()
    status = "created" if before is None else "unchanged" if before == after else "updated"
    return Change(piece, status, before, after, status == "updated")


def _encoded(text: str, before: bytes | None) -> bytes:
    mark = _MARK if before and before.startswith(_MARK.encode()) else ""
    return (mark + text).encode()
