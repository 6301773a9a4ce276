"""The vector half of the store: nearest chunks, the backlog of texts to embed, and which fingerprint is in force."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from ricordo.errors import ContractError
from ricordo.store.base import VectorMatches
from ricordo.store.sqlite.connection import Connection
from ricordo.store.sqlite.open_file import OpenFile
from ricordo.store.sqlite.postings import Array
from ricordo.store.sqlite.vectors import Visible, bump_vectors


class Vectors:
    """Vectors of chunks, by fingerprint, and the texts that wait for one."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self._database = file.database

    def nearest(
        self, fingerprint: str, query: Array, *, limit: int, allowed: Array | None = None, times: Array | None = None
    ) -> VectorMatches:
        """The nearest chunks, until ``limit`` different items are among them."""
        with self._database.read() as connection:
            number = _number(connection, fingerprint, len(query))
            if number is None:
                return _nothing()
            visible = self._visible(connection, allowed, times)
            return VectorMatches(*self._file.vector_index.search(connection, number, query, limit, visible))

    def scores(self, fingerprint: str, query: Array, items: Array, *, times: Array | None = None) -> VectorMatches:
        """Cosines of every visible chunk of some items."""
        with self._database.read() as connection:
            number = _number(connection, fingerprint, len(query))
            if number is None or not len(items):
                return _nothing()
            visible = self._visible(connection, None, times)
            return VectorMatches(*self._file.vector_index.scores(connection, number, query, items, visible))

    def cosines(self, fingerprint: str, query: Array, chunks: Array) -> Array:
        """The cosine of each of some chunks; -1 where it has no vector."""
        with self._database.read() as connection:
            number = _number(connection, fingerprint, len(query))
            if number is None or not len(chunks):
                return np.full(len(chunks), -1.0)
            return self._file.vector_index.scores_of(connection, number, query, chunks)

    def _visible(self, connection: Connection, allowed: Array | None, times: Array | None) -> Visible:
        if times is None:
            return Visible(self._file.lexical.alive(connection), allowed)
        alive = np.zeros(int(times.max(initial=0)) + 1, bool)
        alive[times] = True
        return Visible(alive, allowed)

    def of_item(self, fingerprint: str, n: int) -> Array:
        """The vectors of an item's live chunks."""
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT v.vector FROM chunks c JOIN vectors v ON v.hash = c.embed_hash"
                " JOIN fingerprints f ON f.id = v.fingerprint WHERE c.item=? AND c.state=0 AND f.name=? ORDER BY c.id",
                (n, fingerprint),
            )
        return np.array([np.frombuffer(row[0], np.float32) for row in rows], np.float32)

    def of_chunks(self, fingerprint: str, chunks: Sequence[int]) -> dict[int, Array]:
        """The vectors of some chunks, as far as they have one."""
        marks = ",".join("?" * len(chunks))
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT c.id, v.vector FROM chunks c JOIN vectors v ON v.hash = c.embed_hash"
                f" JOIN fingerprints f ON f.id = v.fingerprint WHERE f.name=? AND c.id IN ({marks})",
                (fingerprint, *chunks),
            )
        return {chunk: np.frombuffer(data, np.float32) for chunk, data in rows}

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
            embedded = len(Visible(self._file.lexical.alive(connection)).positions(entries))
            states: dict[str, int] = dict(
                connection.rows("SELECT state, count(*) FROM jobs WHERE fingerprint=? GROUP BY state", (rows[0][0],))
            )
        waiting = {state: states.get(state, 0) for state in ("pending", "running", "failed")}
        return {"chunks": live, "embedded": embedded, **waiting}

    def activate(self, fingerprint: str, keep: Collection[str] = ()) -> None:
        """Let searches use another fingerprint, and drop what only the old ones needed; all at once."""
        with self._database.write(durable=True) as connection:
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
                with self._database.write() as connection:
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


def _nothing() -> VectorMatches:
    none = np.zeros(0, np.int64)
    return VectorMatches(none, none, np.zeros(0))
