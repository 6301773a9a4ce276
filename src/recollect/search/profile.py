"""Profiles: named ways to rank, as data. Built-in ones stand in ``profiles.toml``; users add theirs in the settings.

A user's profile starts from a built-in one (``base``) and changes weights, or lists signals of its own::

    [profiles.mine]
    base = "brain"
    weights = { recency = 0.5, importance = 0 }
"""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import resources
from typing import Any

from recollect.errors import UsageError
from recollect.settings import Config

SIGNALS: tuple[str, ...] = (
    "lexical", "vector", "lexical_rank", "vector_rank", "lexical_relative", "lexical_reciprocal", "vector_nearness",
    "tfidf", "severity", "temporal", "recency", "decayed_recency", "decay", "importance", "tags", "domain", "graph",
    "freshness", "feedback",
)  # fmt: skip
SIDES = ("lexical", "vector")


@dataclass(frozen=True, slots=True)
class Term:
    """One signal of a profile: which function, and its weight with and without vectors."""

    signal: str
    weight: float
    without_vectors: float | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """A way to rank."""

    name: str
    signals: Mapping[str, Term]
    description: str = ""
    fusion: str = "sum"
    sides: tuple[str, ...] = SIDES
    factor: int = 3
    minimum: int = 30
    guard: int = 0
    learns: str | None = None
    counts_as_opening: bool = False
    min_score: float = 0.0
    source: str = field(default="built in", compare=False)

    def per_side(self, limit: int) -> int:
        """How many items each side is asked for."""
        return max(self.factor * limit, self.minimum, limit)

    def weights(self, *, vectors: bool) -> dict[str, float]:
        """The weights in force, normalised to sum 1."""
        raw = {
            label: term.without_vectors if not vectors and term.without_vectors is not None else term.weight
            for label, term in self.signals.items()
        }
        total = math.fsum(raw.values())
        return {label: weight / total for label, weight in raw.items()}

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
        changed = replace(self, signals=signals, learns=None)  # weights that someone chose are not moved
        if not any(term.weight for term in signals.values()):
            raise UsageError("all weights are 0", hint=f"Give at least one of {', '.join(signals)} a weight.")
        return changed

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "description": self.description,
            "source": self.source,
            "fusion": self.fusion,
            "sides": list(self.sides),
            "per_side": {"factor": self.factor, "minimum": self.minimum},
            "learns": self.learns,
            "weights": self.weights(vectors=True),
            "signals": {label: term.signal for label, term in self.signals.items()},
        }


def checked_weight(label: str, weight: object) -> float:
    """A weight as a number that can be used."""
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not math.isfinite(weight) or weight < 0:
        raise UsageError(f"the weight {label}={weight} cannot be used", hint="A weight is a number of 0 or more.")
    return float(weight)


@lru_cache(maxsize=1)
def built_in() -> Mapping[str, Profile]:
    """The profiles that come with Recollect."""
    text = resources.files("recollect.search").joinpath("profiles.toml").read_text("utf-8")
    return {name: _from_table(name, table, "built in") for name, table in tomllib.loads(text).items()}


def profiles(config: Config) -> dict[str, Profile]:
    """All profiles, the user's included; settings that set weights of ``brain`` and ``knowledge`` applied."""
    known = dict(built_in())
    for name, table in config.profiles.items():
        known[name] = _from_user(name, table, known)
    retrieval, knowledge = config.retrieval, config.knowledge
    for name, changes in (
        (
            "brain",
            {
                "vector": retrieval.vector_weight,
                "fts": retrieval.fts_weight,
                "recency": retrieval.recency_weight,
                "importance": retrieval.importance_weight,
            },
        ),
        ("knowledge", {"vector": knowledge.hybrid_vector_weight, "text": knowledge.hybrid_text_weight}),
    ):
        given = {label: weight for label, weight in changes.items() if weight is not None}
        if given:
            known[name] = replace(known[name].with_weights(given), source="settings")
    return known


def find_profile(config: Config, name: str) -> Profile:
    """A profile by name, or a usage error that names the ones there are."""
    known = profiles(config)
    if name not in known:
        raise UsageError(f"there is no profile '{name}'", hint=f"One of: {', '.join(known)}.")
    return known[name]


def _from_user(name: str, table: Mapping[str, Any], known: Mapping[str, Profile]) -> Profile:
    base = table.get("base")
    if base is None and "signals" in table:
        return _from_table(name, table, "settings")
    start = known.get(str(base or "default"))
    if start is None:
        raise UsageError(f"the profile '{name}' builds on '{base}', which does not exist", hint=_names(known))
    weights = table.get("weights", {})
    if not isinstance(weights, Mapping):
        raise UsageError(f"the weights of profile '{name}' are not a table", hint="weights = { vector = 0.5 }")
    limits = table.get("per_side", {})
    return replace(
        start.with_weights(weights),
        name=name,
        description=str(table.get("description", start.description)),
        factor=int(limits.get("factor", start.factor)),
        minimum=int(limits.get("minimum", start.minimum)),
        min_score=float(table.get("min_score", start.min_score)),
        source="settings",
    )


def _names(known: Mapping[str, Profile]) -> str:
    return f"One of: {', '.join(known)}."


def _from_table(name: str, table: Mapping[str, Any], source: str) -> Profile:
    signals = {}
    for label, entry in table["signals"].items():
        signal = entry["signal"]
        if signal not in SIGNALS:
            raise UsageError(
                f"the profile '{name}' uses an unknown signal '{signal}'", hint=f"Signals are: {', '.join(SIGNALS)}."
            )
        without = entry.get("without_vectors")
        signals[label] = Term(
            signal,
            checked_weight(label, entry["weight"]),
            checked_weight(label, without) if without is not None else None,
        )
    limits = table.get("per_side", {})
    return Profile(
        name,
        signals,
        str(table.get("description", "")),
        str(table.get("fusion", "sum")),
        _sides(name, table.get("sides", SIDES)),
        int(limits.get("factor", 3)),
        int(limits.get("minimum", 30)),
        int(table.get("guard", 0)),
        table.get("learns"),
        bool(table.get("counts_as_opening", False)),
        float(table.get("min_score", 0.0)),
        source,
    )


def _sides(name: str, sides: Sequence[str]) -> tuple[str, ...]:
    if not sides or any(side not in SIDES for side in sides):
        raise UsageError(f"the sides of profile '{name}' are {list(sides)}", hint="Some of: lexical, vector.")
    return tuple(sides)
