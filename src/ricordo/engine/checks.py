"""Checks of what callers hand in: choices, ids, and items that may not be used or changed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ricordo.errors import Conflict, NotFound, UsageError
from ricordo.values.hits import Filters
from ricordo.values.items import Item

_ID = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$", re.IGNORECASE)


def is_id(text: str) -> bool:
    """Whether a text has the form of an item's id."""
    return _ID.match(text) is not None


def check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    """Refuse a value that is not among the allowed ones."""
    if value not in allowed:
        raise UsageError(f"{name} cannot be '{value}'", hint=f"One of: {', '.join(allowed)}.")


_CALLED = {str: "a text", int: "a whole number", float: "a number", Mapping: "a mapping", Filters: "Filters(…)"}


def check_type(name: str, value: object, wanted: type, *, optional: bool = False) -> None:
    """Refuse an argument of the wrong type by its name, before it causes an error further inside."""
    is_number = wanted is float and isinstance(value, int)
    if (value is None and optional) or is_number or (isinstance(value, wanted) and not isinstance(value, bool)):
        return
    raise UsageError(f"{name} cannot be {type(value).__name__} ({str(value)[:60]!r})", hint=f"Give {_CALLED[wanted]}.")


def refuse_binned(item: Item) -> None:
    """Refuse an item that is in the bin: for callers it does not exist."""
    if item.state == "deleted":
        raise NotFound(f"{item.ref} is in the bin", hint=f"‹:restore {item.ref}› brings it back.")


def refuse_put_away(item: Item) -> None:
    """Refuse to change an item in the bin or the archive, because a change would bring it back."""
    refuse_binned(item)
    if item.state == "archived":
        raise Conflict(f"{item.ref} is archived", hint=f"‹:restore {item.ref}› brings it back first.")
