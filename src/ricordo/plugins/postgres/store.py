"""The PostgreSQL store: one schema of a database, as a record of parts. Backups of a server are made with PostgreSQL's
own tools; see docs/scaling.md.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import psycopg

from ricordo.errors import Error, PathConflict, StoreError, UsageError
from ricordo.plugins.postgres.database import Database
from ricordo.plugins.postgres.schema import SCHEMA_VERSION, column_types, table_statements
from ricordo.plugins.postgres.team import SIZE, Team
from ricordo.store.base import OpenStore, SharedTransfer, Store
from ricordo.store.tables import TABLES
from ricordo.values.reports import Check

if TYPE_CHECKING:
    from ricordo.plugins.postgres.address import Address
    from ricordo.values.reports import Damage


class OpenSchema(OpenStore):
    """What all parts of the store share: one schema, open, at the newest schema."""

    database: Database
    is_remote = True

    def __init__(self, database: Database, *, language: str, keep_versions: int) -> None:
        self._tending = threading.Lock()
        self._is_due = False
        self._thread: threading.Thread | None = None
        super().__init__(database, language=language, keep_versions=keep_versions)

    def maintain(self) -> None:
        """The same, in the background: whoever writes does not wait for the trips that it takes."""
        with self._tending:
            self._is_due = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._tend, name="ricordo-merges")
                self._thread.start()

    def _tend(self) -> None:
        while True:
            with self._tending:
                if not self._is_due:
                    self._thread = None
                    return
                self._is_due = False
            with suppress(psycopg.Error):  # whoever comes next merges
                super().maintain()

    def close(self) -> None:
        """Wait for what is being merged."""
        with self._tending:
            thread, self._is_due = self._thread, False
        if thread is not None:
            thread.join()


class Beside(Protocol):
    """What a plugin puts beside a store on a server, and feeds from it, such as a search engine."""

    def run(self) -> int:
        """Apply the changes that wait; returns how many."""

    def check(self, repair: bool) -> Check:
        """Compare it with the store."""

    def close(self) -> None: ...


class PostgresStore(Store):
    """One store on a server, open: its parts, and what concerns it as a whole."""

    schema_version = SCHEMA_VERSION

    def __init__(
        self,
        address: Address,
        *,
        language: str = "english",
        busy_seconds: float = 30.0,
        keep_versions: int = 20,
        create: bool = True,
        connections: int = 16,
    ) -> None:
        self.database = Database(address, busy_seconds=busy_seconds, create=create, connections=connections)
        try:
            opened = OpenSchema(self.database, language=language, keep_versions=keep_versions)
        except Error:
            self.database.close()
            raise
        self.database.on_broken = opened.forget  # a backup may have been put in the place of the server
        super().__init__(opened)
        self._opened_schema = opened
        self.transfer = Transfer(opened)
        self.team = Team(self.database)
        self.beside: Beside | None = None

    @property
    def address(self) -> str:
        """Where it is, without the password."""
        return self.database.path

    @property
    def person(self) -> str:
        return self.database.person

    def allow_model(self, fingerprint: str) -> None:
        self.team.allow_model(fingerprint)

    def close(self) -> None:
        if self.beside is not None:
            self.beside.close()
        self._opened_schema.close()
        super().close()

    def maintain(self) -> None:
        """Merge segments of the keyword index, and feed the search engine beside the server if there is one."""
        super().maintain()
        if self.beside is not None and not self.database.read_only:
            with suppress(StoreError):  # what it lacks is noted, and waits
                self.beside.run()

    def checks(self) -> list[tuple[str, Callable[[bool], Check]]]:
        fed = [("search engine", self.beside.check)] if self.beside is not None else []
        return [
            ("team", lambda repair: self.team.check()),
            ("schema", lambda repair: _schema(self.database)),
            ("references", lambda repair: _references(self.database, repair)),
            *super().checks(),
            *fed,
        ]


class Transfer(SharedTransfer):
    """A backup is an export to a file; vacuum drops what nothing needs any more."""

    def __init__(self, opened: OpenSchema) -> None:
        super().__init__(opened)
        self._server = opened.database

    def backup(
        self, target: Path, *, force: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> tuple[int, Sequence[Damage]]:
        """Write the store to a file, as it is at one moment: a JSONL export, which ``import`` takes back."""
        from ricordo.plugins.transfer.export import records
        from ricordo.plugins.transfer.export_file import write

        if target.is_dir():
            raise UsageError(f"{target} is a folder", hint=f"Name a file in it, such as {target / 'backup.jsonl'}")
        if target.exists() and not force:
            raise PathConflict(f"{target} exists", hint="Pass ‹force› to replace it, or name another file.")
        if not target.parent.is_dir():
            raise StoreError(f"there is no folder {target.parent}", hint=f"Make it first: mkdir -p {target.parent}")
        partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
        try:
            with open(partial, "xb", opener=_private) as out:
                _, counts = write(records(self._opened), out)
                os.fsync(out.fileno())
            partial.replace(target)
        except OSError as error:
            raise StoreError(
                f"the backup {target} cannot be written: {error.strerror}", hint="Check the folder and its space."
            ) from error
        finally:
            partial.unlink(missing_ok=True)
        return counts.get("item", 0), []

    def _rewrite(self, *, always: bool) -> bool:
        """The server frees the space itself later, or now if its owner wants it."""
        if always and self._server.is_owner():
            self._server.apart("VACUUM ANALYZE")
        return always

    def size(self) -> int:
        with self._database.read() as connection:
            return int(connection.rows(SIZE)[0][0])


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _schema(database: Database) -> Check:
    """Tables, columns and indexes are those that this version makes. Only the owner may change them, so that nothing is
    repaired: the statements that make what is missing are told.
    """
    with database.read() as connection:
        columns, indexes = connection.gather(
            lambda: connection.rows(
                "SELECT table_name, column_name, data_type FROM information_schema.columns"
                " WHERE table_schema=current_schema()"
            ),
            lambda: connection.rows("SELECT indexname FROM pg_indexes WHERE schemaname=current_schema()"),
        )
    stored = {(table, column): type_ for table, column, type_ in columns}
    present = {name for (name,) in indexes}
    wrong = []
    for name, table in TABLES.items():
        for column, type_ in column_types(table).items():
            found = stored.get((name, column), "missing")
            wrong += [f"{name}.{column} is {found}, not {type_}"] if found != type_ else []
        made = dict(zip(table.indexes, table_statements(name, table)[1:], strict=True))
        wrong += [f"run {statement}" for index, statement in made.items() if index not in present]
    return Check("schema", not wrong, "; ".join(wrong) or "tables, columns and indexes are those of this version")


def _references(database: Database, repair: bool) -> Check:
    """Nothing waits for a passage that is gone, and every version holds passages that are there."""
    with database.read() as connection:
        [(jobs, heads)] = connection.rows(
            "SELECT (SELECT count(*) FROM jobs j WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE c.id = j.chunk)),"
            " (SELECT count(*) FROM items i WHERE NOT EXISTS"
            " (SELECT 1 FROM versions v WHERE v.item = i.n AND v.number = i.version))"
        )
    if jobs and repair:
        with database.write() as connection:
            connection.run("DELETE FROM jobs j WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE c.id = j.chunk)")
    ok = not jobs and not heads
    detail = "all lead somewhere" if ok else f"{jobs} jobs without a passage, {heads} items without their version"
    return Check("references", ok, detail, repaired=bool(jobs) and repair and not heads)
