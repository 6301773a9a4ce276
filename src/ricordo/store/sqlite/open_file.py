"""What all parts of the SQLite store share: the open database, the language of its words, and the caches."""

from __future__ import annotations

from pathlib import Path

from ricordo.errors import Error
from ricordo.store.base import Mirror
from ricordo.store.search.caches import SearchedStore
from ricordo.store.sql.renewing import WORDS, WORDS_VERSION, renew_words
from ricordo.store.sql.store_id import give_id
from ricordo.store.sqlite.connection import Database
from ricordo.store.sqlite.schema import migrate
from ricordo.text.words import Analyzer


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
