"""The candidates of a search while they are ranked: their scores may be refined, everything else stays as found."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cached_property
from math import isnan
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ricordo.store.query import CHUNKS_KEPT, NO_CHUNK, Candidates, FoundColumns, QueryVector, chunk_at
from ricordo.values.items import validity_at

Array = npt.NDArray[Any]
Lowered = tuple[tuple[str, float], ...]
"""Reasons, each with the part of a value that it leaves."""
OUT_OF_TIME = 0.3
"""The part of its value that counts for an item that is not valid at the time asked about, in every profile."""
EMBEDDED = 0.5
"""If a smaller share of the items that the words found has a vector, only words count, because too few can be compared
by meaning.
"""


class PassageLists(NamedTuple):
    """The columns of a pool's passages as lists: of a few values at a time, they are read far faster than arrays."""

    starts: list[int]
    """By member, where its passages start; and at last where they end."""
    chunks: list[int]
    scores: list[float]
    cosines: list[float]
    coverage: list[float]
    best_coverage: list[float]
    """By member, the highest coverage of its passages; NaN where none was measured."""


class Pool:
    """The candidates of one search as columns: ``lexical`` and ``cosines`` are the scores that they are ranked by."""

    def __init__(self, answer: Candidates, found: FoundColumns, vector: QueryVector | None) -> None:
        self.answer = answer
        self.found = found
        self.total = answer.total
        self.vector = vector
        by_word = (found.lexical > 0) & ~found.joined
        embedded = np.count_nonzero(by_word & (found.vector_chunks != NO_CHUNK))
        trusted = bool(embedded >= EMBEDDED * np.count_nonzero(by_word))
        self.has_vectors = answer.has_vectors and trusted
        """Whether meaning counts: there are vectors, and most of what the words found has one."""
        self.lexical = found.lexical
        self.cosines = found.cosines if trusted else np.zeros(len(found))
        self.moved: Array | None = None
        """The cosine of each passage with the moved query, known for those that only words found, too."""
        self.scale = 1.0
        """What keyword scores of passages are multiplied by, so that they compare with cosines as in the ranking."""
        self.belief = 1.0
        """How much of its share in the ranking the keyword side has earned, of at most 1."""
        self.others: list[Pool] = []
        """Pools whose members were put into the ranking of this one."""
        self.notes: list[str] = []
        self.degraded: list[str] = []

    @classmethod
    def of(cls, answer: Candidates, vector: QueryVector | None = None) -> Pool:
        """What a store answered, ready to be ranked."""
        return cls(answer, answer.found, vector)

    def without(self, numbers: Collection[int]) -> Pool:
        left = np.array([n not in numbers for n in self.found.numbers], bool)
        return Pool(self.answer, self.found.kept(left), self.vector)

    def __len__(self) -> int:
        return len(self.found)

    @cached_property
    def passages(self) -> PassageLists:
        columns = self.found.passages
        best = np.full(len(self), np.nan)
        np.fmax.at(best, columns.owners, columns.coverage)
        parts = (columns.starts, columns.chunks, columns.scores, columns.cosines, columns.coverage, best)
        return PassageLists(*(part.tolist() for part in parts))

    def members(self) -> list[Member]:
        return [Member(self, place) for place in range(len(self))]

    @property
    def has_words(self) -> bool:
        return bool(self.lexical.any())

    def count_by_word(self) -> int:
        """How many items the words found, those of other pools in this ranking included."""
        return int(np.count_nonzero(self.lexical > 0)) + sum(other.count_by_word() for other in self.others)

    def lowered(self, n: int, moment: datetime) -> Lowered:
        """Why only a part of a member's value counts at a time, and which part; empty if all of it does."""
        window = self.answer.windows.get(n)
        validity = validity_at(*window, moment) if window is not None else ""
        return ((validity, OUT_OF_TIME),) if validity else ()

    def best_coverage(self) -> float:
        """How much of the query the best passage covers; all of it where that was not measured."""
        return _highest(self.found.passages.coverage)

    def best_of_sides(self) -> tuple[float, float]:
        """The best keyword score and coverage, without items that were added only as neighbours or by links."""
        found = self.found
        coverage = found.passages.coverage
        if found.joined.any():
            coverage = coverage[~found.joined[found.passages.owners]]
        return float(found.lexical.max(initial=0.0, where=~found.joined)), _highest(coverage)


class Member:
    """One candidate of a pool."""

    __slots__ = ("_evidence", "comparing", "place", "pool")

    def __init__(self, pool: Pool, place: int) -> None:
        self.pool = pool
        self.place = place
        self.comparing = (1.0, 1.0)
        """What words and meaning count for when its passages are compared."""
        self._evidence: tuple[tuple[int, float], ...] | None = None

    @property
    def n(self) -> int:
        return self.pool.found.numbers[self.place]

    @property
    def ref(self) -> str:
        return self.pool.found.refs[self.place]

    @property
    def version(self) -> int | None:
        return self.pool.found.versions.get(self.n)

    @property
    def lexical(self) -> float:
        return float(self.pool.lexical[self.place])

    @property
    def cosine(self) -> float:
        return float(self.pool.cosines[self.place])

    @property
    def lexical_chunk(self) -> int | None:
        return chunk_at(self.pool.found.lexical_chunks, self.place)

    @property
    def vector_chunk(self) -> int | None:
        return chunk_at(self.pool.found.vector_chunks, self.place)

    @property
    def coverage(self) -> float:
        """The share of the query's words in its best passage, weighted by rarity; words that occur nowhere count, too.

        It is 1 where that was not measured, because the passage contains the query as it was written.
        """
        if self.lexical_chunk is None:
            return 0.0
        best = self.pool.passages.best_coverage[self.place]
        return 1.0 if isnan(best) else best * self.pool.answer.share

    def evidence(self) -> tuple[tuple[int, float], ...]:
        """Its passages with their values, the most convincing first; worked out when it is first asked for."""
        if self._evidence is None:
            passages = self.pool.passages
            start, end = passages.starts[self.place : self.place + 2]
            covered = [not isnan(one) for one in passages.coverage[start:end]]
            scores = _estimated(passages.scores[start:end], covered)
            if self.pool.moved is None:
                cosines = passages.cosines[start:end]
                cosines = _estimated(cosines, [one != 0.0 for one in cosines])
            else:
                cosines = self.pool.moved[start:end].tolist()
            words, meaning = self.comparing
            rows = zip(passages.chunks[start:end], scores, cosines, strict=True)
            values = sorted([(-(words * score + meaning * max(cosine, 0.0)), chunk) for chunk, score, cosine in rows])
            self._evidence = tuple((chunk, -value) for value, chunk in values)
        return self._evidence


def _estimated(values: list[float], known: Sequence[bool]) -> list[float]:
    """The values of an item's passages of one side; those that the side did not keep count as the least that it did.

    A side keeps the best few of an item. A passage that only the other side kept may have nearly as much as the last
    of these, so 0 would be far off: all passages have the words of the title, say.
    """
    if all(known) or sum(known) < CHUNKS_KEPT:
        return values
    least = min(value for value, is_known in zip(values, known, strict=True) if is_known)
    return [value if is_known else least for value, is_known in zip(values, known, strict=True)]


def _highest(coverage: Array) -> float:
    """The highest of some shares, without those that were not measured; 1 if none was."""
    best = float(np.fmax.reduce(coverage, initial=np.nan))
    return 1.0 if np.isnan(best) else best
