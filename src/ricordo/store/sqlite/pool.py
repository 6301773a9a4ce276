"""The pool of one ask: the items that both sides found, each with its keyword score and its cosine.

Every item gets both values, whichever side found it. So a zero means that nothing matched, not that it was not
computed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise

from ricordo.store.asking import Candidate
from ricordo.store.sqlite.arrays import few_per_group
from ricordo.store.sqlite.matches import Matches, VectorMatches

CHUNKS_KEPT = 5
"""Of each item so many passages are kept: more are never shown."""
SUBSTRING_VALUE = 0.5
"""The score of a substring match, which has no word frequency."""
_NOTHING = 1e-12


class PoolEntry:
    """An item of the pool: its best keyword score (of at most 1) and cosine, and the chunks that gave them."""

    __slots__ = ("chunks", "cosine", "joined", "lexical", "lexical_chunk", "vector_chunk")

    def __init__(self, *, joined: bool = False) -> None:
        self.lexical = 0.0
        self.cosine = 0.0
        self.lexical_chunk: int | None = None
        self.vector_chunk: int | None = None
        self.chunks: dict[int, tuple[float, float]] = {}
        self.joined = joined


class GatheredPool:
    """What both sides found, by item number."""

    def __init__(self) -> None:
        self.entries: dict[int, PoolEntry] = {}
        self.total = 0
        self.maximum = 0.0
        self.share = 1.0
        self.coverage: dict[int, float] = {}
        self.has_vectors = False
        self.by_substring = False

    def entry(self, n: int, *, joined: bool = False) -> PoolEntry:
        found = self.entries.get(n)
        if found is None:
            found = self.entries[n] = PoolEntry(joined=joined)
        return found

    def take_matches(self, matches: Matches) -> None:
        """Take in what the keyword side found for the whole ask."""
        self.total = matches.total
        self.maximum = matches.maximum
        self.share = matches.share
        self.add_scores(matches)

    def add_scores(self, matches: Matches, *, joined: bool = False) -> None:
        """Take in keyword scores; ``joined`` if they belong to items that neither side found."""
        scale = 1.0 / matches.maximum if matches.maximum else 0.0
        few, starts = few_per_group(matches.items, matches.scores, CHUNKS_KEPT)
        chunks, values = matches.chunks[few].tolist(), (matches.scores[few] * scale).tolist()
        if matches.coverage is not None:
            self.coverage.update(zip(chunks, matches.coverage[few].tolist(), strict=True))
        for n, (start, end) in zip(matches.items[few[starts[:-1]]].tolist(), pairwise(starts.tolist()), strict=True):
            entry = self.entry(n, joined=joined)
            held = entry.chunks
            given = zip(chunks[start:end], values[start:end], strict=True)
            if held:
                held.update([(chunk, (value, held[chunk][1] if chunk in held else 0.0)) for chunk, value in given])
            else:
                entry.chunks = {chunk: (value, 0.0) for chunk, value in given}
            if entry.lexical_chunk is None or values[start] > entry.lexical:
                entry.lexical, entry.lexical_chunk = values[start], chunks[start]

    def add_cosines(self, near: VectorMatches) -> None:
        """Take in cosines."""
        few, starts = few_per_group(near.items, near.cosines, CHUNKS_KEPT)
        chunks, cosines = near.chunks[few].tolist(), near.cosines[few].tolist()
        for n, (start, end) in zip(near.items[few[starts[:-1]]].tolist(), pairwise(starts.tolist()), strict=True):
            entry = self.entry(n)
            held = entry.chunks
            given = zip(chunks[start:end], cosines[start:end], strict=True)
            if held:
                held.update([(chunk, (held[chunk][0] if chunk in held else 0.0, cosine)) for chunk, cosine in given])
            else:
                entry.chunks = {chunk: (0.0, cosine) for chunk, cosine in given}
            if entry.vector_chunk is None or cosines[start] > entry.cosine:
                entry.cosine, entry.vector_chunk = cosines[start], chunks[start]

    def add_substrings(self, found: Collection[tuple[int, int]]) -> None:
        """Take in ``(chunk, item)`` of texts that hold the query as a substring."""
        for chunk, n in found:
            entry = self.entry(n)
            entry.lexical, entry.lexical_chunk = SUBSTRING_VALUE, chunk
            entry.chunks[chunk] = (SUBSTRING_VALUE, 0.0)

    def take_back(self, lost: Mapping[int, float]) -> None:
        """Lower the keyword scores of some chunks, and with them those of their items."""
        for entry in self.entries.values():
            if lost.keys().isdisjoint(entry.chunks):
                continue
            entry.chunks = {
                chunk: (max(0.0, score - lost[chunk]) if chunk in lost else score, cosine)
                for chunk, (score, cosine) in entry.chunks.items()
            }
            best = max(entry.chunks, key=lambda chunk: entry.chunks[chunk][0])
            score = entry.chunks[best][0]
            entry.lexical, entry.lexical_chunk = (score, best) if score > _NOTHING else (0.0, None)

    def fill_missing_cosines(self) -> None:
        """Give items that still wait for their vector the middle of the others' cosines."""
        known = sorted(entry.cosine for entry in self.entries.values() if entry.vector_chunk is not None)
        for entry in self.entries.values():
            if entry.vector_chunk is None and known:
                entry.cosine = known[len(known) // 2]

    def best(self, count: int) -> list[int]:
        """The items that match best, by words and then by meaning."""
        ordered = sorted(self.entries.items(), key=lambda pair: (-pair[1].lexical, -pair[1].cosine, pair[0]))
        return [n for n, entry in ordered[:count] if entry.lexical > 0 or entry.cosine > 0]

    def candidates(self, refs: Mapping[int, str], versions: Mapping[int, int]) -> tuple[Candidate, ...]:
        """The entries as values, in the order in which they were added; items that are gone are left out."""
        return tuple(
            Candidate(
                n,
                refs[n],
                entry.lexical,
                entry.cosine,
                entry.lexical_chunk,
                entry.vector_chunk,
                entry.chunks,
                versions.get(n),
                entry.joined,
            )
            for n, entry in self.entries.items()
            if n in refs
        )
