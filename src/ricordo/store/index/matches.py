"""The input and output of the two indexes of a store, as arrays; these never leave the store."""

from __future__ import annotations

from dataclasses import field

from ricordo.frozen import frozen
from ricordo.store.arrays import Array

MOST_TIES = 500
"""Chunks that tie with the last one are returned, too, so that refs can break the tie; at most this many."""


@frozen
class Wanted:
    """One word of a query: its index terms (several for a prefix) and how much it counts.

    ``certainty`` is the part of its weight that counts if its stem may belong to another word; the maximum ignores it.
    """

    label: str
    terms: tuple[str, ...]
    weight: float = 1.0
    certainty: float = 1.0


@frozen
class Matches:
    """Chunks that matched, best first; ``maximum`` is the score that no chunk can exceed."""

    chunks: Array
    items: Array
    scores: Array
    maximum: float
    total: int
    idf: dict[str, float] = field(default_factory=dict)
    coverage: Array | None = None
    """Per chunk: the idf of the words it holds over that of all words that occur anywhere."""
    share: float = 1.0
    """The part of the maximum that belongs to words that occur anywhere."""
    item_total: int = 0
    """How many items have a chunk that matched; ``total`` counts the chunks."""


@frozen
class VectorMatches:
    """Chunks with their items and cosines to a query, the nearest first."""

    chunks: Array
    items: Array
    cosines: Array
