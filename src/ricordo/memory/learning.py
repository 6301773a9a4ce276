"""Computes how far feedback changes the weights of a profile. These are pure functions; nothing is read or written.

With at least 30 verdicts that count, the weight of the text signal is the profile's own plus (rate - 0.5) · 0.30, which
is at most ±0.15; the other weights keep their proportions, and all weights add up to 1.
"""

from __future__ import annotations

from collections.abc import Mapping

from ricordo.values.use_scores import tally

NEEDED = 30
STEEPNESS = 0.30


def acceptance(counts: Mapping[str, int]) -> float | None:
    """The mean of the verdicts that count; None when there are none.

    >>> acceptance({"accepted": 20, "modified": 10, "dismissed": 10, "failed": 3})
    0.625
    """
    entries, total = tally(counts)
    return total / entries if entries else None


def shift_for(counts: Mapping[str, int]) -> float | None:
    """How far the text weight is moved from the profile's own; None while there are too few verdicts.

    >>> shift_for({"accepted": 40}), shift_for({"accepted": 29})
    (0.15, None)
    """
    entries, total = tally(counts)
    if entries < NEEDED:
        return None
    return (total / entries - 0.5) * STEEPNESS


def shifted(weights: Mapping[str, float], text_signal: str, shift: float) -> dict[str, float]:
    """Weights that sum to 1, with the text signal's moved by ``shift`` and the others rescaled.

    A weight of 0 stays 0, and a text signal that is the only one stays 1.

    >>> shifted({"lexical": 0.5, "vector": 0.25, "recency": 0.25}, "lexical", 0.125)
    {'lexical': 0.625, 'vector': 0.1875, 'recency': 0.1875}
    """
    total = sum(weights.values())
    if total <= 0:
        return dict(weights)
    normal = {name: weight / total for name, weight in weights.items()}
    text = normal.get(text_signal, 0.0)
    rest = 1.0 - text
    if not shift or text <= 0 or rest <= 0:
        return normal
    moved = min(1.0, max(0.0, text + shift))
    scale = (1.0 - moved) / rest
    return {name: moved if name == text_signal else weight * scale for name, weight in normal.items()}
