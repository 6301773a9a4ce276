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
from ricordo.store.index import segments
from ricordo.store.sql import damage
from ricordo.store.sqlite.connection import Database
from ricordo.store.sqlite.schema import SCHEMA_VERSION, migrate
from ricordo.store.sqlite.transfer import Transfer
from ricordo.text.words import Analyzer

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

    @property
    def syncs(self) -> bool:
        """Whether it syncs through a folder, or did, so that the log of that holds texts."""
        with self.database.read() as connection:
            return bool(connection.rows("SELECT 1 FROM sync_folders UNION ALL SELECT 1 FROM sync_entries LIMIT 1"))

    def maintain(self) -> None:
        segments.maintain(self.database)

    def checks(self) -> list[tuple[str, Callable[[bool], Check]]]:
        from ricordo.store.search import checks
        from ricordo.store.sql import links
        from ricordo.store.sqlite import checks as file_checks

        database = self.database
        return [
            ("integrity", lambda repair: file_checks.integrity(database, repair)),
            ("references", lambda repair: file_checks.references(database, repair)),
            ("texts", lambda repair: damage.texts(database)[0]),
            ("fields", lambda repair: file_checks.copies(database, repair and self._is_whole())),
            ("files without text", lambda repair: file_checks.blobs(database, repair)),
            (
                "keyword index",
                lambda repair: checks.lexical(database, Analyzer(self.language), repair and self._is_whole()),
            ),
            ("links", lambda repair: links.check(database, repair and self._is_whole())),
            ("vectors", lambda repair: checks.vectors(database, repair and self._is_whole())),
        ]

    def _is_whole(self) -> bool:
        """Refuse to rebuild indexes from damaged texts, because the indexes would then agree with them and hide the
        damage.
        """
        return damage.texts(self.database)[0].ok
