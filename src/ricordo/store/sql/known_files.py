"""What is known about the files that items were read from, and the folders they were found in."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

from ricordo.config.machine import this_machine
from ricordo.store.sql import saving
from ricordo.store.sql.batches import in_parts
from ricordo.store.sql.machines import HOME_MACHINE
from ricordo.store.sql.protocols import Database
from ricordo.store.sql.times import now_micros
from ricordo.store.values import FileState

_FILE = "file_mtime, file_size, file_hash, file_fields"


class Files:
    """Files on disk, as they were last read."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def known(self, drive: str, paths: Collection[str]) -> dict[str, FileState | None]:
        """Which of these paths hold an item, and what its file looked like when it was read (None if it has none)."""
        with self._database.read() as connection:
            found: dict[str, FileState | None] = {}
            for marks, part in in_parts(sorted(paths)):
                for path, *file in connection.rows(
                    f"SELECT path, {_FILE} FROM items WHERE drive=? AND state<>'deleted' AND path IN ({marks})",
                    (drive, *part),
                ):
                    found[path] = _state(*file)
            return found

    def states(self, numbers: Collection[int]) -> dict[int, FileState]:
        """What the files of items looked like when they were read; items that came otherwise are left out."""
        with self._database.read() as connection:
            found: dict[int, FileState] = {}
            for marks, part in in_parts(sorted(numbers)):
                for n, *file in connection.rows(f"SELECT n, {_FILE} FROM items WHERE n IN ({marks})", part):
                    state = _state(*file)
                    if state is not None:
                        found[n] = state
            return found

    def note(self, states: Mapping[int, FileState]) -> None:
        """Remember what files look like whose content did not change."""
        if states:
            with self._database.write() as connection:
                for n, state in states.items():
                    saving.note_file(connection, n, state)

    def remember_root(self, path: str, globs: Sequence[str]) -> None:
        """Note a folder that was added on this machine, so that ``refresh`` finds its new files; once is enough."""
        if (path, tuple(globs)) in self.roots():
            return
        here = this_machine().id
        with self._database.write() as connection:
            connection.run(
                "INSERT INTO roots(machine, path, globs, added_at) VALUES(?, ?, '', ?) ON CONFLICT DO NOTHING",
                (here, path, now_micros()),
            )
            connection.run("UPDATE roots SET globs=? WHERE machine=? AND path=?", (json.dumps(list(globs)), here, path))

    def roots(self) -> list[tuple[str, tuple[str, ...]]]:
        """The folders that were added on this machine."""
        here = this_machine().id
        return [(path, globs) for machine, path, globs in self.all_roots() if machine == here]

    def all_roots(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """The folders that were added on any machine: the id of the machine, the path and the globs of each."""
        with self._database.read() as connection:
            rows = connection.rows("SELECT machine, path, globs FROM roots ORDER BY machine, path")
        return [(machine, path, tuple(json.loads(globs))) for machine, path, globs in rows]

    def forget_root(self, path: str) -> bool:
        """Look for no more new files in a folder of this machine; returns whether it was one of those looked in."""
        with self._database.write() as connection:
            connection.run("DELETE FROM roots WHERE machine=? AND path=?", (this_machine().id, path))
            return connection.changes() > 0

    def take_over_roots(self, machine: str) -> None:
        """Give the folders of another machine to this one, and with them the plain refs, if they were that one's."""
        here = this_machine().id
        with self._database.write() as connection:
            connection.run(
                "UPDATE roots SET machine=? WHERE machine=? AND path NOT IN (SELECT path FROM roots WHERE machine=?)",
                (here, machine, here),
            )
            connection.run("DELETE FROM roots WHERE machine=?", (machine,))
            if machine and connection.meta(HOME_MACHINE) == machine:
                connection.set_meta(HOME_MACHINE, here)


def _state(mtime: int | None, size: int, digest: str | None, fields: str | None) -> FileState | None:
    return FileState(mtime, size, digest or "", json.loads(fields or "{}")) if mtime is not None else None
