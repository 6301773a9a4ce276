"""Which vectors there are, which fingerprint searches use, and the index over them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ricordo.store.postgres.asking_sql import EXACT_BELOW
from ricordo.store.postgres.open_workspace import OpenWorkspace

HALFVEC_MOST = 4_000
"""pgvector indexes vectors of half precision up to so many numbers."""


class Vectors:
    """How many chunks have a vector of which fingerprint, and which fingerprint is in force."""

    def __init__(self, opened: OpenWorkspace) -> None:
        self._opened = opened
        self._database = opened.database

    def active_fingerprint(self) -> str | None:
        """The fingerprint whose vectors searches use."""
        with self._database.read() as connection:
            rows = connection.rows("SELECT name FROM fingerprints WHERE active")
        return rows[0][0] if rows else None

    def counts(self, fingerprint: str) -> dict[str, int]:
        """How many live chunks there are, have a vector, wait for one, or failed."""
        with self._database.read() as connection:
            live, embedded, states = connection.together(
                [
                    ("SELECT total FROM lexical_stats WHERE field=-1", ()),
                    (
                        "SELECT count(*) FROM chunks c JOIN vectors v ON v.hash = c.embed_hash"
                        " JOIN fingerprints f ON f.id = v.fingerprint WHERE f.name=? AND c.state=0",
                        (fingerprint,),
                    ),
                    (
                        "SELECT j.state, count(*) FROM jobs j JOIN fingerprints f ON f.id = j.fingerprint"
                        " WHERE f.name=? GROUP BY j.state",
                        (fingerprint,),
                    ),
                ]
            )
        waiting: dict[str, int] = {"pending": 0, "running": 0, "failed": 0} | dict(states)
        return {"chunks": live[0][0], "embedded": embedded[0][0], **waiting}

    def activate(self, fingerprint: str, keep: Collection[str] = ()) -> None:
        """Let searches use another fingerprint, all at once; of the others, the one before and ``keep`` stay."""
        with self._database.write(durable=True) as connection:
            before = {row[0] for row in connection.rows("SELECT name FROM fingerprints WHERE active")}
            connection.run("UPDATE fingerprints SET active = (name = ?) WHERE active <> (name = ?)", (fingerprint,) * 2)
            rows = connection.rows("SELECT id, name FROM fingerprints WHERE NOT active")
            idle = [number for number, name in rows if name not in keep]
            connection.run("DELETE FROM jobs WHERE fingerprint = ANY(?)", (idle,))
            connection.add_to_meta("vector_epoch", 1)
        self._opened.active = fingerprint
        self.drop([number for number, name in rows if name not in keep and name not in before])

    def drop_idle(self, keep: Collection[str]) -> int:
        """Drop the vectors of fingerprints that are not in use; returns how many there were."""
        with self._database.read() as connection:
            idle = connection.rows(
                "SELECT id, name FROM fingerprints f"
                " WHERE NOT active AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.fingerprint=f.id)"
            )
        return self.drop([number for number, name in idle if name not in keep])

    def drop(self, fingerprints: Sequence[int]) -> int:
        """Drop fingerprints with their vectors and the index over these; returns how many vectors there were."""
        if not fingerprints:
            return 0
        with self._database.write(durable=True) as connection:
            connection.run("DELETE FROM vectors WHERE fingerprint = ANY(?)", (list(fingerprints),))
            dropped = connection.changes()
            connection.run("DELETE FROM fingerprints WHERE id = ANY(?)", (list(fingerprints),))
        for number in fingerprints if self._database.is_owner() else ():  # without its rows, an index is empty
            self._database.as_owner(f"DROP INDEX IF EXISTS vectors_near_{number}")
        self._opened.forget_fingerprints()
        return dropped

    def index_due(self) -> None:
        """Make the index over the vectors in use where there are enough of them to need one.

        A role that may not do so leaves it to the owner of the tables.
        """
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT f.id, f.dimensions, (SELECT count(*) FROM vectors v WHERE v.fingerprint = f.id),"
                " to_regclass('vectors_near_' || f.id) IS NOT NULL FROM fingerprints f WHERE f.active"
            )
        for number, dimensions, count, there in rows:
            if not there and count >= EXACT_BELOW and dimensions <= HALFVEC_MOST and self._database.is_owner():
                self._database.as_owner(
                    f"CREATE INDEX IF NOT EXISTS vectors_near_{number} ON vectors USING hnsw"
                    f" ((vector::halfvec({dimensions})) halfvec_ip_ops)"
                    f" WHERE workspace = {self._database.workspace} AND fingerprint = {number}",
                    memory=count * (2 * dimensions + 400),
                )
                self._opened.forget_fingerprints()
