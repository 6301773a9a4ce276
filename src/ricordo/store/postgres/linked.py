"""Items that are linked with the best candidates. The links around all candidates come with their answer, so that only
the values of new items are asked for, together with what TF-IDF needs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ricordo.store.asking import Ask
from ricordo.store.postgres import asking_sql as sql
from ricordo.store.postgres.connection import Connection
from ricordo.store.sql import links
from ricordo.store.sql.protocols import Values

DEPTH_AT_HAND = 2
"""How many links away an answer reaches; farther items are asked for step by step."""
Edges = Sequence[Sequence[Any]]
"""Links as rows: source, target, and whether each of the two is live."""


_AROUND = "SELECT item FROM pool UNION SELECT item FROM around"
EDGES = (
    "SELECT json_agg(json_build_array(l.source, l.target, s.state = 'live', t.state = 'live')) FROM links l"
    " JOIN items s ON s.n = l.source JOIN items t ON t.n = l.target WHERE l.id IN (SELECT id FROM links WHERE source IN"
    f" ({_AROUND}) UNION SELECT id FROM links WHERE target IN ({_AROUND}) LIMIT 20000)"
)


def distances(connection: Connection, seeds: Sequence[int], depth: int, edges: Edges) -> dict[int, int]:
    """Items within ``depth`` links of the seeds, with how many links away each is; ``edges`` came with the answer."""
    if not seeds:
        return {}
    if depth <= DEPTH_AT_HAND:
        return links.walk(seeds, depth, lambda frontier: _reached(edges, frontier))
    return links.neighbours(connection, seeds, depth)


def _reached(edges: Edges, frontier: Collection[int]) -> set[int]:
    inside = set(frontier)
    forward = {target for source, target, _, target_is_live in edges if source in inside and target_is_live}
    return forward | {source for source, target, source_is_live, _ in edges if target in inside and source_is_live}


def values_of(
    ask: Ask, numbers: Sequence[int], barred: Sequence[int], vectors: Sequence[sql.Compared]
) -> tuple[str, Values]:
    """The statement for the values of items that are not in the pool yet."""
    statement = sql.Statement()
    limited, seen = sql.add_conditions(statement, ask, barred)
    inside = " WHERE item IN (SELECT n FROM allowed)" if limited else ""
    statement.step("pool", f"SELECT item FROM unnest(?::bigint[]) item{inside}", (list(numbers),))
    statement.step("joined", "SELECT NULL::bigint AS item LIMIT 0")
    answers: dict[str, str] = {"joined": "SELECT json_agg(item) FROM pool", "items": sql.ITEMS}
    after: list[Any] = []
    if vectors:
        answers["cosines"], values = sql.cosines(vectors, sql.visible("c", seen, "id"))
        after += values
    answers["refs"] = sql.REFS.format(version=sql.NO_VERSION)
    if ask.needs.feedback:
        answers["feedback"] = sql.FEEDBACK
    return statement.text(answers), (*statement.values, *after)


def pairs(rows: Sequence[Sequence[int]] | None) -> dict[int, list[tuple[int, int]]]:
    """By item, the others near it, and how far away each is."""
    found: dict[int, list[tuple[int, int]]] = {}
    for n, other, away in rows or []:
        found.setdefault(n, []).append((other, away))
    return found
