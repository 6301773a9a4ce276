"""The SQLite store: one file with items, versions, chunks and the indexes derived from them, as a record of parts.

Methods of the parts take and give values; each write is one short transaction. Ranking, parsing and embedding happen
elsewhere. A new store gets all tables, one of an earlier release takes one step. Backups copy the file, and vacuuming
writes it again without its free pages.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from ricordo.config.files import replace_file
from ricordo.config.machine import this_machine
from ricordo.errors import Error, NewerSchema, PathConflict, ReadOnlyStore, StoreError, UsageError
from ricordo.plugin import plugin_tables
from ricordo.store.base import OpenStore, SharedTransfer, Store
from ricordo.store.sql.damage import find_damage
from ricordo.store.sql.database import marks
from ricordo.store.sql.files import HOME_MACHINE
from ricordo.store.sql.links import UNCONFIRMED_LINKS
from ricordo.store.sqlite.checks import broken_json, misnamed_columns, odd_tables, said_of_columns
from ricordo.store.sqlite.connection import APPLICATION_ID, Connection, Database
from ricordo.store.tables import TABLES, Table, sqlite_statements
from ricordo.values.reports import Damage
from ricordo.vault import note_path

if TYPE_CHECKING:
    from ricordo.values.reports import Check

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
    import shutil

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


SCHEMA_VERSION = 13
RELEASED, BEFORE_FOUND = 6, 12
"""The schemas of versions 0.1.0 and 0.2.0; those in between were never released."""
_SINCE_RELEASE = """
ALTER TABLE versions ADD COLUMN provenance TEXT NOT NULL DEFAULT '';
ALTER TABLE items ADD COLUMN provenance TEXT NOT NULL DEFAULT '';
ALTER TABLE items ADD COLUMN vouched INTEGER;
ALTER TABLE query_log ADD COLUMN asker TEXT NOT NULL DEFAULT '';
ALTER TABLE query_log ADD COLUMN fit REAL;
ALTER TABLE retrieval_log ADD COLUMN asker TEXT NOT NULL DEFAULT '';
ALTER TABLE chunks ADD COLUMN language TEXT NOT NULL DEFAULT '';
ALTER TABLE roots RENAME TO roots_before;
ALTER TABLE vocabulary RENAME TO vocabulary_before;
CREATE INDEX items_unreviewed ON items(n) WHERE vouched <> version;
CREATE INDEX chunks_language ON chunks(language) WHERE language <> '';
CREATE INDEX IF NOT EXISTS vector_blocks_fingerprint ON vector_blocks(fingerprint);
UPDATE items SET vouched = version WHERE loading = 'always' OR json_extract(fields, '$.source') = 'user';
"""
_NEW_TABLES = (
    "audit",
    "proposals",
    "steps",
    "step_items",
    "step_links",
    "roots",
    "vocabulary",
)
_COPY_ROWS = """
INSERT INTO roots SELECT '', path, globs, added_at, '' FROM roots_before;
INSERT INTO vocabulary SELECT word, term FROM vocabulary_before;
DROP TABLE roots_before;
DROP TABLE vocabulary_before;
"""


def _make(connection: Connection) -> None:
    """The tables of a new store. Its files belong to the machine that makes it."""
    _make_tables(connection, {**TABLES, **plugin_tables()})
    connection.run("INSERT INTO meta VALUES('index_epoch', 0), ('vector_epoch', 0), ('jobs_done', 0)")
    connection.run_many("INSERT INTO lexical_stats VALUES(?, 0)", [(field,) for field in range(-1, 12)])
    connection.set_meta(HOME_MACHINE, this_machine().id)


def _make_tables(connection: Connection, tables: Mapping[str, Table]) -> None:
    for name, table in tables.items():
        for statement in sqlite_statements(name, table):
            connection.run(statement)


def _upgrade(connection: Connection) -> None:
    """From the tables of 0.1.0. What was trusted before authors were recorded stays so, and files belong to this
    machine. The languages of passages are found when the store is opened.
    """
    connection.run(_SINCE_RELEASE)
    _make_tables(connection, {**{name: TABLES[name] for name in _NEW_TABLES}, **plugin_tables()})
    connection.run(_COPY_ROWS)
    connection.set_meta(HOME_MACHINE, this_machine().id)
    connection.run("UPDATE roots SET machine=?", (this_machine().id,))
    connection.run(UNCONFIRMED_LINKS)


_ROOTS_IN_COLUMNS = """
ALTER TABLE roots ADD COLUMN about TEXT NOT NULL DEFAULT '';
UPDATE roots SET about = coalesce(json_extract(globs, '$.about'), ''), globs = json_extract(globs, '$.globs')
 WHERE CASE WHEN json_valid(globs) THEN json_type(globs) = 'object' ELSE 0 END;
