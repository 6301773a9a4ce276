"""Which items took the place of archived ones, and which contradict others, by the links between them."""

from __future__ import annotations

from collections.abc import Iterable

from ricordo.store.sql.protocols import Row
from ricordo.values.items import Ref

NAMES = {"corrects": "corrected_by", "supersedes": "superseded_by"}
"""What a hit says about the item that a link of this type comes from."""
_LONGEST_CHAIN = 20


def replacing(condition: str) -> str:
    """The statement that follows the links from items whose ``l.target`` meets a condition to the newest ones."""
    return (
        "WITH RECURSIVE later(start, n, type, depth) AS (SELECT l.target, l.source, l.type, 1 FROM links l"
        f" JOIN items i ON i.n = l.target WHERE l.target {condition} AND i.state = 'archived'"
        " AND l.type IN ('corrects', 'supersedes') UNION ALL"
        " SELECT later.start, l.source, later.type, later.depth + 1 FROM later JOIN items i ON i.n = later.n"
        " JOIN links l ON l.target = later.n WHERE i.state = 'archived' AND l.type IN ('corrects', 'supersedes')"
        f" AND later.depth < {_LONGEST_CHAIN})"
        " SELECT later.start, later.type, i.drive, i.path FROM later JOIN items i ON i.n = later.n ORDER BY later.depth"
    )


def replacements(rows: Iterable[Row]) -> dict[int, tuple[str, str]]:
    """By item: ``corrected_by`` or ``superseded_by``, and the ref of the newest item in its place."""
    found: dict[int, tuple[str, str]] = {}
    for start, kind, drive, path in rows:
        name = found[start][0] if start in found else NAMES[kind]
        found[start] = (name, str(Ref(drive, path)))
    return found


def contradicting(condition: str) -> str:
    """The statement for live items that contradict those whose ``l.target`` meets a condition, the newest last.

    If one of the two was changed since they were compared, the link says nothing any more.
    """
    return (
        "SELECT l.target, s.n, s.drive, s.path FROM links l JOIN items s ON s.n = l.source AND s.state = 'live'"
        f" JOIN items t ON t.n = l.target WHERE l.target {condition} AND l.type = 'contradicts'"
        " AND s.updated_at <= l.created_at AND t.updated_at <= l.created_at ORDER BY l.created_at, l.id"
    )


def contradictions(rows: Iterable[Row]) -> dict[int, tuple[int, str]]:
    """By item: the number and the ref of the newest item that contradicts it."""
    return {target: (n, str(Ref(drive, path))) for target, n, drive, path in rows}
