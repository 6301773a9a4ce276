"""The part of the store that answers searches. It writes nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager

from ricordo.errors import UsageError
from ricordo.store.asking import Aim, Ask, Candidates, Passages, Shown
from ricordo.store.sql.languages import DISTINCT
from ricordo.store.sqlite import shown as showing
from ricordo.store.sqlite.gathering import Gathering
from ricordo.store.sqlite.nearness import aimed_cosines
from ricordo.store.sqlite.open_file import OpenFile

_HAS_VECTORS = (
    "SELECT 1 FROM fingerprints f WHERE name=? AND EXISTS (SELECT 1 FROM vector_blocks b WHERE b.fingerprint = f.id)"
)


class Index:
    """Search by word and by meaning, over one open file."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self._database = file.database

    def snapshot(self) -> AbstractContextManager[object]:
        """While it is open, this thread reads the store at one moment; opening it once is faster than for each call."""
        return self._database.read()

    @property
    def fingerprint(self) -> str | None:
        """The fingerprint whose vectors searches use."""
        with self._database.read() as connection:
            rows = connection.once("SELECT name FROM fingerprints WHERE active")
        return rows[0][0] if rows else None

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of passages that are not in the store's own."""
        with self._database.read() as connection:
            return tuple(row[0] for row in connection.once(DISTINCT))

    @property
    def models(self) -> tuple[str, ...]:
        """Empty: ``has_vectors_of`` looks each time."""
        return ()

    def has_vectors_of(self, fingerprint: str) -> bool:
        """Whether there are vectors of a model."""
        with self._database.read() as connection:
            return bool(connection.once(_HAS_VECTORS, fingerprint))

    def candidates(self, ask: Ask) -> Candidates:
        if ask.per_side < 1:
            raise UsageError("a limit is at least 1")
        with self._database.read() as connection:
            return Gathering(self._file, connection, ask).candidates()

    def similar(self, n: int, ask: Ask) -> Candidates:
        with self._database.read() as connection:
            return Gathering(self._file, connection, ask).similar(n)

    def cosines(self, fingerprint: str, aim: Aim, chunks: Sequence[int]) -> list[float] | None:
        with self._database.read() as connection:
            return aimed_cosines(self._file, connection, fingerprint, aim, chunks)

    def passages(
        self, shown: Sequence[Shown], ask: Ask | None = None, *, contents: bool = False, vectors: str = ""
    ) -> Passages:
        with self._database.read() as connection:
            return showing.passages(self._file, connection, shown, ask, contents=contents, vectors=vectors)

    def document_frequencies(self, terms: Collection[str]) -> tuple[int, dict[str, int]]:
        """How many live chunks there are, and in how many of them each term occurs."""
        with self._database.read() as connection:
            return self._file.lexical.document_frequencies(connection, terms)
