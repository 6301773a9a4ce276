"""Turns the use of an item and the feedback on it into numbers in [0, 1]: pure functions for the store and the ranking.

The store counts uses and keeps verdicts; ``memory.learning`` adjusts the weights of a profile.
"""

from __future__ import annotations

from collections.abc import Mapping

from ricordo.values.choices import VERDICTS

HALF_LIFE_DAYS = 30.0
"""After this many days without being opened, an item's decay score has halved."""

OPENING = 0.1
"""What one opening adds to the decay score, up to 1."""

PRIOR_ENTRIES = 4.0
"""Every item counts as if it had this many neutral verdicts, so that a single verdict does not decide."""


def decayed(score: float, idle_days: float, *, protected: bool = False) -> float:
    """A decay score that was ``score`` when the item was last opened (or made), ``idle_days`` ago.

    >>> decayed(1.0, 30.0)
    0.5
    """
    if protected or idle_days <= 0:
        return score
    return float(score * 0.5 ** (idle_days / HALF_LIFE_DAYS))


def opened(score: float) -> float:
    """The decay score after an opening."""
    return min(1.0, score + OPENING)


def tally(counts: Mapping[str, int]) -> tuple[int, float]:
    """How many of these verdicts count, and what they add up to.

    >>> tally({"accepted": 2, "modified": 1, "failed": 5})
    (3, 2.5)
    """
    entries, total = 0, 0.0
    for verdict, count in counts.items():
        value = VERDICTS.get(verdict)
        if value is not None:
            entries += count
            total += value * count
    return entries, total


def feedback_prior(counts: Mapping[str, int]) -> float:
    """What the verdicts on an item say; near 0.5 while there are few: (sum + 0.5·4) / (entries + 4).

    >>> feedback_prior({}), feedback_prior({"accepted": 1}), feedback_prior({"dismissed": 4})
    (0.5, 0.6, 0.25)
    """
    entries, total = tally(counts)
    return (total + 0.5 * PRIOR_ENTRIES) / (entries + PRIOR_ENTRIES)
