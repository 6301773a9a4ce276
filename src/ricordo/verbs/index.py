"""All verbs: those of the core from ``index.json``, those of a plugin from ``verbs.json`` in its folder.

``make docs`` writes these files from the declarations, and a test compares both. The declarations of a plugin without
such a file, which is one of somebody else, are read when the verbs are first asked for.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

from ricordo.plugin import Plugin, installed
from ricordo.verbs.rows import VerbRow, verb_row

FILE = Path(__file__).with_name("index.json")


def plugin_file(plugin: Plugin) -> Path:
    """The file of a plugin's verbs."""
    return Path(sys.modules[plugin.package].__file__ or "").with_name("verbs.json")


@cache
def _plain() -> dict[str, dict[str, Any]]:
    rows = _read(FILE)
    for plugin in installed().values():
        if plugin.verbs:
            plain = _read(plugin_file(plugin)) if plugin_file(plugin).exists() else _declared(plugin)
            rows += [row | {"plugin": plugin.name} for row in plain]
    return {row["path"]: row for row in sorted(rows, key=lambda row: str(row["path"]))}


def _read(file: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return rows


def _declared(plugin: Plugin) -> list[dict[str, Any]]:
    from ricordo.verbs.read import plain_row, plugin_rows

    return [plain_row(row) for row in plugin_rows(plugin)]


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
