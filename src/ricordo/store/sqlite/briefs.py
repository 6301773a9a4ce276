"""What a ranking needs to know of every candidate, read in one statement."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ricordo.store.asking import Window
from ricordo.store.sqlite import items
from ricordo.store.sqlite.connection import Connection

DATED_FIELDS = (
    """CASE WHEN instr(i.fields, '"valid_from": "') > 0 OR instr(i.fields, '"valid_until": "') > 0 THEN i.fields END"""
)
"""The fields of an item, if dates may stand in them that say when it holds: most items have none."""


class Briefs:
    """The little that a ranking needs to know of every candidate, by item number."""

    def __init__(self) -> None:
        self.refs: dict[int, str] = {}
        self.in_threads: list[int] = []
        """The items that are part of a thread."""
        self.windows: dict[int, Window] = {}
        """From when until when an item holds, where it has such dates."""

    def read(self, connection: Connection, numbers: Sequence[int]) -> None:
        """Read about items that were not read about before."""
        for part in items.batched([n for n in numbers if n not in self.refs]):
            marks = ",".join("?" * len(part))
            sql = f"SELECT n, drive, path, thread IS NOT NULL, {DATED_FIELDS} FROM items i WHERE n IN ({marks})"
            rows = connection.rows(sql, part)
            self.refs.update([(n, f"{drive}:{path}") for n, drive, path, *_ in rows])
            self.in_threads += [n for n, _, _, in_thread, _ in rows if in_thread]
            self.windows.update([(n, window_of(dated)) for n, *_, dated in rows if dated is not None])


def window_of(text: str) -> Window:
    """From when and until when an item holds, given the JSON of its fields."""
    fields = json.loads(text)
    return fields.get("valid_from"), fields.get("valid_until")
