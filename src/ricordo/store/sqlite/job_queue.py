"""The backlog of a SQLite store: jobs are claimed in a write transaction, vectors are written with their sketches.

A killed worker's jobs return when its lease ends, or at once when its process is seen to be gone.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence

import numpy as np

from ricordo.store.index.entries import Entries
from ricordo.store.index.sketches import sketch
from ricordo.store.prepare import embedded_text
from ricordo.store.sql import jobs
from ricordo.store.sql.arrays import Array
from ricordo.store.sql.batches import in_parts
from ricordo.store.sql.languages import in_languages
from ricordo.store.sql.times import now_micros
from ricordo.store.sqlite.connection import Connection
from ricordo.store.sqlite.open_file import OpenFile
from ricordo.store.sqlite.vectors import compact, write_block
from ricordo.store.values import EVERY_LANGUAGE, Job, Languages


class Jobs(jobs.SharedJobs):
    """The backlog of one store."""

    def __init__(self, file: OpenFile) -> None:
        super().__init__(file.database)
        self._file = file

    def enqueue_missing(
        self, fingerprint: str, dimensions: int, kind: str | None = None, languages: Languages = EVERY_LANGUAGE
    ) -> int:
        """Put live chunks in some languages without a vector on the backlog."""
        with self._file.database.write() as connection:
            number = jobs.fingerprint_id(connection, fingerprint, dimensions)
            have = self._file.vector_index.entries(connection, number).chunks
            return enqueue_missing(connection, number, have, kind, languages)

    def enqueue_waiting(
        self, fingerprint: str, other: str, dimensions: int, languages: Languages = EVERY_LANGUAGE
    ) -> int:
        """Let what waits for a vector of one fingerprint wait for one of another, too."""
        with self._file.database.write() as connection:
            number = jobs.fingerprint_id(connection, other, dimensions)
            have = self._file.vector_index.entries(connection, number).chunks
            condition, values = in_languages(languages)
            rows = connection.rows(
                "SELECT j.chunk, j.kind FROM jobs j JOIN fingerprints f ON f.id=j.fingerprint"
                f" JOIN chunks c ON c.id=j.chunk WHERE f.name=?{condition}",
                (fingerprint, *values),
            )
            return _enqueue(connection, number, rows, have)

    def claim(
        self, fingerprint: str, dimensions: int, owner: str, limit: int, kind: str | None = None
    ) -> list[Job] | None:
        """Lease texts to embed; those of processes that are gone count as free. None says that there are none."""
        if not self.has_work():
            return None
        with self._file.database.write() as connection:
            number = jobs.fingerprint_id(connection, fingerprint, dimensions)
            _free_abandoned(connection)
            while (claimed := _claim(connection, number, owner, limit, kind)) is not None:
                if claimed:
                    return claimed
        return None

    def known_vectors(self, fingerprint: str, hashes: Sequence[bytes]) -> dict[bytes, Array]:
        """The vectors of those texts that have one already."""
        with self._file.database.read() as connection:
            rows = connection.rows("SELECT id FROM fingerprints WHERE name=?", (fingerprint,))
            known = _known_vectors(connection, rows[0][0], hashes) if rows else {}
        return {digest: vector for digest, (_, vector) in known.items()}

    def finish(self, fingerprint: str, done: Sequence[Job], computed: Mapping[bytes, Array]) -> None:
        """Store what was computed; all of it is searchable when this returns."""
        with self._file.database.write() as connection:
            dimensions, number = connection.rows(
                "SELECT dimensions, id FROM fingerprints WHERE name=?", (fingerprint,)
            )[0]
            for vector in computed.values():
                jobs.check_vector(vector, dimensions, fingerprint)
            connection.run_many(
                "INSERT OR IGNORE INTO vectors(fingerprint, hash, vector) VALUES(?,?,?)",
                [(number, digest, vector.astype(np.float32).tobytes()) for digest, vector in computed.items()],
            )
            _finish(connection, number, done)


def enqueue_missing(
    connection: Connection, fingerprint: int, have: Array, kind: str | None, languages: Languages = EVERY_LANGUAGE
) -> int:
    """Put every live chunk, and every chunk of a checkpoint, that has no vector and no job on the backlog."""
    condition, values = ("AND i.kind=?", (kind,)) if kind else ("", ())
    spoken, codes = in_languages(languages)
    rows = connection.rows(
        f"SELECT c.id, i.kind FROM chunks c JOIN items i ON i.n=c.item WHERE {jobs.WANTS_VECTOR} {condition}{spoken}",
        (*values, *codes),
    )
    before = connection.total_changes()
    _enqueue(connection, fingerprint, rows, have)
    return connection.total_changes() - before


def _enqueue(connection: Connection, fingerprint: int, rows: Sequence[tuple[int, str]], have: Array) -> int:
    """Put chunks, given with the kinds of their items, on the backlog, unless they have a vector."""
    with_vector = set(have.tolist())
    missing = [(fingerprint, chunk, kind) for chunk, kind in rows if chunk not in with_vector]
    connection.run_many("INSERT OR IGNORE INTO jobs(fingerprint, chunk, kind, state) VALUES(?,?,?,'pending')", missing)
    return len(missing)


def _claim(connection: Connection, fingerprint: int, owner: str, limit: int, kind: str | None) -> list[Job] | None:
    """The next jobs, without those whose text is gone, which are dropped; None when there are no more."""
    now = now_micros()
    condition = "AND kind=?7" if kind else ""
    values: list[object] = [fingerprint, now, owner, limit, now + jobs.LEASE, now + jobs.AHEAD]
    rows = connection.rows(
        "UPDATE jobs SET state='running', owner=?3, lease_until=?5, attempts=attempts + 1"
        " WHERE fingerprint=?1 AND chunk IN (SELECT chunk FROM jobs WHERE fingerprint=?1 AND"
        " (state='pending' AND not_before NOT BETWEEN ?2 + 1 AND ?6"
        " OR state='running' AND lease_until NOT BETWEEN ?2 AND ?6)"
        f" {condition} ORDER BY chunk LIMIT ?4) RETURNING chunk",
        [*values, kind] if kind else values,
    )
    if not rows:
        return None
    chunks = [row[0] for row in rows]
    found: dict[int, Job] = {}
    for marks, part in in_parts(chunks):
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
            jobs.release(connection, owner)


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


def _known_vectors(connection: Connection, fingerprint: int, hashes: Sequence[bytes]) -> dict[bytes, tuple[int, Array]]:
    """Vectors already computed for these texts: hash → (vector id, vector)."""
    known: dict[bytes, tuple[int, Array]] = {}
    for marks, part in in_parts(dict.fromkeys(hashes)):
        for vector, digest, data in connection.rows(
            f"SELECT id, hash, vector FROM vectors WHERE fingerprint=? AND hash IN ({marks})", (fingerprint, *part)
        ):
            known[digest] = (vector, np.frombuffer(data, np.float32))
    return known


def _finish(connection: Connection, fingerprint: int, jobs_done: Sequence[Job]) -> None:
    """Let the chunks of finished jobs have their vectors, and take the jobs off the backlog."""
    known = _known_vectors(connection, fingerprint, [job.hash for job in jobs_done])
    still = {
        row[0]
        for job in jobs_done
        for row in connection.rows("SELECT chunk FROM jobs WHERE fingerprint=? AND chunk=?", (fingerprint, job.chunk))
    }
    done = [job for job in jobs_done if job.chunk in still and job.hash in known]
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
