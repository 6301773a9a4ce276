"""Vector search over the store: a scan of 1-bit sketches, then exact cosines of the few that survive it.

The float32 rows in ``vectors`` are the truth. A block says which chunk has which vector and holds their sketches (the
signs, packed into 64-bit words). Blocks are small enough to read in a cold process; a process that lives on keeps them
and as many rows as fit, and reads only what is new. Where not all rows of a store fit, cosines are estimated first,
from rows with a byte for each number, so that fewer rows are needed. A chunk counts when the keyword index says it is
visible.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from ricordo.errors import ContractError
from ricordo.frozen import frozen
from ricordo.store.arrays import Array, Grouped, distinct, few_per_group, first_places
from ricordo.store.index.entries import COMPARED_PER_ITEM, Columns, Entries, Seen, Visible
from ricordo.store.index.scoring import VectorMatches
from ricordo.store.index.sketches import nearest_of_each
from ricordo.store.query import CHUNKS_KEPT, Aim, QueryVector
from ricordo.store.sql.database import Connection, not_in

if TYPE_CHECKING:
    from ricordo.store.search.caches import SearchedStore

ROW_CACHE_BYTES = 128 << 20
CODE_CACHE_BYTES = 64 << 20
"""Room for rows with a byte for each number."""
ROWS_AT_ONCE = 256
HIGHEST = np.float32(np.iinfo(np.int8).max)
TINY = np.float32(1e-30)
"""Stands for the largest number of a row of zeros, by which nothing can be divided."""
COMPACT_BLOCKS = 16
BLOCK_ENTRIES = 65_536
VECTOR_EPOCH = "SELECT value FROM meta WHERE name='vector_epoch'"
_BLOCKS = "SELECT id, entries, chunk_ids, item_ids, vector_ids, sketches FROM vector_blocks"


@frozen
class _Loaded:
    epoch: int
    blocks: dict[int, int]
    """How many entries each block has, in their order."""
    columns: Columns
    entries: Entries
    places: Array
    """By chunk: its place among the entries, or -1."""
    by_item: Grouped


class VectorIndex:
    """Answers nearest-neighbour queries for the fingerprints of one store."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: dict[int, _Loaded] = {}
        self._rows: dict[tuple[int, type], _RowCache] = {}
        self._seen = Seen()
        self._local = threading.local()

    @property
    def problem(self) -> str:
        """Why the last search of this thread was not answered as it is set; mostly empty."""
        return getattr(self._local, "problem", "")

    def prepare(self, connection: Connection, fingerprint: int) -> None:
        """Bring what is kept of a fingerprint up to date."""
        self._current(connection, fingerprint)

    def entries(self, connection: Connection, fingerprint: int) -> Entries:
        """The entries of a fingerprint; only blocks that are new are read."""
        return self._current(connection, fingerprint).entries

    def _current(self, connection: Connection, fingerprint: int) -> _Loaded:
        epoch = connection.once(VECTOR_EPOCH)[0][0]
        with self._lock:
            loaded = self._loaded.get(fingerprint)
            if loaded is None or loaded.epoch != epoch:
                loaded = _reload(connection, fingerprint, epoch, loaded)
                self._loaded[fingerprint] = loaded
            return loaded

    def search(
        self, connection: Connection, fingerprint: int, query: Array, items: int, *, visible: Visible
    ) -> tuple[Array, Array, Array]:
        """Chunks, items and cosines of the nearest, until ``items`` different items are among them; best first."""
        loaded = self._current(connection, fingerprint)
        entries = loaded.entries
        positions = self._seen.nearest(fingerprint, entries, loaded.by_item, visible, query=query, items=items)
        rough = self._estimates(connection, fingerprint, query, entries=entries, positions=positions)
        if rough is not None:
            positions = positions[best_items(rough, entries.items[positions], 2 * items)]
        chunks, owners, rows = entries.at(positions)
        cosines = self.cosines(connection, fingerprint, query, rows)
        order = best_items(cosines, owners, items)
        return chunks[order], owners[order], cosines[order]

    def scores(
        self, connection: Connection, fingerprint: int, query: Array, items: Array, *, visible: Visible
    ) -> tuple[Array, Array, Array]:
        """Chunks, items and cosines of the visible chunks of some items; of a long item, of those nearest by sketch."""
        loaded = self._current(connection, fingerprint)
        entries = loaded.entries
        positions = visible.among(entries, loaded.by_item.positions(items))
        if len(positions) > COMPARED_PER_ITEM * len(items):
            positions = nearest_of_each(
                entries.sketches, query, positions, entries.items[positions], few=COMPARED_PER_ITEM
            )
        rough = self._estimates(connection, fingerprint, query, entries=entries, positions=positions)
        if rough is not None:
            positions = positions[few_per_group(entries.items[positions], rough, CHUNKS_KEPT + 2)[0]]
        chunks, owners, rows = entries.at(positions)
        return chunks, owners, self.cosines(connection, fingerprint, query, rows)

    def scores_of(self, connection: Connection, fingerprint: int, query: Array, chunks: Array) -> Array:
        """The cosine of each chunk; -1 where it has no vector."""
        loaded = self._current(connection, fingerprint)
        places = loaded.places
        spots = np.where(chunks < len(places), places[np.minimum(chunks, len(places) - 1)], -1)
        cosines = np.full(len(chunks), -1.0)
        has_vector = spots >= 0
        cosines[has_vector] = self.cosines(connection, fingerprint, query, loaded.entries.vectors[spots[has_vector]])
        return cosines

    def vectors(self, connection: Connection, fingerprint: int, dimensions: int, chunks: Array) -> dict[int, Array]:
        """The vectors of some chunks, as far as they have one."""
        loaded = self._current(connection, fingerprint)
        places = loaded.places
        with_vector = chunks[chunks < len(places)]
        with_vector = with_vector[places[with_vector] >= 0]
        if not len(with_vector):
            return {}
        cache = self._row_cache(fingerprint, dimensions)
        rows = cache.fetch(connection, loaded.entries.vectors[places[with_vector]])
        return dict(zip(with_vector.tolist(), rows, strict=True))

    def cosines(self, connection: Connection, fingerprint: int, query: Array, vectors: Array) -> Array:
        """Exact cosines of vector rows with a query (both of unit length)."""
        if not len(vectors):
            return np.zeros(0, np.float64)
        cache = self._row_cache(fingerprint, len(query))
        connection.prefetch(lambda: cache.load(connection, vectors))
        return cache.products(connection, vectors, query.astype(np.float32))

    def _estimates(
        self, connection: Connection, fingerprint: int, query: Array, *, entries: Entries, positions: Array
    ) -> Array | None:
        """Cosines to two digits, so that fewer rows are compared exactly; None where memory holds all rows anyhow."""
        if not len(positions) or 4 * len(query) * len(entries.vectors) <= ROW_CACHE_BYTES:
            return None
        cache = self._row_cache(fingerprint, len(query), np.int8)
        connection.prefetch(lambda: cache.load(connection, entries.vectors[positions]))
        return cache.products(connection, entries.vectors[positions], query.astype(np.float32))

    def _row_cache(self, fingerprint: int, dimensions: int, kind: type = np.float32) -> _RowCache:
        with self._lock:
            if (fingerprint, kind) not in self._rows:
                self._rows[fingerprint, kind] = _RowCache(dimensions, kind)
            return self._rows[fingerprint, kind]


