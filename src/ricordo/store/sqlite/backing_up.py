"""Copies the store as it is at one moment, while others read and write.

A read transaction keeps the state of that moment; in write-ahead mode no writer has to wait. The copy is written under
a temporary name and gets its own when it is complete.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw

from ricordo.errors import PathConflict, StoreError, UsageError
from ricordo.keys.finding import StoreKey
from ricordo.keys.note import note_path, read_note, write_note
from ricordo.store.sql.damage import find_damage
from ricordo.store.sqlite.connection import Connection, Database
from ricordo.store.sqlite.encrypted import unlock
from ricordo.values.reports import Damage

STEP_PAGES = 2_000
"""How many pages are copied between two reports of progress: about 8 MB."""


def back_up(
    database: Database, target: Path, *, force: bool, progress: Callable[[int, int], None]
) -> tuple[int, list[Damage]]:
    """Copy the store to a file that only its owner can read; ``progress`` is called with the pages done and the pages
    in all.

    Before the copy gets its name it is opened, checked and counted. Returns how many items it holds, and which of them
    were damaged already; they are copied as they are.
    """
    _check_target(database, target, force=force)
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with database.read() as source:
            copy_pages(source, partial, progress, database.key)
            counts = _counts(source)
        damaged = _verify(partial, database.key, counts)
        _flush_to_disk(partial)
        _copy_note(database.path, target, is_needed=database.key is not None)
        partial.replace(target)
        return counts[0], damaged
    except OSError as error:
        raise StoreError(
            f"the backup {target} cannot be written: {error.strerror}", hint="Check the folder, or name another place."
        ) from error
    except (apsw.FullError, apsw.IOError, apsw.CantOpenError) as error:
        raise StoreError(
            f"the backup {target} cannot be written ({error})", hint="Check that the disk has room; name another place."
        ) from error
    finally:
        partial.unlink(missing_ok=True)


def _check_target(database: Database, target: Path, *, force: bool) -> None:
    folder = target.parent
    if not folder.is_dir():
        raise StoreError(f"there is no folder {folder}", hint=f"Make it first: mkdir -p {folder}")
    if target.is_dir():
        raise UsageError(f"{target} is a folder", hint=f"Name a file in it, such as {target / 'backup.db'}")
    if target.exists():
        if target.samefile(database.path):
            raise UsageError(f"{target} is the store itself", hint="Name another file.")
        if not force:
            raise PathConflict(f"{target} exists", hint="Pass ‹force› to replace it, or name another file.")
        if Path(f"{target}-wal").exists():
            # The old log would be taken for that of the new file, and damage it.
            raise PathConflict(f"{target} is in use as a store", hint="Close what uses it, or name another file.")
    needed = database.path.stat().st_size
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise StoreError(
            f"the backup needs {needed / 1e6:,.0f} MB, and {folder} has {free / 1e6:,.0f} MB left",
            hint="Free some space, or name another place.",
        )


def _copy_note(store: Path, target: Path, *, is_needed: bool) -> None:
    """Put beside a copy how its key is found: it is that of the store."""
    if is_needed:
        write_note(target, read_note(store))
    else:
        note_path(target).unlink(missing_ok=True)


def copy_pages(
    source: Connection,
    target: Path,
    progress: Callable[[int, int], None] = lambda done, total: None,
    key: StoreKey | None = None,
) -> None:
    """Copy every page to a file that is there and empty, damaged ones as they are."""
    source.run("SELECT count(*) FROM sqlite_schema")  # from here on, this reader sees the state of this moment
    copy = Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        unlock(copy, key)
        # An incomplete copy is deleted, so a journal would protect nothing.
        copy.pragma("journal_mode", "OFF")
        copy.pragma("synchronous", "OFF")
        with copy.backup("main", source, "main") as backup:
            while not backup.done:
                backup.step(STEP_PAGES)
                progress(backup.page_count - backup.remaining, backup.page_count)
    finally:
        copy.close()


def _counts(connection: Connection) -> tuple[int, ...]:
    tables = ("items", "versions", "chunks", "blobs", "links", "vectors")
    return tuple(connection.rows(f"SELECT count(*) FROM {table}")[0][0] for table in tables)


def _verify(path: Path, key: StoreKey | None, counts: tuple[int, ...]) -> list[Damage]:
    """Open the copy as a reader would, compare it with what was copied, and compute every hash again."""
    copy = Connection(f"{path.absolute().as_uri()}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        unlock(copy, key)
        problems = [row[0] for row in copy.rows("PRAGMA integrity_check(5)")]
        if problems != ["ok"] or _counts(copy) != counts:
            raise StoreError(
                f"the copy of the store is not sound ({'; '.join(problems)})",
                hint="‹:doctor› says whether the store itself is; else try another disk.",
            )
        return find_damage(copy)
    finally:
        copy.close()


def _flush_to_disk(path: Path) -> None:
    """Wait until the file is on the disk."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
