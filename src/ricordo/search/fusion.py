"""Divides the weight of a query between words and meaning, by how well each separates this query's candidates.

A side's weight is the inverse of its spread over the pool, so the order is that of summed z-scores, while the value
stays a convex combination of absolute scores that means the same from query to query. A small pool says little about
spreads, so the usual spread is added as if it had been seen PRIOR times. Pure functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

PRIOR = 15
USUAL_COSINES = 0.085
USUAL_LEXICAL = 0.16
"""Usual spreads of the two sides, as the refined pool holds them."""

Values = Sequence[float] | npt.NDArray[Any]


def spread_weights(
    lexical: Values, cosines: Values, shares: tuple[float, float], belief: float = 1.0
) -> tuple[float, float]:
    """The weights ``(lexical, vector)`` of the two sides; their sum stays the same.

    ``belief`` is the part of its weight that the keyword side keeps; the rest goes to the vector side.
    """
    lexical_share, vector_share = shares
    together = lexical_share + vector_share
    if not np.any(lexical):
        return 0.0, together
    if not np.any(cosines):
        return together, 0.0
    spread_lexical, spread_vector = steady_spreads(lexical, cosines)
    steady_lexical, steady_vector = lexical_share * belief / spread_lexical, vector_share / spread_vector
    vector = together * steady_vector / (steady_vector + steady_lexical)
    return together - vector, vector


def steady_spreads(lexical: Values, cosines: Values) -> tuple[float, float]:
    """The spreads of both sides, mixed with the usual ones."""
    return steady_spread(lexical, USUAL_LEXICAL), steady_spread(cosines, USUAL_COSINES)


def steady_spread(values: Values, usual: float) -> float:
    """The spread of some values, with the usual one counted PRIOR times."""
    count = len(values)
    away = np.asarray(values) - np.mean(values)
    return math.sqrt((float(away @ away) + PRIOR * usual**2) / (count + PRIOR))
