"""What SQLite says in its own way."""

from __future__ import annotations

_LARGEST = (1 << 63) - 1


def ignoring_case(column: str) -> str:
    """The condition that a column is a given text, in capital letters or small."""
    return f"{column}=? COLLATE NOCASE"


def day(column: str) -> str:
    """The local day of a stored time."""
    return f"date({column} / 1000000, 'unixepoch', 'localtime')"


def json_is(column: str, place: str, value: object) -> tuple[str, list[object]]:
    """The condition that a place in a column of JSON holds a plain value, and what is bound in it."""
    if isinstance(value, int) and abs(value) > _LARGEST:
        value = float(value)  # as SQLite reads such a number from JSON
    return f"json_extract({column}, ?) = ?", [place, value]


def may_hold(column: str, folded: str) -> tuple[str, list[object]]:
    """True: SQLite cannot tell without reading the text, which the caller does."""
    return "TRUE", []


def unclaimed() -> str:
    """Nothing: no other transaction writes at the same time."""
    return ""
