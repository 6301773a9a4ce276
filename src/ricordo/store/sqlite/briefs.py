"""What a ranking needs to know of every candidate, read in one statement."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ricordo.frozen import frozen
from ricordo.store.asking import Window
from ricordo.store.sqlite import items
from ricordo.store.sqlite.connection import Connection

DATED_FIELDS = (
    """CASE WHEN instr(i.fields, '"valid_from": "') > 0 OR instr(i.fields, '"valid_until": "') > 0 THEN i.fields END"""
)
"""The fields of an item, if dates may stand in them that say when it holds: most items have none."""


@frozen
class Brief:
    """The little that a ranking needs to know of every candidate."""

    ref: str
    in_thread: bool
    window: Window | None = None
    """From when until when it holds, where it has such dates."""


def briefs_of(connection: Connection, numbers: Sequence[int]) -> dict[int, Brief]:
    """What a ranking needs to know of items, by number."""
    found: dict[int, Brief] = {}
    for part in items.batched(numbers):
        marks = ",".join("?" * len(part))
        sql = f"SELECT n, drive, path, thread IS NOT NULL, {DATED_FIELDS} FROM items i WHERE n IN ({marks})"
        for n, drive, path, in_thread, dated in connection.rows(sql, part):
            window = None if dated is None else window_of(dated)
            found[n] = Brief(f"{drive}:{path}", bool(in_thread), window)
    return found


def window_of(text: str) -> Window:
    """From when and until when an item holds, given the JSON of its fields."""
    fields = json.loads(text)
    return fields.get("valid_from"), fields.get("valid_until")
