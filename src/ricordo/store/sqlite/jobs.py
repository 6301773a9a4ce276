"""The backlog: chunks that wait for a vector, worked on by any number of processes.

A worker claims jobs with a lease, computes outside any transaction, and writes vectors, block and done-count in one.
A killed worker's jobs return when its lease ends, or at once when its process is seen to be gone.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ricordo.store.base import Job
from ricordo.store.prepare import embedded_text
from ricordo.store.sqlite.connection import Connection
from ricordo.store.sqlite.postings import Array
from ricordo.store.sqlite.sketches import sketch
from ricordo.store.sqlite.times import now_micros
from ricordo.store.sqlite.vectors import Entries, compact, write_block
from ricordo.values.kinds import CHECKPOINT

SECOND = 1_000_000
LEASE = 300 * SECOND
"""How long a worker may keep a job before others may take it."""
MAX_ATTEMPTS = 5
"""A job that failed this often is not tried again until somebody asks for it."""
BACKOFF = (5, 30, 120, 600)
AHEAD = 2 * max(LEASE, BACKOFF[-1] * SECOND)
"""A lease or a pause that ends later than this from now was set by a clock that was ahead, and does not count."""


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


def enqueue_chunks(connection: Connection, fingerprint: int, chunks: Sequence[int]) -> None:
    """Put new chunks on the backlog."""
    for at in range(0, len(chunks), 500):
        part = chunks[at : at + 500]
        connection.rows(
            "INSERT INTO jobs(fingerprint, chunk, kind, state) SELECT ?, c.id, i.kind, 'pending' FROM chunks c"
            f" JOIN items i ON i.n=c.item WHERE c.id IN ({','.join('?' * len(part))}) ON CONFLICT DO NOTHING",
            (fingerprint, *part),
        )


def enqueue_missing(connection: Connection, fingerprint: int, have: Array, kind: str | None) -> int:
    """Put every live chunk, and every chunk of a checkpoint, that has no vector and no job on the backlog."""
    with_vector = set(have.tolist())
    condition, values = ("AND i.kind=?", (kind,)) if kind else ("", ())
    rows = connection.rows(
        "SELECT c.id, i.kind FROM chunks c JOIN items i ON i.n=c.item WHERE (c.state=0 OR c.state=1"
        f" AND i.state='archived' AND i.kind='session' AND i.category='{CHECKPOINT}') {condition}",
        values,
    )
    missing = [(fingerprint, chunk, owner_kind) for chunk, owner_kind in rows if chunk not in with_vector]
    before = connection.total_changes()
    connection.run_many("INSERT OR IGNORE INTO jobs(fingerprint, chunk, kind, state) VALUES(?,?,?,'pending')", missing)
    return connection.total_changes() - before


def claim(connection: Connection, fingerprint: int, owner: str, limit: int, kind: str | None) -> list[Job]:
    """Lease the next jobs; those of processes that are gone count as free."""
    _free_abandoned(connection)
    now = now_micros()
    condition = "AND kind=?7" if kind else ""
    values: list[Any] = [fingerprint, now, owner, limit, now + LEASE, now + AHEAD]
    rows = connection.rows(
        "UPDATE jobs SET state='running', owner=?3, lease_until=?5, attempts=attempts + 1"
        " WHERE fingerprint=?1 AND chunk IN (SELECT chunk FROM jobs WHERE fingerprint=?1 AND"
        " (state='pending' AND not_before NOT BETWEEN ?2 + 1 AND ?6"
        " OR state='running' AND lease_until NOT BETWEEN ?2 AND ?6)"
        f" {condition} ORDER BY chunk LIMIT ?4) RETURNING chunk",
        [*values, kind] if kind else values,
    )
    chunks = [row[0] for row in rows]
    found: dict[int, Job] = {}
    for at in range(0, len(chunks), 500):
        part = chunks[at : at + 500]
        marks = ",".join("?" * len(part))
        for chunk, item, digest, prefix, text in connection.rows(
            f"SELECT id, item, embed_hash, prefix, text FROM chunks WHERE state<2 AND id IN ({marks})", part
        ):
            found[chunk] = Job(chunk, item, digest, embedded_text(prefix, text))
    gone = [(fingerprint, chunk) for chunk in chunks if chunk not in found]
    connection.run_many("DELETE FROM jobs WHERE fingerprint=? AND chunk=?", gone)
    return list(found.values())


def _free_abandoned(connection: Connection) -> None:
    host = socket.gethostname()
    for (owner,) in connection.rows("SELECT DISTINCT owner FROM jobs WHERE state='running'"):
        machine, _, pid = owner.rpartition(":")
        if machine == host and int(pid) != os.getpid() and not _is_running(int(pid)):
            release(connection, owner)


def _is_running(pid: int) -> bool:
    if os.name != "posix":
        return True  # there is no safe way to check; the lease ends by itself
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def release(connection: Connection, owner: str) -> None:
    """Give a worker's jobs back without counting the attempt."""
    connection.rows(
        "UPDATE jobs SET state='pending', owner=NULL, lease_until=NULL,"
        " attempts=CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END"
        " WHERE state='running' AND owner=?",
        (owner,),
    )


