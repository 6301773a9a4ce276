"""The vector half of the store: nearest chunks, the backlog of texts to embed, and which fingerprint is in force."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ricordo.errors import ContractError
from ricordo.store.base import Job, VectorMatches
from ricordo.store.sqlite import jobs
from ricordo.store.sqlite.connection import Connection, Database
from ricordo.store.sqlite.lexical import LexicalIndex
from ricordo.store.sqlite.postings import Array
from ricordo.store.sqlite.vectors import VectorIndex, Visible, bump_vectors


class Meaning:
    """Vectors of chunks, by fingerprint."""

    database: Database
    lexical: LexicalIndex
    vector_index: VectorIndex

    def vector_search(
        self, fingerprint: str, query: Array, *, limit: int, allowed: Array | None = None, times: Array | None = None
    ) -> VectorMatches:
        """The nearest chunks, until ``limit`` different items are among them."""
        with self.database.read() as connection:
            number = _number(connection, fingerprint, len(query))
            if number is None:
                return _nothing()
            visible = self._visible(connection, allowed, times)
            return VectorMatches(*self.vector_index.search(connection, number, query, limit, visible))

    def vector_scores(
        self, fingerprint: str, query: Array, items: Array, *, times: Array | None = None
    ) -> VectorMatches:
        """Cosines of every visible chunk of some items."""
        with self.database.read() as connection:
            number = _number(connection, fingerprint, len(query))
            if number is None or not len(items):
                return _nothing()
            visible = self._visible(connection, None, times)
            return VectorMatches(*self.vector_index.scores(connection, number, query, items, visible))

    def chunk_cosines(self, fingerprint: str, query: Array, chunks: Array) -> Array:
        """The cosine of each of some chunks; -1 where it has no vector."""
        with self.database.read() as connection:
            number = _number(connection, fingerprint, len(query))
            if number is None or not len(chunks):
                return np.full(len(chunks), -1.0)
            return self.vector_index.scores_of(connection, number, query, chunks)

    def _visible(self, connection: Connection, allowed: Array | None, times: Array | None) -> Visible:
        if times is None:
            return Visible(self.lexical.alive(connection), allowed)
        alive = np.zeros(int(times.max(initial=0)) + 1, bool)
        alive[times] = True
        return Visible(alive, allowed)

    def chunk_vectors(self, fingerprint: str, n: int) -> Array:
        """The vectors of an item's live chunks."""
        with self.database.read() as connection:
            rows = connection.rows(
                "SELECT v.vector FROM chunks c JOIN vectors v ON v.hash = c.embed_hash"
                " JOIN fingerprints f ON f.id = v.fingerprint WHERE c.item=? AND c.state=0 AND f.name=? ORDER BY c.id",
                (n, fingerprint),
            )
        return np.array([np.frombuffer(row[0], np.float32) for row in rows], np.float32)

    def vectors_of(self, fingerprint: str, chunks: Sequence[int]) -> dict[int, Array]:
        """The vectors of some chunks, as far as they have one."""
        marks = ",".join("?" * len(chunks))
        with self.database.read() as connection:
            rows = connection.rows(
                "SELECT c.id, v.vector FROM chunks c JOIN vectors v ON v.hash = c.embed_hash"
                f" JOIN fingerprints f ON f.id = v.fingerprint WHERE f.name=? AND c.id IN ({marks})",
                (fingerprint, *chunks),
            )
        return {chunk: np.frombuffer(data, np.float32) for chunk, data in rows}

    def active_fingerprint(self) -> str | None:
        """The fingerprint whose vectors searches use."""
        with self.database.read() as connection:
            rows = connection.rows("SELECT name FROM fingerprints WHERE active")
        return rows[0][0] if rows else None

    def vector_counts(self, fingerprint: str) -> dict[str, int]:
        """How many live chunks there are, have a vector, wait for one, or failed."""
        with self.database.read() as connection:
            live = connection.rows("SELECT total FROM lexical_stats WHERE field=-1")[0][0]
            rows = connection.rows("SELECT id FROM fingerprints WHERE name=?", (fingerprint,))
            if not rows:
                return {"chunks": live, "embedded": 0, "pending": 0, "running": 0, "failed": 0}
            entries = self.vector_index.entries(connection, rows[0][0])
            embedded = len(Visible(self.lexical.alive(connection)).positions(entries))
            states: dict[str, int] = dict(
                connection.rows("SELECT state, count(*) FROM jobs WHERE fingerprint=? GROUP BY state", (rows[0][0],))
            )
        waiting = {state: states.get(state, 0) for state in ("pending", "running", "failed")}
        return {"chunks": live, "embedded": embedded, **waiting}

    def waiting_jobs(self, fingerprint: str) -> int:
        """How many chunks wait for their vector."""
        with self.database.read() as connection:
            return int(
                connection.rows(
                    "SELECT count(*) FROM jobs j JOIN fingerprints f ON f.id=j.fingerprint WHERE f.name=?",
                    (fingerprint,),
                )[0][0]
            )

    def enqueue_missing(self, fingerprint: str, dimensions: int, kind: str | None = None) -> int:
        """Put live chunks without a vector on the backlog."""
        with self.database.write() as connection:
            number = jobs.fingerprint_id(connection, fingerprint, dimensions)
            have = self.vector_index.entries(connection, number).chunks
            return jobs.enqueue_missing(connection, number, have, kind)

    def claim_jobs(
        self, fingerprint: str, dimensions: int, owner: str, limit: int, kind: str | None = None
    ) -> list[Job]:
        """Lease texts to embed."""
        with self.database.read() as connection:
            if not connection.rows("SELECT 1 FROM jobs WHERE state <> 'failed' LIMIT 1"):
                return []
        with self.database.write() as connection:
            number = jobs.fingerprint_id(connection, fingerprint, dimensions)
            return jobs.claim(connection, number, owner, limit, kind)

    def known_vectors(self, fingerprint: str, hashes: Sequence[bytes]) -> set[bytes]:
        """Which of these texts have a vector already."""
        with self.database.read() as connection:
            rows = connection.rows("SELECT id FROM fingerprints WHERE name=?", (fingerprint,))
            return set(jobs.known_vectors(connection, rows[0][0], hashes)) if rows else set()

    def finish_jobs(self, fingerprint: str, done: Sequence[Job], computed: Mapping[bytes, Array]) -> None:
        """Store what was computed; all of it is searchable when this returns."""
        with self.database.write() as connection:
            name, dimensions, number = connection.rows(
                "SELECT name, dimensions, id FROM fingerprints WHERE name=?", (fingerprint,)
            )[0]
            for vector in computed.values():
                _check_vector(vector, dimensions, name)
            jobs.finish(connection, number, done, computed)

    def fail_jobs(self, fingerprint: str, failed: Sequence[Job], error: str) -> None:
        with self.database.write() as connection:
            number = connection.rows("SELECT id FROM fingerprints WHERE name=?", (fingerprint,))[0][0]
            jobs.fail(connection, number, failed, error)

    def release_jobs(self, owner: str) -> None:
        with self.database.write() as connection:
            jobs.release(connection, owner)

    def retry_jobs(self) -> int:
        with self.database.write() as connection:
            return jobs.retry(connection)

    def job_summary(self) -> dict[str, Any]:
        """What is on the backlog, and how much was done so far."""
        with self.database.read() as connection:
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
        with self.database.write() as connection:
            number = jobs.fingerprint_id(connection, other, dimensions)
            have = set(self.vector_index.entries(connection, number).chunks.tolist())
            rows = connection.rows(
                "SELECT j.chunk, j.kind FROM jobs j JOIN fingerprints f ON f.id=j.fingerprint WHERE f.name=?",
                (fingerprint,),
            )
            missing = [(number, chunk, kind) for chunk, kind in rows if chunk not in have]
            connection.run_many(
                "INSERT OR IGNORE INTO jobs(fingerprint, chunk, kind, state) VALUES(?,?,?,'pending')", missing
            )
            return len(missing)

    def drop_waiting(self, fingerprint: str) -> None:
        """Take what still waits for vectors of a fingerprint off the backlog."""
        with self.database.write() as connection:
            connection.rows(
                "DELETE FROM jobs WHERE state<>'running' AND fingerprint IN (SELECT id FROM fingerprints WHERE name=?)",
                (fingerprint,),
            )

    def activate(self, fingerprint: str, keep: Collection[str] = ()) -> None:
        """Let searches use another fingerprint, and drop what only the old ones needed; all at once."""
        with self.database.write(durable=True) as connection:
            connection.rows("UPDATE fingerprints SET active = (name = ?)", (fingerprint,))
            rows = connection.rows("SELECT id, name FROM fingerprints WHERE NOT active")
            old = [number for number, name in rows if name not in keep]
            for table in ("vector_blocks", "jobs"):
                connection.run_many(f"DELETE FROM {table} WHERE fingerprint=?", [(number,) for number in old])
            bump_vectors(connection)
        self._drop_vectors(old)

    def _drop_vectors(self, fingerprints: Sequence[int]) -> None:
        """Clear the rows of fingerprints no longer used, a bounded number at a time."""
        for number in fingerprints:
            left = 1
            while left:
                with self.database.write() as connection:
                    connection.rows(
                        "DELETE FROM vectors WHERE id IN (SELECT id FROM vectors WHERE fingerprint=? LIMIT 5000)",
                        (number,),
                    )
                    left = connection.changes()
                    if not left:
                        connection.rows("DELETE FROM fingerprints WHERE id=?", (number,))


def _number(connection: Connection, fingerprint: str, dimensions: int) -> int | None:
    rows = connection.rows("SELECT id, dimensions FROM fingerprints WHERE name=?", (fingerprint,))
    if not rows:
        return None
    if rows[0][1] != dimensions:
        raise ContractError(
            f"the query vector has {dimensions} numbers, the stored ones {rows[0][1]}",
            hint="The embedder changed without changing its fingerprint; run 'ricordo reembed'.",
        )
    return int(rows[0][0])


def _check_vector(vector: Array, dimensions: int, fingerprint: str) -> None:
    if vector.shape != (dimensions,) or not np.isfinite(vector).all():
        raise ContractError(
            f"{fingerprint} gave a bad vector ({vector.shape[0]} numbers, {dimensions} expected, all finite)",
            hint="Nothing was stored. Check the embedding settings, then run 'ricordo embed'.",
        )


def _nothing() -> VectorMatches:
    none = np.zeros(0, np.int64)
    return VectorMatches(none, none, np.zeros(0))
