"""How the values of the pool become one ranking value: weights that depend on the query, contributions that add up.

The two sides are weighted by how well they tell the items of this pool apart: each side's weight is the inverse of its
spread over the pool. The order is that of summed z-scores (cosine + .75 × keyword), but the value stays a convex
combination of absolute scores, so it means the same from query to query. Pure functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import pstdev

LEXICAL_SHARE = 0.75
"""What one standard deviation of the keyword side counts, relative to one of the vector side."""
_FLOOR = 1e-6


def spread_weights(lexical: Sequence[float], cosines: Sequence[float]) -> tuple[float, float]:
    """The weights ``(lexical, vector)`` of the two sides for one query; they sum to 1."""
    if not any(lexical):
        return 0.0, 1.0
    if not any(cosines):
        return 1.0, 0.0
    steady_lexical = LEXICAL_SHARE / max(pstdev(lexical), _FLOOR)
    steady_vector = 1.0 / max(pstdev(cosines), _FLOOR)
    vector = steady_vector / (steady_vector + steady_lexical)
    return 1.0 - vector, vector
