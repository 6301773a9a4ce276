"""The part of the store that knows which vectors it holds, and which fingerprint searches use."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ricordo.store.sqlite.connection import Database
from ricordo.store.sqlite.open_file import OpenFile
from ricordo.store.sqlite.vectors import Visible, bump_vectors


class Vectors:
    """How many chunks have a vector of which fingerprint, and which fingerprint is in force."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self._database = file.database

    def active_fingerprint(self) -> str | None:
        """The fingerprint whose vectors searches use."""
        with self._database.read() as connection:
            rows = connection.rows("SELECT name FROM fingerprints WHERE active")
        return rows[0][0] if rows else None

    def counts(self, fingerprint: str) -> dict[str, int]:
        """How many live chunks there are, have a vector, wait for one, or failed."""
        with self._database.read() as connection:
            live = connection.rows("SELECT total FROM lexical_stats WHERE field=-1")[0][0]
            rows = connection.rows("SELECT id FROM fingerprints WHERE name=?", (fingerprint,))
            if not rows:
                return {"chunks": live, "embedded": 0, "pending": 0, "running": 0, "failed": 0}
            entries = self._file.vector_index.entries(connection, rows[0][0])
            embedded = int(Visible(self._file.lexical.alive(connection)).mask(entries).sum())
            states: dict[str, int] = dict(
                connection.rows("SELECT state, count(*) FROM jobs WHERE fingerprint=? GROUP BY state", (rows[0][0],))
            )
        waiting = {state: states.get(state, 0) for state in ("pending", "running", "failed")}
        return {"chunks": live, "embedded": embedded, **waiting}

    def activate(self, fingerprint: str, keep: Collection[str] = ()) -> None:
        """Let searches use another fingerprint, all at once; of the others, the one before and ``keep`` stay."""
        with self._database.write(durable=True) as connection:
            before = {row[0] for row in connection.rows("SELECT name FROM fingerprints WHERE active")}
            connection.run("UPDATE fingerprints SET active = (name = ?)", (fingerprint,))
            rows = connection.rows("SELECT id, name FROM fingerprints WHERE NOT active")
            idle = [(number,) for number, name in rows if name not in keep]
            connection.run_many("DELETE FROM jobs WHERE fingerprint=?", idle)
            old = [number for number, name in rows if name not in keep and name not in before]
            bump_vectors(connection)
        drop_fingerprints(self._database, old)


def drop_idle_fingerprints(database: Database, keep: Collection[str]) -> int:
    """Drop the vectors of fingerprints that are not in use; returns how many there were."""
    with database.read() as connection:
        idle = connection.rows(
            "SELECT id, name FROM fingerprints f"
            " WHERE NOT active AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.fingerprint=f.id)"
        )
    return drop_fingerprints(database, [number for number, name in idle if name not in keep])


def drop_fingerprints(database: Database, fingerprints: Sequence[int]) -> int:
    """Clear the rows of fingerprints, a bounded number at a time; returns how many vectors there were."""
    dropped = 0
    for number in fingerprints:
        with database.write() as connection:
            connection.run("DELETE FROM vector_blocks WHERE fingerprint=?", (number,))
            bump_vectors(connection)
        left = 1
        while left:
            with database.write() as connection:
                connection.run(
                    "DELETE FROM vectors WHERE id IN (SELECT id FROM vectors WHERE fingerprint=? LIMIT 5000)",
                    (number,),
                )
                left = connection.changes()
                dropped += left
                if not left:
                    connection.run("DELETE FROM fingerprints WHERE id=?", (number,))
    return dropped
