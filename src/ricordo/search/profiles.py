"""Profiles: named ways to rank, as data. ``profiles.json`` has the built-in ones; users add theirs in the settings.

Each side gives at least ``per_side.minimum`` candidates, or ``per_side.factor`` times a usual page. ``signals`` says
by a label which row of ``SIGNALS`` counts, and how much; weights are relative. A limit does not cut away more than half
of fewer results by words than ``guard``. With ``sessions_last``, sources that fit come before sessions, and each
session is one hit; ``memory_score`` is what memories and sessions score when they are searched apart.

A user's profile starts from another one (``base``; without signals of its own that is ``default``) and changes weights,
or lists signals of its own; it may also hold ``description``, ``sides``, ``per_side``, ``min_score`` and ``guard``::

    [profiles.mine]
    base = "brain"
    weights = { recency = 0.5, importance = 0 }

A value that cannot be used is an error that names what can.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ricordo.config.settings import Config
from ricordo.errors import UsageError
from ricordo.frozen import frozen
from ricordo.search.signals import SIGNALS, VECTORS, WORDS
from ricordo.values.plain import NOT_SHOWN, Plain

SIDES = ("lexical", "vector")
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
        return SIGNALS[self.signal].meaning

    def without(self, side: str) -> float:
        """Its weight if a side found nothing."""
        if side == VECTORS and self.without_vectors is not None:
            return self.without_vectors
        return 0.0 if SIGNALS[self.signal].of == side else self.weight


@frozen
class Profile(Plain):
    """A way to rank."""

    name: str
    signals: Mapping[str, Term]
    description: str = ""
    fusion: str = "sum"
    refine: tuple[str, ...] = ()
    sides: tuple[str, ...] = SIDES
    factor: int = field(default=3, metadata=NOT_SHOWN)
    minimum: int = field(default=30, metadata=NOT_SHOWN)
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
        for is_there, side in ((vectors, VECTORS), (words, WORDS)):
            if not is_there:
                without = {label: term.without(side) * (raw[label] > 0) for label, term in self.signals.items()}
                raw = without if any(without.values()) else raw  # else nothing would count at all
        total = math.fsum(raw.values())
        return {label: weight / total for label, weight in raw.items()}

    def with_weights(self, changes: Mapping[str, float]) -> Profile:
        """A copy with some weights set; 0 means 0. Unknown names and impossible weights are refused."""
        signals = dict(self.signals)
        for label, weight in changes.items():
            if label not in signals:
                from difflib import get_close_matches

                near = get_close_matches(label, list(signals), 1)
                hint = f"Did you mean {near[0]}? " if near else ""
                raise UsageError(
                    f"the profile '{self.name}' has no weight '{label}'",
                    hint=f"{hint}Its weights are: {', '.join(signals)}.",
                )
            signals[label] = replace(signals[label], weight=checked_weight(label, weight), without_vectors=None)
        refuse_no_weight(self.name, signals)
        return replace(self, signals=signals, learns=None)  # learning does not change weights that the caller chose

    def to_dict(self) -> dict[str, Any]:
        return Plain.to_dict(self) | {
            "signals": {label: term.signal for label, term in self.signals.items()},
            "weights": self.weights(vectors=True),
            "weights_without_vectors": self.weights(vectors=False),
            "per_side": {"factor": self.factor, "minimum": self.minimum},
        }


def checked_weight(label: str, weight: object) -> float:
    """A weight as a number that can be used."""
    if not _is_number(weight, 0, HEAVIEST):
        raise UsageError(
            f"the weight {label}={weight} cannot be used", hint=f"A weight is a number from 0 to {HEAVIEST}."
        )
    return float(weight)  # type: ignore[arg-type]


def refuse_no_weight(name: str, signals: Mapping[str, Term]) -> None:
    """Refuse a profile without any weight, because it cannot rank."""
    if not any(term.weight for term in signals.values()):
        raise UsageError(
            f"all weights of the profile '{name}' are 0", hint=f"Give at least one of {', '.join(signals)} a weight."
        )


USER_KEYS = ("base", "description", "weights", "signals", "sides", "refine", "per_side", "min_score", "guard")
OWN_KEYS = ("fusion", "learns", "counts_as_opening", "memory_score", "sessions_last")
"""What only built-in profiles may say."""
TERM_KEYS = ("signal", "weight", "without_vectors")
_LARGEST = 10_000


def _are_among(values: object, allowed: Collection[str]) -> bool:
    return isinstance(values, (list, tuple)) and all(value in allowed for value in values)


def _is_number(value: object, low: float, high: float, kind: Any = (int, float)) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool) and low <= value <= high


_COUNT = f"A whole number, at most {_LARGEST}."
_RULES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "sides": (lambda value: bool(value) and _are_among(value, SIDES), f"Some of: {', '.join(SIDES)}."),
    "refine": (lambda value: _are_among(value, STEPS), f"Some of: {', '.join(STEPS)}."),
    "factor": (lambda value: _is_number(value, 1, _LARGEST, int), _COUNT),
    "minimum": (lambda value: _is_number(value, 1, _LARGEST, int), _COUNT),
    "guard": (lambda value: _is_number(value, 0, _LARGEST, int), _COUNT),
    "min_score": (lambda value: _is_number(value, 0, 1), "A number from 0 to 1."),
}
"""Whether a value can be used, and what can."""


def read_profile(name: str, table: Mapping[str, Any]) -> Profile:
    """A built-in profile."""
    own = {key: table[key] for key in OWN_KEYS if key in table}
    return _with_rest(Profile(name, _signals(name, table["signals"]), **own), table)


def user_profile(name: str, table: Mapping[str, Any], find: Callable[[str], Profile]) -> Profile:
    """A profile from the settings; ``find`` gives the one it builds on."""
    _refuse_unknown(f"the profile '{name}'", table, USER_KEYS)
    base = table.get("base")
    if base is not None and not isinstance(base, str):
        raise UsageError(f"the base of profile '{name}' is not a name", hint='For example base = "brain"')
    if base is None and "signals" in table:
        profile = Profile(name, _signals(name, table["signals"]))
    else:
        profile = find(base or "default")
        if "signals" in table:
            profile = replace(profile, signals=_signals(name, table["signals"]), fusion="sum")
    weights = _table(name, "weights", table.get("weights", {}), "weights = { vector = 0.5 }")
    changed = replace(profile, name=name, source="settings").with_weights(weights)
    return _with_rest(changed, table)


def _with_rest(profile: Profile, table: Mapping[str, Any]) -> Profile:
    """The profile with what the table says besides signals and weights."""
    limits = _table(profile.name, "per_side", table.get("per_side", {}), "per_side = { factor = 3, minimum = 30 }")
    _refuse_unknown(f"per_side of the profile '{profile.name}'", limits, ("factor", "minimum"))
    given = {**limits, **table}
    changes: dict[str, Any] = {"description": str(table.get("description", profile.description))}
    for key, (is_right, hint) in _RULES.items():
        if key in given:
            if not is_right(given[key]):
                where = f"per_side.{key}" if key in limits else key
                raise UsageError(f"{where} of the profile '{profile.name}' cannot be {given[key]!r}", hint=hint)
            changes[key] = tuple(given[key]) if key in ("sides", "refine") else given[key]
    if profile.fusion != "spread":
        changes["refine"] = ()
    return replace(profile, **changes)


def _signals(name: str, table: object) -> dict[str, Term]:
    example = 'vector = { signal = "vector", weight = 0.5 }'
    signals = {}
    for label, entry in _table(name, "signals", table, example).items():
        term = _table(name, f"signals.{label}", entry, example)
        _refuse_unknown(f"the signal '{label}' of the profile '{name}'", term, TERM_KEYS)
        signal, without = term.get("signal", label), term.get("without_vectors")
        if signal not in SIGNALS:
            raise UsageError(
                f"the profile '{name}' uses an unknown signal '{signal}'", hint=f"Signals are: {', '.join(SIGNALS)}."
            )
        if "weight" not in term:
            raise UsageError(f"the signal '{label}' of the profile '{name}' has no weight", hint=example)
        signals[label] = Term(
            signal, checked_weight(label, term["weight"]), None if without is None else checked_weight(label, without)
        )
    refuse_no_weight(name, signals)
    return signals


def _table(name: str, key: str, value: object, example: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(f"{key} of the profile '{name}' is not a table", hint=f"For example {example}")
    return value


def _refuse_unknown(what: str, table: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    for key in table:
        if key not in allowed:
            raise UsageError(f"{what} has an unknown entry '{key}'", hint=f"It may hold: {', '.join(allowed)}.")


@lru_cache(maxsize=1)
def built_in() -> Mapping[str, Profile]:
    """The profiles that come with Ricordo."""
    text = Path(__file__).with_name("profiles.json").read_text("utf-8")
    return {name: read_profile(name, table) for name, table in json.loads(text).items()}


def profiles(config: Config) -> dict[str, Profile]:
    """All profiles, the user's included."""
    return {name: find_profile(config, name) for name in (*built_in(), *config.profiles)}


