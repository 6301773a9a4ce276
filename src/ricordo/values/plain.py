"""The one way in which every value becomes JSON.

A value that inherits ``Plain`` has ``to_dict``: its fields by name, with times in ISO form, refs as text, tuples as
lists, and values inside it in the same way. The ``metadata`` of a field say what is different for it:
``LEFT_OUT_WHEN_EMPTY``, ``NOT_SHOWN``, ``rounded(3)``, ``named("works")``, ``NULL_WHEN_EMPTY``. A class that shows more
than its fields extends the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from functools import cache
from typing import Any

LEFT_OUT_WHEN_EMPTY: Mapping[str, Any] = {"omit": True}
NULL_WHEN_EMPTY: Mapping[str, Any] = {"null": True}
NOT_SHOWN: Mapping[str, Any] = {"hide": True}


def rounded(digits: int) -> Mapping[str, Any]:
    """The field is shown with this many digits."""
    return {"round": digits}


def named(name: str) -> Mapping[str, Any]:
    """The field has another name in JSON."""
    return {"name": name}


class Plain:
    """A frozen value with ``to_dict``."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The value as JSON types."""
        values: dict[str, Any] = {}
        cls: Any = type(self)
        for name, how in _shown(cls):
            value = getattr(self, name)
            if how:
                if how.get("omit") and _is_empty(value):
                    continue
                if how.get("null") and _is_empty(value):
                    value = None
                if "round" in how and value is not None:
                    value = round(value, how["round"])
            values[how.get("name", name)] = value if type(value) in _AS_THEY_ARE else plain(value)
        return values


@cache
def _shown(cls: Any) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """The fields of a class that are shown, and how."""
    return tuple((item.name, item.metadata) for item in fields(cls) if not item.metadata.get("hide"))


_AS_THEY_ARE = frozenset({str, int, bool, float, type(None)})


def plain(value: Any) -> Any:
    """A value, or a collection of values, as JSON types."""
    if isinstance(value, Plain):
        return value.to_dict()
    if isinstance(value, tuple | list):
        return [plain(element) for element in value]
    if isinstance(value, Mapping):
        return {name: plain(element) for name, element in value.items()}
    if isinstance(value, datetime):
        return value.isoformat()
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _is_empty(value: Any) -> bool:
    return value is None or (not isinstance(value, bool | float) and not value)
