"""Links between items: the tables ``links`` and ``item_names``, and the distances they span.

A manual link holds both ends. A link from a text holds the target's name; the item that answers to it is looked up
when the text is saved, and again whenever an item that may answer to it comes, goes, or changes its name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeVar

from recollect.store.base import StoredLink
from recollect.store.sqlite.connection import Connection
from recollect.store.sqlite.times import moment, now_micros

_Value = TypeVar("_Value", int, str)

MOST_NEIGHBOURS = 1_000
"""Past so many neighbours the walk ends: what everything links to says nothing about anything."""


def parts(values: Iterable[_Value], size: int = 500) -> Iterator[tuple[str, list[_Value]]]:
    """The values in lists short enough to bind, each with its question marks."""
    ordered = list(values)
    for at in range(0, len(ordered), size):
        part = ordered[at : at + size]
        yield ",".join("?" * len(part)), part


def add(connection: Connection, source: int, target: int, type_: str) -> bool:
    """Link two items by hand; whether the link is new."""
    connection.rows(
        "INSERT OR IGNORE INTO links(source, target, type, origin, text, name, created_at)"
        " VALUES(?,?,?,'manual','','',?)",
        (source, target, type_, now_micros()),
    )
    return bool(connection.changes())


def remove(connection: Connection, source: int, target: int, type_: str | None) -> int:
    """Take away manual links between two items; how many there were."""
    connection.rows(
        "DELETE FROM links WHERE source=? AND target=? AND origin='manual' AND type=coalesce(?, type)",
        (source, target, type_),
    )
    return int(connection.changes())


_LINK = (
    "SELECT l.id, l.source, l.target, l.type, l.origin, l.text, l.name, l.created_at FROM links l"
    " JOIN items s ON s.n = l.source AND s.state <> 'deleted'"
    " LEFT JOIN items t ON t.n = l.target WHERE t.state IS NOT 'deleted' AND "
)


def of_items(connection: Connection, numbers: Sequence[int]) -> list[StoredLink]:
    """Links that start or end at some items, in the order they were made."""
    found: dict[int, StoredLink] = {}
    for marks, part in parts(numbers):
        for end in ("source", "target"):
            for row in connection.rows(f"{_LINK} l.{end} IN ({marks})", part):
                found[row[0]] = StoredLink(row[1], row[2], row[3], row[4], row[5], row[6], moment(row[7]))
    return [found[identity] for identity in sorted(found)]


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
