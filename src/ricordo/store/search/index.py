"""The part of a store that answers searches. It writes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager

from ricordo.errors import UsageError
from ricordo.store.query import Aim, Ask, Candidates, Passages, Shown
from ricordo.store.search import page
from ricordo.store.search.caches import SearchedStore
from ricordo.store.search.candidates import ACTIVE, MODELS, Gathering
from ricordo.store.search.vectors import aimed_cosines
from ricordo.store.sql.filters import DISTINCT

_HAS_VECTORS = (
    "SELECT 1 FROM fingerprints f WHERE name=? AND EXISTS (SELECT 1 FROM vector_blocks b WHERE b.fingerprint = f.id)"
)


class SearchIndex:
    """Search by word and by meaning. What it says of a store on a server is what the last answer had, so that nobody
    waits for it.
    """

    def __init__(self, opened: SearchedStore) -> None:
        self._opened = opened
        self._database = opened.database
        self._last = self._read() if opened.is_remote else None

    def _read(self) -> tuple[str | None, tuple[str, ...], tuple[str, ...]]:
        """The fingerprint that searches use, the languages of passages, and the models that there are."""
        with self._database.read() as connection:
            active, languages, models = connection.gather(
                lambda: connection.once(ACTIVE), lambda: connection.once(DISTINCT), lambda: connection.once(MODELS)
            )
        return active[0][0] if active else None, tuple(row[0] for row in languages), tuple(row[0] for row in models)

    def snapshot(self) -> AbstractContextManager[object]:
        """While it is open, this thread reads the store at one moment; opening it once is faster than for each call."""
        return self._database.read()

    @property
    def fingerprint(self) -> str | None:
        """The fingerprint whose vectors searches use."""
        if self._last:
            return self._last[0]
        with self._database.read() as connection:
            active = connection.once(ACTIVE)
        return active[0][0] if active else None

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of passages that are not in the store's own."""
        if self._last:
            return self._last[1]
        with self._database.read() as connection:
            return tuple([row[0] for row in connection.once(DISTINCT)])

    @property
    def models(self) -> tuple[str, ...]:
        """The models that have vectors, or texts that wait for theirs, on a server; empty for a file, which is asked
        each time.
        """
        return self._last[2] if self._last else ()

    def has_vectors_of(self, fingerprint: str) -> bool:
        """Whether a model has vectors or, on a server, texts that wait for theirs."""
        if self._last:
            return fingerprint in self._last[2]
        with self._database.read() as connection:
            return bool(connection.once(_HAS_VECTORS, fingerprint))

    def candidates(self, ask: Ask) -> Candidates:
        if ask.per_side < 1:
            raise UsageError("a limit is at least 1")
        with self._database.read() as connection:
            candidates = Gathering(self._opened, connection, ask).candidates()
        if self._last:
            self._last = candidates.active, candidates.languages, candidates.models
        return candidates

    def similar(self, n: int, ask: Ask) -> Candidates:
        with self._database.read() as connection:
            return Gathering(self._opened, connection, ask).similar(n)

    def cosines(self, fingerprint: str, aim: Aim, chunks: Sequence[int]) -> list[float] | None:
        with self._database.read() as connection:
            return aimed_cosines(self._opened, connection, fingerprint, aim, chunks=chunks)

    def passages(
        self, entries: Sequence[Shown], ask: Ask | None = None, *, contents: bool = False, vectors: str = ""
    ) -> Passages:
        with self._database.read() as connection:
            return page.passages(self._opened, connection, entries, ask, contents=contents, vectors=vectors)

    def document_frequencies(self, terms: Collection[str]) -> tuple[int, dict[str, int]]:
        """How many live chunks there are, and in how many of them each term occurs."""
        with self._database.read() as connection:
            return self._opened.lexical.document_frequencies(connection, terms)

    def posting_sizes(self, terms: Collection[str]) -> Counter[str]:
        """How many bytes the postings of each term take that occurs: told sooner than in how many chunks it does."""
        with self._database.read() as connection:
            return self._opened.lexical.posting_sizes(connection, terms)
