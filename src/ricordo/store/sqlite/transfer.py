"""The half of the SQLite store that moves and tidies it: backups, vacuum, what can be saved from a damaged file.

What it calls is imported when it is called: no search pays for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.errors import ReadOnlyStore
from ricordo.store.sql.transfer import SharedTransfer
from ricordo.store.sqlite.open_file import OpenFile
from ricordo.text.words import Analyzer

if TYPE_CHECKING:
    from ricordo.exchange.records import Record
    from ricordo.values.reports import Damage, VacuumReport


class Transfer(SharedTransfer):
    """Export, import, backup and vacuum."""

    def __init__(self, file: OpenFile) -> None:
        super().__init__(file)
        self._file = file

    def _rebuild(self, analyzer: Analyzer) -> None:
        """Index every text again: its words became others."""
        from ricordo.store.search.checks import rebuild_lexical

        rebuild_lexical(self._file.database, analyzer)

    def salvage(self, left_out: list[str], *, log: bool = True) -> Generator[Record]:
        """All that can still be read of a damaged store; what cannot be read is added to ``left_out``."""
        from ricordo.store.sqlite import salvaging

        with self._file.database.read() as connection:
            yield from salvaging.records(connection, self._file.language, left_out, log=log)

    def backup(
        self, target: Path, *, force: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> tuple[int, Sequence[Damage]]:
        """Copy the store, as it is at one moment, to a file; how many items it has, and which were damaged."""
        from ricordo.store.sqlite import backing_up

        return backing_up.back_up(
            self._file.database, target, force=force, progress=progress or (lambda done, total: None)
        )

    def vacuum(self, *, bin_days: float, full: bool = False, keep: Collection[str] = ()) -> VacuumReport:
        """Give back what is no longer needed; ``full`` rewrites the file even when little is to be gained."""
        from ricordo.store.backlog import Vectors, drop_unused_vectors
        from ricordo.store.sqlite import vacuuming
        from ricordo.values.reports import VacuumReport

        database = self._file.database
        if database.read_only:
            raise ReadOnlyStore(f"the store {database.path} can only be read", hint="Make it writable first.")
        started = time.perf_counter()
        before = vacuuming.size_on_disk(database.path)
        parts_before = self._segments()
        emptied = self.empty_bin(bin_days)
        blobs = self._drop_unused_rows()
        vectors = Vectors(self._file).drop_idle(keep)
        vectors += drop_unused_vectors(database)
        vacuuming.merge_segments(database)
        rewritten = vacuuming.rewrite_file(database, always=full)
        return VacuumReport(
            before,
            vacuuming.size_on_disk(database.path),
            emptied,
            vectors,
            blobs,
            parts_before,
            self._segments(),
            rewritten,
            time.perf_counter() - started,
        )

    def _segments(self) -> int:
        with self._file.database.read() as connection:
            return int(connection.rows("SELECT count(*) FROM segments WHERE state=1")[0][0])
