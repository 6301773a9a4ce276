"""The part of the store that knows which vectors it holds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ricordo.store.index.entries import Visible
from ricordo.store.sql.batches import marks
from ricordo.store.sql.meaning import SharedVectors
from ricordo.store.sqlite.open_file import OpenFile
from ricordo.store.sqlite.vectors import bump_vectors, withdraw
from ricordo.store.values import EVERY_LANGUAGE, Languages


class Vectors(SharedVectors):
    """How many chunks have a vector of which fingerprint, and which fingerprint is in force."""

    def __init__(self, file: OpenFile) -> None:
        super().__init__(file.database)
        self._file = file

    def counts(self, fingerprint: str, languages: Languages = EVERY_LANGUAGE) -> dict[str, int]:
        """How many live chunks in some languages there are, have a vector, wait for one, or failed."""
        with self._file.database.read() as connection:
            live = connection.rows("SELECT total FROM lexical_stats WHERE field=-1")[0][0]
            if languages != EVERY_LANGUAGE:
                noted = connection.rows(
                    "SELECT language, count(*) FROM chunks WHERE language <> '' AND state=0 GROUP BY 1"
                )
                live = sum(count for code, count in noted if code in languages) + (
                    live - sum(count for _, count in noted) if "" in languages else 0
                )
            rows = connection.rows("SELECT id FROM fingerprints WHERE name=?", (fingerprint,))
            if not rows:
                return {"chunks": live, "embedded": 0, "pending": 0, "running": 0, "failed": 0}
            entries = self._file.vector_index.entries(connection, rows[0][0])
            counted = Visible(self._file.lexical.alive(connection)).mask(entries)
            if codes := languages.only if languages.only is not None else languages.without:
                named = connection.rows(f"SELECT id FROM chunks WHERE language IN ({marks(codes)}) AND state=0", codes)
                among = np.isin(entries.chunks, [chunk for (chunk,) in named])
                counted &= among if languages.only is not None else ~among
            embedded = int(counted.sum())
            states: dict[str, int] = dict(
                connection.rows("SELECT state, count(*) FROM jobs WHERE fingerprint=? GROUP BY state", (rows[0][0],))
            )
        waiting = {state: states.get(state, 0) for state in ("pending", "running", "failed")}
        return {"chunks": live, "embedded": embedded, **waiting}

    def settle(self, first: str, second: str, languages: Sequence[str]) -> None:
        """Drop the vectors of one model of passages in some languages that have one of a second model."""
        index = self._file.vector_index
        with self._file.database.write() as connection:
            numbers: dict[str, int] = dict(
                connection.rows("SELECT name, id FROM fingerprints WHERE name IN (?, ?)", (first, second))
            )
            if len(numbers) < 2:
                return
            rows = connection.rows(f"SELECT id FROM chunks WHERE language IN ({marks(languages)})", tuple(languages))
            spoken = np.fromiter((row[0] for row in rows), np.int64, len(rows))
            gone = np.intersect1d(spoken, index.entries(connection, numbers[second]).chunks)
            withdraw(connection, numbers[first], gone)

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
