"""The vectors that an answer brings along, because the ranking may ask for cosines with a query that moved.

They are those of all passages of the pool's items. Of long items that would be megabytes, so that only some passages
are brought: those that the meaning side found, those with the query's words, and the few nearest by their sketches,
which a file compares, too. Their vectors are read from their places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ricordo.frozen import frozen
from ricordo.store.asking import QueryVector
from ricordo.store.found import CHUNKS_KEPT
from ricordo.store.postgres import packed
from ricordo.store.postgres.asking_sql import Compared, VectorIndex
from ricordo.store.postgres.connection import Connection
from ricordo.store.postgres.nearest_sql import PLACED, Picks, VectorsMovedError, placed_values
from ricordo.store.sql.arrays import Array, few_per_group
from ricordo.store.sql.protocols import Values

_BYTES = (
    "SELECT ARRAY[string_agg(int8send(f.chunk) || int8send(f.item) || int8send(f.state), ''),"
    " string_agg(vector_send(f.vector), '')] FROM ({found}) f"
)
_ITEMS = "SELECT item FROM pool UNION SELECT item FROM joined"
_ALL = (
    "SELECT c.id AS chunk, c.item, c.state::bigint AS state, v.vector FROM chunks c"
    " JOIN vectors v ON v.hash = c.embed_hash"
    " WHERE v.fingerprint = (SELECT {number}) AND c.state < 2 AND c.item IN ({items})"
)
_SOME = (
    "SELECT n.chunk, n.item, 0::bigint AS state, v.vector FROM near n JOIN vectors v ON v.ctid = n.place"
    f" UNION ALL SELECT p.chunk, p.marked >> 16, 0, v.vector {PLACED} AND (p.marked >> 16 IN ({_ITEMS})) IS TRUE"
    " AND p.chunk NOT IN (SELECT chunk FROM near)"
    f" UNION ALL {_ALL}"
)
"""By ``IS TRUE``, items are looked up in a hash before any vector is read. A plan for all values, which takes lists for
short, would read the vectors of all passages and compare each with every item.
"""


@frozen
class Bringing:
    """What an answer is to bring beside its other parts: the statement and its values."""

    index: VectorIndex
    vector: QueryVector
    statement: str
    values: Values = ()
    picks: Picks | None = None
    """Of long items, the passages that are brought besides those that the meaning side finds."""

    @classmethod
    def of(cls, compared: Compared, of_long: tuple[Picks, Array] | None) -> Bringing:
        """All vectors of the pool or, of the long items there, only what is picked and what the meaning side finds."""
        index, vector = compared
        if of_long is None:
            return cls(index, vector, _BYTES.format(found=_ALL.format(number=index.number, items=_ITEMS)))
        picks, items = of_long
        assert picks.places is not None, "long items are known by their sketches"
        values = (*placed_values(picks, picks.places), packed.bigints(items))
        some = _SOME.format(number=index.number, items=f"{_ITEMS} EXCEPT SELECT unnest(?::bigint[])")
        return cls(index, vector, _BYTES.format(found=some), values, picks)

    def read(self, data: Sequence[bytes | None], answer: Mapping[str, Any]) -> BroughtVectors:
        """The vectors that came; raises VectorsMovedError if some were not in their places."""
        found = BroughtVectors.read(data, self.index.dimensions)
        if self.picks is not None:
            inside = np.isin(self.picks.items, np.array([row[0] for row in answer["refs"] or []], np.int64))
            if not np.isin(self.picks.chunks[inside], found.chunks).all():
                raise VectorsMovedError
        return found


@frozen
class BroughtVectors:
    """Vectors of passages that came with an answer, row by row."""

    chunks: Array
    items: Array
    live: Array
    """Whether a passage counts now."""
    rows: Array

    @classmethod
    def read(cls, data: Sequence[bytes | None], dimensions: int) -> BroughtVectors:
        """Chunk, item and state of each, and pgvector's own bytes."""
        numbers, vectors = (part or b"" for part in data)
        chunks, items, states = np.frombuffer(numbers, ">i8").astype(np.int64).reshape(-1, 3).T
        rows = np.frombuffer(vectors, ">f4").reshape(-1, 1 + dimensions)[:, 1:].astype(np.float32)
        return cls(chunks, items, states == 0, rows)

    def keep(self, connection: Connection, fingerprint: str) -> None:
        """Let the rest of this read find them on its connection."""
        known = connection.vectors_at_hand
        held = known[1] if known is not None else {}
        connection.vectors_at_hand = fingerprint, held | dict(zip(self.chunks.tolist(), self.rows, strict=True))

    def cosines(self, query: QueryVector) -> list[tuple[int, int, float]]:
        """The best passages of each item: the number of the passage, of the item, and the cosine with a query."""
        chunks, items = self.chunks[self.live], self.items[self.live]
        values = np.asarray(query.values, np.float32)
        found = query.comparable(np.vecdot(self.rows[self.live], values).astype(np.float64))
        order = np.lexsort((chunks, -found))
        few = order[few_per_group(items[order], found[order], CHUNKS_KEPT)[0]]
        return list(zip(chunks[few].tolist(), items[few].tolist(), found[few].tolist(), strict=True))