CREATE INDEX IF NOT EXISTS vector_blocks_fingerprint ON vector_blocks(fingerprint);
"""


def _from_0_2(connection: Connection) -> None:
    """From the tables of 0.2.0: what a folder holds gets a column, and contradictions wait in ``review`` again."""
    connection.run(_ROOTS_IN_COLUMNS)
    connection.run(UNCONFIRMED_LINKS)


STEPS = {0: _make, RELEASED: _upgrade, BEFORE_FOUND: _from_0_2}
"""By the schema that is found."""


def _add_plugin_tables(database: Database) -> None:
    """Make the tables of plugins that were not installed when the store was made."""
    tables = plugin_tables()
    rows = database.connection().rows(f"SELECT name FROM sqlite_schema WHERE name IN ({marks(tables)})", tuple(tables))
    if len(rows) == len(tables) or database.read_only:
        return
    with database.write(durable=True) as connection:
        existing = {name for (name,) in connection.rows("SELECT name FROM sqlite_schema WHERE type='table'")}
        _make_tables(connection, {name: table for name, table in tables.items() if name not in existing})


def migrate(database: Database) -> None:
    """Bring a store to the current schema; a store written by a newer Ricordo is refused untouched."""
    version = int(database.connection().pragma("user_version"))
    if version == SCHEMA_VERSION:
        _add_plugin_tables(database)
        return
    if version > SCHEMA_VERSION:
        raise NewerSchema(
            f"the store {database.path} has schema {version}, this Ricordo knows up to {SCHEMA_VERSION}",
            hint="Upgrade Ricordo (pip install -U ricordo); the store was not touched.",
        )
    if version not in STEPS:
        raise StoreError(
            f"the store {database.path} has schema {version}, which no released Ricordo wrote",
            hint="Export it with the program that made it, and import that here.",
        )
    if database.read_only:
        raise ReadOnlyStore(
            f"the store {database.path} needs a migration, but can only be read", hint="Make it writable once."
        )
    with database.write(durable=True) as connection:
        version = int(connection.pragma("user_version"))
        if version < SCHEMA_VERSION:  # no other process was faster
            STEPS[version](connection)
            connection.pragma("application_id", APPLICATION_ID)
            connection.pragma("user_version", SCHEMA_VERSION)


class SqliteStore(Store):
    """One store file, open: its parts, and what concerns the file as a whole."""

    schema_version = SCHEMA_VERSION
    is_file = True

    def __init__(
        self,
        path: Path,
        *,
        language: str = "english",
        busy_seconds: float = 30.0,
        keep_versions: int = 20,
        create: bool = True,
    ) -> None:
        self.path = path
        self.database = Database(path, busy_seconds=busy_seconds, create=create)
        try:
            migrate(self.database)
            opened = OpenStore(self.database, language=language, keep_versions=keep_versions)
        except Error:
            self.database.close()
            raise
        super().__init__(opened)
        self.transfer = Transfer(opened, self.database)
        self.notice = self.database.notice

    def checks(self) -> list[tuple[str, Callable[[bool], Check]]]:
        from ricordo.store.sqlite import checks

        database = self.database
        return [
            ("integrity", lambda repair: checks.integrity(database)),
            *([("log", lambda repair: checks.log(kept))] if (kept := checks.damaged_logs(database)) else []),
            ("schema", lambda repair: checks.schema(database, repair)),
            ("records", lambda repair: checks.records(database, repair)),
            ("references", lambda repair: checks.references(database, repair)),
            ("fields", lambda repair: checks.copies(database, repair and self._is_whole())),
            ("files without text", lambda repair: checks.blobs(database, repair)),
            *super().checks(),
        ]
