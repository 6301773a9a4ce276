"""The part of the store for links: which items link to which, and their distances."""

from __future__ import annotations

from collections.abc import Sequence

from ricordo.store.sql import links
from ricordo.store.sql.batches import in_parts
from ricordo.store.sql.protocols import Database
from ricordo.store.sql.times import moment
from ricordo.store.values import StoredLink

_LINK = (
    "SELECT l.id, l.source, l.target, l.type, l.origin, l.text, l.name, l.created_at FROM links l"
    " JOIN items s ON s.n = l.source AND s.state <> 'deleted'"
    " LEFT JOIN items t ON t.n = l.target WHERE t.state IS DISTINCT FROM 'deleted' AND "
)


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
            stored: dict[int, int] = dict(
                connection.rows("SELECT source, id FROM links WHERE target=? AND origin='mention'", (entity,))
            )
            connection.run_many("DELETE FROM links WHERE id=?", [(stored[n],) for n in stored.keys() - set(sources)])
            title = connection.rows("SELECT title FROM items WHERE n=?", (entity,))[0][0]
            links.write_mentions(connection, [(n, entity, title) for n in sources if n not in stored])

    def remove(self, source: int, target: int, type: str | None = None) -> int:  # noqa: A002
        """Remove manual links between two items, of one type or of all; returns how many there were."""
        with self._database.write(durable=True) as connection:
            return links.remove(connection, source, target, type)

    def of(self, numbers: Sequence[int]) -> list[StoredLink]:
        """Links from and to some items, in the order they were made; an end in the bin hides a link."""
        with self._database.read() as connection:
            found: dict[int, StoredLink] = {}
            for marks, part in in_parts(numbers):
                for end in ("source", "target"):
                    for row in connection.rows(f"{_LINK} l.{end} IN ({marks})", part):
                        found[row[0]] = StoredLink(row[1], row[2], row[3], row[4], row[5], row[6], moment(row[7]))
        return [found[identity] for identity in sorted(found)]

    def neighbours(self, numbers: Sequence[int], depth: int = 2) -> dict[int, int]:
        """Distances to all live items within ``depth`` links, whichever way they point; the given ones have 0."""
        with self._database.read() as connection:
            return links.neighbours(connection, numbers, depth)

    def relink(self) -> int:
        """Find the links in all texts again, and what each means; returns how many items were looked at."""
        from ricordo.store.sql.relinking import relink

        return relink(self._database)
