"""What a process keeps of a store between searches, and which chunks and items a search may look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import numpy as np

from ricordo.store.arrays import Array
from ricordo.store.index.lexical import EPOCH, LexicalIndex
from ricordo.store.query import Window
from ricordo.store.search.vectors import VectorIndex
from ricordo.store.sql.database import Connection, Database, Row, micros
from ricordo.store.sql.filters import DATED_FIELDS, where, window_of
from ricordo.store.sql.items import chunks_by_age
from ricordo.text.words import Analyzer, fold
from ricordo.values.hits import Filters

MOST_BRIEFS = 50_000
"""How many items are kept; when there are more, all are dropped."""
MOST_NUMBERS = 2_000_000
"""How many numbers of items that passed a filter are kept; when there are more, all are dropped."""
Brief = tuple[str, bool, Window | None]
"""Of an item: its ref, whether it is part of a thread, from when until when it holds, where it has such dates."""


_BRIEFS = f"SELECT n, drive, path, thread IS NOT NULL, {DATED_FIELDS} FROM items i WHERE n IN (*)"


class SearchedStore:
    """Everything that is kept between searches of one open store; both databases extend it."""

    database: Database
    analyzer: Analyzer
    is_remote = False
    """Whether a network is between this process and the rows."""

    def __init__(self) -> None:
        self._make_vector_index: Callable[[], VectorIndex] = VectorIndex
        self.forget()

    def search_vectors_with(self, make: Callable[[], VectorIndex]) -> None:
        """Let another index answer searches by vectors."""
        self._make_vector_index = make
        self.vector_index = make()

    def forget(self) -> None:
        """Read everything again."""
        self.lexical = LexicalIndex()
        self.vector_index = self._make_vector_index()
        self.briefs = BriefCache()
        self.filters = FilterCache()


class BriefCache:
    """Keeps what was read of items until an item changes."""

    def __init__(self) -> None:
        self._state: tuple[int, dict[int, Brief]] = (-1, {})

    def read(self, connection: Connection, numbers: Sequence[int]) -> dict[int, Brief]:
        """The little that a ranking needs to know of items; those that are gone are left out."""
        epoch = connection.once(EPOCH)[0][0]
        state = self._state  # read once: another thread may look at another moment, and replace it
        if state[0] != epoch or len(state[1]) > MOST_BRIEFS:
            state = self._state = (epoch, {})
        briefs = state[1]
        missing = [n for n in numbers if n not in briefs]
        for n, drive, path, in_thread, dated in connection.rows_in(_BRIEFS, missing) if missing else ():
            briefs[n] = f"{drive}:{path}", bool(in_thread), None if dated is None else window_of(dated)
        return {n: briefs[n] for n in numbers if n in briefs}


class FilterCache:
    """Finds the items that pass filters, and keeps their numbers until an item changes."""

    def __init__(self) -> None:
        self._state: tuple[int, dict[tuple[object, ...], Array]] = (-1, {})

    def items(self, connection: Connection, filters: Filters, *, as_of: bool = False) -> Array | None:
        """Numbers of the items that pass; None when every indexed item does."""
        if filters.is_empty() and not as_of:
            return None
        condition, values = where(filters, connection.dialect)
        key = (condition, *values)
        sql = f"SELECT i.n FROM items i WHERE {condition}"
        if key not in self._state[1]:
            connection.gather(lambda: connection.once(EPOCH), lambda: connection.once(sql, *values))
        epoch = connection.once(EPOCH)[0][0]
        state = self._state  # read once: another thread may look at another moment, and replace it
        if state[0] != epoch or sum(map(len, state[1].values())) > MOST_NUMBERS:
            state = self._state = (epoch, {})
        numbers = state[1].get(key)
        if numbers is None:
            numbers = state[1][key] = _numbers(connection.once(sql, *values))
        return numbers


def _numbers(rows: Sequence[Row]) -> Array:
    return np.fromiter((row[0] for row in rows), np.int64, len(rows))


def substring_chunks(
    connection: Connection, needle: str, *, limit: int, allowed: Array | None, times: Array | None = None
) -> list[tuple[int, int]]:
    """``(chunk, item)`` of chunks that contain the text (case and accents are ignored), one per item, newest first.

    They are live ones, or those in ``times``.
    """
    wanted = fold(needle.strip())
    if not wanted:
        return []
    chunk_of: dict[int, int] = {}
    for chunk, n, text in chunks_by_age(connection, allowed, times, wanted):
        if n not in chunk_of and wanted in fold(text):
            chunk_of[n] = chunk
            if len(chunk_of) >= limit:
                break
    return [(chunk, n) for n, chunk in chunk_of.items()]


def chunks_at(connection: Connection, when: datetime) -> Array:
    """Ids of the chunks that were live at a time and are not deleted."""
    return _live_at(connection, "id", when)


def items_at(connection: Connection, when: datetime) -> Array:
    """Numbers of the items that had such a chunk."""
    return _live_at(connection, "DISTINCT item", when)


def _live_at(connection: Connection, column: str, when: datetime) -> Array:
    sql = f"SELECT {column} FROM chunks WHERE state<2 AND live_from<=? AND (live_until IS NULL OR live_until>?)"
    return _numbers(connection.once(sql, micros(when), micros(when)))


def current_chunks(connection: Connection, numbers: Array) -> Array:
    """Ids of the chunks that the current versions of some items hold, searchable or not."""
    rows = connection.rows_in(
        "SELECT v.layout FROM items i JOIN versions v ON v.item = i.n AND v.number = i.version WHERE i.n IN (*)",
        numbers.tolist(),
    )
    return np.frombuffer(b"".join(row[0] for row in rows), np.int64).reshape(-1, 4)[:, 0].copy()
