"""How the two sides share their weight for one query: each by how well it tells this query's candidates apart.

A side's weight is the inverse of its spread over the pool, so the order is that of summed z-scores, while the value
stays a convex combination of absolute scores that means the same from query to query. A pool of a handful says little
about spreads: there, what is usual for the model and for a query of this length counts too, as if seen PRIOR more
times. Pure functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

PRIOR = 15
USUAL_COSINES = 0.085
USUAL_LEXICAL = 0.15
"""Usual spread of the keyword side for one word; it shrinks with the root of their number."""
MOST_LEXICAL = 0.1


def spread_weights(
    lexical: Sequence[float], cosines: Sequence[float], shares: tuple[float, float], words: int
) -> tuple[float, float]:
    """The weights ``(lexical, vector)`` of the two sides; together they stay what their shares sum to."""
    lexical_share, vector_share = shares
    together = lexical_share + vector_share
    if not any(lexical):
        return 0.0, together
    if not any(cosines):
        return together, 0.0
    usual = min(MOST_LEXICAL, USUAL_LEXICAL / math.sqrt(max(words, 1)))
    steady_lexical = lexical_share / steadied(lexical, usual)
    steady_vector = vector_share / steadied(cosines, USUAL_COSINES)
    vector = together * steady_vector / (steady_vector + steady_lexical)
    return together - vector, vector


def steadied(values: Sequence[float], usual: float) -> float:
    """The spread of some values, with the usual one thrown in PRIOR times."""
    count = len(values)
    return math.sqrt((count * float(np.var(values)) + PRIOR * usual**2) / (count + PRIOR))
