"""Turns an ask into one SQL statement: filters, the nearest vectors, and what the ranking needs, as one JSON value.

Words are scored in this process (``keeping``); the statement gets the items that they brought. It is a chain of named
steps:

1. ``allowed`` are the items that pass the filters, ``visible`` the chunks of a moment; both apply before the best are
   picked.
2. ``near`` are the chunks nearest to the query's vector, ``given`` the items that were found by words.
3. ``pool`` are the items that either side brought, ``joined`` those near them; each gets its cosines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ricordo.errors import ContractError
from ricordo.frozen import frozen
from ricordo.store.asking import Ask, QueryVector
from ricordo.store.found import CHUNKS_KEPT
from ricordo.store.postgres import dialect, packed
from ricordo.store.postgres.packed import Packed
from ricordo.store.sql.filters import where
from ricordo.store.sql.items import ITEM_COLUMNS, ITEM_TABLES
from ricordo.store.sql.times import micros
from ricordo.store.sql.windows import DATED_FIELDS

MOST_AROUND = 500
"""Of how many linked items the values come along; of more, they are asked for if they are needed."""
EXACT_BELOW = 20_000
"""With fewer vectors, all are compared; an index is faster only with more."""


@frozen
class VectorIndex:
    """The vectors that a query is compared with, how many of them an index holds (None if there is no index), and how
    many it is asked for (None if that was not measured).
    """

    number: int
    dimensions: int
    workspace: int
    indexed: int | None
    depth: int | None = None

    def checked(self, dimensions: int) -> VectorIndex:
        """This, if a query's vector has as many numbers."""
        if self.dimensions != dimensions:
            raise ContractError(
                f"the query vector has {dimensions} numbers, the stored ones {self.dimensions}",
                hint="The embedder changed without changing its fingerprint; run ‹:embed›.",
            )
        return self


Compared = tuple[VectorIndex, QueryVector]
"""A query's vector, and what is known about the vectors that it is compared with."""


class Statement:
    """A statement that is built step by step, and its values in order."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.values: list[Any] = []

    def step(self, name: str, sql: str, values: Sequence[Any] = ()) -> None:
        """Add a named step; it is computed once."""
        self.steps.append(f"{name} AS MATERIALIZED ({sql})")
        self.values += values

    def text(self, answers: dict[str, str], beside: str = "") -> str:
        """The whole statement; ``answers`` are the parts of its one JSON value, ``beside`` gives a value after it."""
        parts = ", ".join(f"'{name}', ({sql})" for name, sql in answers.items())
        return f"WITH {', '.join(self.steps)} SELECT json_build_object({parts}){f', ({beside})' if beside else ''}"


def add_conditions(statement: Statement, ask: Ask, barred: Sequence[int]) -> tuple[bool, str]:
    """Add the conditions on items and chunks; returns whether items are limited, and how chunks are limited.

    Chunks are limited by ``state = 0`` or, of a moment or of archived items, by the step ``visible``.
    """
    filters = replace(ask.filters, states=("live", "archived")) if ask.as_of is not None else ask.filters
    archived = ask.as_of is None and ask.filters.states == ("archived",)
    limited = ask.as_of is not None or not filters.is_empty() or bool(barred)
    if ask.as_of is not None:
        statement.step(
            "visible",
            "SELECT id FROM chunks WHERE state < 2 AND live_from <= ? AND (live_until IS NULL OR live_until > ?)",
            (micros(ask.as_of), micros(ask.as_of)),
        )
    if limited:
        condition, values = where(filters, dialect)
        statement.step("passing", f"SELECT i.n FROM items i WHERE {condition}", values)
    if archived:
        statement.step(
            "visible",
            "SELECT c.id FROM chunks c WHERE c.id IN (SELECT layout_chunks(v.layout) FROM passing p"
            " JOIN items i ON i.n = p.n JOIN versions v ON v.item = i.n AND v.number = i.version)",
        )
    seen = "visible" if ask.as_of is not None or archived else "live"
    if limited:
        statement.step("allowed", "SELECT n FROM passing WHERE n NOT IN (SELECT unnest(?::bigint[]))", (list(barred),))
    return limited, seen


def visible(alias: str, seen: str, chunk: str = "chunk") -> str:
    """The condition that a chunk counts."""
    if seen == "live":
        return f"{alias}.state = 0"
    return f"{alias}.{chunk} IN (SELECT id FROM visible)"


def add_pool(statement: Statement, ask: Ask, sides: Sequence[str], *, limited: bool) -> None:
    """The steps ``pool`` (items of the sides), ``neighbours`` and ``joined`` (items near those in their threads)."""
    brought = " UNION ".join(f"SELECT item FROM {side}" for side in sides) or "SELECT NULL::bigint LIMIT 0"
    statement.step("pool", brought)
    reach = int(ask.needs.thread_reach)
    if not reach:
        statement.step("neighbours", "SELECT NULL::bigint AS n, NULL::bigint AS other, NULL::bigint AS away LIMIT 0")
    else:
        statement.step(
            "neighbours",
            "SELECT a.n, b.n AS other, b.seq - a.seq AS away FROM pool JOIN items a ON a.n = pool.item JOIN items b"
            f" ON b.thread = a.thread AND b.seq BETWEEN a.seq - {reach} AND a.seq + {reach} AND b.n <> a.n"
            " AND b.state = 'live' WHERE a.thread IS NOT NULL",
        )
    if ask.needs.link_seeds:
        statement.step("around", _linked_with("pool"))
        statement.step("farther", _linked_with("around"))
    near = "SELECT other AS item FROM neighbours"
    if ask.needs.link_seeds:
        near += (
            f" UNION (SELECT item FROM (SELECT item FROM around UNION SELECT item FROM farther) l LIMIT {MOST_AROUND})"
        )
    inside = " AND item IN (SELECT n FROM allowed)" if limited else ""
    statement.step("joined", f"SELECT DISTINCT item FROM ({near}) n WHERE item NOT IN (SELECT item FROM pool){inside}")


_COSINES = (
    "SELECT json_agg(json_build_array(chunk, item, cosine)) FROM (SELECT *, row_number() OVER"
    " (PARTITION BY item ORDER BY cosine DESC, chunk) AS place FROM ({compared}"
    f") c) c WHERE place <= {CHUNKS_KEPT}"
)


def compared(vectors: Sequence[Compared], counted: str, joined: str) -> tuple[str, list[Packed]]:
    """The cosines of passages with a query, by its first model and, where a passage has no vector of it, the second.

    A number in a subquery is unknown to the planner: of a model that is new to it, it would expect a single vector.
    """
    parts: list[str] = []
    values: list[Packed] = []
    lacking = ""
    for index, vector in vectors:
        parts.append(
            f"SELECT c.id AS chunk, c.item, {cosine(vector)} AS cosine FROM chunks c JOIN vectors v"
            f" ON v.hash = c.embed_hash WHERE v.fingerprint = (SELECT {index.number}) AND {counted}{joined}{lacking}"
        )
        values.append(packed.vector(vector.values))
        lacking = lacks(index)
    return " UNION ALL ".join(parts), values


def cosine(vector: QueryVector, column: str = "v.vector") -> str:
    """The cosine of a vector with a query, on the scale that all models share."""
    plain = f"-({column} <#> ?::vector)"
    scaled = f"least({vector.shift!r} + {vector.stretch!r} * {plain}, 1.0)"
    return plain if (vector.shift, vector.stretch) == (0, 1) else scaled


def lacks(index: VectorIndex) -> str:
    """The condition that a passage has no vector of a model."""
    return (
        f" AND NOT EXISTS (SELECT 1 FROM vectors o WHERE o.fingerprint = (SELECT {index.number})"
        " AND o.hash = c.embed_hash)"
    )


def cosines(vectors: Sequence[Compared], counted: str) -> tuple[str, list[Packed]]:
    """The part of an answer with the cosines of the pool's passages, and its values."""
    joined = " AND c.item IN (SELECT item FROM pool UNION SELECT item FROM joined)"
    found, values = compared(vectors, counted, joined)
    return _COSINES.format(compared=found), values


