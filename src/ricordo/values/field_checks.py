"""Whether the fields of an item hold what they can hold: types, ranges, and what JSON can carry."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

from ricordo.errors import UsageError
from ricordo.values.times import parse_time

SEVERITIES: tuple[str, ...] = ("critical", "warning", "suggestion")
LOADINGS: tuple[str, ...] = ("always", "contextual")
SOURCES: tuple[str, ...] = ("user", "agent", "file", "url")
HIGHEST_SEQ = 2**53
"""The highest whole number that every reader of JSON keeps exactly."""
DEEPEST_METADATA = 50

_CHOICES = {"severity": SEVERITIES, "loading": LOADINGS, "source": SOURCES}
_RANGES = {"importance": (1, 5), "seq": (-HIGHEST_SEQ, HIGHEST_SEQ)}
_DAYS = ("valid_from", "valid_until")
_TYPES: dict[str, tuple[Any, str]] = {
    **dict.fromkeys(("immutable", "decay_protected", "is_textual"), (bool, "true or false")),
    "metadata": (Mapping, "an object of names and values"),
}
"""The types of fields that are no texts, and what to give for them."""


def checked_fields(holder: type, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The same mapping with every value checked and put into the form that the dataclass ``holder`` holds."""
    by_name = {field.name: field for field in fields(holder)}
    unknown = sorted(str(name) for name in changes if name not in by_name)
    if unknown:
        raise UsageError(f"unknown field '{unknown[0]}'", hint=f"Fields are: {', '.join(by_name)}.")
    return {name: _checked(by_name[name], value) for name, value in changes.items()}


def check_validity(valid_from: str | None, valid_until: str | None) -> None:
    """Refuse an end that comes before the beginning, because such an item would never be valid."""
    if valid_from and valid_until and parse_time(valid_from) > parse_time(valid_until):
        raise UsageError("valid_until is before valid_from", hint="Such an item would never be valid.")


def checked_tags(value: object) -> tuple[str, ...]:
    """Tags from a list or a comma-separated string: trimmed, without empties, each once, in order."""
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, (list, tuple, set)) else [value]
    return tuple(dict.fromkeys(text for part in parts if part is not None and (text := str(part).strip())))


def _checked(field: Field[Any], value: Any) -> Any:
    name = field.name
    if name == "tags":
        return checked_tags(value)
    if value is None:
        return field.default_factory() if field.default_factory is not MISSING else field.default
    if name in _CHOICES and (not isinstance(value, str) or value not in _CHOICES[name]):
        raise UsageError(f"{name} cannot be '{value}'", hint=f"One of: {', '.join(_CHOICES[name])}.")
    if name in _RANGES:
        low, high = _RANGES[name]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise UsageError(f"{name} cannot be '{value}'", hint=f"A whole number from {low} to {high}.")
        return value
    if name in _DAYS:
        return _moment(name, value)
    wanted, what = _TYPES.get(name, (str, "a text"))
    if not isinstance(value, wanted):
        raise UsageError(f"{name} cannot be {_shown(value)}", hint=f"Give {what}.")
    if name == "metadata":
        _check_plain(value)
        return dict(value)
    return value


def _moment(name: str, value: Any) -> str:
    try:
        return parse_time(str(value)).isoformat()
    except UsageError as problem:
        raise UsageError(f"{name}: {problem.message}", hint=problem.hint) from None


def _check_plain(value: Any, depth: int = 0) -> None:
    """Refuse what JSON cannot carry, or would bring back as something else."""
    if depth > DEEPEST_METADATA:
        raise UsageError("metadata is nested too deeply", hint=f"At most {DEEPEST_METADATA} levels.")
    if value is None or isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value)):
        return
    if isinstance(value, Mapping):
        for name, part in value.items():
            if not isinstance(name, str):
                raise UsageError(f"metadata cannot have the name {_shown(name)}", hint="Names are texts.")
            _check_plain(part, depth + 1)
    elif isinstance(value, (list, tuple)):
        for part in value:
            _check_plain(part, depth + 1)
    else:
        hint = "Give texts, finite numbers, true, false, null, lists and objects."
        raise UsageError(f"metadata cannot hold {_shown(value)}", hint=hint)


def _shown(value: object) -> str:
    """A value in an error; of a long one, its beginning."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
