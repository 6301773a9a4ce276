"""Vector search with a search engine beside the server: the engine says which passages are near, and exact cosines are
computed from the store's own rows.

Passages that the engine does not know as they are now (from ``index_outbox``) are compared in any case, so that what
was saved is found at once. If it lacks too much, or does not answer, the store's own index does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from ricordo.plugins.qdrant.engine import IndexAway, PointEngine, Space
from ricordo.store.arrays import Array, distinct, few_per_group
from ricordo.store.index.entries import Visible
from ricordo.store.query import CHUNKS_KEPT
from ricordo.store.search.vectors import VectorIndex, best_items
from ricordo.store.sql.database import Connection, Row

MOST_UNAPPLIED = 2_000
"""If the engine lacks more changes than this, the store's own index answers."""
MOST_NAMED = 10_000
"""Up to this many items that pass a filter are named to the engine; of more, what it finds is filtered here."""
NEAR_DEPTH, MOST_DEPTH = 8, 4_096
"""How many passages are asked for, for each item that is wanted, and at most."""
QUIET_SECONDS = 5.0
"""So long an engine that failed is not asked again."""
_THERE = "SELECT to_regclass('index_feeds') IS NOT NULL"
_FEED = "SELECT prefix, spaces FROM index_feeds"
_TAIL = f"SELECT DISTINCT chunk FROM (SELECT chunk FROM index_outbox LIMIT {MOST_UNAPPLIED + 1}) noted"
_PLACES = (
    "SELECT c.id, c.item, v.id FROM chunks c JOIN vectors v ON v.hash = c.embed_hash"
    " WHERE v.fingerprint = ? AND c.state < 2 AND c.{column} IN (*)"
)


def model_space(prefix: str, number: int, dimensions: int) -> Space:
    """Where the vectors of a model are."""
    return Space(f"{prefix}-m{number}", dimensions)


class EngineVectors(VectorIndex):
    """Answers nearest-neighbour queries with what an engine finds."""

    def __init__(self, engine: PointEngine, on_tail: Callable[[], None]) -> None:
        super().__init__()
        self._engine = engine
        self._on_tail = on_tail
        """Called when a search saw changes that the engine lacks."""
        self._is_there = False
        self._away: tuple[float, str] = (0.0, "")

    def prepare(self, connection: Connection, fingerprint: int) -> None:
        """Read what the engine does not know; the store's own entries are read when they are needed."""
        self._state(connection)

    def _state(self, connection: Connection) -> tuple[str, Sequence[str], Array] | str:
        """The prefix and the spaces of the engine, and the chunks it lacks; or why it cannot be asked."""
        until, problem = self._away
        if time.monotonic() < until:
            return problem
        self._is_there = self._is_there or bool(connection.once(_THERE)[0][0])
        feed, tail = (
            connection.gather(lambda: connection.once(_FEED), lambda: connection.once(_TAIL))
            if self._is_there
            else ([], [])
        )
        if not feed:
            return "the search engine was never filled (run 'ricordo index --rebuild')"
        if tail:
            self._on_tail()
        if len(tail) > MOST_UNAPPLIED:
            return f"the search engine lacks more than {MOST_UNAPPLIED:,} changes (see 'ricordo index')"
        return feed[0][0], feed[0][1].split(), np.array([chunk for (chunk,) in tail], np.int64)

    def search(
        self, connection: Connection, fingerprint: int, query: Array, items: int, *, visible: Visible
    ) -> tuple[Array, Array, Array]:
        """Chunks, items and cosines of the nearest, until ``items`` different items are among them; best first."""
        state = "" if visible.past else self._state(connection)
        if isinstance(state, str):
            self._note(state)
            return super().search(connection, fingerprint, query, items, visible=visible)
        prefix, spaces, tail = state
        space = model_space(prefix, fingerprint, len(query))
        few = visible.items is not None and len(visible.items) <= MOST_NAMED
        named = visible.items.tolist() if visible.items is not None and few else None
        limit = min(NEAR_DEPTH * items, MOST_DEPTH)
        while True:
            near: list[int] = []
            if space.name in spaces and (named is None or named):
                try:
                    near = self._engine.nearest(space, query, limit, named)
                except IndexAway as error:
                    self._away = (time.monotonic() + QUIET_SECONDS, error.message)
                    return self.search(connection, fingerprint, query, items, visible=visible)
            picked = distinct(np.concatenate((np.array(near, np.int64), tail)))
            chunks, owners, rows = self._places(connection, fingerprint, "id", picked, visible=visible)
            if len(near) < limit or limit >= MOST_DEPTH or len(distinct(owners)) >= items:
                break
            limit = min(4 * limit, MOST_DEPTH)
        self._note("")
        cosines = self.cosines(connection, fingerprint, query, rows)
        order = best_items(cosines, owners, items)
        return chunks[order], owners[order], cosines[order]

    def scores(
        self, connection: Connection, fingerprint: int, query: Array, items: Array, *, visible: Visible
    ) -> tuple[Array, Array, Array]:
        """Chunks, items and cosines of the visible chunks of some items."""
        chunks, owners, rows = self._places(connection, fingerprint, "item", items, visible=visible)
        cosines = self.cosines(connection, fingerprint, query, rows)
        kept = few_per_group(owners, cosines, CHUNKS_KEPT + 2)[0]
        return chunks[kept], owners[kept], cosines[kept]

    def scores_of(self, connection: Connection, fingerprint: int, query: Array, chunks: Array) -> Array:
        """The cosine of each chunk; -1 where it has no vector."""
        found, _, rows = self._places(connection, fingerprint, "id", distinct(chunks), visible=None)
        cosines = dict(zip(found.tolist(), self.cosines(connection, fingerprint, query, rows).tolist(), strict=True))
        return np.array([cosines.get(chunk, -1.0) for chunk in chunks.tolist()])

    def vectors(self, connection: Connection, fingerprint: int, dimensions: int, chunks: Array) -> dict[int, Array]:
        """The vectors of some chunks, as far as they have one."""
        found, _, rows = self._places(connection, fingerprint, "id", distinct(chunks), visible=None)
        if not len(rows):
            return {}
        return dict(zip(found.tolist(), self._row_cache(fingerprint, dimensions).fetch(connection, rows), strict=True))

    def _places(
        self, connection: Connection, fingerprint: int, column: str, numbers: Array, *, visible: Visible | None
    ) -> tuple[Array, Array, Array]:
        """The chunks, items and vectors of chunks or items, as far as they have one and are visible."""
        sql = _PLACES.format(column=column)
        rows: list[Row] = connection.rows_in(sql, numbers.tolist(), fingerprint) if len(numbers) else []
        found = np.array(rows, np.int64).reshape(-1, 3)
        if visible is not None:
            found = found[(found[:, 0] < len(visible.alive))]
            found = found[visible.alive[found[:, 0]]]
            if visible.items is not None:
                found = found[np.isin(found[:, 1], visible.items)]
        return found[:, 0], found[:, 1], found[:, 2]

    def _note(self, problem: str) -> None:
        self._local.problem = f"index: {problem}; PostgreSQL's own index answered" if problem else ""
