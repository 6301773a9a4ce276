"""Profiles: named ways to rank, as data. ``profiles.toml`` has the built-in ones; users add theirs in the settings.

A user's profile starts from another one (``base``) and changes weights, or lists signals of its own::

    [profiles.mine]
    base = "brain"
    weights = { recency = 0.5, importance = 0 }

``profile_tables`` turns a table into a profile, and checks it; ``profiles`` finds one by its name.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Mapping
from dataclasses import field, replace
from typing import Any

from ricordo.errors import UsageError
from ricordo.frozen import frozen

SIGNALS: Mapping[str, str] = {
    "lexical": "keyword score over the highest this query allows",
    "vector": "cosine of query and passage, 0 when negative",
    "lexical_rank": "61 / (60 + rank by words)",
    "vector_rank": "61 / (60 + rank by meaning)",
    "lexical_relative": "keyword score over the best found",
    "lexical_reciprocal": "1 / rank by words",
    "vector_nearness": "1 - distance / the largest distance found",
    "tfidf": "cosine of the TF-IDF vectors of query and item",
    "severity": "critical 1, warning .7, suggestion .4",
    "temporal": "the validity window where there is one, else recency",
    "recency": "halves every 365 days since the content changed",
    "decayed_recency": "recency times decay",
    "decay": "the decay score: halves every 30 days unopened",
    "importance": "importance, or mentions, over the most found",
    "tags": "tags shared with --boost-tags, over all of both",
    "domain": "1 when the domain is that of --boost-domain",
    "graph": "1, .5, .33 for 0, 1, 2 links from the best 5 by words",
    "freshness": "halves every 30 days since the content changed",
    "feedback": "what verdicts on the item say, .5 without any",
}
"""Every signal a profile may use, and what it is."""

SIDES = ("lexical", "vector")
OF_VECTORS = frozenset({"vector", "vector_rank", "vector_nearness"})
OF_WORDS = frozenset({"lexical", "lexical_rank", "lexical_relative", "lexical_reciprocal"})
"""Signals that have no value if their side found nothing."""
USUAL_PAGE = 10
"""The page that a profile's factor multiplies."""
STEPS = ("coverage", "neighbours", "evidence", "feedback", "questions", "exact", "times")
"""The steps that a profile with fusion may apply to its pool before ranking; ``refine`` has them."""
HEAVIEST = 1000
"""Weights count relative to each other; much larger ones would overflow in a sum."""


@frozen
class Term:
    """One signal of a profile: which function, and its weight with and without vectors."""

    signal: str
    weight: float
    without_vectors: float | None = None

    @property
    def meaning(self) -> str:
        """What the signal is, in a line."""
        return SIGNALS[self.signal]


@frozen
class Profile:
    """A way to rank."""

    name: str
    signals: Mapping[str, Term]
    description: str = ""
    fusion: str = "sum"
    refine: tuple[str, ...] = ()
    sides: tuple[str, ...] = SIDES
    factor: int = 3
    minimum: int = 30
    guard: int = 0
    learns: str | None = None
    counts_as_opening: bool = False
    min_score: float = 0.0
    memory_score: float | None = None
    sessions_last: bool = False
    """Whether sources that fit come before sessions, and each session is one hit."""
    source: str = field(default="built in", compare=False)

    @property
    def per_side(self) -> int:
        """How many items each side puts into the pool, whatever page is asked for, because the page must not change the
        order. A profile with a guard needs as many as its guard.
        """
        return max(self.factor * USUAL_PAGE, self.minimum, self.guard)

    def weights(self, *, vectors: bool = True, words: bool = True) -> dict[str, float]:
        """The weights in force, normalised to sum 1. The weight of a side that found nothing is given to the others."""
        raw = {label: term.weight for label, term in self.signals.items()}
        for is_there, side in ((vectors, OF_VECTORS), (words, OF_WORDS)):
            if not is_there:
                without = {label: self._without(label, side) * (raw[label] > 0) for label in raw}
                raw = without if any(without.values()) else raw  # else nothing would count at all
        total = math.fsum(raw.values())
        return {label: weight / total for label, weight in raw.items()}

    def _without(self, label: str, side: Collection[str]) -> float:
        term = self.signals[label]
        if side is OF_VECTORS and term.without_vectors is not None:
            return term.without_vectors
        return 0.0 if term.signal in side else term.weight

    def with_weights(self, changes: Mapping[str, float]) -> Profile:
        """A copy with some weights set; 0 means 0. Unknown names and impossible weights are refused."""
        signals = dict(self.signals)
        for label, weight in changes.items():
            if label not in signals:
                near = difflib.get_close_matches(label, list(signals), 1)
                hint = f"Did you mean {near[0]}? " if near else ""
                raise UsageError(
                    f"the profile '{self.name}' has no weight '{label}'",
                    hint=f"{hint}Its weights are: {', '.join(signals)}.",
                )
            signals[label] = replace(signals[label], weight=checked_weight(label, weight), without_vectors=None)
        refuse_no_weight(self.name, signals)
        return replace(self, signals=signals, learns=None)  # learning does not change weights that the caller chose

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "description": self.description,
            "source": self.source,
            "weights": self.weights(vectors=True),
            "weights_without_vectors": self.weights(vectors=False),
            "signals": {label: term.signal for label, term in self.signals.items()},
            "fusion": self.fusion,
            "refine": list(self.refine),
            "sides": list(self.sides),
            "per_side": {"factor": self.factor, "minimum": self.minimum},
            "min_score": self.min_score,
            "guard": self.guard,
            "memory_score": self.memory_score,
            "sessions_last": self.sessions_last,
            "learns": self.learns,
            "counts_as_opening": self.counts_as_opening,
        }


def checked_weight(label: str, weight: object) -> float:
    """A weight as a number that can be used."""
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 <= weight <= HEAVIEST:
        raise UsageError(
            f"the weight {label}={weight} cannot be used", hint=f"A weight is a number from 0 to {HEAVIEST}."
        )
    return float(weight)


def refuse_no_weight(name: str, signals: Mapping[str, Term]) -> None:
    """Refuse a profile without any weight, because it cannot rank."""
    if not any(term.weight for term in signals.values()):
        raise UsageError(
            f"all weights of the profile '{name}' are 0", hint=f"Give at least one of {', '.join(signals)} a weight."
        )
