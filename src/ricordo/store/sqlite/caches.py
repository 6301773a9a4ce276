"""What is kept in memory of items until one changes: the little that a ranking needs, and which items pass a filter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ricordo.store.asking import Window
from ricordo.store.sql.arrays import Array
from ricordo.store.sql.batches import in_parts
from ricordo.store.sql.filters import where
from ricordo.store.sql.windows import DATED_FIELDS, window_of
from ricordo.store.sqlite.connection import Connection
from ricordo.values.hits import Filters

MOST_BRIEFS = 50_000
"""How many items are kept; when there are more, all are dropped."""
MOST_NUMBERS = 2_000_000
"""How many numbers of items that passed a filter are kept; when there are more, all are dropped."""
Brief = tuple[str, bool, Window | None]
"""Of an item: its ref, whether it is part of a thread, from when until when it holds, where it has such dates."""


class BriefCache:
    """Keeps what was read of items until an item changes."""

    def __init__(self) -> None:
        self._known: tuple[int, dict[int, Brief]] = (-1, {})

    def read(self, connection: Connection, numbers: Sequence[int]) -> dict[int, Brief]:
        """The little that a ranking needs to know of items; those that are gone are left out."""
        epoch = connection.once("SELECT value FROM meta WHERE name='index_epoch'")[0][0]
        state = self._known  # read once: another thread may look at another moment, and replace it
        if state[0] != epoch or len(state[1]) > MOST_BRIEFS:
            state = self._known = (epoch, {})
        known = state[1]
        for marks, part in in_parts(n for n in numbers if n not in known):
            sql = f"SELECT n, drive, path, thread IS NOT NULL, {DATED_FIELDS} FROM items i WHERE n IN ({marks})"
            for n, drive, path, in_thread, dated in connection.rows(sql, part):
                known[n] = f"{drive}:{path}", bool(in_thread), None if dated is None else window_of(dated)
        return {n: known[n] for n in numbers if n in known}


class FilterCache:
    """Finds the items that pass filters, and keeps their numbers until an item changes."""

    def __init__(self) -> None:
        self._known: tuple[int, dict[tuple[object, ...], Array]] = (-1, {})

    def items(self, connection: Connection, filters: Filters, *, as_of: bool = False) -> Array | None:
        """Numbers of the items that pass; None when every indexed item does."""
        if filters.is_empty() and not as_of:
            return None
        epoch = connection.once("SELECT value FROM meta WHERE name='index_epoch'")[0][0]
        state = self._known  # read once: another thread may look at another moment, and replace it
        if state[0] != epoch or sum(map(len, state[1].values())) > MOST_NUMBERS:
            state = self._known = (epoch, {})
        known = state[1]
        condition, values = where(filters, connection.dialect)
        key = (condition, *values)
        found = known.get(key)
        if found is None:
            rows = connection.rows(f"SELECT i.n FROM items i WHERE {condition}", values)
            found = known[key] = np.fromiter((row[0] for row in rows), np.int64, len(rows))
        return found
