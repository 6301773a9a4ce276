"""Sketches of a workspace's vectors in this process: they say which few vectors the server compares exactly.

The server makes them from its vectors (``binary_quantize``), 48 bytes for 384 numbers. Those that are new come in the
trip that brings the keyword index up to date: chunks behind the last known one, and vectors that were added since. Who
adds vectors counts ``vector_epoch`` up and holds its row until the end, so that nothing is passed over.

With each sketch comes the place of its vector in the server's table, so that the server reads the vector from there
instead of looking it up twice, and two bytes of the vector's hash. Vectors are written once, and stay where they are
until they are deleted. If one is not there or the bytes differ (the server may have written its table anew), all are
looked up by their chunks, and the sketches are read again.

A process that asks once does not read the sketches of a large workspace: the first search of it uses the index of the
server, the second one brings them along.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ricordo.frozen import frozen
from ricordo.store.index.entries import COMPARED_PER_ITEM, Columns, Entries, Seen, Visible
from ricordo.store.index.sketches import nearest_of_each
from ricordo.store.postgres.asking_sql import Compared, VectorIndex
from ricordo.store.postgres.nearest_sql import Picks
from ricordo.store.sql.arrays import Array, Grouped, distinct, lookup
from ricordo.store.sql.protocols import Row, Values

Asked = tuple[str, Values]
_MOMENT = (
    "SELECT (SELECT value::bigint FROM meta WHERE name = 'vector_epoch'),"
    " (SELECT value::bigint FROM meta WHERE name = 'last_chunk')"
)
_SKETCHES = (
    "SELECT string_agg(int8send(c.id) || int8send(c.item) || tidsend(v.place) || substr(v.hash, 1, 2)"
    " || substr(bit_send(binary_quantize(v.vector)), 5), '')"
)
_VECTOR = "ctid AS place, hash, vector"
_ALL = (
    f"{_SKETCHES} FROM chunks c JOIN (SELECT {_VECTOR} FROM vectors WHERE fingerprint = ?) v ON v.hash = c.embed_hash"
    " WHERE c.state < 2"
)
_MANY = 1 << 30
_NOTHING = "SELECT NULL::bytea"
_BEHIND = (
    f"{_SKETCHES} FROM (SELECT id, item, embed_hash FROM chunks WHERE id > ? AND state < 2 ORDER BY id LIMIT {_MANY}) c"
    f" CROSS JOIN LATERAL (SELECT {_VECTOR} FROM vectors WHERE fingerprint = ? AND hash = c.embed_hash OFFSET 0) v"
    " WHERE (SELECT value::bigint FROM meta WHERE name = 'last_chunk') > ?"
)
_ADDED = (
    f"{_SKETCHES} FROM (SELECT {_VECTOR} FROM vectors WHERE fingerprint = ? AND added > ? ORDER BY added"
    f" LIMIT {_MANY}) v CROSS JOIN LATERAL (SELECT id, item FROM chunks WHERE embed_hash = v.hash AND id <= ?"
    " AND state < 2 OFFSET 0) c WHERE (SELECT value::bigint FROM meta WHERE name = 'vector_epoch') > ?"
)
"""What is new is little, and found by an index; the limits keep the planner from reading everything instead. If nothing
is new, nothing is read.
"""
NEVER = -1
_NUMBERS = 24
"""How many bytes of a sketch's row are the numbers of its chunk and item, and the place of its vector."""
_MIRRORED = np.packbits(np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)[:, ::-1], axis=1)[:, 0]
"""Each byte with its bits in the other order: PostgreSQL's first bit is the highest."""


@frozen
class Kept:
    """The sketches of one model as they were at a moment."""

    epoch: int
    last_chunk: int
    columns: Columns
    entries: Entries
    """In the place of the numbers of vectors: where each vector is (``Picks``)."""
    by_item: Grouped
    is_ahead: bool = False
    """Whether another thread put vectors here that a search at this moment does not see yet."""


@frozen
class SketchWish:
    """The models whose sketches are wanted, what is known of them, and the statements that bring the rest."""

    models: Sequence[VectorIndex]
    known: dict[int, Kept]
    asked: list[Asked]
    times_forgotten: int


