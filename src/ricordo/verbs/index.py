"""All verbs: those of the core from ``index.json``, those of a plugin from ``verbs.json`` in its folder.

``make docs`` writes these files from the declarations, a line for each verb, and a test compares both. The declarations
of a plugin without such a file, which is one of somebody else, are read when the verbs are first asked for.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path

from ricordo.plugin import Plugin, installed
from ricordo.verbs.rows import VerbRow, verb_row

FILE = Path(__file__).with_name("index.json")
_PATH = '"path": "'


def plugin_file(plugin: Plugin) -> Path:
    """The file of a plugin's verbs."""
    return Path(sys.modules[plugin.package].__file__ or "").with_name("verbs.json")


@cache
def _rows() -> dict[str, tuple[str, str]]:
    """Where each verb stands: its plugin and its row as JSON, by its words. A command reads the rows of few verbs."""
    rows = [(row, "") for row in _rows_in(FILE)]
    for plugin in installed().values():
        if plugin.verbs:
            file = plugin_file(plugin)
            rows += [(row, plugin.name) for row in (_rows_in(file) if file.exists() else _declared_rows(plugin))]
    by_path = {row.partition(_PATH)[2].partition('"')[0]: (plugin, row) for row, plugin in rows}
    return dict(sorted(by_path.items()))


def _rows_in(file: Path) -> list[str]:
    return [line.rstrip(",") for line in file.read_text(encoding="utf-8").split("\n") if line.startswith("{")]


def _declared_rows(plugin: Plugin) -> list[str]:
    from ricordo.verbs.read import plain_row, plugin_rows

    return [json.dumps(plain_row(row)) for row in plugin_rows(plugin)]


@cache
def verb_named(path: str) -> VerbRow:
    """One verb by its words on the command line (``skills search``)."""
    plugin, row = _rows()[path]
    return verb_row(json.loads(row) | ({"plugin": plugin} if plugin else {}))


def has_verb(path: str) -> bool:
    """Whether there is such a verb."""
    return path in _rows()


def all_verbs() -> list[VerbRow]:
    """Every verb, by its words on the command line."""
    return [verb_named(path) for path in _rows()]