def best_items(cosines: Array, owners: Array, items: int) -> Array:
    """Places of the best cosines, best first, up to the one that brings the last of ``items`` different items."""
    size = len(cosines)
    take = min(size, 4 * items)
    while True:
        picked = np.arange(size)
        if take < size:
            picked = (cosines >= np.partition(cosines, size - take)[size - take]).nonzero()[0]
        picked = picked[(-cosines[picked]).argsort(kind="stable")]
        first = first_places(owners[picked])
        if len(first) > items:
            return picked[: first[items - 1] + 1]
        if take >= size:
            return picked
        take *= 4


class _RowCache:
    """Vector rows by id, kept in one matrix while they fit. Memory that no row was written to is not used.

    With a byte for each number (``int8``) a number is a whole multiple of its row's step.
    """

    def __init__(self, dimensions: int, kind: type) -> None:
        self.matrix: Array = np.zeros((0, dimensions), kind)
        self.steps = np.zeros(0, np.float32)
        self.place = np.zeros(0, np.int32)  # by vector id: row + 1, or 0
        self.used = 0
        room = CODE_CACHE_BYTES if kind is np.int8 else ROW_CACHE_BYTES
        self.capacity = room // (self.matrix.itemsize * dimensions)
        self.lock = threading.Lock()

    def load(self, connection: Connection, ids: Array) -> None:
        """Read the rows with these ids, as far as they are not here."""
        with self.lock:
            self._places(connection, ids)

    def fetch(self, connection: Connection, ids: Array) -> Array:
        with self.lock:
            places = self._places(connection, ids)  # this may put another matrix in place
            return self.matrix[places]

    def products(self, connection: Connection, ids: Array, query: Array) -> Array:
        """The inner product of each row with a query, a few rows at a time, so that they stay in the processor's cache.

        Not ``rows @ query``: that hands half of the rows to another thread, and on a busy machine waits for it long.
        """
        products = np.empty(len(ids), np.float32)
        with self.lock:
            places = self._places(connection, ids)
            for at in range(0, len(ids), ROWS_AT_ONCE):
                part = slice(at, at + ROWS_AT_ONCE)
                np.vecdot(self.matrix[places[part]].astype(np.float32, copy=False), query, out=products[part])
            products *= self.steps[places]
        return products.astype(np.float64)

    def _places(self, connection: Connection, ids: Array) -> Array:
        highest = int(ids.max())
        if highest >= len(self.place):
            grown = np.zeros(max(highest + 1, 2 * len(self.place)), np.int32)
            grown[: len(self.place)] = self.place
            self.place = grown
        places: Array = self.place[ids] - 1
        if places.min() >= 0:
            return places
        missing = distinct(ids[places < 0])
        if self.used and self.used + len(missing) > self.capacity:
            self.place[:] = 0  # start over rather than track which rows are cold
            self.used = 0
            missing = distinct(ids)  # those that were here are gone, too
        self._read(connection, missing)
        return self.place[ids] - 1

    def _read(self, connection: Connection, ids: Array) -> None:
        rows_read = connection.rows_in("SELECT id, vector FROM vectors WHERE id IN (*)", ids.tolist())
        if self.used + len(ids) > len(self.matrix):
            size = max(self.used + len(ids), min(len(self.place), self.capacity))
            matrix, steps = np.empty((size, self.matrix.shape[1]), self.matrix.dtype), np.ones(size, np.float32)
            matrix[: self.used], steps[: self.used] = self.matrix[: self.used], self.steps[: self.used]
            self.matrix, self.steps = matrix, steps
        rows = np.frombuffer(b"".join(data for _, data in rows_read), np.float32).reshape(len(rows_read), -1)
        added = slice(self.used, self.used + len(rows_read))
        if self.matrix.dtype == np.int8:
            self.steps[added] = np.maximum(np.abs(rows).max(axis=1), TINY) / HIGHEST
            rows = np.rint(rows / self.steps[added, None])
        self.matrix[added] = rows
        self.place[[vector for vector, _ in rows_read]] = np.arange(len(rows_read)) + self.used + 1
        self.used += len(rows_read)


