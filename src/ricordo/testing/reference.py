"""A plain implementation of the keyword score, to compare stores with: BM25F over passages, as in docs/search.md."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from ricordo.store.values import PreparedItem, Scoring

FIELDS = ("title", "path", "description", "tags", "context", "body")


def bm25f(
    items: Mapping[str, PreparedItem], terms: Sequence[str], scoring: Scoring | None = None
) -> tuple[dict[str, float], float]:
    """By ref, the best score of each item that contains any of the terms; and the highest possible score."""
    scoring = scoring or Scoring()
    passages = [(ref, chunk.counts) for ref, item in items.items() for chunk in item.chunks if chunk.counts is not None]
    count = len(passages)
    lengths = [[sum(field.values()) for field in counts] for _, counts in passages]
    filled = [sum(length[at] > 0 for length in lengths) for at in range(len(FIELDS))]
    average = [sum(length[at] for length in lengths) / max(filled[at], 1) for at in range(len(FIELDS))]
    maximum = 0.0
    totals = [0.0] * count
    for term, times in Counter(terms).items():
        holding = sum(any(term in field for field in counts) for _, counts in passages)
        idf = math.log(1 + (count - holding + 0.5) / (holding + 0.5)) * (1 + math.log(times))
        maximum += idf
        for place, (_, counts) in enumerate(passages):
            x = 0.0
            for at, field in enumerate(counts):
                norm = 1 - scoring.b + scoring.b * lengths[place][at] / average[at] if average[at] else 1.0
                x += scoring.weights[at] * field.get(term, 0) / norm
            totals[place] += idf * x / (scoring.k1 + x)
    best: dict[str, float] = {}
    for (ref, _), total in zip(passages, totals, strict=True):
        if total > 0:
            best[ref] = max(best.get(ref, 0.0), total)
    return best, maximum
