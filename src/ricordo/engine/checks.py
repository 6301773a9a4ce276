"""Checks of what callers hand in: choices, ids, and items that may not be used or changed."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

from ricordo.errors import Conflict, NotFound, UsageError
from ricordo.patterns import late
from ricordo.values.hits import Filters
from ricordo.values.items import Item, Ref
from ricordo.values.kinds import KINDS
from ricordo.values.times import moment_since

_ID = late(r"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$", re.IGNORECASE)
_URL = late(r"^https?://", re.IGNORECASE)
_MOST_NAMED = 5
"""How many items of one name an error lists."""


def is_id(text: str) -> bool:
    """Whether a text has the form of an item's id."""
    return _ID.match(text) is not None


def is_url(text: str) -> bool:
    """Whether a text is the address of a page."""
    return _URL.match(text) is not None


def is_bare(name: str | Path | Ref) -> bool:
    """Whether a name is the end of a path, such as ``deployment.md``: no ref, id, URL or path from a known folder."""
    if not isinstance(name, str) or is_id(name) or is_url(name) or Ref.looks_like(name):
        return False
    return bool(name.strip()) and not name.startswith(("/", ".", "~")) and not name.endswith("/")


def only_one(name: str | Path | Ref, matches: Collection[Ref]) -> Ref | None:
    """The one item that a bare name means; None if no item is named so, an error that lists them if several are."""
    if len(matches) > 1:
        refs = sorted(map(str, matches))
        more = f" and {len(refs) - _MOST_NAMED} more" if len(refs) > _MOST_NAMED else ""
        message = f"{len(refs)} items are named {name}: {', '.join(refs[:_MOST_NAMED])}{more}"
        raise UsageError(message, hint="Name one of them by its ref.")
    return next(iter(matches), None)


def check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    """Refuse a value that is not among the allowed ones."""
    if value not in allowed:
        raise UsageError(f"{name} cannot be '{value}'", hint=f"One of: {', '.join(allowed)}.")


HIGHEST_NUMBER = 2**53
"""The highest number that every face and every store holds exactly."""
_CALLED = {str: "a text", int: "a whole number", float: "a number", Mapping: "a mapping", Filters: "Filters(…)"}


def check_type(name: str, value: object, wanted: type, *, optional: bool = False) -> None:
    """Refuse an argument of the wrong type by its name, before it causes an error further inside."""
    is_number = wanted is float and isinstance(value, int)
    if (value is None and optional) or is_number or (isinstance(value, wanted) and not isinstance(value, bool)):
        return
    raise UsageError(f"{name} cannot be {type(value).__name__} ({str(value)[:60]!r})", hint=f"Give {_CALLED[wanted]}.")


def check_number(name: str, value: object, low: int = 0, *, optional: bool = False) -> None:
    """Refuse what is no whole number, or one that is too low or higher than any store counts."""
    check_type(name, value, int, optional=optional)
    if isinstance(value, int) and not low <= value <= HIGHEST_NUMBER:
        raise UsageError(f"{name} cannot be {value}", hint=f"A whole number from {low} to {HIGHEST_NUMBER}.")


def texts(name: str, given: str | Sequence[str]) -> tuple[str, ...]:
    """Several texts; one alone, which Python would take for its letters, is one of them.

    >>> texts("tags", "ops"), texts("tags", ["ops", "keys"])
    (('ops',), ('ops', 'keys'))
    """
    several = (given,) if isinstance(given, str) else tuple(given)
    for text in several:
        check_type(name, text, str)
    return several


def kinds_of(given: str | Sequence[str]) -> tuple[str, ...]:
    """Kinds of items, which must exist: a misspelled one would choose nothing, or everything."""
    for kind in texts("kinds", given):
        check_choice("kind", kind, KINDS)
    return texts("kinds", given)


def check_filters(filters: Filters) -> Filters:
    """The filters with spans of time as moments. Refuses conditions of wrong types: a text in place of several would be
    read letter by letter, and find nothing.
    """
    for field in fields(filters):
        value = getattr(filters, field.name)
        if field.default == () and (isinstance(value, str) or not all(isinstance(part, str) for part in value)):
            raise UsageError(f"{field.name} of the filters cannot be {value!r}", hint=f"Give several: ({value!r},).")
    if filters.after is None and filters.before is None:
        return filters
    return replace(filters, after=moment_since(filters.after), before=moment_since(filters.before))


def check_new_name(ref: Ref) -> None:
    """Refuse to save an item under the name of a folder, because for other verbs that stands for all items below it,
    and under a path with ``.`` or ``..``, because it reads like the name of another item.
    """
    if ref.drive != "url" and ref.walks:
        path = posixpath.normpath(ref.path).strip("/") or "keys"
        raise UsageError(
            f"the path of {ref} has '.' or '..' as a part, which an item cannot be saved under",
            hint=f"Leave these parts out, such as {ref.drive}:/{path}.",
        )
    if ref.path.endswith("/") and ref.drive not in ("disk", "url"):
        raise UsageError(
            f"{ref} is the name of a folder, which stands for all items below it",
            hint=f"Name an item, such as {ref.drive}:{ref.path}keys.",
        )


def refuse_binned(item: Item) -> None:
    """Refuse an item that is in the bin: for callers it does not exist."""
    if item.state == "deleted":
        raise NotFound(f"{item.ref} is in the bin", hint=f"‹:restore {item.ref}› brings it back.")


def refuse_put_away(item: Item) -> None:
    """Refuse to change an item in the bin or the archive, because a change would bring it back."""
    refuse_binned(item)
    if item.state == "archived":
        raise Conflict(f"{item.ref} is archived", hint=f"‹:restore {item.ref}› brings it back first.")
