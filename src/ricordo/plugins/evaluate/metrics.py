"""How good a ranking is, and whether one is better than another: pure functions over ids and numbers.

A ranking is a sequence of document ids, best first; judgements map a document id to its grade, and a grade
above zero means relevant. Nothing here reads files or searches.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ricordo.frozen import frozen
from ricordo.values.plain import Plain

METRICS: tuple[str, ...] = ("ndcg@10", "recall@10", "recall@100", "mrr@10")


def ndcg(ranked: Sequence[str], judged: Mapping[str, float], depth: int = 10) -> float:
    """Discounted gain of the first ``depth`` documents, divided by the best possible one; linear gain, as in trec_eval.

    The gain of a document is its grade, its discount log2(rank + 1); the ideal order includes all judged documents,
    also those that were not found.

    >>> ndcg(["a", "x"], {"a": 1, "b": 1})
    0.6131471927654584
    """
    best = sorted((grade for grade in judged.values() if grade > 0), reverse=True)[:depth]
    if not best:
        return 0.0
    found = [max(0.0, judged.get(document, 0.0)) for document in ranked[:depth]]
    return _discounted(found) / _discounted(best)


def _discounted(grades: Sequence[float]) -> float:
    return math.fsum(grade / math.log2(place + 2) for place, grade in enumerate(grades))


def recall(ranked: Sequence[str], judged: Mapping[str, float], depth: int) -> float:
    """The share of all relevant documents that are among the first ``depth``."""
    relevant = {document for document, grade in judged.items() if grade > 0}
    return len(relevant.intersection(ranked[:depth])) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranked: Sequence[str], judged: Mapping[str, float], depth: int = 10) -> float:
    """One over the rank of the first relevant document, or 0 when none is among the first ``depth``."""
    for rank, document in enumerate(ranked[:depth], start=1):
        if judged.get(document, 0.0) > 0:
            return 1.0 / rank
    return 0.0


def judge(ranked: Sequence[str], judged: Mapping[str, float]) -> dict[str, float]:
    """Every metric of one ranking, by the names in ``METRICS``."""
    return {
        "ndcg@10": ndcg(ranked, judged, 10),
        "recall@10": recall(ranked, judged, 10),
        "recall@100": recall(ranked, judged, 100),
        "mrr@10": reciprocal_rank(ranked, judged, 10),
    }


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean, 0 for nothing."""
    return math.fsum(values) / len(values) if values else 0.0


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` (0 to 1) of the values lie, interpolated; 0 for nothing."""
    if not values:
        return 0.0
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


@frozen
class Significance(Plain):
    """Whether B differs from A on the same queries.

    ``p_value`` comes from a paired randomisation test (two-sided), ``confidence_95`` from a bootstrap of
    the mean difference. ``wins``, ``losses`` and ``ties`` count queries from B's point of view.
    """

    queries: int
    mean_a: float
    mean_b: float
    difference: float
    confidence_95: tuple[float, float]
    p_value: float
    wins: int
    losses: int
    ties: int

    @property
    def significant(self) -> bool:
        """Whether chance alone would give such a difference in fewer than one of twenty cases."""
        return self.p_value < 0.05

    def to_dict(self) -> dict[str, Any]:
        return Plain.to_dict(self) | {"significant": self.significant}


def significance(a: Sequence[float], b: Sequence[float], *, rounds: int = 10_000, seed: int = 0) -> Significance:
    """Compare two scores per query, in the same order of queries.

    The randomisation test counts how often a difference at least as large arises when each query's pair is swapped at
    random; it assumes nothing about how the scores are distributed. The same seed gives the same answer.
    """
    import numpy as np

    if len(a) != len(b):
        raise ValueError(f"paired scores must be as many on both sides, got {len(a)} and {len(b)}")
    gains = np.asarray(b, dtype=np.float64) - np.asarray(a, dtype=np.float64)
    count = len(gains)
    if count == 0:
        return Significance(0, 0.0, 0.0, 0.0, (0.0, 0.0), 1.0, 0, 0, 0)
    observed = float(gains.mean())
    random = np.random.default_rng(seed)
    at_least = 0
    resampled = np.empty(rounds)
    # Random numbers are made in blocks, so that they take only a few megabytes for a large set of queries.
    block = max(1, min(rounds, 2_000_000 // count))
    for start in range(0, rounds, block):
        size = min(block, rounds - start)
        signs = random.integers(0, 2, size=(size, count), dtype=np.int8) * 2 - 1
        # The tolerance lets a swap that only reorders the sum count as equal, despite rounding.
        at_least += int((np.abs(signs @ gains) / count >= abs(observed) - 1e-12).sum())
        picks = random.integers(0, count, size=(size, count))
        resampled[start : start + size] = gains[picks].mean(axis=1)
    low, high = np.quantile(resampled, (0.025, 0.975))
    return Significance(
        queries=count,
        mean_a=mean(a),
        mean_b=mean(b),
        difference=observed,
        confidence_95=(float(low), float(high)),
        p_value=(at_least + 1) / (rounds + 1),
        wins=int((gains > 1e-12).sum()),
        losses=int((gains < -1e-12).sum()),
        ties=int((np.abs(gains) <= 1e-12).sum()),
    )
