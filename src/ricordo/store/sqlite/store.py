"""The SQLite store: one file with items, versions, chunks and the indexes derived from them, as a record of parts.

Methods of the parts take and give values; each write is one short transaction. Ranking, parsing and embedding happen
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.errors import Error
from ricordo.store.backlog import Jobs, Vectors
from ricordo.store.base import Mirror, Store
from ricordo.store.index import segments
from ricordo.store.search.caches import SearchedStore
from ricordo.store.search.index import SearchIndex
from ricordo.store.sql import damage
from ricordo.store.sql.database import Connection
from ricordo.store.sql.renewing import WORDS, WORDS_VERSION, renew_words
from ricordo.store.sql.store_id import give_id
from ricordo.store.sqlite.connection import Database
from ricordo.store.sqlite.schema import SCHEMA_VERSION, migrate
from ricordo.store.sqlite.transfer import Transfer
from ricordo.text.words import Analyzer

if TYPE_CHECKING:
    from ricordo.values.reports import Check


class OpenFile(SearchedStore):
    """One store file, open, at the newest schema."""

    def __init__(self, path: Path, *, language: str, busy_seconds: float, keep_versions: int, create: bool) -> None:
        super().__init__()
        self.path = path
        self.keep_versions = keep_versions
        self.database: Database = Database(path, busy_seconds=busy_seconds, create=create)
        try:
            migrate(self.database)
            self.language = self._own_language(language)
            self.analyzer = Analyzer(self.language)
            self._renew_words()
        except Error:
            self.database.close()
            raise
        self.mirror: Mirror | None = None

    def _renew_words(self) -> None:
        """Index words again that an older Ricordo made otherwise."""
        with self.database.read() as connection:
            if self.database.read_only or connection.meta(WORDS) == WORDS_VERSION:
                return
        from ricordo.store.search.checks import rebuild_lexical

        renew_words(self.database, self.analyzer, lambda: rebuild_lexical(self.database, self.analyzer))

    def _own_language(self, language: str) -> str:
        """A store keeps the language it was made with: its terms are stems of that language."""
        with self.database.read() as connection:
            kept = connection.meta("language")
        if kept is not None:
            return str(kept)
        if not self.database.read_only:
            Analyzer(language)  # an unknown language is an error before it is stored
            with self.database.write() as connection:
                connection.set_meta("language", language, replace=False)
                give_id(connection)
        return language


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
        file = OpenFile(path, language=language, busy_seconds=busy_seconds, keep_versions=keep_versions, create=create)
        super().__init__(file)
        self.path = path
        self.database: Database = file.database
        self.index = SearchIndex(file)
        self.vectors = Vectors(file)
        self.jobs = Jobs(file)
        self.transfer = Transfer(file)
        self._file = file

    @property
    def syncs(self) -> bool:
        """Whether it syncs through a folder, or did, so that the log of that holds texts."""
        with self.database.read() as connection:
            return bool(connection.rows("SELECT 1 FROM sync_folders UNION ALL SELECT 1 FROM sync_entries LIMIT 1"))

    def maintain(self) -> None:
        """Merge small segments where enough have gathered."""
        segments.maintain(self.database)

    def _count_segments(self, connection: Connection) -> int:
        return int(connection.rows("SELECT count(*) FROM segments WHERE state=1")[0][0])

    def checks(self) -> list[tuple[str, Callable[[bool], Check]]]:
        """The checks of this store, by name; each takes whether to repair."""
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
