"""How the values of the pool become one ranking value: weights that depend on the query, contributions that add up.

The two sides are weighted by how well they tell the items of this pool apart: each side's weight is the inverse of its
spread over the pool. The order is that of summed z-scores, but the value stays a convex
combination of absolute scores, so it means the same from query to query. Pure functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import pstdev

_FLOOR = 1e-6


def spread_weights(
    lexical: Sequence[float], cosines: Sequence[float], lexical_share: float, vector_share: float
) -> tuple[float, float]:
    """The weights ``(lexical, vector)`` of the two sides for one query; together they stay what the shares sum to."""
    together = lexical_share + vector_share
    if not any(lexical):
        return 0.0, together
    if not any(cosines):
        return together, 0.0
    steady_lexical = lexical_share / max(pstdev(lexical), _FLOOR)
    steady_vector = vector_share / max(pstdev(cosines), _FLOOR)
    vector = together * steady_vector / (steady_vector + steady_lexical)
    return together - vector, vector
