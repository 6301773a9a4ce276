"""All verbs, from ``index.json``: ``make docs`` writes it from the declarations, and a test compares both."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from ricordo.verbs.rows import VerbRow, verb_row

FILE = Path(__file__).with_name("index.json")


@cache
def _plain() -> dict[str, dict[str, Any]]:
    return {plain["path"]: plain for plain in json.loads(FILE.read_text(encoding="utf-8"))}


@cache
def verb_named(path: str) -> VerbRow:
    """One verb by its words on the command line (``skills search``)."""
    return verb_row(_plain()[path])


def has_verb(path: str) -> bool:
    """Whether there is such a verb."""
    return path in _plain()


def line_of(path: str) -> str:
    """What a verb does, in one sentence."""
    line: str = _plain()[path]["line"]
    return line


def all_verbs() -> list[VerbRow]:
    """Every verb, by its words on the command line."""
    return [verb_named(path) for path in _plain()]
