"""Which chunks have a vector of a model, with their sketches; and which of them may be answered.

Both stores keep these entries in the process that searches. Exact cosines are computed only of the chunks that
``Seen.nearest`` picks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ricordo.frozen import frozen
from ricordo.store.arrays import Array, Grouped, Growing
from ricordo.store.index.sketches import PICKED_BELOW_ONE_IN, nearest_by_sketch

EXACT_BELOW = 2_000
"""With fewer candidates than this every cosine is computed; a sketch would only cost recall."""
COMPARED_PER_RESULT = 16
COMPARED_AT_LEAST = 1_000
COMPARED_SHARE = 500
"""How many vectors are compared exactly: per item asked for, at the least, or one in this number of all.

``bench/compare.py`` measures what that leaves of the recall.
"""
COMPARED_PER_ITEM = 12
"""How many passages of an item that words alone found are compared exactly; its nearest is among them."""


@frozen
class Entries:
    """All chunks with a vector of one fingerprint, one position each."""

    chunks: Array
    items: Array
    vectors: Array
    sketches: Array  # (words, entries) uint64

    def at(self, positions: Array) -> tuple[Array, Array, Array]:
        """The chunks, items and vectors at some positions, in 64 bits, so that callers may compute with them."""
        return (
            self.chunks[positions].astype(np.int64),
            self.items[positions].astype(np.int64),
            self.vectors[positions].astype(np.int64),
        )

    def first(self, count: int) -> Entries:
        """Only the first of them."""
        return Entries(self.chunks[:count], self.items[:count], self.vectors[:count], self.sketches[:, :count])


class Columns:
    """The entries of all blocks, one behind the other."""

    def __init__(self, words: int) -> None:
        self._numbers = tuple(Growing((0,), np.int32) for _ in range(3))
        self._sketches = Growing((words, 0), np.uint64)

    def grown(self, count: int, parts: Sequence[Entries]) -> Entries:
        """The first ``known`` entries, with those of some blocks behind them."""
        chunks, items, vectors = self._numbers
        return Entries(
            chunks.grown(count, [part.chunks for part in parts]),
            items.grown(count, [part.items for part in parts]),
            vectors.grown(count, [part.vectors for part in parts]),
            self._sketches.grown(count, [part.sketches for part in parts]),
        )


@frozen
class Visible:
    """Which chunks may be answered: ``alive[chunk]``, and item numbers where a filter applies."""

    alive: Array
    items: Array | None = None
    past: bool = False
    """Whether other chunks than the live ones are among them."""

    def is_same(self, other: Visible) -> bool:
        """Whether both were made from the same arrays."""
        return self.alive is other.alive and self.items is other.items

    def mask(self, entries: Entries) -> Array:
        """Whether the entry at each position may be answered."""
        inside = entries.chunks < len(self.alive)
        mask: Array = self.alive[np.where(inside, entries.chunks, 0)] & inside
        if self.items is not None:
            size = int(max(entries.items.max(initial=0), self.items.max(initial=0))) + 1
            table = np.zeros(size, bool)
            table[self.items] = True
            mask &= table[entries.items]
        return mask

    def among(self, entries: Entries, positions: Array) -> Array:
        """Those of some positions whose chunks are alive."""
        chunks = entries.chunks[positions]
        inside = chunks < len(self.alive)
        alive: Array = positions[self.alive[np.where(inside, chunks, 0)] & inside]
        return alive


def _split(mask: Array) -> tuple[Array, Array | None]:
    """The positions where a mask holds and, if these are few, the others."""
    positions = mask.nonzero()[0].astype(np.int32)
    few = PICKED_BELOW_ONE_IN * (len(mask) - len(positions)) < len(mask)
    return positions, (~mask).nonzero()[0] if few else None


class Seen:
    """Picks what is compared exactly; which positions may be answered is kept while nothing changes."""

    def __init__(self) -> None:
        self._positions_of: dict[tuple[int, bool], tuple[Entries, Visible, Array, Array | None]] = {}

    def nearest(
        self, fingerprint: int, entries: Entries, by_item: Grouped, visible: Visible, *, query: Array, items: int
    ) -> Array:
        """The positions that are nearest by their sketches, enough for ``items`` items; all if there are few."""
        positions, others = self._positions(fingerprint, entries, by_item, visible)
        if len(positions) <= EXACT_BELOW:
            return positions
        wanted = max(COMPARED_PER_RESULT * items, COMPARED_AT_LEAST, len(positions) // COMPARED_SHARE)
        return nearest_by_sketch(entries.sketches, query, positions, wanted, others=others)

    def _positions(
        self, fingerprint: int, entries: Entries, by_item: Grouped, visible: Visible
    ) -> tuple[Array, Array | None]:
        """The positions of what may be answered and, if these are few, the others."""
        items = visible.items
        if items is not None and PICKED_BELOW_ONE_IN * len(items) < len(by_item):
            return np.sort(visible.among(entries, by_item.positions(items))), None
        which = (fingerprint, items is None)
        entry = self._positions_of.get(which)
        if entry is None or entry[0] is not entries or not entry[1].is_same(visible):
            entry = self._positions_of[which] = (entries, visible, *_split(visible.mask(entries)))
        return entry[2:]
