"""Fields as the stores keep them: JSON of those that differ from what every item starts with.

Most fields of most items are empty, and an item's fields stand in its row and in each of its versions. Rows that an
earlier Ricordo wrote name every field; both are read alike.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ricordo.values.items import FIELD_NAMES, Fields

_AT_FIRST: Mapping[str, Any] = Fields().to_dict()
_ALWAYS_WRITTEN = "is_textual"
"""Statements of this and of earlier programs ask for it by what is written."""
_KNOWN = frozenset(FIELD_NAMES)
_NOTHING = object()


def fields_json(plain: Mapping[str, Any]) -> str:
    """Fields as they are written."""
    told = {
        name: value
        for name, value in plain.items()
        if name == _ALWAYS_WRITTEN or _AT_FIRST.get(name, _NOTHING) != value
    }
    return json.dumps(told, ensure_ascii=False, default=str)


def fields_of(text: str) -> Fields:
    """Fields from their stored JSON; names that this version does not know are left out."""
    plain = json.loads(text)
    if not plain.keys() <= _KNOWN:
        plain = {name: value for name, value in plain.items() if name in _KNOWN}
    plain["tags"] = tuple(plain.get("tags", ()))
    return Fields(**plain)


def all_fields(text: str) -> dict[str, Any]:
    """Every field from the stored JSON, also those that nobody gave a value, and names from later versions."""
    return {**_AT_FIRST, **json.loads(text)}