MODELS = (
    "SELECT json_agg(f.name ORDER BY f.name) FROM fingerprints f"
    " WHERE (SELECT true FROM vectors v WHERE v.fingerprint = f.id ORDER BY v.hash LIMIT 1)"
    " OR (SELECT true FROM jobs j WHERE j.fingerprint = f.id"
    " ORDER BY j.fingerprint, j.state, j.not_before, j.chunk LIMIT 1)"
)
"""The models that have vectors, or texts that wait for theirs. By the order, the planner takes the indexes, in which
the first is found at once; else it reads the jobs of all workspaces.
"""
ITEMS = (
    f"SELECT json_agg(json_build_array({ITEM_COLUMNS})) {ITEM_TABLES}"
    " WHERE i.n IN (SELECT item FROM pool UNION SELECT item FROM joined)"
)
REFS = (
    f"SELECT json_agg(json_build_array(i.n, i.drive || ':' || i.path, {{version}}, {DATED_FIELDS}))"
    " FROM items i WHERE i.n IN (SELECT item FROM pool UNION SELECT item FROM joined)"
)
NO_VERSION = "NULL"
VERSION_AT = "(SELECT max(v.number) FROM versions v WHERE v.item = i.n AND v.created_at <= ?)"
"""Which version of an item is named with its ref: none, or the one of a moment."""
FEEDBACK = (
    "SELECT json_agg(json_build_array(item, verdict, count)) FROM (SELECT item, verdict, count(*) AS count"
    " FROM feedback WHERE item IN (SELECT item FROM pool UNION SELECT item FROM joined) GROUP BY item, verdict) f"
)
_TEXTS = "SELECT json_agg(json_build_array(c.id, c.item, c.heading, c.text)) FROM chunks c WHERE c.id = ANY"
TEXTS = f"{_TEXTS}(?::bigint[])"
"""Texts of some chunks."""
TEXTS_OR_NEAR = (
    f"{_TEXTS}(ARRAY(SELECT unnest(?::bigint[]) UNION SELECT m.id FROM (SELECT DISTINCT item FROM near) n"
    " CROSS JOIN LATERAL (SELECT id FROM chunks WHERE item = n.item OFFSET 0) m"
    " WHERE m.id IN (SELECT unnest(?::bigint[]))))"
)
"""The same, and of others if the meaning side found their items. Of these there may be thousands, so the few items are
looked up, and not the chunks.
"""
ALL_TEXTS = " OR c.state = 0 AND c.item = ANY(ARRAY(SELECT item FROM near UNION SELECT item FROM joined))"


def _linked_with(step: str) -> str:
    """The items one link away from those of a step."""
    return (
        f"SELECT target AS item FROM links WHERE target IS NOT NULL AND source IN (SELECT item FROM {step})"
        f" UNION SELECT source FROM links WHERE target IN (SELECT item FROM {step})"
    )