def _reload(connection: Connection, fingerprint: int, epoch: int, old: _Loaded | None) -> _Loaded:
    """The entries as they are now; only blocks that are new are read."""
    held = old.blocks if old is not None and old.epoch < epoch else {}
    unread, known_blocks = not_in("id", held)
    rows, new = connection.gather(
        lambda: connection.rows("SELECT id FROM vector_blocks WHERE fingerprint=? ORDER BY id", (fingerprint,)),
        lambda: connection.rows(f"{_BLOCKS} WHERE fingerprint=?{unread}", (fingerprint, *known_blocks)),
    )
    present = [row[0] for row in rows]
    same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(held, present, strict=False))))
    read = {block: _entries(row) for block, *row in new}
    fresh = {block: read.get(block) or read_block(connection, block) for block in present[same:]}
    sizes = {block: held[block] for block in present[:same]} | {n: len(part.chunks) for n, part in fresh.items()}
    if old is not None and held and same == len(held):
        count = len(old.entries.chunks)
        entries = old.columns.grown(count, list(fresh.values()))
        places = _places(entries, old.places, count)
        return _Loaded(
            epoch=epoch,
            blocks=sizes,
            columns=old.columns,
            entries=entries,
            places=places,
            by_item=old.by_item.of_longer(entries.items),
        )
    parts = list(fresh.values())
    if old is not None and same:
        parts.insert(0, old.entries.first(sum(islice(held.values(), same))))
    columns = Columns(len(parts[0].sketches) if parts else 1)
    entries = columns.grown(0, parts)
    places = _places(entries, np.empty(0, np.int32), 0)
    return _Loaded(
        epoch=epoch, blocks=sizes, columns=columns, entries=entries, places=places, by_item=Grouped.of(entries.items)
    )


