"""What PostgreSQL says in its own way."""

from __future__ import annotations

import json


def ignoring_case(column: str) -> str:
    """The condition that a column is a given text, in capital letters or small."""
    return f"lower({column})=lower(?)"


def day(column: str) -> str:
    """The local day of a stored time."""
    return f"to_char(to_timestamp({column} / 1000000), 'YYYY-MM-DD')"


def json_is(column: str, place: str, value: object) -> tuple[str, list[object]]:
    """The condition that a place in a column of JSON holds a plain value, and what is bound in it."""
    written = json.dumps(value).replace("\\u0000", "")  # which PostgreSQL cannot hold, and ``json_extract`` leaves out
    return f"json_extract({column}, ?) = ?::jsonb", [place, written]
