"""The SQLite store: one file with items, versions, chunks and the indexes derived from them, as a record of parts.

Methods of the parts take and give values; each write is one short transaction. Ranking, parsing and embedding happen
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.errors import Error
from ricordo.store.base import OpenStore, Store
from ricordo.store.sqlite.connection import Database
from ricordo.store.sqlite.schema import SCHEMA_VERSION, migrate
from ricordo.store.sqlite.transfer import Transfer

if TYPE_CHECKING:
    from ricordo.values.reports import Check


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
