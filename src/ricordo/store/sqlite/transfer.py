"""Copies a store file and keeps it small: backups, and the file written again without its free pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import apsw

from ricordo.config.files import replace_file
from ricordo.errors import PathConflict, StoreError, UsageError
from ricordo.store.base import OpenStore, SharedTransfer
from ricordo.store.sql.damage import find_damage
from ricordo.store.sqlite.checks import broken_json, misnamed_columns, odd_tables, said_of_columns
from ricordo.store.sqlite.connection import Connection, Database
from ricordo.values.reports import Damage
from ricordo.vault import note_path

STEP_PAGES = 2_000
"""How many pages are copied between two reports of progress: about 8 MB."""
WORTHWHILE = 0.05
"""The share of free pages from which on the file is rewritten."""


class Transfer(SharedTransfer):
    """Export, import, backup and vacuum of a file."""

    def __init__(self, opened: OpenStore, database: Database) -> None:
        super().__init__(opened)
        self._file = database

    def backup(
        self, target: Path, *, force: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> tuple[int, Sequence[Damage]]:
        """Copy the store to a file that only its owner can read; ``progress`` is called with the pages done and the
        pages in all.

        Before the copy gets its name it is opened, checked and counted. Returns how many items it holds, and which of
        them were damaged already; they are copied as they are.
        """
        self._check_target(target, force=force)
        partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
        try:
            os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            with self._file.read() as source:
                self._copy_pages(source, partial, progress)
                counts = _counts(source)
            damaged = self._verify(partial, counts)
            with partial.open("rb+") as copy:
                os.fsync(copy.fileno())
            if self._file.key is not None:
                replace_file(note_path(target), note_path(self._file.path).read_bytes())  # both have the same key
            else:
                note_path(target).unlink(missing_ok=True)
            partial.replace(target)
            return counts[0], damaged
        except (OSError, apsw.FullError, apsw.IOError, apsw.CantOpenError) as error:
            raise StoreError(
                f"the backup {target} cannot be written: {getattr(error, 'strerror', None) or error}",
                hint="Check the folder, and that the disk has room; or name another place.",
            ) from error
        finally:
            partial.unlink(missing_ok=True)

    def _check_target(self, target: Path, *, force: bool) -> None:
        path, folder = self._file.path, target.parent
        if not folder.is_dir():
            raise StoreError(f"there is no folder {folder}", hint=f"Make it first: mkdir -p {folder}")
        if target.is_dir():
            raise UsageError(f"{target} is a folder", hint=f"Name a file in it, such as {target / 'backup.db'}")
        if target.exists():
            if target.samefile(path):
                raise UsageError(f"{target} is the store itself", hint="Name another file.")
            if not force:
                raise PathConflict(f"{target} exists", hint="Pass ‹force› to replace it, or name another file.")
            if Path(f"{target}-wal").exists():
                # The old log would be taken for that of the new file, and damage it.
                raise PathConflict(f"{target} is in use as a store", hint="Close what uses it, or name another file.")
        _need_room(folder, path.stat().st_size, "the backup", "Free some space, or name another place.")

    def _copy_pages(self, source: Connection, target: Path, progress: Callable[[int, int], None] | None) -> None:
        """Copy every page to a file that is there and empty, damaged ones as they are."""
        source.run("SELECT count(*) FROM sqlite_schema")  # from here on, this reader sees the state of this moment
        copy = Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            self._file.unlock(copy)
            # An incomplete copy is deleted, so a journal would protect nothing.
            copy.pragma("journal_mode", "OFF")
            copy.pragma("synchronous", "OFF")
            with copy.backup("main", source, "main") as backup:
                while not backup.done:
                    backup.step(STEP_PAGES)
                    if progress is not None:
                        progress(backup.page_count - backup.remaining, backup.page_count)
        finally:
            copy.close()

    def _verify(self, path: Path, counts: tuple[int, ...]) -> list[Damage]:
        """Open the copy as a reader would, compare it with what was copied, and compute every hash again."""
        name = f"{path.absolute().as_uri()}?immutable=1"
        copy = Connection(name, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        try:
            self._file.unlock(copy)
            problems = [row[0] for row in copy.rows("PRAGMA integrity_check(5)")]
            if problems != ["ok"] or _counts(copy) != counts:
                raise StoreError(
                    f"the copy of the store is not sound ({'; '.join(problems)})",
                    hint="‹:doctor› says whether the store itself is; else try another disk.",
                )
            if differing := misnamed_columns(copy):
                raise StoreError(
                    f"the store is damaged, and so would be its backup: {said_of_columns(differing)}",
                    hint="‹:doctor --repair› may give columns their names back; else restore an earlier backup.",
                )
            if odd := odd_tables(copy)[0]:
                raise StoreError(
                    f"the store is damaged, and so would be its backup: {'; '.join(odd)}",
                    hint="Restore an earlier backup; ‹:export --salvage› saves what can be read.",
                )
            broken = [
                Damage(n=0, ref=f"{table}.{column}", number=0, is_head=False, problem=f"{count} values cannot be read")
                for (table, column, _), count in broken_json(copy).items()
            ]
            return [*find_damage(copy), *broken]
        finally:
            copy.close()

    def size(self) -> int:
        files = (Path(f"{self._file.path}{tail}") for tail in ("", "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def _rewrite(self, *, always: bool) -> bool:
        database = self._file
        database.checkpoint()
        with database.read() as connection:
            pages, free, size = (int(connection.pragma(name)) for name in ("page_count", "freelist_count", "page_size"))
        if not always and free < WORTHWHILE * pages:
            return False
        used = (pages - free) * size
        # SQLite builds the new file among the temporary ones, then copies it through its log.
        for folder, needed in ((database.path.parent, 2 * used), (_temporary_folder(), used)):
            hint = "Free some space and try again; the store is well, only larger than it need be."
            _need_room(folder, needed, "rewriting the store", hint)
        database.vacuum()
        database.checkpoint()
        return True


def _counts(connection: Connection) -> tuple[int, ...]:
    tables = ("items", "versions", "chunks", "blobs", "links", "vectors")
    return tuple(connection.rows(f"SELECT count(*) FROM {table}")[0][0] for table in tables)


def _need_room(folder: Path, needed: int, what: str, hint: str) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise StoreError(f"{what} needs {needed / 1e6:,.0f} MB, and {folder} has {free / 1e6:,.0f} MB left", hint=hint)


def _temporary_folder() -> Path:
    """Where SQLite puts temporary files."""
    named = (os.environ.get(name) for name in ("SQLITE_TMPDIR", "TMPDIR"))
    for folder in (*filter(None, named), "/var/tmp", "/usr/tmp", "/tmp"):
        if os.access(folder, os.W_OK | os.X_OK):
            return Path(folder)
    return Path()
