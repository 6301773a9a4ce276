"""What all parts of the PostgreSQL store share: the database, the language of its words, what is known about
vectors.
"""

from __future__ import annotations

import time

from ricordo.store.base import Mirror
from ricordo.store.postgres.asking_sql import MODELS, VectorIndex
from ricordo.store.postgres.connection import Connection
from ricordo.store.postgres.database import Database
from ricordo.store.postgres.keeping import KeptIndex
from ricordo.store.postgres.loading import Passing
from ricordo.store.postgres.picking import Outside
from ricordo.store.postgres.sketching import KeptSketches
from ricordo.store.sql.languages import DISTINCT
from ricordo.store.sql.renewing import WORDS, WORDS_VERSION, renew_words
from ricordo.text.words import Analyzer

LOOK_AGAIN_SECONDS = 60.0


class OpenWorkspace:
    """One workspace, open, at the newest schema."""

    def __init__(self, database: Database, *, language: str, keep_versions: int) -> None:
        self.keep_versions = keep_versions
        self.database = database
        self.mirror: Mirror | None = None
        self.active: str | None = None
        """The fingerprint that searches use, according to the last answer."""
        self.words = KeptIndex()
        """The keyword index, as far as this process has it."""
        self.sketches = KeptSketches()
        self.passing = Passing()
        self.outside: Outside | None = None
        """The search engine beside the server, if there is one."""
        database.on_broken = self._forget_words
        self._fingerprints: dict[str, VectorIndex] = {}
        self._looked = time.monotonic()
        with self.database.read() as connection:
            kept, active, words, languages, [(models,)] = connection.together(
                [
                    ("SELECT value FROM meta WHERE name = 'language'", ()),
                    ("SELECT name FROM fingerprints WHERE active", ()),
                    (f"SELECT value FROM meta WHERE name = '{WORDS}'", ()),
                    (DISTINCT, ()),
                    (MODELS, ()),
                ]
            )
        self.active = active[0][0] if active else None
        self.languages = tuple(row[0] for row in languages)
        """The languages of passages that are not in the store's own, according to the last answer."""
        self.models: tuple[str, ...] = tuple(models or ())
        """The fingerprints that have vectors, or texts that wait for theirs, according to the last answer."""
        self.language = str(kept[0][0]) if kept else self._set_language(language)
        self.analyzer = Analyzer(self.language)
        if not self.database.read_only and (not words or words[0][0] != WORDS_VERSION):
            from ricordo.store.postgres.checks import rebuild

            renew_words(self.database, self.analyzer, lambda: rebuild(self.database, self.analyzer))

    def _forget_words(self) -> None:
        """Read the index again, because a backup may have been put in the place of the server."""
        self.words.forget()
        self.sketches.forget()
        self.passing = Passing()

    def _set_language(self, language: str) -> str:
        """A store keeps the language it was made with: its terms are stems of that language."""
        if self.database.read_only:
            return language
        Analyzer(language)  # an unknown language is an error before it is stored
        with self.database.write() as connection:
            connection.set_meta("language", language, replace=False)
            return str(connection.meta("language"))

    def fingerprint(self, connection: Connection, name: str) -> VectorIndex | None:
        """What is known about a fingerprint. Numbers are never reused, so each is asked for only once."""
        if time.monotonic() > self._looked + LOOK_AGAIN_SECONDS:
            self.forget_fingerprints()  # another process may have made an index
        known = self._fingerprints.get(name)
        if known is None:
            rows = connection.rows(
                "SELECT f.id, f.dimensions, (SELECT greatest(reltuples, 0)::bigint FROM pg_class"
                " WHERE relname = 'vectors_near_' || f.id AND relnamespace = current_schema::regnamespace),"
                " (SELECT value::bigint FROM meta m WHERE m.name = 'vector_depth_' || f.id)"
                " FROM fingerprints f WHERE f.name = ?",
                (name,),
            )
            if not rows:
                return None
            known = VectorIndex(rows[0][0], rows[0][1], self.database.workspace, rows[0][2], rows[0][3])
            self._fingerprints[name] = known
        return known

    def forget_fingerprints(self) -> None:
        """Look again: an index was made, or a model was dropped."""
        self._fingerprints.clear()
        self._looked = time.monotonic()
