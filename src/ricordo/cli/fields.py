"""The fields of an item on the command line: options for the usual ones, and ``--set`` for any of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import click

from ricordo.errors import UsageError
from ricordo.verbs.index import verb_named
from ricordo.verbs.rows import ParamRow

_INTEGER_FIELDS = ("importance", "seq")
_FLAG_FIELDS = ("immutable", "decay_protected", "is_textual")
_TEXT_FIELDS = ("title", "description", "context")

ANY_FIELD = click.Option(["--set", "pairs"], multiple=True, metavar="FIELD=VALUE", help="Any other field (repeatable).")


def item_fields(but: Sequence[ParamRow]) -> list[ParamRow]:
    """The fields of an item that have an option of their own, but for names that are taken."""
    taken = {param.name for param in but}
    return [param for param in verb_named("remember").on("cli") if param.group == "**" and param.name not in taken]


def fields_from(given: dict[str, Any]) -> dict[str, Any]:
    """Take the fields of an item out of what was given, by options of their own or by ``--set``."""
    from ricordo.values.field_checks import checked_tags
    from ricordo.values.items import FIELD_NAMES, checked_fields

    changes: dict[str, Any] = {}
    for pair in given.pop("pairs", ()):
        name, equals, value = pair.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise UsageError(f"'{pair}' is not FIELD=VALUE", hint="Write --set severity=warning")
        changes[name] = _field(name, value) if name in FIELD_NAMES else value
    for name in FIELD_NAMES:
        value = given.pop(name, None)
        if value not in (None, ()):
            changes[name] = checked_tags(",".join(value)) if name == "tags" else value
    return checked_fields(changes)


def _field(name: str, text: str) -> object:
    """The value of one field from its text; ``checked_fields`` says what is allowed."""
    value = text.strip()
    if name == "tags":
        return value
    if name in _FLAG_FIELDS:
        if value.lower() not in ("true", "false", "yes", "no", "1", "0"):
            raise UsageError(f"{name} cannot be '{value}'", hint="true or false.")
        return value.lower() in ("true", "yes", "1")
    if name == "metadata":
        return _metadata(value)
    if not value and name not in _TEXT_FIELDS:
        return None
    if name in _INTEGER_FIELDS:
        try:
            return int(value)
        except ValueError:
            raise UsageError(f"{name} cannot be '{value}'", hint="A whole number.") from None
    return text


def _metadata(value: str) -> Mapping[str, Any]:
    try:
        read = json.loads(value or "{}")
    except ValueError:
        read = None
    if not isinstance(read, dict):
        raise UsageError("metadata must be a JSON object", hint="""For example --set 'metadata={"team": "search"}'""")
    return read
