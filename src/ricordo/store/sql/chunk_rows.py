"""The texts of chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ricordo.store.sql.arrays import Array
from ricordo.store.sql.batches import in_parts
from ricordo.store.sql.protocols import Connection


def chunk_texts(connection: Connection, chunks: Sequence[int]) -> dict[int, tuple[int, str, str]]:
    """Item number, heading and text of chunks."""
    found: dict[int, tuple[int, str, str]] = {}
    for marks, part in in_parts(chunks):
        for chunk, n, heading, text in connection.rows(
            f"SELECT id, item, heading, text FROM chunks WHERE id IN ({marks})", part
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
