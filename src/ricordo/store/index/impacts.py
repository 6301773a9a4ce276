"""What a term adds to each chunk that contains it, before its idf; computed once per state of the index.

An impact depends on the averages of the whole index, so everything here is dropped with the next commit.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from ricordo.frozen import frozen
from ricordo.store.arrays import Array, distinct
from ricordo.store.values import Scoring

CACHE_BYTES = 160 << 20
"""Room for the words of some fifty questions to a million passages; a smaller store needs less."""
MOST_COUNTS = 200_000
"""How many terms' counts are remembered; when there are more, all are forgotten."""

DENSE_FROM_ONE_IN = 16
"""If more than one chunk in this number holds a word, it is faster to mark them than to sort their places."""

NARROW_FROM = 10_000
"""With how many chunks what a term adds is kept in 32 bits; there it saves memory, and rounds the tenth digit."""

State = tuple[int, Scoring]


@frozen
class Held:
    """The places of the chunks that contain a term, ascending, what it adds to each, and how many are visible.

    As many words as possible are kept, so their numbers have 32 bits; to widen them takes little time.
    """

    places: Array
    values: Array
    """The impacts as they are, or how many steps each is above the lowest."""
    count: int
    lowest: float = 0.0
    step: float = 0.0

    @classmethod
    def of(cls, places: Array, impacts: Array, count: int) -> Held:
        """Keep places and impacts of a term."""
        narrow = places.astype(np.int32)
        lowest, highest = float(impacts.min()), float(impacts.max())
        step = (highest - lowest) / np.iinfo(np.uint32).max
        if len(places) < NARROW_FROM or not step:
            return cls(narrow, impacts, count)
        return cls(narrow, np.rint((impacts - lowest) / step).astype(np.uint32), count, lowest, step)

    def saturation(self) -> tuple[Array, Array]:
        """The places, and what the term adds to each."""
        return self.places.astype(np.intp), self.impacts()

    def impacts(self) -> Array:
        """What the term adds to each chunk."""
        if not self.step:
            return self.values
        wide: Array = self.values * self.step
        wide += self.lowest
        return wide


class Impacts:
    """Caches impacts of terms, and in how many chunks each occurs, for one state of the index."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state: State | None = None
        self._terms: OrderedDict[str, Held | None] = OrderedDict()
        self._counts: dict[str, int] = {}
        self._counted = -1
        self._bytes = 0

    def cached(self, state: State, terms: Collection[str]) -> dict[str, Held | None]:
        """Those of the terms that are in the cache; None means that no chunk contains the term."""
        with self._lock:
            if self._state != state:
                self._state = state
                self._terms.clear()
                self._bytes = 0
            cached = {term: self._terms[term] for term in terms if term in self._terms}
            for term in cached:
                self._terms.move_to_end(term)
            return cached

    def keep(self, state: State, made: Mapping[str, Held | None], instead_of: Collection[str] = ()) -> None:
        """Remember what was computed, while it is still true, and forget what it was computed of."""
        with self._lock:
            if self._state != state:
                return
            for term in instead_of:
                if term in self._terms:
                    self._bytes -= _size(self._terms.pop(term))
            for term, held in made.items():
                if term not in self._terms:
                    self._terms[term] = held
                    self._bytes += _size(held)
            while self._bytes > CACHE_BYTES and len(self._terms) > 1:
                self._bytes -= _size(self._terms.popitem(last=False)[1])

    def counts(self, epoch: int) -> dict[str, int]:
        """In how many chunks terms occur, as far as it was counted; a caller that counts more adds it."""
        with self._lock:
            if self._counted != epoch or len(self._counts) > MOST_COUNTS:
                self._counted, self._counts = epoch, {}
            return self._counts

    def unseen(self, epoch: int, terms: Collection[str]) -> set[str]:
        """Those of the terms of which neither impacts nor a count is known."""
        counted = self.counts(epoch)
        with self._lock:
            known = self._terms if self._state is not None and self._state[0] == epoch else {}
            return {term for term in terms if term not in counted and term not in known}


def _size(held: Held | None) -> int:
    return 200 if held is None else 200 + held.places.nbytes + held.values.nbytes


def added_up(postings: Sequence[Held], k1: float, size: int) -> tuple[Array, Array]:
    """The places of several terms together, ascending, and x / (k1 + x) for each, where x is the sum over the terms."""
    some = np.concatenate([held.places for held in postings]).astype(np.intp)
    impacts = np.concatenate([held.impacts() for held in postings])
    shares = impacts * k1 / (1.0 - impacts)  # back to x
    if DENSE_FROM_ONE_IN * len(some) > size:
        marked, dense = np.zeros(size, bool), np.zeros(size)
        marked[some] = True
        np.add.at(dense, some, shares)
        places = np.flatnonzero(marked)
        x = dense[places]
    else:
        places = distinct(some)
        x = np.zeros(len(places))
        np.add.at(x, np.searchsorted(places, some), shares)
    return places, x / (k1 + x)
