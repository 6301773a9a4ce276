"""What ``doctor`` looks at in the vectors, and how the blocks of sketches are rebuilt from the vector rows."""

from __future__ import annotations

import numpy as np

from ricordo.store.index.entries import Entries
from ricordo.store.index.sketches import sketch
from ricordo.store.sqlite.connection import Connection, Database
from ricordo.store.sqlite.job_queue import enqueue_missing
from ricordo.store.sqlite.vectors import BLOCK_ENTRIES, VectorIndex, bump_vectors, write_block
from ricordo.store.values import Languages
from ricordo.values.reports import Check

_SAMPLE = 500


def vectors(database: Database, repair: bool) -> Check:
    """Every live chunk has its vector or waits for it; rows are whole; sketches are those of their vectors."""
    with database.read() as connection:
        active = connection.rows("SELECT id, name, dimensions FROM fingerprints WHERE active")
        if not active:
            return Check("vectors", True, "none yet")
        number, name, dimensions = active[0]
        problem = _lost(connection, number) or _problem(connection, number, dimensions)
        others = connection.rows("SELECT id, name, dimensions FROM fingerprints WHERE NOT active")
        broken = [(one, found) for one in others if (found := _problem(connection, one[0], one[2]))]
        live = connection.rows("SELECT count(*) FROM chunks WHERE state=0")[0][0]
        waiting = connection.rows(
            "SELECT count(*) FROM jobs j JOIN chunks c ON c.id=j.chunk AND c.state=0 WHERE j.fingerprint=?", (number,)
        )[0][0]
    if problem is None and broken:  # of the model for other languages, or of a fallback
        return _mended(database, broken, repair)
    if problem is None and waiting:
        have = f"{live - waiting:,} of {live:,} passages have theirs"
        return Check("vectors", True, f"{have}, {waiting:,} wait: 'ricordo embed' makes them ({name})")
    if problem is None:
        return Check("vectors", True, f"whole ({name})")
    if repair:
        rebuild_vectors(database, number, dimensions)
        for (other, _, size), _ in broken:
            rebuild_vectors(database, other, size, waiting=())
    return Check("vectors", False, problem, repaired=repair)


def _mended(database: Database, broken: list[tuple[tuple[int, str, int], str]], repair: bool) -> Check:
    """The check that names the first problem of vectors which are not the active model's."""
    for (number, _, dimensions), _ in broken if repair else ():
        rebuild_vectors(database, number, dimensions, waiting=())
    (_, name, _), problem = broken[0]
    return Check("vectors", False, f"{problem} ({name})", repaired=repair)


def _lost(connection: Connection, number: int) -> str | None:
    entries = VectorIndex().entries(connection, number)
    # Those in other languages may wait for another model, or for none where no model reads them.
    live = {row[0] for row in connection.rows("SELECT id FROM chunks WHERE state=0 AND language IN ('', 'en')")}
    waiting = {row[0] for row in connection.rows("SELECT chunk FROM jobs WHERE fingerprint=?", (number,))}
    lost = live - set(entries.chunks.tolist()) - waiting
    if lost:
        return f"{len(lost)} passages have no vector and do not wait for one"
    return None


def _problem(connection: Connection, number: int, dimensions: int) -> str | None:
    entries = VectorIndex().entries(connection, number)
    rows = connection.rows(
        "SELECT count(*) FROM vectors WHERE fingerprint=? AND length(vector)<>?", (number, 4 * dimensions)
    )
    if rows[0][0]:
        return f"{rows[0][0]} vectors have the wrong length"
    step = max(1, len(entries.chunks) // _SAMPLE)
    for position in range(0, len(entries.chunks), step):
        chunk, vector = int(entries.chunks[position]), int(entries.vectors[position])
        found = connection.rows(
            "SELECT v.vector, v.hash = c.embed_hash FROM vectors v LEFT JOIN chunks c ON c.id=? WHERE v.id=?",
            (chunk, vector),
        )
        if not found or found[0][1] == 0:
            return f"passage {chunk} points at a vector that is not its own"
        row = np.frombuffer(found[0][0], np.float32)
        if not np.isfinite(row).all() or (sketch(row[None, :])[:, 0] != entries.sketches[:, position]).any():
            return f"the sketch of passage {chunk} is not that of its vector"
    return None


def rebuild_vectors(database: Database, number: int, dimensions: int, waiting: tuple[str, ...] = ("", "en")) -> None:
    """Drop bad rows, write all blocks again from what is left, and let what has no vector wait for one, if it is in one
    of the languages of ``waiting``.
    """
    with database.write() as connection:
        connection.run("DELETE FROM vectors WHERE fingerprint=? AND length(vector)<>?", (number, 4 * dimensions))
        connection.run("DELETE FROM vector_blocks WHERE fingerprint=?", (number,))
        rows = connection.rows(
            "SELECT c.id, c.item, v.id, v.vector FROM chunks c"
            " JOIN vectors v ON v.fingerprint=? AND v.hash=c.embed_hash WHERE c.state < 2 ORDER BY c.id",
            (number,),
        )
        sound = [row for row in rows if np.isfinite(np.frombuffer(row[3], np.float32)).all()]
        for at in range(0, len(sound), BLOCK_ENTRIES):
            part = sound[at : at + BLOCK_ENTRIES]
            write_block(connection, number, _entries(part))
        have = np.array([row[0] for row in sound], np.int64)
        if waiting:
            enqueue_missing(connection, number, have, None, Languages(only=waiting))
        bump_vectors(connection)


def _entries(rows: list[tuple[int, int, int, bytes]]) -> Entries:
    chunks, items, ids, data = zip(*rows, strict=True)
    matrix = np.stack([np.frombuffer(vector, np.float32) for vector in data])
    return Entries(np.array(chunks, np.int64), np.array(items, np.int64), np.array(ids, np.int64), sketch(matrix))
