"""The part of the store that knows which vectors it holds."""

from __future__ import annotations

from collections.abc import Sequence

from ricordo.store.sql.meaning import SharedVectors
from ricordo.store.sqlite.open_file import OpenFile
from ricordo.store.sqlite.vectors import Visible, bump_vectors


class Vectors(SharedVectors):
    """How many chunks have a vector of which fingerprint, and which fingerprint is in force."""

    def __init__(self, file: OpenFile) -> None:
        super().__init__(file.database)
        self._file = file

    def counts(self, fingerprint: str) -> dict[str, int]:
        """How many live chunks there are, have a vector, wait for one, or failed."""
        with self._file.database.read() as connection:
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

    def drop(self, fingerprints: Sequence[int]) -> int:
        """Clear the rows of fingerprints, a bounded number at a time; returns how many vectors there were."""
        dropped = 0
        for number in fingerprints:
            with self._file.database.write() as connection:
                connection.run("DELETE FROM vector_blocks WHERE fingerprint=?", (number,))
                bump_vectors(connection)
            left = 1
            while left:
                with self._file.database.write() as connection:
                    connection.run(
                        "DELETE FROM vectors WHERE id IN (SELECT id FROM vectors WHERE fingerprint=? LIMIT 5000)",
                        (number,),
                    )
                    left = connection.changes()
                    dropped += left
                    if not left:
                        connection.run("DELETE FROM fingerprints WHERE id=?", (number,))
        return dropped
