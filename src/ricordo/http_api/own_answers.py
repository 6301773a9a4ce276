"""Answers of the API that differ from what the verb's method returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ricordo.verbs.rows import VerbRow, arguments, call

if TYPE_CHECKING:
    from ricordo.engine import Ricordo

Given = dict[str, Any]


def _items(engine: Ricordo, row: VerbRow, given: Given) -> Any:
    """A page of a list, without contents, and how many there are in all."""
    filters = arguments(row, given)[1].get("filters")
    items = [item.to_dict(with_content=False) for item in call(engine, row, given)]
    return {"items": items, "total": engine.count(filters), "limit": given["limit"], "offset": given["offset"]}


def _sessions(engine: Ricordo, row: VerbRow, given: Given) -> Any:
    return {"sessions": [session.to_dict(with_turns=False) for session in call(engine, row, given)]}


def _profiles(engine: Ricordo, row: VerbRow, given: Given) -> Any:
    """The ways to rank, with the weights in force."""
    vectors = engine.config.embedding.provider != "none"
    return {
        "profiles": [
            {
                "name": one.name,
                "description": one.description,
                "weights": one.weights(vectors=vectors),
                "source": one.source,
            }
            for one in engine.profiles().values()
        ]
    }


OWN_ANSWERS: Mapping[str, Callable[[Any, VerbRow, Given], Any]] = {
    "list": _items,
    "profiles list": _profiles,
    "sessions list": _sessions,
}
"""By the path of the verb."""
