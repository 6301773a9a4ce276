"""How an answer looks that has no form of its own: names and values, one line each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ricordo.cli.terminal import Screen, one_line

_INDENT = "  "


def show_plain(screen: Screen, plain: Mapping[str, Any]) -> None:
    """A value per line; a list has a line for each of its parts."""
    for name, value in plain.items():
        label = name.replace("_", " ")
        if isinstance(value, list):
            screen.line(f"{label}: {len(value):,}")
            for part in value:
                screen.line(f"{_INDENT}{_in_one_line(part)}")
        else:
            screen.line(f"{label}: {_in_one_line(value)}")


def _in_one_line(value: Any) -> str:
    if isinstance(value, Mapping):
        shown = (f"{name} {_in_one_line(one)}" for name, one in value.items() if one not in (None, "", [], {}))
        return ", ".join(shown)
    if isinstance(value, list):
        return ", ".join(map(_in_one_line, value)) or "none"
    if value is None or isinstance(value, bool):
        return {True: "yes", False: "no", None: "-"}[value]
    return one_line(str(value))
