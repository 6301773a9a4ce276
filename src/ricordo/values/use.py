"""Values about use: what was asked, found, judged and learned.

First come the values that the store keeps, then the results of ``stats``, ``feedback`` and ``learn``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime

from ricordo.frozen import frozen
from ricordo.values.kinds import VERDICTS
from ricordo.values.plain import Plain, rounded


@frozen
class UsedItem:
    """An item that an answer showed: its id, the version, and its score (none when it was opened by name)."""

    id: str
    version: int
    score: float | None = None


@frozen
class Use:
    """One search, or an item opened by name (``text`` is None), to be recorded.

    Without ``logged``, only the counts of the items are updated.
    """

    items: tuple[UsedItem, ...]
    tool: str
    text: str | None = None
    profile: str = ""
    ms: float = 0.0
    refs: tuple[str, ...] = ()
    opened: bool = False
    logged: bool = True
    asker: str = ""
    """Who asked, as a store keeps it."""
    fit: float | None = None
    """How well the best hit fitted; None where that was not judged."""


@frozen
class Learned:
    """What a profile has learned so far, and the verdicts that count for it, by name."""

    profile: str
    shift: float
    verdicts: Mapping[str, int] = field(default_factory=dict)


@frozen
class Move:
    """A change of weights about to be made; after ``restart``, only later verdicts count."""

    shift: float
    reason: str
    before: Mapping[str, float]
    after: Mapping[str, float]
    counted: int
    restart: bool = False


@frozen
class QueryStats(Plain):
    """Queries taken together: those of one text, one tool, or one day."""

    name: str
    count: int
    average_results: float = field(metadata=rounded(3))
    average_ms: float = field(metadata=rounded(3))
    slowest_ms: float = field(metadata=rounded(3))
    last_at: datetime


@frozen
class RetrievedItem(Plain):
    """How often an item was found or opened."""

    ref: str
    title: str
    count: int
    last_at: datetime


@frozen
class StatsReport(Plain):
    """What the log says about the last days. ``rows`` are by query or tool (most frequent first) or by day."""

    days: float
    by: str
    queries: int
    average_results: float = field(metadata=rounded(3))
    average_ms: float = field(metadata=rounded(3))
    zero_results: int
    rows: tuple[QueryStats, ...] = ()
    zero_result: tuple[QueryStats, ...] = ()
    slowest: tuple[QueryStats, ...] = ()
    most_retrieved: tuple[RetrievedItem, ...] = ()
    never_retrieved: tuple[str, ...] = ()
    never_retrieved_count: int = 0


@frozen
class Retrieval(Plain):
    """One line of the retrieval log: an item that a query showed, or that was opened by its name (no query)."""

    at: datetime
    ref: str
    version: int
    score: float | None = None
    query: str | None = None
    tool: str | None = None
    profile: str | None = None


@frozen
class Judged:
    """A query and an item that belongs to it: by a ``verdict``, or, if that is empty, because it was opened after the
    query.
    """

    query: str
    ref: str
    verdict: str = ""


@frozen
class WeightChange(Plain):
    """One change of what a profile learned: its weights before and after, and how many verdicts were behind it."""

    id: int
    profile: str
    at: datetime
    reason: str
    before: Mapping[str, float]
    after: Mapping[str, float]
    counted: int
    shift_before: float
    shift_after: float


@frozen
class ProfileLearning(Plain):
    """What one profile has learned: the shift of its text signal, from how many verdicts, and its weights now."""

    profile: str
    text_signal: str
    shift: float
    counted: int
    needed: int
    acceptance: float | None
    own: Mapping[str, float]
    weights: Mapping[str, float]


@frozen
class LearningStatus(Plain):
    """Whether learning is on, which verdicts were given, and what each learning profile made of them."""

    enabled: bool
    frozen: bool
    verdicts: Mapping[str, int] = field(default_factory=dict)
    profiles: tuple[ProfileLearning, ...] = ()
    changes: tuple[WeightChange, ...] = ()
    """The latest changes of weights, the newest first."""


@frozen
class FeedbackReport(Plain):
    """The answer to a verdict: whether it counts for learning, and which weights it moved."""

    query: str
    ref: str
    verdict: str
    counted: bool
    changes: tuple[WeightChange, ...] = ()


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
