"""The backlog: chunks that wait for a vector, worked on by any number of processes.

A worker claims jobs with a lease, computes outside any transaction, and writes what it computed in one. How jobs are
claimed and vectors are stored, each database has for itself.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence

import numpy as np

from ricordo.errors import ContractError
from ricordo.store.arrays import Array
from ricordo.store.sql.database import Connection, in_parts
from ricordo.store.sql.filters import in_languages
from ricordo.store.values import Backlog
from ricordo.values.kinds import CHECKPOINT

SECOND = 1_000_000
LEASE = 300 * SECOND
"""How long a worker may keep a job before others may take it."""
MAX_ATTEMPTS = 5
"""A job that failed this often is not tried again until somebody asks for it."""
BACKOFF = (5, 30, 120, 600)
AHEAD = 2 * max(LEASE, BACKOFF[-1] * SECOND)
"""A lease or a pause that ends later than this from now was set by a clock that was ahead, and does not count."""
WANTS_VECTOR = f"(c.state=0 OR c.state=1 AND i.state='archived' AND i.kind='session' AND i.category='{CHECKPOINT}')"
"""The condition that a chunk ``c`` of an item ``i`` is to have a vector: it is live, or belongs to a checkpoint."""

UNQUEUED = "unqueued"
"""The name under which a store notes that chunks were saved while no model could say what they wait for."""
STRAYS = (
    "SELECT EXISTS (SELECT 1 FROM fingerprints f WHERE f.name NOT IN (?, ?)"
    " AND EXISTS (SELECT 1 FROM jobs j WHERE j.fingerprint = f.id))"
    f" OR EXISTS (SELECT 1 FROM meta WHERE name='{UNQUEUED}')"
)
"""Whether chunks wait for another model than the named ones, or for none."""


def worker_name() -> str:
    """Says which process on which machine holds a lease."""
    return f"{socket.gethostname()}:{os.getpid()}"


def fingerprint_id(connection: Connection, name: str, dimensions: int) -> int:
    """The number of a fingerprint, given one if it is new; the first of a store is the active one."""
    rows = connection.rows("SELECT id FROM fingerprints WHERE name=?", (name,))
    if rows:
        return int(rows[0][0])
    return int(
        connection.rows(
            "INSERT INTO fingerprints(name, dimensions, active)"
            " VALUES(?, ?, NOT EXISTS (SELECT 1 FROM fingerprints WHERE active)) RETURNING id",
            (name, dimensions),
        )[0][0]
    )


def enqueue_chunks(connection: Connection, backlog: Backlog | None, chunks: Sequence[int]) -> None:
    """Put new chunks on the backlog; without one, note that there are chunks which wait for nothing yet."""
    if not chunks:
        return
    if backlog is None:
        connection.run(f"INSERT INTO meta(name, value) VALUES('{UNQUEUED}', '1') ON CONFLICT DO NOTHING")
        return
    fingerprint = fingerprint_id(connection, backlog.fingerprint, backlog.dimensions)
    condition, values = in_languages(backlog.languages)
    for marks, part in in_parts(chunks):
        connection.run(
            "INSERT INTO jobs(fingerprint, chunk, kind, state) SELECT ?, c.id, i.kind, 'pending' FROM chunks c"
            f" JOIN items i ON i.n=c.item WHERE c.id IN ({marks}){condition} ON CONFLICT DO NOTHING",
            (fingerprint, *part, *values),
        )
    if backlog.second is not None:
        enqueue_chunks(connection, backlog.second, chunks)


def drop_chunks(connection: Connection, chunks: Sequence[int]) -> None:
    """Take chunks that left normal search off the backlog, of whatever model they wait for a vector."""
    for at in range(0, len(chunks), 500):
        part = chunks[at : at + 500]
        connection.run(
            "DELETE FROM jobs WHERE fingerprint IN (SELECT id FROM fingerprints)"
            f" AND chunk IN ({','.join('?' * len(part))})",
            part,
        )


def check_vector(vector: Array, dimensions: int, fingerprint: str) -> None:
    """Refuse what cannot be a vector of a fingerprint."""
    if vector.shape != (dimensions,) or not np.isfinite(vector).all():
        raise ContractError(
            f"{fingerprint} gave a bad vector ({vector.shape[0]} numbers, {dimensions} expected, all finite)",
            hint="Nothing was stored. Check the embedding settings, then run ‹:embed›.",
        )


def release(connection: Connection, owner: str) -> None:
    """Give a worker's jobs back without counting the attempt."""
    connection.run(
        "UPDATE jobs SET state='pending', owner=NULL, lease_until=NULL,"
        " attempts=CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END"
        " WHERE state='running' AND owner=?",
        (owner,),
    )
