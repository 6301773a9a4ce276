"""The meaning side of an ask: the chunks nearest to a vector, and the cosines of chunks that are known already."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ricordo.errors import ContractError
from ricordo.store.asking import Aim, QueryVector
from ricordo.store.index.entries import Visible
from ricordo.store.sql.arrays import Array
from ricordo.store.sql.matches import VectorMatches
from ricordo.store.sqlite.connection import Connection
from ricordo.store.sqlite.open_file import OpenFile
from ricordo.store.sqlite.vectors import best_items


class MeaningSide:
    """Compares the vectors of one fingerprint. ``times`` are the chunks to look among, where not the live ones."""

    def __init__(
        self, file: OpenFile, connection: Connection, fingerprint: str, dimensions: int, times: Array | None = None
    ) -> None:
        self.index = file.vector_index
        self.connection = connection
        self.number = _number(connection, fingerprint, dimensions)
        if times is None:
            self.alive = file.lexical.alive(connection)
        else:
            self.alive = np.zeros(int(times.max(initial=0)) + 1, bool)
            self.alive[times] = True

    def leave_out(self, first: MeaningSide) -> None:
        """Look only at chunks that have no vector of another side."""
        if first.number is not None:
            has = self.index.entries(self.connection, first.number).chunks
            self.alive = self.alive.copy()
            self.alive[has[has < len(self.alive)]] = False

    def nearest(self, query: Array, limit: int, allowed: Array | None) -> VectorMatches:
        """The nearest chunks, until ``limit`` different items are among them."""
        if self.number is None:
            return _nothing()
        visible = Visible(self.alive, allowed)
        return VectorMatches(*self.index.search(self.connection, self.number, query, limit, visible))

    def scores(self, query: Array, numbers: Array) -> VectorMatches:
        """Cosines of every visible chunk of some items."""
        if self.number is None or not len(numbers):
            return _nothing()
        return VectorMatches(*self.index.scores(self.connection, self.number, query, numbers, Visible(self.alive)))


class MeaningSides:
    """Compares a query with the vectors of one model and, where a passage has none of it, with those of another."""

    def __init__(
        self, file: OpenFile, connection: Connection, vectors: Sequence[QueryVector], times: Array | None
    ) -> None:
        self._sides: list[tuple[QueryVector, MeaningSide]] = []
        for vector in vectors:
            side = MeaningSide(file, connection, vector.fingerprint, len(vector.values), times)
            if self._sides:
                side.leave_out(self._sides[0][1])
            self._sides.append((vector, side))

    def nearest(self, limit: int, allowed: Array | None) -> VectorMatches:
        """The nearest chunks, until ``limit`` different items are among them."""
        found = self._together([(one, side.nearest(one.values, limit, allowed)) for one, side in self._sides])
        if len(self._sides) == 1:
            return found
        best = best_items(found.cosines, found.items, limit)
        return VectorMatches(found.chunks[best], found.items[best], found.cosines[best])

    def scores(self, numbers: Array) -> VectorMatches:
        """Cosines of every visible chunk of some items."""
        return self._together([(one, side.scores(one.values, numbers)) for one, side in self._sides])

    def _together(self, found: Sequence[tuple[QueryVector, VectorMatches]]) -> VectorMatches:
        if len(found) == 1:
            vector, only = found[0]
            return VectorMatches(only.chunks, only.items, vector.comparable(only.cosines))
        return VectorMatches(
            np.concatenate([one.chunks for _, one in found]),
            np.concatenate([one.items for _, one in found]),
            np.concatenate([vector.comparable(one.cosines) for vector, one in found]),
        )


def aimed_cosines(
    file: OpenFile, connection: Connection, fingerprint: str, aim: Aim, chunks: Sequence[int]
) -> list[float] | None:
    """The cosine of each chunk with the moved query and its parts, -1 where it has no vector; None where nothing moves
    the query.
    """
    index, dimensions = file.vector_index, len(aim.query)
    number = _number(connection, fingerprint, dimensions)
    if number is None:
        return None
    towards = np.array([chunk for chunk, _ in aim.towards], np.int64)
    moved = aim.moved(index.vectors(connection, number, dimensions, towards))
    if moved is None:
        return None
    compared = np.array(chunks, np.int64)
    whole, *parts = (index.scores_of(connection, number, one, compared) for one in (moved, *aim.parts))
    found: list[float] = aim.together(whole, parts).tolist()
    return found


def vectors_of(file: OpenFile, connection: Connection, fingerprint: str, chunks: Sequence[int]) -> dict[int, Array]:
    """The vectors of some chunks, as far as they have one."""
    rows = connection.once("SELECT id, dimensions FROM fingerprints WHERE name=?", fingerprint)
    if not rows:
        return {}
    number, dimensions = rows[0]
    return file.vector_index.vectors(connection, number, dimensions, np.array(chunks, np.int64))


def vectors_of_item(connection: Connection, fingerprint: str, n: int) -> Array:
    """The vectors of an item's live chunks."""
    rows = connection.rows(
        "SELECT v.vector FROM chunks c JOIN vectors v ON v.hash = c.embed_hash"
        " JOIN fingerprints f ON f.id = v.fingerprint WHERE c.item=? AND c.state=0 AND f.name=? ORDER BY c.id",
        (n, fingerprint),
    )
    return np.array([np.frombuffer(row[0], np.float32) for row in rows], np.float32)


def _number(connection: Connection, fingerprint: str, dimensions: int) -> int | None:
    rows = connection.once("SELECT id, dimensions FROM fingerprints WHERE name=?", fingerprint)
    if not rows:
        return None
    if rows[0][1] != dimensions:
        raise ContractError(
            f"the query vector has {dimensions} numbers, the stored ones {rows[0][1]}",
            hint="The embedder changed without changing its fingerprint; run ‹:embed›.",
        )
    return int(rows[0][0])


def _nothing() -> VectorMatches:
    none = np.zeros(0, np.int64)
    return VectorMatches(none, none, np.zeros(0))