def _places(entries: Entries, earlier: Array, start: int) -> Array:
    """By chunk: its place among the entries, or -1; those of the entries before ``start`` are known."""
    added = entries.chunks[start:]
    places = np.full(max(len(earlier), int(added.max(initial=0)) + 1), -1, np.int32)
    places[: len(earlier)] = earlier
    places[added] = np.arange(start, len(entries.chunks))
    return places


def read_block(connection: Connection, block: int) -> Entries:
    """One block of entries."""
    return _entries(connection.rows(f"{_BLOCKS} WHERE id=?", (block,))[0][1:])


def _entries(row: Sequence[Any]) -> Entries:
    count, chunks, items, vectors, sketches = row
    return Entries(
        np.frombuffer(chunks, np.int64),
        np.frombuffer(items, np.int64),
        np.frombuffer(vectors, np.int64),
        np.frombuffer(sketches, np.uint64).reshape(-1, count),
    )


def write_block(connection: Connection, fingerprint: int, entries: Entries) -> None:
    """Append a block. Who counts the epoch up first holds its row until the end, so that others wait."""
    bump_vectors(connection)
    numbers = (entries.chunks, entries.items, entries.vectors)
    connection.insert(
        "vector_blocks",
        ("fingerprint", "entries", "chunk_ids", "item_ids", "vector_ids", "sketches"),
        [
            (
                fingerprint,
                len(entries.chunks),
                *(column.astype(np.int64).tobytes() for column in numbers),
                np.ascontiguousarray(entries.sketches).tobytes(),
            )
        ],
    )


def bump_vectors(connection: Connection) -> None:
    """Tell every process that its entries are out of date."""
    connection.add_to_meta("vector_epoch", 1)


