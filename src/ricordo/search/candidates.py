"""The candidates of a search while they are ranked: their scores may be refined, everything else stays as found."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ricordo.store.query import CHUNKS_KEPT, NO_CHUNK, CandidateColumns, Candidates, QueryVector, chunk_at
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


class Pool:
    """The candidates of one search as columns: ``lexical`` and ``cosines`` are the scores that they are ranked by."""

    def __init__(self, answer: Candidates, found: CandidateColumns, vector: QueryVector | None) -> None:
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
        self.comparing = (1.0, 1.0)
        """What words and meaning count for when the passages of an item are compared."""
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

    def holds(self, drive: str) -> bool:
        """Whether a member of this pool, or of another in its ranking, is on a drive."""
        start = f"\n{drive}:/"
        return start in self._refs or any(other.holds(drive) for other in self.others)

    @cached_property
    def _refs(self) -> str:
        """The refs of all members in one text, each behind a line break, in which a drive is found at once."""
        return "".join([f"\n{ref}" for ref in self.found.refs])

    @cached_property
    def evidence(self) -> list[tuple[tuple[int, float], ...]]:
        """By member: its passages with their values, the most convincing first; worked out when one is asked for."""
        passages, owners = self.found.passages, self.found.passages.owners
        scores = _estimated(passages.scores, ~np.isnan(passages.coverage), owners, len(self))
        cosines = self.moved
        if cosines is None:
            cosines = _estimated(passages.cosines, passages.cosines != 0.0, owners, len(self))
        words, meaning = self.comparing
        values = words * scores.astype(np.float64) + meaning * np.maximum(cosines.astype(np.float64), 0.0)
        order = np.lexsort((passages.chunks, -values, owners))
        pairs = list(zip(passages.chunks[order].tolist(), values[order].tolist(), strict=True))
        return [tuple(pairs[start:end]) for start, end in pairwise(passages.starts.tolist())]

    @cached_property
    def coverage(self) -> list[float]:
        """By member: the share of the query's words in its best passage, weighted by rarity; words that occur nowhere
        count, too.

        It is 1 where that was not measured, because the passage contains the query as it was written.
        """
        best = np.full(len(self), np.nan)
        np.fmax.at(best, self.found.passages.owners, self.found.passages.coverage)
        shares = np.where(np.isnan(best), 1.0, best * self.answer.share)
        coverage: list[float] = np.where(self.found.lexical_chunks == NO_CHUNK, 0.0, shares).tolist()
        return coverage

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
        columns = self.found
        coverage = columns.passages.coverage
        if columns.joined.any():
            coverage = coverage[~columns.joined[columns.passages.owners]]
        return float(columns.lexical.max(initial=0.0, where=~columns.joined)), _highest(coverage)


class Member:
    """One candidate of a pool."""

    __slots__ = ("place", "pool")

    def __init__(self, pool: Pool, place: int) -> None:
        self.pool = pool
        self.place = place

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
        return self.pool.coverage[self.place]

    @property
    def evidence(self) -> tuple[tuple[int, float], ...]:
        """Its passages with their values, the most convincing first."""
        return self.pool.evidence[self.place]


def _estimated(values: Array, is_measured: Array, owners: Array, count: int) -> Array:
    """The values of passages of one side; those that it did not keep count as the least that it did of their item.

    A side keeps the best few of an item. A passage that only the other side kept may have nearly as much as the last
    of these, so 0 would be far off: all passages have the words of the title, say.
    """
    measured, sizes = np.bincount(owners[is_measured], minlength=count), np.bincount(owners, minlength=count)
    is_cut = (measured >= CHUNKS_KEPT) & (measured < sizes)
    if not is_cut.any():
        return values
    least = np.full(count, np.inf)
    np.minimum.at(least, owners[is_measured], values[is_measured])
    return np.where(is_measured | ~is_cut[owners], values, least[owners])


def _highest(coverage: Array) -> float:
    """The highest of some shares, without those that were not measured; 1 if none was."""
    best = float(np.fmax.reduce(coverage, initial=np.nan))
    return 1.0 if np.isnan(best) else best
