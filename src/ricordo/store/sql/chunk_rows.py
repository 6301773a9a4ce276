"""The texts of chunks, and their words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import numpy as np

from ricordo.store.arrays import Array
from ricordo.store.sql.protocols import Connection
from ricordo.store.values import PreparedChunk
from ricordo.text.words import Analyzer


def chunk_texts(connection: Connection, chunks: Sequence[int]) -> dict[int, tuple[int, str, str]]:
    """Item number, heading and text of chunks."""
    rows = connection.rows_in("SELECT id, item, heading, text FROM chunks WHERE id IN (*)", chunks) if chunks else ()
    return {chunk: (n, heading, text) for chunk, n, heading, text in rows}


def live_items(connection: Connection) -> Array:
    """Numbers of all live items."""
    rows = connection.rows("SELECT n FROM items WHERE state='live'")
    return np.fromiter((row[0] for row in rows), np.int64, len(rows))


def chunks_by_age(
    connection: Connection, allowed: Array | None = None, times: Array | None = None, folded: str = ""
) -> Iterator[tuple[int, int, str]]:
    """Chunk id, item number and text of every live chunk, or of those in ``times``, newest item first; where the
    database can tell, only of those that may hold a folded text.
    """
    wanted = None if allowed is None else set(allowed.tolist())
    seen = None if times is None else set(times.tolist())
    condition, values = connection.dialect.may_hold("c.text", folded) if folded else ("TRUE", [])
    for chunk, n, text in connection.stream(
        "SELECT c.id, c.item, c.text FROM chunks c JOIN items i ON i.n = c.item"
        f" WHERE c.state {'= 0' if seen is None else '< 2'} AND {condition} ORDER BY i.updated_at DESC, c.id",
        values,
    ):
        if (wanted is None or n in wanted) and (seen is None or chunk in seen):
            yield chunk, n, text


def counts_of(connection: Connection, n: int, part: PreparedChunk, analyzer: Analyzer) -> tuple[dict[str, int], ...]:
    """Analyse a chunk after all, because another process removed the one that should have been kept."""
    title, path, description, fields = connection.rows(
        "SELECT title, path, description, fields FROM items WHERE n=?", (n,)
    )[0]
    stored = json.loads(fields)
    context = f"{stored.get('context', '')}\n{part.heading}"
    texts = (title, path, description, "\n".join(stored.get("tags", ())), context, part.text)
    own = analyzer.in_language(part.language)
    return tuple(own.counts(text) for text in texts)