def compact(connection: Connection, fingerprint: int) -> None:
    """Put small blocks together, without the chunks that are gone for good. Bounded: a block holds 4 MB at most."""
    small = connection.rows(
        "SELECT id, entries FROM vector_blocks WHERE fingerprint=? AND entries < ? ORDER BY id",
        (fingerprint, BLOCK_ENTRIES // 2),
    )
    if len(small) < COMPACT_BLOCKS:
        return
    chosen: list[int] = []
    size = 0
    for block, count in small:
        if size + count > BLOCK_ENTRIES:
            break
        chosen.append(block)
        size += count
    parts = [read_block(connection, block) for block in chosen]
    entries = Columns(len(parts[0].sketches)).grown(0, parts)
    low, high = int(entries.chunks.min()), int(entries.chunks.max())
    rows = connection.rows("SELECT id FROM chunks WHERE state < 2 AND id BETWEEN ? AND ?", (low, high))
    stays = np.isin(entries.chunks, np.fromiter((row[0] for row in rows), np.int64, len(rows)))
    connection.run_many("DELETE FROM vector_blocks WHERE id=?", [(block,) for block in chosen])
    write_block(
        connection,
        fingerprint,
        Entries(entries.chunks[stays], entries.items[stays], entries.vectors[stays], entries.sketches[:, stays]),
    )


def withdraw(connection: Connection, fingerprint: int, chunks: Array) -> None:
    """Take the vectors of some chunks out of the blocks of a fingerprint, and drop them."""
    bump_vectors(connection)
    for (block,) in connection.rows("SELECT id FROM vector_blocks WHERE fingerprint=? ORDER BY id", (fingerprint,)):
        part = read_block(connection, block)
        stays = ~np.isin(part.chunks, chunks)
        if not stays.all():
            connection.run("DELETE FROM vector_blocks WHERE id=?", (block,))
            if stays.any():
                columns = part.chunks[stays], part.items[stays], part.vectors[stays], part.sketches[:, stays]
                write_block(connection, fingerprint, Entries(*columns))
            connection.run_many("DELETE FROM vectors WHERE id=?", [(row,) for row in part.vectors[~stays].tolist()])


class MeaningSide:
    """Compares the vectors of one fingerprint. ``times`` are the chunks to look among, where not the live ones."""

    def __init__(
        self,
        opened: SearchedStore,
        connection: Connection,
        fingerprint: str,
        dimensions: int,
        *,
        times: Array | None = None,
    ) -> None:
        self.index = opened.vector_index
        self.connection = connection
        self.number = _number(connection, fingerprint, dimensions)
        self.past = times is not None
        if times is None:
            self.alive = opened.lexical.alive(connection)
        else:
            self.alive = np.zeros(int(times.max(initial=0)) + 1, bool)
            self.alive[times] = True

    def load(self) -> None:
        """Bring the entries of the fingerprint up to date."""
        if self.number is not None:
            self.index.prepare(self.connection, self.number)

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
        visible = Visible(self.alive, allowed, self.past)
        return VectorMatches(*self.index.search(self.connection, self.number, query, limit, visible=visible))

    def scores(self, query: Array, numbers: Array) -> VectorMatches:
        """Cosines of every visible chunk of some items."""
        if self.number is None or not len(numbers):
            return _nothing()
        return VectorMatches(
            *self.index.scores(self.connection, self.number, query, numbers, visible=Visible(self.alive))
        )


class MeaningSides:
    """Compares a query with the vectors of one model and, where a passage has none of it, with those of another."""

    def __init__(
        self, opened: SearchedStore, connection: Connection, vectors: Sequence[QueryVector], times: Array | None
    ) -> None:
        self._sides: list[tuple[QueryVector, MeaningSide]] = []
        for vector in vectors:
            side = MeaningSide(opened, connection, vector.fingerprint, len(vector.values), times=times)
            if self._sides:
                side.leave_out(self._sides[0][1])
            self._sides.append((vector, side))

    def nearest(self, limit: int, allowed: Array | None) -> VectorMatches:
        """The nearest chunks, until ``limit`` different items are among them."""
        nearest = self._together(
            [(vector, side.nearest(vector.values, limit, allowed)) for vector, side in self._sides]
        )
        if len(self._sides) == 1:
            return nearest
        best = best_items(nearest.cosines, nearest.items, limit)
        return VectorMatches(nearest.chunks[best], nearest.items[best], nearest.cosines[best])

    def scores(self, numbers: Array) -> VectorMatches:
        """Cosines of every visible chunk of some items."""
        return self._together([(vector, side.scores(vector.values, numbers)) for vector, side in self._sides])

    def _together(self, sides: Sequence[tuple[QueryVector, VectorMatches]]) -> VectorMatches:
        if len(sides) == 1:
            vector, only = sides[0]
            return VectorMatches(only.chunks, only.items, vector.comparable(only.cosines))
        return VectorMatches(
            np.concatenate([matches.chunks for _, matches in sides]),
            np.concatenate([matches.items for _, matches in sides]),
            np.concatenate([vector.comparable(matches.cosines) for vector, matches in sides]),
        )


def aimed_cosines(
    opened: SearchedStore, connection: Connection, fingerprint: str, aim: Aim, *, chunks: Sequence[int]
) -> list[float] | None:
    """The cosine of each chunk with the moved query and its parts, -1 where it has no vector; None where nothing moves
    the query.
    """
    index, dimensions = opened.vector_index, len(aim.query)
    number = _number(connection, fingerprint, dimensions)
    if number is None:
        return None
    towards = np.array([chunk for chunk, _ in aim.towards], np.int64)
    moved = aim.moved(index.vectors(connection, number, dimensions, towards))
    if moved is None:
        return None
    compared = np.array(chunks, np.int64)
    whole, *parts = (index.scores_of(connection, number, query, compared) for query in (moved, *aim.parts))
    cosines: list[float] = aim.together(whole, parts).tolist()
    return cosines


def vectors_of(
    opened: SearchedStore, connection: Connection, fingerprint: str, chunks: Sequence[int]
) -> dict[int, Array]:
    """The vectors of some chunks, as far as they have one."""
    rows = connection.once("SELECT id, dimensions FROM fingerprints WHERE name=?", fingerprint)
    if not rows:
        return {}
    number, dimensions = rows[0]
    return opened.vector_index.vectors(connection, number, dimensions, np.array(chunks, np.int64))


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
