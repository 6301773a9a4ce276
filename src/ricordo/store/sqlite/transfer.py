"""The part of the store that copies it and keeps it small: backups, vacuum, what can be saved from a damaged file."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Collection, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from ricordo.errors import PathConflict, ReadOnlyStore, StoreError, UsageError
from ricordo.keys.keys import StoreKey, note_path, read_note, write_note
from ricordo.store.index import segments
from ricordo.store.sql.damage import find_damage
from ricordo.store.sql.database import DELETED
from ricordo.store.sql.transfer import SharedTransfer
from ricordo.store.sqlite.connection import Connection, Database, unlock
from ricordo.text.words import Analyzer
from ricordo.values.reports import Damage

if TYPE_CHECKING:
    from ricordo.exchange.records import Record
    from ricordo.store.sqlite.store import OpenFile
    from ricordo.values.reports import VacuumReport


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


WORTHWHILE = 0.05
"""The share of free pages from which on the file is rewritten."""


def size_on_disk(path: Path) -> int:
    """What a store takes, its log included."""
    files = (Path(f"{path}{tail}") for tail in ("", "-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def merge_segments(database: Database) -> None:
    """Put the keyword index together, without the words of chunks that are gone."""
    segments.maintain(database, everything=True)
    with database.read() as connection:
        log = segments.retired_log(connection)
        ready = [row[0] for row in connection.rows("SELECT id FROM segments WHERE state=?", (segments.READY,))]
        stale = [
            segment
            for segment in ready
            if (segments.with_retired(segments.load_arrays(connection, segment), log).states == DELETED).any()
        ]
    segments.rewrite(database, stale)


def rewrite_file(database: Database, *, always: bool) -> bool:
    """Write the file again without its free pages; returns whether that was done."""
    database.checkpoint()
    with database.read() as connection:
        pages, free, size = (int(connection.pragma(name)) for name in ("page_count", "freelist_count", "page_size"))
    if not always and free < WORTHWHILE * pages:
        return False
    used = (pages - free) * size
    # SQLite builds the new file among the temporary ones, then copies it through its log.
    for folder, needed in ((database.path.parent, 2 * used), (_temporary_folder(), used)):
        left = shutil.disk_usage(folder).free
        if left < needed:
            raise StoreError(
                f"rewriting the store needs {needed / 1e6:,.0f} MB, and {folder} has {left / 1e6:,.0f} MB left",
                hint="Free some space and try again; the store is well, only larger than it need be.",
            )
    database.vacuum()
    database.checkpoint()
    return True


def _temporary_folder() -> Path:
    """Where SQLite puts temporary files."""
    named = (os.environ.get(name) for name in ("SQLITE_TMPDIR", "TMPDIR"))
    for folder in (*filter(None, named), "/var/tmp", "/usr/tmp", "/tmp"):
        if os.access(folder, os.W_OK | os.X_OK):
            return Path(folder)
    return Path()


class Transfer(SharedTransfer):
    """Export, import, backup and vacuum."""

    def __init__(self, file: OpenFile) -> None:
        super().__init__(file)
        self._file = file

    def _rebuild(self, analyzer: Analyzer) -> None:
        """Index every text again: its words became others."""
        from ricordo.store.search.checks import rebuild_lexical

        rebuild_lexical(self._file.database, analyzer)

    def salvage(self, left_out: list[str], *, log: bool = True) -> Generator[Record]:
        """All that can still be read of a damaged store; what cannot be read is added to ``left_out``."""
        from ricordo.store.sql.exports import salvaged

        with self._file.database.read() as connection:
            yield from salvaged(connection, self._file.language, left_out, log=log)

    def backup(
        self, target: Path, *, force: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> tuple[int, Sequence[Damage]]:
        """Copy the store, as it is at one moment, to a file; how many items it has, and which were damaged."""
        return back_up(self._file.database, target, force=force, progress=progress or (lambda done, total: None))

    def vacuum(self, *, bin_days: float, full: bool = False, keep: Collection[str] = ()) -> VacuumReport:
        """Give back what is no longer needed; ``full`` rewrites the file even when little is to be gained."""
        from ricordo.store.backlog import Vectors, drop_unused_vectors
        from ricordo.values.reports import VacuumReport

        database = self._file.database
        if database.read_only:
            raise ReadOnlyStore(f"the store {database.path} can only be read", hint="Make it writable first.")
        started = time.perf_counter()
        before = size_on_disk(database.path)
        parts_before = self._segments()
        emptied = self.empty_bin(bin_days)
        blobs = self._drop_unused_rows()
        vectors = Vectors(self._file).drop_idle(keep)
        vectors += drop_unused_vectors(database)
        merge_segments(database)
        rewritten = rewrite_file(database, always=full)
        return VacuumReport(
            before,
            size_on_disk(database.path),
            emptied,
            vectors,
            blobs,
            parts_before,
            self._segments(),
            rewritten,
            time.perf_counter() - started,
        )

    def _segments(self) -> int:
        with self._file.database.read() as connection:
            return int(connection.rows("SELECT count(*) FROM segments WHERE state=1")[0][0])
