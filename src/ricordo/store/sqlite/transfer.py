"""The half of the store that moves and tidies it: records out and in, backups, vacuum.

What it calls is imported when it is called: no search pays for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.errors import ReadOnlyStore
from ricordo.store.base import Backlog
from ricordo.store.sqlite import saving
from ricordo.store.sqlite.open_file import OpenFile
from ricordo.store.sqlite.times import DAY, now_micros
from ricordo.text.words import Analyzer

if TYPE_CHECKING:
    from ricordo.exchange.records import ItemRecord, Record
    from ricordo.store.sqlite.importing import Importing
    from ricordo.values.reports import Damage, VacuumReport

_ERASED_AT_ONCE = 100
_DUE = "SELECT n FROM items WHERE state='deleted' AND deleted_at < ?"


class Transfer:
    """Export, import, backup and vacuum."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self._database = file.database

    def records(self, *, log: bool = True) -> Generator[Record]:
        """Everything the store holds, as it was at one moment; ``log`` for the logs of queries and openings too."""
        from ricordo.store.sqlite import exporting

        with self._database.read() as connection:
            yield from exporting.records(connection, self._file.language, log=log)

    def item(self, n: int) -> ItemRecord:
        """One item with all its versions."""
        from ricordo.store.sqlite import exporting

        with self._database.read() as connection:
            return exporting.item_record(connection, n, None)

    def importer(self, on_conflict: str, backlog: Backlog | None) -> Importing:
        """Takes records of an export into this store."""
        from ricordo.store.sqlite.importing import Importing

        return Importing(self._file, on_conflict, backlog)

    def adopt_language(self, language: str, *, rebuild: bool = False) -> bool:
        """Take another language for the words of a store that never held any; returns whether it has that language now.

        With ``rebuild`` a store that holds texts takes it too, and indexes all words again.
        """
        if language == self._file.language:
            return True
        analyzer = Analyzer(language)
        with self._database.write() as connection:
            holds_words = connection.next_chunks(0) > 1
            if holds_words and not rebuild:
                return False
            connection.set_meta("language", language)
        self._file.language, self._file.analyzer = language, analyzer
        if holds_words:
            self._rebuild(analyzer)
        return True

    def _rebuild(self, analyzer: Analyzer) -> None:
        """Index every text again: its words became others."""
        from ricordo.store.sqlite.checks import rebuild_lexical

        rebuild_lexical(self._database, analyzer)

    def salvage(self, left_out: list[str], *, log: bool = True) -> Generator[Record]:
        """All that can still be read of a damaged store; what cannot be read is added to ``left_out``."""
        from ricordo.store.sqlite import salvaging

        with self._database.read() as connection:
            yield from salvaging.records(connection, self._file.language, left_out, log=log)

    def backup(
        self, target: Path, *, force: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> tuple[int, Sequence[Damage]]:
        """Copy the store, as it is at one moment, to a file; how many items it has, and which were damaged."""
        from ricordo.store.sqlite import backing_up

        return backing_up.back_up(self._database, target, force=force, progress=progress or (lambda done, total: None))

    def vacuum(self, *, bin_days: float, full: bool = False, keep: Collection[str] = ()) -> VacuumReport:
        """Give back what is no longer needed; ``full`` rewrites the file even when little is to be gained."""
        from ricordo.store.sqlite import vacuuming
        from ricordo.store.sqlite.meaning import drop_idle_fingerprints
        from ricordo.values.reports import VacuumReport

        if self._database.read_only:
            raise ReadOnlyStore(f"the store {self._database.path} can only be read", hint="Make it writable first.")
        started = time.perf_counter()
        before = vacuuming.size_on_disk(self._database.path)
        parts_before = self._segments()
        emptied = self.empty_bin(bin_days)
        blobs = vacuuming.drop_unused_blobs(self._database)
        vacuuming.drop_idle_jobs(self._database)
        vectors = drop_idle_fingerprints(self._database, keep)
        vectors += vacuuming.drop_unused_vectors(self._database)
        vacuuming.merge_segments(self._database)
        rewritten = vacuuming.rewrite_file(self._database, always=full)
        return VacuumReport(
            before,
            vacuuming.size_on_disk(self._database.path),
            emptied,
            vectors,
            blobs,
            parts_before,
            self._segments(),
            rewritten,
            time.perf_counter() - started,
        )

    def empty_bin(self, days: float) -> int:
        """Erase what has been in the bin longer than the given days, a few items at a time."""
        limit = now_micros() - int(days * DAY)
        erased = 0
        while True:
            with self._database.read() as connection:
                if not connection.rows(f"{_DUE} LIMIT 1", (limit,)):
                    return erased
            with self._database.write() as connection:
                # Looked up again: an item may have been brought back.
                due = [row[0] for row in connection.rows(f"{_DUE} LIMIT {_ERASED_AT_ONCE}", (limit,))]
                for n in due:
                    saving.erase_item(connection, n)
            erased += len(due)

    def _segments(self) -> int:
        with self._database.read() as connection:
            return int(connection.rows("SELECT count(*) FROM segments WHERE state=1")[0][0])
