"""Links between items: the tables ``links`` and ``item_names``, and the distances they span.

A manual link holds both ends. A link from a text holds the target's name; the item that answers to it is looked up
when the text is saved, and again whenever an item that may answer to it comes, goes, or changes its name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import batched
from typing import TypeVar

from recollect.store.sqlite.connection import Connection

_Value = TypeVar("_Value", int, str)

MOST_NEIGHBOURS = 1_000
"""Past so many neighbours the walk ends: what everything links to says nothing about anything."""


def parts(values: Iterable[_Value], size: int = 500) -> Iterator[tuple[str, list[_Value]]]:
    """The values in lists short enough to bind, each with its question marks."""
    ordered = list(values)
    for at in range(0, len(ordered), size):
        part = ordered[at : at + size]
        yield ",".join("?" * len(part)), part


def neighbours(connection: Connection, numbers: Sequence[int], depth: int) -> dict[int, int]:
    """Items within ``depth`` links of the given ones, whichever way the links point, with their distances."""
    found = dict.fromkeys(numbers, 0)
    frontier: Collection[int] = list(found)
    for distance in range(1, depth + 1):
        reached: set[int] = set()
        for marks, part in parts(frontier):
            rows = connection.rows(
                f"SELECT l.target FROM links l JOIN items i ON i.n = l.target AND i.state = 'live'"
                f" WHERE l.source IN ({marks}) UNION SELECT l.source FROM links l"
                f" JOIN items i ON i.n = l.source AND i.state = 'live' WHERE l.target IN ({marks})",
                (*part, *part),
            )
            reached.update(row[0] for row in rows)
        frontier = sorted(reached.difference(found))[: max(0, MOST_NEIGHBOURS + len(numbers) - len(found))]
        found |= dict.fromkeys(frontier, distance)
        if not frontier:
            break
    return found
