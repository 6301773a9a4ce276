"""Vectors of single passages, and cosines of those with a query that moved."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ricordo.store.asking import Aim
from ricordo.store.postgres.connection import COPY_FROM, Connection
from ricordo.store.sql.arrays import Array, first_places
from ricordo.store.sql.matches import VectorMatches
from ricordo.store.sql.protocols import Values

_VECTORS = (
    "SELECT c.id, vector_send(v.vector) FROM chunks c JOIN vectors v ON v.hash = c.embed_hash"
    " JOIN fingerprints f ON f.id = v.fingerprint WHERE f.name = ? AND "
)
_EPOCH = "(SELECT value::int FROM meta WHERE name = 'vector_epoch')"


def decoded(data: bytes) -> Array:
    """A vector from pgvector's own bytes: four for its size, then big-endian numbers."""
    return np.frombuffer(data, ">f4", offset=4).astype(np.float32)


def asked_vectors(fingerprint: str, chunks: Sequence[int]) -> tuple[str, Values]:
    """The statement that asks for the vectors of some chunks."""
    return f"{_VECTORS} c.id = ANY(?)", (fingerprint, list(chunks))


def write_vectors(connection: Connection, fingerprint: int, vectors: Mapping[bytes, Array]) -> None:
    """Store vectors by the hashes of their texts; those that are there already stay.

    A few go as texts, in the pipeline; many as pgvector's own bytes, which takes more trips, but a fifth of the time.
    """
    connection.embedded = True
    connection.add_to_meta("vector_epoch", 1)  # first: its row is held until the end, so that these come in order
    if len(vectors) < COPY_FROM:
        connection.run(
            f"INSERT INTO vectors(fingerprint, hash, vector, added) SELECT ?, t.hash, t.vector::vector, {_EPOCH}"
            " FROM unnest(?::bytea[], ?::text[]) t(hash, vector) ON CONFLICT DO NOTHING",
            (fingerprint, list(vectors), [_as_text(vector) for vector in vectors.values()]),
        )
        return
    connection.copy_bytes("vectors", ("fingerprint", "hash", "vector"), _rows(fingerprint, vectors))
    connection.run(
        f"INSERT INTO vectors(fingerprint, hash, vector, added) SELECT fingerprint, hash, vector, {_EPOCH}"
        " FROM new_vectors"
        " ON CONFLICT DO NOTHING"
    )


def _as_text(vector: Array) -> str:
    return "[" + ",".join(map(repr, vector.tolist())) + "]"


def _rows(fingerprint: int, vectors: Mapping[bytes, Array]) -> Iterator[bytes]:
    """Rows of PostgreSQL's binary COPY: how many values, then each value behind its length."""
    for digest, vector in vectors.items():
        size = len(vector)
        yield (
            struct.pack(f"!hiqi{len(digest)}sihh", 3, 8, fingerprint, len(digest), digest, 4 + 4 * size, size, 0)
            + vector.astype(">f4").tobytes()
        )


def vectors_of(connection: Connection, fingerprint: str, chunks: Sequence[int]) -> dict[int, Array]:
    """The vectors of some chunks, as far as they have one."""
    rows = connection.rows(*asked_vectors(fingerprint, chunks), binary=True)
    return {chunk: decoded(data) for chunk, data in rows}


def vectors_of_item(connection: Connection, fingerprint: str, n: int) -> Array:
    """The vectors of an item's live chunks."""
    rows = connection.rows(f"{_VECTORS} c.item = ? AND c.state = 0 ORDER BY c.id", (fingerprint, n))
    return np.array([decoded(data) for _, data in rows], np.float32)


def aimed_cosines(connection: Connection, fingerprint: str, aim: Aim, chunks: Sequence[int]) -> list[float] | None:
    """The cosine of each chunk with the moved query and its parts, -1 where it has no vector; None where nothing moves
    the query.

    One trip: the vectors of both are fetched, and compared here; none if the last answer brought the vectors along.
    """
    if connection.vectors_at_hand is not None and connection.vectors_at_hand[0] == fingerprint:
        held = connection.vectors_at_hand[1]
    else:
        wanted = list(dict.fromkeys((*(chunk for chunk, _ in aim.towards), *chunks)))
        held = vectors_of(connection, fingerprint, wanted)
    moved = aim.moved(held)
    if moved is None:
        return None
    whole, *parts = (
        np.array([float(held[chunk] @ one) if chunk in held else -1.0 for chunk in chunks])
        for one in (moved, *aim.parts)
    )
    found: list[float] = aim.together(whole, parts).tolist()
    return found


def cosines_of(rows: Sequence[Sequence[Any]] | None) -> VectorMatches:
    """Cosines as arrays, the nearest first."""
    rows = sorted(rows or [], key=lambda row: -row[2])
    return VectorMatches(
        np.array([row[0] for row in rows], np.int64),
        np.array([row[1] for row in rows], np.int64),
        np.array([row[2] for row in rows], np.float64),
    )


def nearest_items(near: VectorMatches, barred: Sequence[int], count: int) -> VectorMatches:
    """The same without some items, until enough different items are in."""
    inside = ~np.isin(near.items, np.array(barred, np.int64))
    chunks, items, cosines = near.chunks[inside], near.items[inside], near.cosines[inside]
    first = first_places(items)
    if len(first) > count:
        enough = cosines >= cosines[first[count - 1]]
        enough &= np.isin(items, items[first[:count]])
        chunks, items, cosines = chunks[enough], items[enough], cosines[enough]
    return VectorMatches(chunks, items, cosines)
