"""The copies that lie beside a store: which there are, which go to make room, and an item brought back from one."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ricordo import registry
from ricordo.config.loading import StoreLocation
from ricordo.engine.checks import is_id
from ricordo.errors import NotFound
from ricordo.frozen import frozen
from ricordo.plugins.backups import FOLDER, LOG
from ricordo.vault import note_path

if TYPE_CHECKING:
    from ricordo.engine.context import EngineContext
    from ricordo.engine.items import ItemVerbs
    from ricordo.store.base import Store
    from ricordo.store.sqlite.store import SqliteStore
    from ricordo.values.items import Saved

NEWEST = 3
"""So many of the newest copies stay, and of the older ones one for each week."""


@frozen
class Copy:
    """A copy of the store, and the day that it was made."""

    day: date
    path: Path
    bytes: int


def copies_of(store: str | Path) -> list[Copy]:
    """The copies of a store, the newest first."""
    copies = []
    for path in Path(f"{store}{FOLDER}").glob("????-??-??.db"):
        try:
            copies.append(Copy(date.fromisoformat(path.stem), path, path.stat().st_size))
        except (ValueError, OSError):
            continue  # it has another name, or is gone by now
    return sorted(copies, key=lambda copy: copy.day, reverse=True)


def thin_out(store: str, room: int) -> None:
    """Before another copy is made: delete what need not stay, and what there is no room for, the oldest first."""
    weeks: set[Sequence[int]] = set()
    for at, copy in enumerate(copies_of(store)):
        week = copy.day.isocalendar()[:2]
        room -= copy.bytes
        if room < 0 or (at >= NEWEST - 1 and week in weeks):
            _delete(copy)
            room += copy.bytes
        else:
            weeks.add(week)
    for left in Path(f"{store}{FOLDER}").glob("*.partial"):  # by a process that was killed
        left.unlink(missing_ok=True)


def erase_copies(store: Store) -> None:
    """Delete all copies: they hold what was just erased, or what is to be encrypted."""
    if store.is_file:
        shutil.rmtree(f"{cast('SqliteStore', store).path}{FOLDER}", ignore_errors=True)


def _delete(copy: Copy) -> None:
    for path in (copy.path, note_path(copy.path)):
        path.unlink(missing_ok=True)


def add_to_status(context: EngineContext, status: dict[str, Any]) -> None:
    """Say which copies there are, and why there is none of the last day on which one was to be made."""
    copies = copies_of(context.location)
    if not copies and not context.config.get("store.copies_mb"):
        return
    log = Path(f"{context.location}{FOLDER}", LOG)
    problem = ""
    if log.exists() and (not copies or copies[0].day < date.fromtimestamp(log.stat().st_mtime)):
        problem = log.read_text("utf-8", "replace").strip() or "the last copy was not finished"
    status["copies"] = {
        "days": [str(copy.day) for copy in copies],
        "bytes": sum(copy.bytes for copy in copies),
        **({"problem": problem} if problem else {}),
    }


def restore(engine: ItemVerbs, name: str, version: int | None, day: str) -> Saved:
    """Bring an item back as it is in a copy: as a newer version, or with its history where it is gone."""
    context = engine._context
    copies = {str(copy.day): copy for copy in copies_of(context.location)}
    if day not in copies:
        hint = f"There are copies of {', '.join(copies)}." if copies else "None was made yet; ‹:status› says why."
        raise NotFound(f"there is no copy of '{day}'", hint=hint)
    place = StoreLocation(copies[day].path, "flag")
    other = registry.open_store(place, context.config, create=False)
    try:
        there = other.items.number_by_id(_identity(context, name))
        if there is None and not is_id(name):
            there = other.items.number(context.resolve(name))
        if there is None:
            raise NotFound(f"the copy of {day} has no {name}", hint=f"There are: {', '.join(copies)}.")
        item = other.items.get_many([there])[there]
        here = context.store.items.number_by_id(item.id)
        if here is not None:
            ref = context.store.items.get_many([here])[here].ref
            draft = replace(other.items.draft(there, version or item.version), ref=ref)
            return engine._rewrite(here, context.pipeline.prepare_draft(draft))
        importer = context.store.transfer.importer("error", context.models.backlog())
        (saved,) = importer.items([other.transfer.item(there)])
        return replace(saved, status="restored") if saved.error is None else saved
    finally:
        other.close()


def _identity(context: EngineContext, name: str) -> str:
    """The id of an item that is stored here, or else its name; it may have moved since a copy was made."""
    items = context.store.items
    n = None if is_id(name) else items.number(context.resolve(name))
    return name if n is None else items.get_many([n])[n].id
