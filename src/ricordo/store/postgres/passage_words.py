"""The words of single passages: how often each field holds each, as bytes, and how much each counts.

A word is known by a number of 32 bits. Of a million words, some hundred share theirs with another one.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ricordo.store.qdrant.points import Sparse
from ricordo.store.sql.arrays import Array
from ricordo.store.sql.new_chunks import FIELDS
from ricordo.store.values import Scoring, TermCounts
from ricordo.text.words import Analyzer

ENTRY = np.dtype([("term", "<u4"), ("field", "u1"), ("count", "<u2")])
_MOST = 65535
TEXT_COLUMNS = "c.heading, c.text, c.language, i.title, i.path, i.description, i.fields"
"""What ``counted`` needs of a chunk ``c`` and its item ``i``, in this order."""


def number_of(term: str) -> int:
    """The number of an index term."""
    return zlib.crc32(term.encode())


def counted(
    analyzer: Analyzer, heading: str, text: str, code: str, title: str, path: str, description: str, fields: str
) -> TermCounts:
    """How often each field of a passage holds each term, from its stored texts."""
    stored = json.loads(fields)
    context = f"{stored.get('context', '')}\n{heading}" if heading else stored.get("context", "")
    parts = (title, path, description, "\n".join(stored.get("tags", ())), context, text)
    own = analyzer.in_language(code)
    return tuple(own.counts(part) for part in parts)


def packed(counts: TermCounts) -> bytes:
    """The words of a passage as bytes."""
    rows = [
        (number_of(term), field, min(count, _MOST)) for field, held in enumerate(counts) for term, count in held.items()
    ]
    return np.array(rows, ENTRY).tobytes()


def unpacked(words: Iterable[bytes]) -> tuple[Array, Array]:
    """The entries of several passages in one array, and the place of the passage that each belongs to."""
    parts = list(words)
    entries = np.frombuffer(b"".join(parts), ENTRY)
    sizes = np.array([len(part) // ENTRY.itemsize for part in parts], np.int64)
    return entries, np.repeat(np.arange(len(parts)), sizes)


def terms_in(words: bytes) -> Array:
    """The numbers of the terms that a passage holds."""
    found: Array = np.unique(np.frombuffer(words, ENTRY)["term"]).astype(np.int64)
    return found


def impacts(words: bytes, lengths: bytes, totals: Mapping[int, int], scoring: Scoring) -> Sparse:
    """What each word adds to the score of a passage, before its rarity; ``totals`` are the statistics of the index."""
    entries = np.frombuffer(words, ENTRY)
    sizes = np.frombuffer(lengths, np.uint32).astype(np.float64)
    averages = np.array([totals[f] / max(totals[len(FIELDS) + f], 1) for f in range(len(FIELDS))])
    norms = np.where(averages > 0, sizes * (scoring.b / np.where(averages > 0, averages, 1)) + (1.0 - scoring.b), 1.0)
    weighted = entries["count"] * (np.array(scoring.weights)[entries["field"]] / norms[entries["field"]])
    terms, places = np.unique(entries["term"], return_inverse=True)
    x = np.bincount(places, weighted, len(terms))
    return Sparse(terms.astype(np.int64), (x / (scoring.k1 + x)).astype(np.float32))


def merged(weights: Sequence[tuple[int, float]]) -> Sparse:
    """A sparse vector from places and numbers, of which several may have the same place."""
    together: dict[int, float] = {}
    for place, number in weights:
        together[place] = together.get(place, 0.0) + number
    return Sparse(np.array(list(together), np.int64), np.array(list(together.values()), np.float32))
