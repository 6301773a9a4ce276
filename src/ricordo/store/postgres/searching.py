"""The part of the store that answers searches: at most three trips for a plain one. It writes nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager

from ricordo.errors import UsageError
from ricordo.store.asking import Aim, Ask, Candidates, Passages, Shown
from ricordo.store.postgres import shown as showing
from ricordo.store.postgres.gathering import Gathering
from ricordo.store.postgres.judging import document_frequencies
from ricordo.store.postgres.likeness import similar
from ricordo.store.postgres.nearest_sql import VectorsMovedError
from ricordo.store.postgres.nearness import aimed_cosines
from ricordo.store.postgres.open_workspace import OpenWorkspace


class Index:
    """Search by word and by meaning, over one workspace."""

    def __init__(self, opened: OpenWorkspace) -> None:
        self._opened = opened
        self._database = opened.database

    def snapshot(self) -> AbstractContextManager[object]:
        """While it is open, this thread reads the store at one moment; it begins with the first call."""
        return self._database.read()

    @property
    def fingerprint(self) -> str | None:
        """The fingerprint whose vectors searches use, as the last answer had it."""
        return self._opened.active

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of passages that are not in the store's own, as the last answer had them."""
        return self._opened.languages

    @property
    def models(self) -> tuple[str, ...]:
        """The models that have vectors, or texts that wait for theirs, as the last answer had them."""
        return self._opened.models

    def has_vectors_of(self, fingerprint: str) -> bool:
        """Whether a model had vectors when the last answer came, or texts that waited for theirs."""
        return fingerprint in self._opened.models

    def candidates(self, ask: Ask) -> Candidates:
        if ask.per_side < 1:
            raise UsageError("a limit is at least 1")
        with self._database.read() as connection:
            try:
                return Gathering(self._opened, connection, ask).candidates()
            except VectorsMovedError:
                self._opened.sketches.forget()  # those of this moment say where the vectors are now
                return Gathering(self._opened, connection, ask, by_place=False).candidates()

    def similar(self, n: int, ask: Ask) -> Candidates:
        with self._database.read() as connection:
            return similar(self._opened, connection, n, ask)

    def cosines(self, fingerprint: str, aim: Aim, chunks: Sequence[int]) -> list[float] | None:
        with self._database.read() as connection:
            return aimed_cosines(connection, fingerprint, aim, chunks)

    def passages(
        self, shown: Sequence[Shown], ask: Ask | None = None, *, contents: bool = False, vectors: str = ""
    ) -> Passages:
        with self._database.read() as connection:
            return showing.passages(self._opened, connection, shown, ask, contents=contents, vectors=vectors)

    def document_frequencies(self, terms: Collection[str]) -> tuple[int, dict[str, int]]:
        """How many live chunks there are, and in how many of them each term occurs."""
        with self._database.read() as connection:
            return document_frequencies(self._opened, connection, terms)
