"""The texts that wait for their vector: leased to workers, finished, failed and tried again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ricordo.errors import ContractError
from ricordo.store.base import Job
from ricordo.store.sqlite import jobs
from ricordo.store.sqlite.open_file import OpenFile
from ricordo.store.sqlite.postings import Array


class Jobs:
    """The backlog of one store."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self._database = file.database

    def waiting(self, fingerprint: str) -> int:
        """How many chunks wait for their vector."""
        with self._database.read() as connection:
            return int(
                connection.rows(
                    "SELECT count(*) FROM jobs j JOIN fingerprints f ON f.id=j.fingerprint WHERE f.name=?",
                    (fingerprint,),
                )[0][0]
            )

    def enqueue_missing(self, fingerprint: str, dimensions: int, kind: str | None = None) -> int:
        """Put live chunks without a vector on the backlog."""
        with self._database.write() as connection:
            number = jobs.fingerprint_id(connection, fingerprint, dimensions)
            have = self._file.vector_index.entries(connection, number).chunks
            return jobs.enqueue_missing(connection, number, have, kind)

    def claim(self, fingerprint: str, dimensions: int, owner: str, limit: int, kind: str | None = None) -> list[Job]:
        """Lease texts to embed."""
        with self._database.read() as connection:
            if not connection.rows("SELECT 1 FROM jobs WHERE state <> 'failed' LIMIT 1"):
                return []
        with self._database.write() as connection:
            number = jobs.fingerprint_id(connection, fingerprint, dimensions)
            return jobs.claim(connection, number, owner, limit, kind)

    def known_vectors(self, fingerprint: str, hashes: Sequence[bytes]) -> dict[bytes, Array]:
        """The vectors of those texts that have one already."""
        with self._database.read() as connection:
            rows = connection.rows("SELECT id FROM fingerprints WHERE name=?", (fingerprint,))
            known = jobs.known_vectors(connection, rows[0][0], hashes) if rows else {}
        return {digest: vector for digest, (_, vector) in known.items()}

    def finish(self, fingerprint: str, done: Sequence[Job], computed: Mapping[bytes, Array]) -> None:
        """Store what was computed; all of it is searchable when this returns."""
        with self._database.write() as connection:
            name, dimensions, number = connection.rows(
                "SELECT name, dimensions, id FROM fingerprints WHERE name=?", (fingerprint,)
            )[0]
            for vector in computed.values():
                check_vector(vector, dimensions, name)
            jobs.finish(connection, number, done, computed)

    def fail(self, fingerprint: str, failed: Sequence[Job], error: str) -> None:
        with self._database.write() as connection:
            number = connection.rows("SELECT id FROM fingerprints WHERE name=?", (fingerprint,))[0][0]
            jobs.fail(connection, number, failed, error)

    def release(self, owner: str) -> None:
        with self._database.write() as connection:
            jobs.release(connection, owner)

    def retry(self) -> int:
        with self._database.write() as connection:
            return jobs.retry(connection)

    def summary(self) -> dict[str, Any]:
        """What is on the backlog, and how much was done so far."""
        with self._database.read() as connection:
            rows = jobs.summary(connection)
            done = connection.rows("SELECT value FROM meta WHERE name='jobs_done'")[0][0]
        totals = {"pending": 0, "running": 0, "failed": 0}
        for state, _, number, _ in rows:
            totals[state] += number
        return {
            **totals,
            "done": done,
            "kinds": [{"state": s, "kind": k, "count": number, "error": e} for s, k, number, e in rows],
        }

    def enqueue_waiting(self, fingerprint: str, other: str, dimensions: int) -> int:
        """Let what waits for a vector of one fingerprint wait for one of another, too."""
        with self._database.write() as connection:
            number = jobs.fingerprint_id(connection, other, dimensions)
            have = set(self._file.vector_index.entries(connection, number).chunks.tolist())
            rows = connection.rows(
                "SELECT j.chunk, j.kind FROM jobs j JOIN fingerprints f ON f.id=j.fingerprint WHERE f.name=?",
                (fingerprint,),
            )
            missing = [(number, chunk, kind) for chunk, kind in rows if chunk not in have]
            connection.run_many(
                "INSERT INTO jobs(fingerprint, chunk, kind, state) VALUES(?,?,?,'pending') ON CONFLICT DO NOTHING",
                missing,
            )
            return len(missing)

    def drop_waiting(self, fingerprint: str) -> None:
        """Take what still waits for vectors of a fingerprint off the backlog."""
        with self._database.write() as connection:
            connection.rows(
                "DELETE FROM jobs WHERE state<>'running' AND fingerprint IN (SELECT id FROM fingerprints WHERE name=?)",
                (fingerprint,),
            )


def check_vector(vector: Array, dimensions: int, fingerprint: str) -> None:
    """Refuse what cannot be a vector of a fingerprint."""
    if vector.shape != (dimensions,) or not np.isfinite(vector).all():
        raise ContractError(
            f"{fingerprint} gave a bad vector ({vector.shape[0]} numbers, {dimensions} expected, all finite)",
            hint="Nothing was stored. Check the embedding settings, then run 'ricordo embed'.",
        )
