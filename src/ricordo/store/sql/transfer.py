"""The half of the store that moves it: records out and in, another language, an emptied bin.

What it calls is imported when it is called: no search pays for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.store.sql import changes
from ricordo.store.sql.database import DAY, Opened, now_micros
from ricordo.store.values import Backlog
from ricordo.text.words import Analyzer

if TYPE_CHECKING:
    from ricordo.exchange.records import ItemRecord, Record
    from ricordo.store.sql.imports import Importing
    from ricordo.values.reports import Damage, VacuumReport

_ERASED_AT_ONCE = 100
_DUE = "SELECT n FROM items WHERE state='deleted' AND deleted_at < ?"


class SharedTransfer:
    """Export and import. Backup, vacuum and the making of indexes, each database has for itself."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._database = opened.database

    def records(self, *, log: bool = True) -> Generator[Record]:
        """Everything the store holds, as it was at one moment; ``log`` for the logs of queries and openings too."""
        from ricordo.store.sql.exports import records

        with self._database.read() as connection:
            yield from records(connection, self._opened.language, log=log)

    def item(self, n: int) -> ItemRecord:
        """One item with all its versions."""
        from ricordo.store.sql.exports import item_record

        with self._database.read() as connection:
            return item_record(connection, n, None)

    def importer(self, on_conflict: str, backlog: Backlog | None) -> Importing:
        """Takes records of an export into this store."""
        from ricordo.store.sql.imports import Importing

        return Importing(self._opened, on_conflict, backlog)

    def adopt_language(self, language: str, *, rebuild: bool = False) -> bool:
        """Take another language for the words of a store that never held any; returns whether it has that language now.

        With ``rebuild`` a store that holds texts takes it too, and indexes all words again.
        """
        if language == self._opened.language:
            return True
        analyzer = Analyzer(language)
        with self._database.write() as connection:
            holds_words = connection.has_used_chunks()
            if holds_words and not rebuild:
                return False
            connection.set_meta("language", language)
        self._opened.language, self._opened.analyzer = language, analyzer
        if holds_words:
            self._rebuild(analyzer)
        return True

    def _rebuild(self, analyzer: Analyzer) -> None:
        """Index every text again: its words became others."""
        raise NotImplementedError

    def salvage(self, left_out: list[str], *, log: bool = True) -> Generator[Record]:
        """All that can still be read of a damaged store; what cannot be read is added to ``left_out``."""
        raise NotImplementedError

    def backup(
        self, target: Path, *, force: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> tuple[int, Sequence[Damage]]:
        """Copy the store, as it is at one moment, to a file; how many items it has, and which were damaged."""
        raise NotImplementedError

    def vacuum(self, *, bin_days: float, full: bool = False, keep: Collection[str] = ()) -> VacuumReport:
        """Give back what is no longer needed; ``full`` rewrites the file even when little is to be gained."""
        raise NotImplementedError

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
                    changes.erase_item(connection, n)
            erased += len(due)

    def _drop_unused_rows(self) -> int:
        """Drop bytes that no version holds, and jobs whose chunk is gone; returns how many files' bytes those were."""
        with self._database.write() as connection:
            connection.run("DELETE FROM blobs WHERE hash NOT IN (SELECT blob FROM versions WHERE blob IS NOT NULL)")
            blobs = connection.changes()
            connection.run("DELETE FROM jobs WHERE chunk NOT IN (SELECT id FROM chunks WHERE state < 2)")
        return blobs
