"""Filters as SQL over the items table, so that they apply before the best are picked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from ricordo.errors import UsageError
from ricordo.store.sqlite.connection import Connection
from ricordo.store.sqlite.postings import Array
from ricordo.store.sqlite.times import micros
from ricordo.values.hits import Filters

MOST_KEPT = 2_000_000
"""How many numbers of items are kept; when there are more, all are dropped."""


def where(filters: Filters) -> tuple[str, list[Any]]:
    """The condition and its bindings; the items table is called ``i``."""
    parts: list[str] = []
    values: list[Any] = []

    def any_of(column: str, wanted: tuple[str, ...]) -> None:
        if wanted:
            parts.append(f"{column} IN ({','.join('?' * len(wanted))})")
            values.extend(wanted)

    any_of("i.state", filters.states)
    any_of("i.kind", filters.kinds)
    any_of("i.category", filters.categories)
    any_of("i.domain", filters.domains)
    any_of("i.severity", filters.severities)
    any_of("i.drive", filters.drives)
    any_of("i.thread", filters.threads)
    any_of("i.loading", filters.loadings)
    if filters.tags_any:
        marks = ",".join(["lower(?)"] * len(filters.tags_any))
        parts.append(f"i.n IN (SELECT item FROM item_tags WHERE lower(tag) IN ({marks}))")
        values.extend(filters.tags_any)
    for tag in filters.tags_all:
        parts.append("i.n IN (SELECT item FROM item_tags WHERE lower(tag) = lower(?))")
        values.append(tag)
    for paths in (filters.paths, filters.also_paths):
        if paths:
            conditions = [_path_condition(path, values) for path in paths]
            parts.append(f"({' OR '.join(conditions)})")
    if filters.importance_min is not None:
        parts.append("i.importance >= ?")
        values.append(filters.importance_min)
    for comparison, moment in ((">=", filters.after), ("<", filters.before)):
        if moment is not None:
            parts.append(f"i.updated_at {comparison} ?")
            values.append(micros(moment))
    for facet in filters.facets:
        parts.append("json_extract(i.metadata, ?) = json_extract('true', '$')")
        values.append(f"$.facets.{json.dumps(facet)}")
    for name, wanted in filters.metadata.items():
        if isinstance(wanted, Mapping | list | tuple):
            raise UsageError(
                f"the metadata filter '{name}' is not a plain value",
                hint="Filter by a text, a number, true or false; a facet of a turn by facet:correction.",
            )
        parts.append("json_extract(i.metadata, ?) = json_extract(?, '$')")
        values.extend((f"$.{json.dumps(name)}", json.dumps(wanted)))
    return " AND ".join(parts) or "TRUE", values


def _path_condition(path: str, values: list[Any]) -> str:
    """A prefix (``/notes``), a place inside (``notes/a``), or a glob (``*.md``)."""
    if any(sign in path for sign in "*?["):
        values.append(path if path.startswith(("/", "*")) else f"*/{path}")
        return "glob(?, i.path)"
    if path.startswith("/"):
        values.extend((path, path))
        return "substr(i.path, 1, length(?)) = ?"
    values.append(f"/{path}")
    return "instr(i.path, ?) > 0"


class FilterCache:
    """Finds the items that pass filters, and keeps their numbers until an item changes."""

    def __init__(self) -> None:
        self._known: tuple[int, dict[tuple[Any, ...], Array]] = (-1, {})

    def items(self, connection: Connection, filters: Filters, *, as_of: bool = False) -> Array | None:
        """Numbers of the items that pass; None when every indexed item does."""
        if filters.is_empty() and not as_of:
            return None
        epoch = connection.once("SELECT value FROM meta WHERE name='index_epoch'")[0][0]
        state = self._known  # read once: another thread may look at another moment, and replace it
        if state[0] != epoch or sum(map(len, state[1].values())) > MOST_KEPT:
            state = self._known = (epoch, {})
        known = state[1]
        condition, values = where(filters)
        key = (condition, *values)
        found = known.get(key)
        if found is None:
            rows = connection.rows(f"SELECT i.n FROM items i WHERE {condition}", values)
            found = known[key] = np.fromiter((row[0] for row in rows), np.int64, len(rows))
        return found