def known_vectors(connection: Connection, fingerprint: int, hashes: Sequence[bytes]) -> dict[bytes, tuple[int, Array]]:
    """Vectors already computed for these texts: hash → (vector id, vector)."""
    known: dict[bytes, tuple[int, Array]] = {}
    distinct = list(dict.fromkeys(hashes))
    for at in range(0, len(distinct), 500):
        part = distinct[at : at + 500]
        marks = ",".join("?" * len(part))
        for vector, digest, data in connection.rows(
            f"SELECT id, hash, vector FROM vectors WHERE fingerprint=? AND hash IN ({marks})", (fingerprint, *part)
        ):
            known[digest] = (vector, np.frombuffer(data, np.float32))
    return known


def finish(connection: Connection, fingerprint: int, jobs: Sequence[Job], computed: Mapping[bytes, Array]) -> None:
    """Write the vectors of finished jobs and take the jobs off the backlog."""
    connection.run_many(
        "INSERT OR IGNORE INTO vectors(fingerprint, hash, vector) VALUES(?,?,?)",
        [(fingerprint, digest, vector.astype(np.float32).tobytes()) for digest, vector in computed.items()],
    )
    known = known_vectors(connection, fingerprint, [job.hash for job in jobs])
    still = {
        row[0]
        for job in jobs
        for row in connection.rows("SELECT chunk FROM jobs WHERE fingerprint=? AND chunk=?", (fingerprint, job.chunk))
    }
    done = [job for job in jobs if job.chunk in still and job.hash in known]
    if done:
        matrix = np.stack([known[job.hash][1] for job in done])
        entries = Entries(
            np.array([job.chunk for job in done], np.int64),
            np.array([job.item for job in done], np.int64),
            np.array([known[job.hash][0] for job in done], np.int64),
            sketch(matrix),
        )
        write_block(connection, fingerprint, entries)
        compact(connection, fingerprint)
    connection.run_many("DELETE FROM jobs WHERE fingerprint=? AND chunk=?", [(fingerprint, job.chunk) for job in done])
    connection.add_to_meta("jobs_done", len(done))


def fail(connection: Connection, fingerprint: int, jobs: Sequence[Job], error: str) -> None:
    """Put jobs back for a later try; after too many tries, they are not tried again."""
    now = now_micros()
    for job in jobs:
        rows = connection.rows("SELECT attempts FROM jobs WHERE fingerprint=? AND chunk=?", (fingerprint, job.chunk))
        if not rows:
            continue
        attempts = rows[0][0]
        state = "failed" if attempts >= MAX_ATTEMPTS else "pending"
        wait = BACKOFF[min(attempts, len(BACKOFF)) - 1] * SECOND
        connection.rows(
            "UPDATE jobs SET state=?, not_before=?, owner=NULL, lease_until=NULL, error=?"
            " WHERE fingerprint=? AND chunk=?",
            (state, now + wait, error[:500], fingerprint, job.chunk),
        )


def retry(connection: Connection) -> int:
    """Put all failed and waiting jobs back to the front; returns how many."""
    connection.rows(
        "UPDATE jobs SET state='pending', attempts=0, not_before=0, error=NULL WHERE state='failed' OR not_before > 0"
    )
    return connection.changes()


def summary(connection: Connection) -> list[tuple[str, str, int, str | None]]:
    """State, kind, count and the latest error of what is on the backlog."""
    return [
        (state, kind, number, error)
        for state, kind, number, error in connection.rows(
            "SELECT state, kind, count(*), max(error) FROM jobs GROUP BY state, kind ORDER BY state, kind"
        )
    ]
