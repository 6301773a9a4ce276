"""The side of a search that compares vectors, as steps of its statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ricordo.frozen import frozen
from ricordo.store.asking import Ask
from ricordo.store.postgres import packed
from ricordo.store.postgres.asking_sql import (
    EXACT_BELOW,
    Compared,
    Statement,
    VectorIndex,
    cosine,
    lacks,
    visible,
)
from ricordo.store.postgres.packed import Packed
from ricordo.store.sql.arrays import Array

ONE_TAKEN_OF, LEAST_TAKEN, MOST_TAKEN = 50, 1_000, 8_000
"""How many vectors an index gives as long as ``recall`` did not measure how many it must give."""


@frozen
class Picks:
    """Chunks that are compared exactly, with their items and the places of their vectors, where these are known.

    The place of a vector is that of its row in the server's table (32 bits the page, 16 the line), with the first 16
    bits of its hash.
    """

    chunks: Array
    items: Array
    places: Array | None


class VectorsMovedError(Exception):
    """Some vectors are no longer in the places that are known of them."""


def add_nearest(
    statement: Statement,
    vectors: Sequence[Compared],
    ask: Ask,
    *,
    limited: bool,
    seen: str,
    picked: Mapping[int, Picks] | None,
) -> int:
    """The step ``near``: the nearest chunks until enough different items are among them.

    ``picked`` are, by model, the chunks that may be among them; without it, the server looks for them. Returns how many
    vectors are read from their places: so many ``compared_0`` must give, else some moved. 0 if none are read so.
    """
    names = [f"compared_{place}" for place in range(len(vectors))]
    lacking, placed = "", 0
    for name, one in zip(names, vectors, strict=True):
        picks = picked[one[0].number] if picked is not None else None
        if picks is None:
            _add_compared(statement, name, one, ask, lacking, limited=limited, seen=seen)
        elif picks.places is None or lacking or seen != "live":
            _add_picked(statement, name, one, picks.chunks, lacking, seen=seen)
        else:
            _add_placed(statement, name, one, picks, picks.places)
            placed += len(picks.places)
        lacking = lacks(one[0])
    place = ", place" if placed and len(names) == 1 else ""
    columns = f"chunk, item, cosine{place}"
    compared = names[0]
    if len(names) > 1:
        compared = "compared"
        statement.step(compared, " UNION ALL ".join(f"SELECT {columns} FROM {name}" for name in names))
    statement.step(
        "nearest_items",
        f"SELECT item, max(cosine) AS best FROM {compared} GROUP BY item ORDER BY best DESC LIMIT ?",
        (ask.per_side,),
    )
    statement.step(
        "near",
        f"SELECT {columns} FROM {compared} WHERE item IN (SELECT item FROM nearest_items)"
        " AND cosine >= (SELECT min(best) FROM nearest_items)",
    )
    return placed


PLACED = (
    "FROM unnest(?::tid[], ?::bigint[], ?::bigint[]) p(place, chunk, marked) JOIN vectors v ON v.ctid = p.place"
    " WHERE v.fingerprint = (SELECT {number})"
    " AND get_byte(v.hash, 0) * 256 + get_byte(v.hash, 1) = p.marked & 65535"
)
"""Vectors in their places; ``marked`` is the item of a chunk, and two bytes of the hash behind it."""


def placed_values(picks: Picks, places: Array) -> tuple[Packed, Packed, Packed]:
    """The values of ``PLACED``."""
    marked = (picks.items << 16) | (places & 0xFFFF)
    places = places.view(np.uint64)
    found = packed.tids(places >> 32, (places >> 16) & 0xFFFF)
    return found, packed.bigints(picks.chunks), packed.bigints(marked)


def _add_placed(statement: Statement, name: str, one: Compared, picks: Picks, places: Array) -> None:
    """The exact cosines of some live chunks, whose vectors are read from their places."""
    vectors, vector = one
    statement.step(
        name,
        f"SELECT p.chunk, p.marked >> 16 AS item, {cosine(vector)} AS cosine, p.place"
        f" {PLACED.format(number=vectors.number)}",
        (packed.vector(vector.values), *placed_values(picks, places)),
    )


def _add_picked(statement: Statement, name: str, one: Compared, chunks: Array, lacking: str, *, seen: str) -> None:
    """The exact cosines of some chunks, as far as they lack a vector of another model."""
    vectors, vector = one
    statement.step(
        name,
        f"SELECT c.id AS chunk, c.item, {cosine(vector)} AS cosine FROM chunks c"
        " JOIN vectors v ON v.hash = c.embed_hash"
        f" WHERE c.id = ANY(?::bigint[]) AND v.fingerprint = (SELECT {vectors.number}) AND {visible('c', seen, 'id')}"
        f"{lacking}",
        (packed.vector(vector.values), packed.bigints(chunks)),
    )


def _add_compared(
    statement: Statement, name: str, one: Compared, ask: Ask, lacking: str, *, limited: bool, seen: str
) -> None:
    """The nearest chunks by the vectors of one model, among those that lack one of another.

    If few chunks pass a filter, all of them are compared: an index would have to be read far until it found them.
    """
    vectors, vector = one
    query = packed.vector(vector.values)
    joined = f"{' AND c.item IN (SELECT n FROM allowed)' if limited else ''}{lacking}"
    counted = visible("c", seen, "id")
    exact = (
        f"SELECT c.id AS chunk, c.item, {cosine(vector)} AS cosine FROM chunks c"
        " JOIN vectors v ON v.hash = c.embed_hash"
        f" WHERE v.fingerprint = (SELECT {vectors.number}) AND {counted}{joined}"
    )
    if vectors.indexed is None:
        statement.step(name, exact, (query,))
    elif not limited and not lacking:
        found = _found_by_index(one, ask.per_side, counted, limited=seen != "live")
        statement.step(name, found, (query, query))
    else:
        statement.step(
            f"few_{name}",
            f"SELECT count(*) <= {EXACT_BELOW} AS holds FROM (SELECT FROM chunks c WHERE {counted}{joined}"
            f" LIMIT {EXACT_BELOW + 1}) c",
        )
        few = f"(SELECT holds FROM few_{name})"
        found = _found_by_index(one, ask.per_side, f"{counted}{joined} AND NOT {few}", limited=True)
        statement.step(name, f"{exact} AND {few} UNION ALL {found}", (query, query, query))


def taken(vectors: VectorIndex) -> int:
    """How many vectors are taken from an index."""
    return vectors.depth or max(LEAST_TAKEN, min((vectors.indexed or 0) // ONE_TAKEN_OF, MOST_TAKEN))


def by_index(vectors: VectorIndex) -> tuple[str, str]:
    """The condition and the order by which the server uses its index over vectors."""
    size = vectors.dimensions
    order = f"binary_quantize(v.vector)::bit({size}) <~> binary_quantize(?::vector)::bit({size})"
    return f"v.workspace = {vectors.workspace} AND v.fingerprint = {vectors.number}", order


def _found_by_index(one: Compared, per_side: int, condition: str, *, limited: bool) -> str:
    """The chunks that the index finds, with their exact cosines.

    The index knows one bit of each number, so that many more are taken from it than are needed, and the best of those
    by their exact cosines. With conditions, it goes on until enough meet them.
    """
    vectors, vector = one
    depth = max(8 * per_side, taken(vectors))
    ours, order = by_index(vectors)
    if limited:
        return (
            f"SELECT chunk, item, cosine FROM (SELECT c.id AS chunk, c.item, {cosine(vector)} AS cosine"
            f" FROM vectors v JOIN chunks c ON c.embed_hash = v.hash WHERE {ours} AND {condition}"
            f" ORDER BY {order} LIMIT {depth}) found ORDER BY cosine DESC LIMIT {8 * per_side}"
        )
    return (
        f"SELECT c.id AS chunk, c.item, v.cosine FROM (SELECT v.hash, {cosine(vector)} AS cosine FROM"
        f" (SELECT v.hash, v.vector FROM vectors v WHERE {ours} ORDER BY {order} LIMIT {depth}) v"
        f" ORDER BY cosine DESC LIMIT {8 * per_side}) v JOIN chunks c ON c.embed_hash = v.hash WHERE {condition}"
    )
