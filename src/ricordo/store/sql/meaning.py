"""Which fingerprint searches use, and what happens to the vectors of the others."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ricordo.store.sql.protocols import Database


class SharedVectors:
    """Which fingerprint is in force. How vectors are counted and dropped, each database has for itself."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def active_fingerprint(self) -> str | None:
        """The fingerprint whose vectors searches use."""
        with self._database.read() as connection:
            rows = connection.rows("SELECT name FROM fingerprints WHERE active")
        return rows[0][0] if rows else None

    def activate(self, fingerprint: str, keep: Collection[str] = ()) -> None:
        """Let searches use another fingerprint, all at once; of the others, the one before and ``keep`` stay."""
        with self._database.write(durable=True) as connection:
            before = {row[0] for row in connection.rows("SELECT name FROM fingerprints WHERE active")}
            connection.run(
                "UPDATE fingerprints SET active = (name = ?) WHERE active <> (name = ?)", (fingerprint, fingerprint)
            )
            rows = connection.rows("SELECT id, name FROM fingerprints WHERE NOT active")
            idle = [(number,) for number, name in rows if name not in keep]
            connection.run_many("DELETE FROM jobs WHERE fingerprint=?", idle)
            connection.add_to_meta("vector_epoch", 1)
        self.drop([number for number, name in rows if name not in keep and name not in before])

    def drop_idle(self, keep: Collection[str]) -> int:
        """Drop the vectors of fingerprints that are not in use; returns how many there were."""
        with self._database.read() as connection:
            idle = connection.rows(
                "SELECT id, name FROM fingerprints f"
                " WHERE NOT active AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.fingerprint=f.id)"
            )
        return self.drop([number for number, name in idle if name not in keep])

    def drop(self, fingerprints: Sequence[int]) -> int:
        """Drop fingerprints with their vectors; returns how many vectors there were."""
        raise NotImplementedError
