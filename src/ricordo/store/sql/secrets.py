"""Which items hold what looks like a secret: counts only, never the secret itself. ``ingest`` finds them."""

from __future__ import annotations

from collections.abc import Mapping

from ricordo.store.sql.protocols import Database
from ricordo.store.sql.saving import write_secrets
from ricordo.values.items import Ref


class Secrets:
    """Counts of the secrets in the current texts of items that are not in the bin."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def counts(self) -> dict[str, int]:
        """How many there are, by kind."""
        with self._database.read() as connection:
            return dict(
                connection.rows(
                    "SELECT s.kind, sum(s.count) FROM secrets s JOIN items i ON i.n = s.item AND i.state <> 'deleted'"
                    " GROUP BY s.kind ORDER BY s.kind"
                )
            )

    def refs(self) -> list[tuple[Ref, dict[str, int]]]:
        """The items that hold some, with how many of each kind."""
        found: dict[Ref, dict[str, int]] = {}
        with self._database.read() as connection:
            for drive, path, kind, count in connection.rows(
                "SELECT i.drive, i.path, s.kind, s.count FROM secrets s JOIN items i ON i.n = s.item"
                " WHERE i.state <> 'deleted' ORDER BY i.drive, i.path, s.kind"
            ):
                found.setdefault(Ref(drive, path), {})[kind] = count
        return list(found.items())

    def note(self, found: Mapping[int, Mapping[str, int]]) -> None:
        """Replace what is known about some items."""
        with self._database.write() as connection:
            for n, counts in found.items():
                write_secrets(connection, n, counts)
