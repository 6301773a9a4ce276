"""Items that are found otherwise than by words and vectors: the newest, and those with a text that holds the query.

Each function adds the step ``found`` to a statement, and returns the part of its answer that lists what was found.
"""

from __future__ import annotations

from typing import Protocol

from ricordo.store.asking import Ask
from ricordo.store.postgres import dialect
from ricordo.store.postgres.asking_sql import Statement, visible
from ricordo.store.sql.filters import where
from ricordo.text.words import fold


class Find(Protocol):
    """A way to find items; ``limited`` says whether the step ``allowed`` is there, ``seen`` which chunks count."""

    def __call__(self, statement: Statement, ask: Ask, *, limited: bool, seen: str) -> str: ...


def newest(statement: Statement, ask: Ask, *, limited: bool, seen: str) -> str:
    """Everything that passes the filters and holds nothing that is excluded, newest first."""
    condition, values = ("i.n IN (SELECT n FROM allowed)", []) if limited else where(ask.filters, dialect)
    if ask.as_of is not None:
        condition += f" AND EXISTS (SELECT 1 FROM chunks c WHERE c.item = i.n AND {visible('c', seen, 'id')})"
    statement.step(
        "found",
        "SELECT i.n AS item, i.total, row_number() OVER () AS place"
        f" FROM (SELECT i.n, count(*) OVER () AS total FROM items i WHERE {condition}"
        " ORDER BY i.updated_at DESC, i.drive, i.path LIMIT ?) i",
        (*values, ask.per_side),
    )
    return "SELECT json_agg(json_build_array(total, item) ORDER BY place) FROM found"


def with_substring(statement: Statement, ask: Ask, *, limited: bool, seen: str) -> str:
    """Items with a text that holds the query as it is written, newest first."""
    condition, values = ("i.n IN (SELECT n FROM allowed)", []) if limited else where(ask.filters, dialect)
    statement.step(
        "found",
        "SELECT min(c.id) AS chunk, c.item, i.updated_at FROM chunks c JOIN items i ON i.n = c.item"
        f" WHERE {visible('c', seen, 'id')} AND strpos(folded(c.text), ?) > 0 AND {condition}"
        " GROUP BY c.item, i.updated_at ORDER BY i.updated_at DESC, min(c.id) LIMIT ?",
        (fold(ask.text.strip()), *values, ask.per_side),
    )
    return "SELECT json_agg(json_build_array(chunk, item) ORDER BY updated_at DESC, chunk) FROM found"
