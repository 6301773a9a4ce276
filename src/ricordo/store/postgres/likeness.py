"""The items that are most like one item, by the vectors of their passages."""

from __future__ import annotations

from typing import Any

import numpy as np

from ricordo.store.asking import Ask, Candidates, QueryVector
from ricordo.store.postgres.connection import Connection
from ricordo.store.postgres.gathering import Gathering
from ricordo.store.postgres.nearness import cosines_of, vectors_of_item
from ricordo.store.postgres.open_workspace import OpenWorkspace

_MOST_LIKENESSES = 8
"""How many passages of an item look for similar ones, each on its own."""
_ABOUT_ITEMS = ("items", "refs", "feedback")


def similar(opened: OpenWorkspace, connection: Connection, n: int, ask: Ask) -> Candidates:
    """The items nearest to one item: to the middle of its passages, then by its nearest passage."""
    whole = Gathering(opened, connection, ask)
    pool = whole.pool
    own = vectors_of_item(connection, ask.model, n)
    about: dict[str, dict[int, Any]] = {name: {} for name in _ABOUT_ITEMS}
    for vector in (own.mean(axis=0), *own[:_MOST_LIKENESSES]) if len(own) else ():
        unit = vector / max(float(np.linalg.norm(vector)), 1e-12)
        one = Ask(
            vector=QueryVector(ask.model, unit), filters=ask.filters, by_word=False, per_side=ask.per_side + 1,
            needs=ask.needs,
        )  # fmt: skip
        around = Gathering(opened, connection, one)
        around.run(one.per_side, ())
        pool.add_cosines(cosines_of(around.answer["near"]))
        for name, rows in about.items():
            rows |= {row[0]: row for row in around.answer.get(name) or []}
        whole.answer = around.answer
    whole.answer |= {name: list(rows.values()) for name, rows in about.items()}
    pool.drop(n)
    pool.total = len(pool)
    return whole.answered({}, {})
