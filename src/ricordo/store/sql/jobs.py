"""The backlog: chunks that wait for a vector, worked on by any number of processes.

A worker claims jobs with a lease, computes outside any transaction, and writes what it computed in one. How jobs are
claimed and vectors are stored, each database has for itself.
"""

from __future__ import annotations

import os
import socket
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from ricordo.errors import ContractError
from ricordo.store.arrays import Array
from ricordo.store.sql.database import Connection, Database, in_parts, now_micros
from ricordo.store.sql.filters import in_languages
from ricordo.store.values import EVERY_LANGUAGE, Backlog, Job, Languages
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


class SharedJobs(ABC):
    """The backlog of one store, without the ways to claim and to finish jobs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def has_work(self) -> bool:
        """Whether any job may be claimed, now or later."""
        with self._database.read() as connection:
            return bool(connection.rows("SELECT 1 FROM jobs WHERE state <> 'failed' LIMIT 1"))

    def waiting(self, fingerprint: str, state: str = "") -> int:
        """How many chunks wait for their vector, in one state or in any."""
        only, values = (" AND j.state=?", (fingerprint, state)) if state else ("", (fingerprint,))
        with self._database.read() as connection:
            [(count,)] = connection.rows(
                f"SELECT count(*) FROM jobs j JOIN fingerprints f ON f.id=j.fingerprint WHERE f.name=?{only}", values
            )
        return int(count)

    def adopt(self, backlog: Backlog) -> None:
        """Let chunks that wait for other models, or that were saved while none could be used, wait for these.

        So nothing waits for a model that is no longer set. What a worker holds for another model is left to it.
        """
        names = (backlog.fingerprint, backlog.fingerprints[-1])
        each = (backlog, backlog.second) if backlog.second is not None else (backlog,)
        with self._database.read() as connection:
            if not connection.rows(STRAYS, names)[0][0]:
                return
        with self._database.write() as connection:
            if connection.meta(UNQUEUED) is not None:
                for one in each:
                    self.enqueue_missing(one.fingerprint, one.dimensions, languages=one.languages)
                connection.run(f"DELETE FROM meta WHERE name='{UNQUEUED}'")
            others = connection.rows(
                "SELECT name FROM fingerprints f WHERE name NOT IN (?, ?) AND id IN (SELECT fingerprint FROM jobs)"
                " AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.fingerprint=f.id AND j.state='running')",
                names,
            )
            for (other,) in others:
                for one in each:
                    self.enqueue_waiting(other, one.fingerprint, one.dimensions, one.languages)
                self.drop_waiting(other)

    @abstractmethod
    def enqueue_missing(
        self, fingerprint: str, dimensions: int, kind: str | None = None, languages: Languages = EVERY_LANGUAGE
    ) -> int:
        """Put live chunks in some languages without a vector on the backlog."""

    @abstractmethod
    def enqueue_waiting(
        self, fingerprint: str, other: str, dimensions: int, languages: Languages = EVERY_LANGUAGE
    ) -> int:
        """Let what waits for a vector of one fingerprint wait for one of another, too."""

    def fail(self, fingerprint: str, failed: Sequence[Job], error: str) -> None:
        """Put jobs back for a later try; after too many tries, they are not tried again."""
        now = now_micros()
        with self._database.write() as connection:
            number = connection.rows("SELECT id FROM fingerprints WHERE name=?", (fingerprint,))[0][0]
            for job in failed:
                rows = connection.rows("SELECT attempts FROM jobs WHERE fingerprint=? AND chunk=?", (number, job.chunk))
                if not rows:
                    continue
                attempts = rows[0][0]
                state = "failed" if attempts >= MAX_ATTEMPTS else "pending"
                wait = BACKOFF[min(attempts, len(BACKOFF)) - 1] * SECOND
                connection.run(
                    "UPDATE jobs SET state=?, not_before=?, owner=NULL, lease_until=NULL, error=?"
                    " WHERE fingerprint=? AND chunk=?",
                    (state, now + wait, error[:500], number, job.chunk),
                )

    def release(self, owner: str) -> None:
        """Give a worker's jobs back without counting the attempt."""
        with self._database.write() as connection:
            release(connection, owner)

    def retry(self) -> int:
        """Put all failed and waiting jobs back to the front; returns how many."""
        with self._database.write() as connection:
            connection.run(
                "UPDATE jobs SET state='pending', attempts=0, not_before=0, error=NULL"
                " WHERE state='failed' OR not_before > 0"
            )
            return connection.changes()

    def summary(self) -> dict[str, Any]:
        """What is on the backlog, and how much was done so far."""
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT state, kind, count(*), max(error) FROM jobs GROUP BY state, kind ORDER BY state, kind"
            )
            done = connection.meta("jobs_done")
        totals = {"pending": 0, "running": 0, "failed": 0}
        for state, _, number, _ in rows:
            totals[state] += number
        return {
            **totals,
            "done": done,
            "kinds": [{"state": s, "kind": k, "count": number, "error": e} for s, k, number, e in rows],
        }

    def drop_waiting(self, fingerprint: str) -> None:
        """Take what still waits for vectors of a fingerprint off the backlog."""
        with self._database.write() as connection:
            connection.run(
                "DELETE FROM jobs WHERE state<>'running' AND fingerprint IN (SELECT id FROM fingerprints WHERE name=?)",
                (fingerprint,),
            )
