"""What is known about the files that items were read from, and the folders they were found in."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

from ricordo.store.base import FileState
from ricordo.store.sqlite import items, saving
from ricordo.store.sqlite.open_file import OpenFile
from ricordo.store.sqlite.times import now_micros


class Files:
    """Files on disk, as they were last read."""

    def __init__(self, file: OpenFile) -> None:
        self._database = file.database

    def known(self, drive: str, paths: Collection[str]) -> dict[str, FileState | None]:
        """Which of these paths hold an item, and what its file looked like when it was read (None if it has none)."""
        with self._database.read() as connection:
            return items.known_files(connection, drive, paths)

    def states(self, numbers: Collection[int]) -> dict[int, FileState]:
        """What the files of items looked like when they were read; items that came otherwise are left out."""
        with self._database.read() as connection:
            return items.file_states(connection, numbers)

    def note(self, states: Mapping[int, FileState]) -> None:
        """Remember what files look like whose content did not change."""
        if states:
            with self._database.write() as connection:
                for n, state in states.items():
                    saving.note_file(connection, n, state)

    def remember_root(self, path: str, globs: Sequence[str]) -> None:
        """Note a folder that was added, so that ``refresh`` finds its new files; once is enough."""
        if (path, tuple(globs)) in self.roots():
            return
        with self._database.write() as connection:
            connection.rows(
                "INSERT INTO roots(path, globs, added_at) VALUES(?,?,?) ON CONFLICT(path)"
                " DO UPDATE SET globs=excluded.globs",
                (path, json.dumps(list(globs)), now_micros()),
            )

    def roots(self) -> list[tuple[str, tuple[str, ...]]]:
        with self._database.read() as connection:
            rows = connection.rows("SELECT path, globs FROM roots ORDER BY path")
        return [(path, tuple(json.loads(globs))) for path, globs in rows]

    def forget_root(self, path: str) -> bool:
        """Look for no more new files in a folder; returns whether it was one of those looked in."""
        with self._database.write() as connection:
            connection.rows("DELETE FROM roots WHERE path=?", (path,))
            return connection.changes() > 0
