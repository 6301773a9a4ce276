"""TF-IDF: how alike a query and a text are by the words they share, rare words counting more. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Mapping


def tfidf_cosine(query: Mapping[str, int], text: Mapping[str, int], idf: Mapping[str, float]) -> float:
    """Cosine of the TF-IDF vectors of a query and a text; terms without an idf are ignored."""
    dot = sum(count * text[term] * idf[term] ** 2 for term, count in query.items() if term in text and term in idf)
    if not dot:
        return 0.0
    norms = [math.sqrt(sum((n * idf[t]) ** 2 for t, n in counts.items() if t in idf)) for counts in (query, text)]
    return min(1.0, dot / (norms[0] * norms[1]))


def tfidf_idf(documents: int, frequency: int) -> float:
    """ln((N + 1)/(df + 1)) + 1."""
    return math.log((documents + 1) / (frequency + 1)) + 1.0
