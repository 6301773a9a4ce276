"""Orders hits so that they differ: maximal marginal relevance, which balances relevance and novelty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

LAMBDA = 0.7
"""How much relevance counts; the rest is how unlike the hits already chosen a hit is."""


def diverse_order(
    values: Sequence[float], similarity: npt.NDArray[Any], count: int, trade: float = LAMBDA
) -> list[int]:
    """Positions in the order of maximal marginal relevance; ``similarity`` is symmetric, in [0, 1]."""
    relevance = np.asarray(values, float)
    left = list(range(len(relevance)))
    chosen: list[int] = []
    while left and len(chosen) < count:
        if chosen:
            closeness = similarity[np.ix_(left, chosen)].max(axis=1)
            gains = trade * relevance[left] - (1.0 - trade) * closeness
        else:
            gains = relevance[left]
        chosen.append(left.pop(int(gains.argmax())))
    return chosen


def similarity_of(vectors: Sequence[npt.NDArray[Any] | None], words: Sequence[frozenset[str]]) -> npt.NDArray[Any]:
    """Cosine where both have a vector, else the overlap of their words."""
    size = len(vectors)
    matrix = np.zeros((size, size))
    for i in range(size):
        for j in range(i):
            one, other = vectors[i], vectors[j]
            if one is not None and other is not None:
                value = max(0.0, float(one @ other))
            else:
                union = len(words[i] | words[j])
                value = len(words[i] & words[j]) / union if union else 0.0
            matrix[i, j] = matrix[j, i] = value
    return matrix
