"""Turns a table, built in or a user's, into a profile. A value that cannot be used is an error that names what can.

A user's table may hold ``base`` (the profile it starts from; without signals of its own that is ``default``),
``description``, ``weights``, ``signals``, ``sides``, ``per_side``, ``min_score`` and ``guard``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ricordo.errors import UsageError
from ricordo.search.profile import SIDES, SIGNALS, STEPS, Profile, Term, checked_weight, refuse_no_weight

USER_KEYS = ("base", "description", "weights", "signals", "sides", "refine", "per_side", "min_score", "guard")
TERM_KEYS = ("signal", "weight", "without_vectors")
_LARGEST = 10_000


def read_profile(name: str, table: Mapping[str, Any]) -> Profile:
    """A built-in profile."""
    profile = Profile(
        name,
        _signals(name, table["signals"]),
        fusion=table.get("fusion", "sum"),
        learns=table.get("learns"),
        counts_as_opening=table.get("counts_as_opening", False),
        memory_score=table.get("memory_score"),
        sessions_last=table.get("sessions_last", False),
    )
    return _with_rest(profile, table)


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
    limits = _table(profile.name, "per_side", table.get("per_side", {}), "per_side = { factor = 3, minimum = 30 }")
    _refuse_unknown(f"per_side of the profile '{profile.name}'", limits, ("factor", "minimum"))
    return replace(
        profile,
        description=str(table.get("description", profile.description)),
        sides=_sides(profile.name, table.get("sides", profile.sides)),
        refine=_steps(profile, table.get("refine", profile.refine)),
        factor=_whole(profile.name, "per_side.factor", limits.get("factor", profile.factor), 1),
        minimum=_whole(profile.name, "per_side.minimum", limits.get("minimum", profile.minimum), 1),
        guard=_whole(profile.name, "guard", table.get("guard", profile.guard), 0),
        min_score=_score(profile.name, table.get("min_score", profile.min_score)),
    )


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


def _steps(profile: Profile, steps: Any) -> tuple[str, ...]:
    if isinstance(steps, str) or any(step not in STEPS for step in steps):
        raise UsageError(f"refine of profile '{profile.name}' is {steps!r}", hint=f"Some of: {', '.join(STEPS)}.")
    return tuple(steps) if profile.fusion == "spread" else ()


def _refuse_unknown(what: str, table: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            raise UsageError(f"{what} has an unknown entry '{key}'", hint=f"It may hold: {', '.join(known)}.")


def _whole(name: str, key: str, value: object, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _LARGEST:
        raise UsageError(
            f"{key} of the profile '{name}' cannot be {value!r}", hint=f"A whole number from {least} to {_LARGEST}."
        )
    return value


def _score(name: str, value: object) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 1:
        raise UsageError(f"min_score of the profile '{name}' cannot be {value!r}", hint="A number from 0 to 1.")
    return float(value)


def _sides(name: str, sides: object) -> tuple[str, ...]:
    if not isinstance(sides, (list, tuple)) or not sides or any(side not in SIDES for side in sides):
        raise UsageError(f"the sides of profile '{name}' cannot be {sides!r}", hint='sides = ["lexical", "vector"]')
    return tuple(sides)
