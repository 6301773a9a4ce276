"""FTS5 and sqlite-vec in one SQLite file: what people build when they want no server."""

from __future__ import annotations

import apsw

from compared.base import ComparedEngine, depth, fused, slice_of
from peers import open_peer

PER_SIDE = 50


class SqliteFtsVec(ComparedEngine):
    """Two tables in one SQLite file, joined by reciprocal rank fusion."""

    name = "FTS5 + sqlite-vec"
    shares_folder = True
    packages = ("sqlite_vec",)

    def _connect(self) -> apsw.Connection:
        import sqlite_vec

        connection = open_peer(self.folder / "peer.db")
        connection.set_busy_timeout(10_000)
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        return connection

    def load(self) -> None:
        connection = self._connect()
        width = self.collection.vectors.shape[1]
        connection.execute(
            "CREATE VIRTUAL TABLE texts USING fts5(title, heading, body, slice UNINDEXED, tokenize='porter unicode61')"
        )
        kind = f"embedding float[{width}] distance_metric=cosine, slice text"
        connection.execute(f"CREATE VIRTUAL TABLE meanings USING vec0({kind})")
        for batch in self.collection.batches(1_000):
            with connection:
                connection.executemany(
                    "INSERT INTO texts(rowid, title, heading, body, slice) VALUES(?,?,?,?,?)",
                    [(p.number, p.title, p.heading, p.text, p.slice) for p in batch],
                )
                connection.executemany(
                    "INSERT INTO meanings(rowid, embedding, slice) VALUES(?,?,?)",
                    [(p.number, self.collection.vectors[p.number].tobytes(), p.slice) for p in batch],
                )
        connection.execute("INSERT INTO texts(texts) VALUES('optimize')")
        connection.close()

    def open(self) -> None:
        self.connection = self._connect()

    def ask(self, kind: str, question: int, limit: int) -> list[str]:
        label = slice_of(question) if kind == "filtered" else ""
        words = self._by_word(question, PER_SIDE, label) if kind != "vector" else []
        near = self._by_meaning(question, PER_SIDE, label) if kind != "keyword" else []
        return self.refs(fused(words, near), limit)

    def nearest(self, question: int, limit: int, label: str = "") -> list[str] | None:
        return self.refs(self._by_meaning(question, depth(limit, label), label), limit)

    def _by_word(self, question: int, limit: int, label: str) -> list[int]:
        asked = " OR ".join(f'"{word}"' for word in self.collection.words[question])
        condition, values = (" AND slice = ?", (label,)) if label else ("", ())
        statement = f"SELECT rowid FROM texts WHERE texts MATCH ?{condition} ORDER BY rank LIMIT ?"
        return [row[0] for row in self.connection.execute(statement, (asked, *values, limit))]

    def _by_meaning(self, question: int, limit: int, label: str) -> list[int]:
        condition, values = (" AND slice = ?", (label,)) if label else ("", ())
        statement = f"SELECT rowid FROM meanings WHERE embedding MATCH ? AND k = ?{condition} ORDER BY distance"
        vector = self.collection.query_vectors[question].tobytes()
        return [row[0] for row in self.connection.execute(statement, (vector, limit, *values))]

    def write(self, number: int) -> None:
        row = 1_000_000_000 + number
        vector = self.collection.vectors[number % len(self.collection.vectors)].tobytes()
        with self.connection:
            self.connection.execute(
                "INSERT INTO texts(rowid, title, heading, body, slice) VALUES(?,?,?,?,?)",
                (row, "", "", f"Note {number}, written while others search.", "slicenew"),
            )
            statement = "INSERT INTO meanings(rowid, embedding, slice) VALUES(?,?,?)"
            self.connection.execute(statement, (row, vector, "slicenew"))

    def refs(self, numbers: list[int], limit: int) -> list[str]:  # type: ignore[override]
        return super().refs([number for number in numbers if number < 1_000_000_000], limit)

    def close(self) -> None:
        self.connection.close()