class KeptSketches:
    """The sketches that this process has, by the number of their model."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[int, Kept] = {}
        self._asked: set[int] = set()
        self._seen = Seen()
        self._times_forgotten = 0

    def wish(self, models: Sequence[VectorIndex]) -> SketchWish | None:
        """What brings the sketches of some models up to date; None if the server's index is used."""
        if not self._wants(models):
            return None
        with self._lock:
            times_forgotten = self._times_forgotten
            known = {model.number: self._kept.get(model.number) or _none_of(model) for model in models}
        asked: list[Asked] = [(_MOMENT, ())]
        for number, one in known.items():
            if one.epoch == NEVER:
                asked += [(_ALL, (number,)), (_NOTHING, ())]
            else:
                asked += [
                    (_BEHIND, (one.last_chunk, number, one.last_chunk)),
                    (_ADDED, (number, one.epoch, one.last_chunk, one.epoch)),
                ]
        return SketchWish(models, known, asked, times_forgotten)

    def _wants(self, models: Sequence[VectorIndex]) -> bool:
        """Whether all models' sketches are here, or their number is small, or somebody asks for the second time."""
        unknown = [model for model in models if model.number not in self._kept]
        first = {model.number for model in unknown if model.indexed is not None} - self._asked
        self._asked |= first
        return bool(models) and not first

    def take(self, wish: SketchWish, answers: Sequence[list[Row]]) -> dict[int, Kept]:
        """Keep what the statements of a wish brought; returns the sketches at the moment of the answer."""
        [(epoch, last_chunk)] = answers[0]
        found: dict[int, Kept] = {}
        for place, model in enumerate(wish.models):
            parts = [rows[0][0] or b"" for rows in answers[1 + 2 * place : 3 + 2 * place]]
            with self._lock:  # another thread may have brought more meanwhile, or let all be read again
                counts = wish.times_forgotten == self._times_forgotten
                known = (self._kept.get(model.number) if counts else None) or wish.known[model.number]
                grown = _grown(known, parts, model.dimensions, epoch, last_chunk)
                found[model.number] = replace(grown, is_ahead=known.epoch > epoch)
                if counts and known.epoch <= epoch:
                    self._kept[model.number] = grown
        return found

    def nearest(
        self, kept: dict[int, Kept], compared: Sequence[Compared], visible: Visible, items: int, *, by_place: bool
    ) -> dict[int, Picks]:
        """For each model the chunks that are compared exactly; by a second one only what the first did not see.

        With ``by_place`` they are given with the places of their vectors, if all of these can be seen.
        """
        found: dict[int, Picks] = {}
        for model, vector in compared:
            one = kept[model.number]
            query = np.asarray(vector.values, np.float32)
            places = self._seen.nearest(model.number, one.entries, one.by_item, visible, query, items)
            chunks, owners, rows = one.entries.at(places)
            found[model.number] = Picks(chunks, owners, rows if by_place and not one.is_ahead else None)
            if len(found) < len(compared):
                visible = Visible(visible.alive.copy(), visible.items)
                visible.alive[one.entries.chunks[one.entries.chunks < len(visible.alive)]] = False
        return found

    def of_long_items(
        self,
        kept: dict[int, Kept],
        compared: Compared,
        alive: Array,
        items: Array,
        given: Array,
        worded: Callable[[], Array],
    ) -> Picks | None:
        """Of the items that words gave, the live passages nearest by their sketches, and of all items those ``worded``.

        None if the items have few passages on the average: then there is nothing to choose.
        """
        one = kept[compared[0].number]
        entries, visible = one.entries, Visible(alive)
        positions = visible.among(entries, one.by_item.positions(items))
        if one.is_ahead or len(positions) <= COMPARED_PER_ITEM * len(items):
            return None
        query, inside = np.asarray(compared[1].values, np.float32), lookup(entries.chunks[positions], worded())
        by_words = visible.among(entries, one.by_item.positions(given))
        near = nearest_of_each(entries.sketches, query, by_words, entries.items[by_words], COMPARED_PER_ITEM)
        found = distinct(np.concatenate((near, positions[inside])))
        return Picks(*entries.at(found))

    def forget(self) -> None:
        """Read everything again: the server may have been replaced by another."""
        with self._lock:
            self._kept = {}
            self._times_forgotten += 1


def _none_of(model: VectorIndex) -> Kept:
    """No sketches of a model yet."""
    columns = Columns(-(-model.dimensions // 64))
    entries = columns.grown(0, [])
    return Kept(NEVER, 0, columns, entries, Grouped.of(entries.items))


def _grown(known: Kept, parts: Sequence[bytes], dimensions: int, epoch: int, last_chunk: int) -> Kept:
    """The sketches with those that are new behind them; a chunk that is here already is not taken twice."""
    count = len(known.entries.chunks)
    fresh = [_read(data, dimensions) for data in parts if data]
    if count:
        fresh = [_without(one, known.entries.chunks) for one in fresh]
    if not any(len(one.chunks) for one in fresh):
        return replace(known, epoch=epoch, last_chunk=last_chunk)
    entries = known.columns.grown(count, fresh)
    return Kept(epoch, last_chunk, known.columns, entries, known.by_item.of_longer(entries.items))


def _without(entries: Entries, known: Array) -> Entries:
    kept = ~lookup(entries.chunks, known)
    return Entries(entries.chunks[kept], entries.items[kept], entries.vectors[kept], entries.sketches[:, kept])


def _read(data: bytes, dimensions: int) -> Entries:
    size, words = -(-dimensions // 8), -(-dimensions // 64)
    rows = np.frombuffer(data, np.uint8).reshape(-1, _NUMBERS + size)
    chunks, items, places = np.ascontiguousarray(rows[:, :_NUMBERS]).view(">i8").astype(np.int64).T.copy()
    bits = np.zeros((len(rows), 8 * words), np.uint8)
    bits[:, :size] = _MIRRORED[rows[:, _NUMBERS:]]
    sketches = np.ascontiguousarray(bits.view(np.uint64).T)
    return Entries(chunks, items, places, sketches)
