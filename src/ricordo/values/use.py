"""Values about use: what was asked, found, judged and learned.

First come the values that the store keeps, then the results of ``stats``, ``feedback`` and ``learn``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime

from ricordo.frozen import frozen
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
    """What finding lessons cost, by purpose: asking the agent, and asking a language model."""


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


@frozen
class FeedbackReport(Plain):
    """The answer to a verdict: whether it counts for learning, and which weights it moved."""

    query: str
    ref: str
    verdict: str
    counted: bool
    changes: tuple[WeightChange, ...] = ()
