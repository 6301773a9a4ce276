"""The texts that wait for their vector. Workers on many machines take jobs at the same time: none waits for a lock that
another worker holds (``FOR UPDATE SKIP LOCKED``), and a worker that died loses its lease.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ricordo.store.postgres.connection import Connection
from ricordo.store.postgres.nearness import decoded, write_vectors
from ricordo.store.postgres.open_workspace import OpenWorkspace
from ricordo.store.prepare import embedded_text
from ricordo.store.sql import jobs
from ricordo.store.sql.arrays import Array
from ricordo.store.sql.languages import in_languages
from ricordo.store.sql.times import now_micros
from ricordo.store.values import EVERY_LANGUAGE, Job, Languages

_MISSING = (
    "INSERT INTO jobs(fingerprint, chunk, kind, state) SELECT ?, c.id, i.kind, 'pending' FROM chunks c"
    " JOIN items i ON i.n = c.item WHERE {which} AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.fingerprint = ?"
    " AND v.hash = c.embed_hash) ON CONFLICT DO NOTHING"
)


class Jobs(jobs.SharedJobs):
    """The backlog of one workspace."""

    def __init__(self, opened: OpenWorkspace) -> None:
        super().__init__(opened.database)
        self._workspace = opened

    def enqueue_missing(
        self, fingerprint: str, dimensions: int, kind: str | None = None, languages: Languages = EVERY_LANGUAGE
    ) -> int:
        """Put live chunks in some languages without a vector on the backlog."""
        condition, codes = in_languages(languages)
        with self._workspace.database.write() as connection:
            number = jobs.fingerprint_id(connection, fingerprint, dimensions)
            which = jobs.WANTS_VECTOR + (" AND i.kind=?" if kind else "") + condition
            connection.run(_MISSING.format(which=which), (number, *([kind] if kind else []), *codes, number))
            return connection.changes()

    def enqueue_waiting(
        self, fingerprint: str, other: str, dimensions: int, languages: Languages = EVERY_LANGUAGE
    ) -> int:
        """Let texts that wait for a vector of one fingerprint wait for one of another, too."""
        condition, codes = in_languages(languages)
        with self._workspace.database.write() as connection:
            number = jobs.fingerprint_id(connection, other, dimensions)
            which = "c.id IN (SELECT j.chunk FROM jobs j JOIN fingerprints f ON f.id = j.fingerprint WHERE f.name=?)"
            connection.run(_MISSING.format(which=which + condition), (number, fingerprint, *codes, number))
            return connection.changes()

    def claim(
        self, fingerprint: str, dimensions: int, owner: str, limit: int, kind: str | None = None
    ) -> list[Job] | None:
        """Lease texts to embed; texts that another worker holds are skipped. None says that there are none."""
        if not self.has_work():
            return None
        while (claimed := self._claim(fingerprint, dimensions, owner, limit, kind)) is not None:
            if claimed:
                return claimed
        return None

    def _claim(self, fingerprint: str, dimensions: int, owner: str, limit: int, kind: str | None) -> list[Job] | None:
        """The next jobs, without those whose text is gone, which are dropped; None when there are no more."""
        with self._workspace.database.write_at_once() as connection:
            number = self._number(connection, fingerprint, dimensions)
            now = now_micros()
            condition = "AND kind=?" if kind else ""
            rows = connection.rows(
                # The locked rows are a step of their own: inside the update they might be picked again for each row.
                "WITH next AS MATERIALIZED (SELECT chunk FROM jobs WHERE fingerprint=?"
                " AND (state='pending' AND not_before NOT BETWEEN ? AND ?"
                " OR state='running' AND lease_until NOT BETWEEN ? AND ?)"
                f" {condition} ORDER BY chunk LIMIT ? FOR UPDATE SKIP LOCKED),"
                " taken AS (UPDATE jobs j SET state='running', owner=?, lease_until=?, attempts=j.attempts + 1"
                " WHERE j.fingerprint=? AND j.chunk = ANY(ARRAY(SELECT chunk FROM next)) RETURNING j.chunk)"
                " SELECT t.chunk, c.item, c.embed_hash, c.prefix, c.text FROM taken t"
                " LEFT JOIN chunks c ON c.id = t.chunk AND c.state < 2 ORDER BY t.chunk",
                (
                    number,
                    *(now + 1, now + jobs.AHEAD, now, now + jobs.AHEAD),
                    *([kind] if kind else []),
                    limit,
                    owner,
                    now + jobs.LEASE,
                    number,
                ),
            )
            gone = [(number, chunk) for chunk, item, *_ in rows if item is None]
            connection.run_many("DELETE FROM jobs WHERE fingerprint=? AND chunk=?", gone)
        if not rows:
            return None
        return [
            Job(chunk, item, digest, embedded_text(prefix, text))
            for chunk, item, digest, prefix, text in rows
            if item is not None
        ]

    def _number(self, connection: Connection, fingerprint: str, dimensions: int) -> int:
        known = self._workspace.fingerprint(connection, fingerprint)
        return known.number if known is not None else jobs.fingerprint_id(connection, fingerprint, dimensions)

    def known_vectors(self, fingerprint: str, hashes: Sequence[bytes]) -> dict[bytes, Array]:
        """The vectors of those texts that have one already."""
        with self._workspace.database.read() as connection:
            rows = connection.rows(
                "SELECT v.hash, vector_send(v.vector) FROM vectors v JOIN fingerprints f ON f.id = v.fingerprint"
                " WHERE f.name=? AND v.hash = ANY(?)",
                (fingerprint, list(hashes)),
            )
        return {digest: decoded(data) for digest, data in rows}

    def finish(self, fingerprint: str, done: Sequence[Job], computed: Mapping[bytes, Array]) -> None:
        """Store what was computed; all of it is searchable when this returns."""
        with self._workspace.database.write_at_once() as connection:
            number, dimensions = connection.rows(
                "SELECT id, dimensions FROM fingerprints WHERE name=?", (fingerprint,)
            )[0]
            for vector in computed.values():
                jobs.check_vector(vector, dimensions, fingerprint)
            if computed:
                write_vectors(connection, number, computed)
            connection.run(
                # The fingerprint in a subquery: of a new one, the planner would expect a single vector, and read all.
                "WITH gone AS (DELETE FROM jobs j WHERE j.fingerprint=? AND j.chunk = ANY(?) AND (SELECT true"
                " FROM chunks c JOIN vectors v ON v.fingerprint=(SELECT ?::bigint) AND v.hash = c.embed_hash"
                " WHERE c.id = j.chunk LIMIT 1) RETURNING 1)"
                " UPDATE meta SET value = to_jsonb(value::bigint + (SELECT count(*) FROM gone)) WHERE name='jobs_done'",
                (number, [job.chunk for job in done], number),
            )
