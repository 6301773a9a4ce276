"""Chunks as rows of the store: their texts, which are live, and which were live at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import numpy as np

from ricordo.store.sql import items
from ricordo.store.sql.arrays import Array
from ricordo.store.sql.protocols import Connection
from ricordo.store.sql.times import micros
from ricordo.text.words import fold


def chunk_texts(connection: Connection, chunks: Sequence[int]) -> dict[int, tuple[int, str, str]]:
    """Item number, heading and text of chunks."""
    found: dict[int, tuple[int, str, str]] = {}
    for part in items.batched(chunks):
        marks = ",".join("?" * len(part))
        for chunk, n, heading, text in connection.rows(
            f"SELECT id, item, heading, text FROM chunks WHERE id IN ({marks})", list(part)
        ):
            found[chunk] = (n, heading, text)
    return found


def live_chunks(connection: Connection, allowed: Array | None = None) -> Iterator[tuple[int, int, str]]:
    """Chunk id, item number and text of every live chunk, newest item first."""
    wanted = None if allowed is None else set(allowed.tolist())
    for chunk, n, text in connection.stream(
        "SELECT c.id, c.item, c.text FROM chunks c JOIN items i ON i.n = c.item WHERE c.state=0"
        " ORDER BY i.updated_at DESC, c.id"
    ):
        if wanted is None or n in wanted:
            yield chunk, n, text


def substring_chunks(
    connection: Connection, needle: str, *, limit: int, allowed: Array | None
) -> list[tuple[int, int]]:
    """``(chunk, item)`` of live chunks that contain the text (case and accents are ignored), one per item, newest
    first.
    """
    wanted = fold(needle.strip())
    if not wanted:
        return []
    found: dict[int, int] = {}
    for chunk, n, text in live_chunks(connection, allowed):
        if n not in found and wanted in fold(text):
            found[n] = chunk
            if len(found) >= limit:
                break
    return [(chunk, n) for n, chunk in found.items()]


def live_items(connection: Connection) -> Array:
    """Numbers of all live items."""
    rows = connection.rows("SELECT n FROM items WHERE state='live'")
    return np.fromiter((row[0] for row in rows), np.int64, len(rows))


def chunks_at(connection: Connection, when: datetime) -> Array:
    """Ids of the chunks that were live at a time and are not deleted."""
    rows = connection.rows(
        "SELECT id FROM chunks WHERE state<2 AND live_from<=? AND (live_until IS NULL OR live_until>?)",
        (micros(when), micros(when)),
    )
    return np.fromiter((row[0] for row in rows), np.int64, len(rows))


def current_chunks(connection: Connection, numbers: Array) -> Array:
    """Ids of the chunks that the current versions of some items hold, searchable or not."""
    layouts: list[bytes] = []
    for part in items.batched(numbers.tolist()):
        layouts += (
            row[0]
            for row in connection.rows(
                "SELECT v.layout FROM items i JOIN versions v ON v.item = i.n AND v.number = i.version"
                f" WHERE i.n IN ({','.join('?' * len(part))})",
                part,
            )
        )
    return np.frombuffer(b"".join(layouts), np.int64).reshape(-1, 4)[:, 0].copy()
