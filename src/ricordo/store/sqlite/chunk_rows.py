"""Which chunks a search looks among: those that hold a text, were live at a time, or belong to archived items."""

from __future__ import annotations

from datetime import datetime

import numpy as np

from ricordo.store.sql.arrays import Array
from ricordo.store.sql.batches import in_parts
from ricordo.store.sql.chunk_rows import chunks_by_age
from ricordo.store.sql.times import micros
from ricordo.store.sqlite.connection import Connection
from ricordo.text.words import fold


def substring_chunks(
    connection: Connection, needle: str, *, limit: int, allowed: Array | None, times: Array | None = None
) -> list[tuple[int, int]]:
    """``(chunk, item)`` of chunks that contain the text (case and accents are ignored), one per item, newest first.

    They are live ones, or those in ``times``.
    """
    wanted = fold(needle.strip())
    if not wanted:
        return []
    found: dict[int, int] = {}
    for chunk, n, text in chunks_by_age(connection, allowed, times):
        if n not in found and wanted in fold(text):
            found[n] = chunk
            if len(found) >= limit:
                break
    return [(chunk, n) for n, chunk in found.items()]


def chunks_at(connection: Connection, when: datetime) -> Array:
    """Ids of the chunks that were live at a time and are not deleted."""
    return _live_at(connection, "id", when)


def items_at(connection: Connection, when: datetime) -> Array:
    """Numbers of the items that had such a chunk."""
    return _live_at(connection, "DISTINCT item", when)


def _live_at(connection: Connection, column: str, when: datetime) -> Array:
    rows = connection.rows(
        f"SELECT {column} FROM chunks WHERE state<2 AND live_from<=? AND (live_until IS NULL OR live_until>?)",
        (micros(when), micros(when)),
    )
    return np.fromiter((row[0] for row in rows), np.int64, len(rows))


def current_chunks(connection: Connection, numbers: Array) -> Array:
    """Ids of the chunks that the current versions of some items hold, searchable or not."""
    layouts: list[bytes] = []
    for marks, part in in_parts(numbers.tolist()):
        layouts += (
            row[0]
            for row in connection.rows(
                "SELECT v.layout FROM items i JOIN versions v ON v.item = i.n AND v.number = i.version"
                f" WHERE i.n IN ({marks})",
                part,
            )
        )
    return np.frombuffer(b"".join(layouts), np.int64).reshape(-1, 4)[:, 0].copy()
