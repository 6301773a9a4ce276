"""What a ranking needs to know of every candidate, read in one statement."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ricordo.store.asking import Window
from ricordo.store.sqlite import items
from ricordo.store.sqlite.connection import Connection

MOST_KEPT = 50_000
DATED_FIELDS = (
    """CASE WHEN instr(i.fields, '"valid_from": "') > 0 OR instr(i.fields, '"valid_until": "') > 0 THEN i.fields END"""
)
"""The fields of an item, if dates may stand in them that say when it holds: most items have none."""


Brief = tuple[str, bool, Window | None]
"""Of an item: its ref, whether it is part of a thread, and from when until when it holds, where it has such dates."""


class BriefCache:
    """Keeps what was read of items until an item changes."""

    def __init__(self) -> None:
        self._known: tuple[int, dict[int, Brief]] = (-1, {})

    def read(self, connection: Connection, numbers: Sequence[int]) -> dict[int, Brief]:
        """The little that a ranking needs to know of items; those that are gone are left out."""
        epoch = connection.once("SELECT value FROM meta WHERE name='index_epoch'")[0][0]
        state = self._known  # read once: another thread may look at another moment, and replace it
        if state[0] != epoch or len(state[1]) > MOST_KEPT:
            state = self._known = (epoch, {})
        known = state[1]
        for part in items.batched([n for n in numbers if n not in known]):
            marks = ",".join("?" * len(part))
            sql = f"SELECT n, drive, path, thread IS NOT NULL, {DATED_FIELDS} FROM items i WHERE n IN ({marks})"
            for n, drive, path, in_thread, dated in connection.rows(sql, part):
                known[n] = f"{drive}:{path}", bool(in_thread), None if dated is None else window_of(dated)
        return {n: known[n] for n in numbers if n in known}


def window_of(text: str) -> Window:
    """From when and until when an item holds, given the JSON of its fields."""
    fields = json.loads(text)
    return fields.get("valid_from"), fields.get("valid_until")
