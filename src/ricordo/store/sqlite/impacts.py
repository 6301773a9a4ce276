"""What a term adds to each chunk that contains it, before its idf; computed once per state of the index.

An impact depends on the averages of the whole index, so everything here is dropped with the next commit.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Protocol

import numpy as np

from ricordo.store.base import Scoring
from ricordo.store.sqlite.postings import Array, Posting

CACHE_BYTES = 96 << 20


class IndexLook(Protocol):
    """One query's view of the index, as far as impacts need it."""

    epoch: int
    scoring: Scoring

    def posting(self, at: int, term: str) -> Posting | None: ...
    def segment_id(self, at: int) -> int: ...
    def norm(self, at: int, field: int) -> Array: ...


class Impacts:
    """Remembers impacts of terms and norms of fields for one state of the index."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state: tuple[int, Scoring] | None = None
        self._norms: dict[tuple[int, int], Array] = {}
        self._terms: OrderedDict[tuple[int, str], tuple[Array, Array]] = OrderedDict()
        self._bytes = 0

    def of(self, look: IndexLook, at: int, term: str) -> tuple[Array, Array] | None:
        """The ordinals of a segment that hold a term, and x / (k1 + x) for each."""
        posting = look.posting(at, term)
        if posting is None:
            return None
        key = (look.segment_id(at), term)
        with self._lock:
            self._settle((look.epoch, look.scoring))
            known = self._terms.get(key)
            if known is not None:
                self._terms.move_to_end(key)
                return known
        x = self._weighted(look, at, posting)
        x /= look.scoring.k1 + x
        made = (posting.ordinals.astype(np.intp), x)
        with self._lock:
            if self._state == (look.epoch, look.scoring) and key not in self._terms:
                self._terms[key] = made
                self._bytes += 16 * len(x)
                while self._bytes > CACHE_BYTES and len(self._terms) > 1:
                    _, (_, dropped) = self._terms.popitem(last=False)
                    self._bytes -= 16 * len(dropped)
        return made

    def _settle(self, state: tuple[int, Scoring]) -> None:
        if self._state != state:
            self._state = state
            self._norms.clear()
            self._terms.clear()
            self._bytes = 0

    def _norm(self, look: IndexLook, at: int, field: int) -> Array:
        key = (look.segment_id(at), field)
        found = self._norms.get(key)
        if found is None:
            found = look.norm(at, field)
            with self._lock:
                if self._state == (look.epoch, look.scoring):
                    self._norms[key] = found
        return found

    def _weighted(self, look: IndexLook, at: int, posting: Posting) -> Array:
        """The weighted frequencies. In fields other than the body few chunks have a term, so only those are
        computed.
        """
        total: Array | None = None
        for field, frequencies in reversed(posting.frequencies):
            norm = self._norm(look, at, field)
            if total is None:
                total = frequencies * norm[posting.ordinals]
            else:
                held = np.flatnonzero(frequencies)
                total[held] += frequencies[held] * norm[posting.ordinals[held]]
        assert total is not None  # a posting has at least one field
        return total
