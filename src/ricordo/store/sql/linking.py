"""The part of the store for links: which items link to which, and their distances."""

from __future__ import annotations

from collections.abc import Sequence

from ricordo.store.sql import links
from ricordo.store.sql.protocols import Database
from ricordo.store.values import StoredLink


class Links:
    """Links between the items of one store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, source: int, target: int, type: str) -> bool:  # noqa: A002 - the domain's word
        """Link two items; returns whether the link is new."""
        with self._database.write(durable=True) as connection:
            return links.add(connection, source, target, type)

    def set_mentions(self, entity: int, sources: Sequence[int]) -> None:
        """Note which items name an entity; those that were noted before and are not among them no longer do."""
        with self._database.write() as connection:
            links.set_mentions(connection, entity, sources)

    def remove(self, source: int, target: int, type: str | None = None) -> int:  # noqa: A002
        """Remove manual links between two items, of one type or of all; returns how many there were."""
        with self._database.write(durable=True) as connection:
            return links.remove(connection, source, target, type)

    def of(self, numbers: Sequence[int]) -> list[StoredLink]:
        """Links from and to some items; an end in the bin hides a link."""
        with self._database.read() as connection:
            return links.of_items(connection, numbers)

    def neighbours(self, numbers: Sequence[int], depth: int = 2) -> dict[int, int]:
        """Distances to all live items within ``depth`` links, whichever way they point; the given ones have 0."""
        with self._database.read() as connection:
            return links.neighbours(connection, numbers, depth)

    def relink(self) -> int:
        """Find the links in all texts again, and what each means; returns how many items were looked at."""
        from ricordo.store.sql.relinking import relink

        return relink(self._database)