def find_profile(config: Config, name: str) -> Profile:
    """A profile by name, as the settings have it, or a usage error that names the ones there are.

    Only this profile is made, so that a mistake in another one does no harm.
    """
    return _find(config, name, ())


def _find(config: Config, name: str, asking: tuple[str, ...]) -> Profile:
    on_its_own_name = asking[-1:] == (name,)  # which then is the built-in one
    table = None if on_its_own_name else config.profiles.get(name)
    if table is None:
        if name not in built_in():
            names = dict.fromkeys((*built_in(), *config.profiles))
            raise UsageError(f"there is no profile '{name}'", hint=f"One of: {', '.join(names)}.")
        return _as_set(config, built_in()[name])
    if name in asking:
        raise UsageError(
            f"the profile '{name}' builds on itself ({' → '.join((*asking, name))})", hint="Give it another base."
        )
    return _as_set(config, user_profile(name, table, lambda base: _find(config, base, (*asking, name))))


def _as_set(config: Config, profile: Profile) -> Profile:
    """The profiles ``brain`` and ``knowledge`` have settings of their own for their weights."""
    retrieval, knowledge = config.retrieval, config.knowledge
    changes: dict[str, dict[str, float | None]] = {
        "brain": {
            "vector": retrieval.vector_weight,
            "fts": retrieval.fts_weight,
            "recency": retrieval.recency_weight,
            "importance": retrieval.importance_weight,
        },
        "knowledge": {"vector": knowledge.hybrid_vector_weight, "text": knowledge.hybrid_text_weight},
    }
    given = {label: weight for label, weight in changes.get(profile.name, {}).items() if weight is not None}
    return replace(profile.with_weights(given), source="settings") if given else profile
