"""Export, import and vacuum of a workspace. A server's backups are made with PostgreSQL's own tools; see
docs/scaling.md.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.errors import PathConflict, StoreError, UsageError
from ricordo.store.postgres.meaning import Vectors
from ricordo.store.postgres.open_workspace import OpenWorkspace
from ricordo.store.sql.transfer import SharedTransfer
from ricordo.text.words import Analyzer

if TYPE_CHECKING:
    from ricordo.exchange.records import Record
    from ricordo.values.reports import Damage, VacuumReport


class Transfer(SharedTransfer):
    """Export and import as in SQLite; a backup is an export to a file; vacuum drops what nothing needs any more."""

    def __init__(self, opened: OpenWorkspace) -> None:
        super().__init__(opened)
        self._workspace = opened

    def _rebuild(self, analyzer: Analyzer) -> None:
        """Index every text again, because the language of its words changed."""
        from ricordo.store.postgres.checks import rebuild

        rebuild(self._workspace.database, analyzer)

    def salvage(self, left_out: list[str], *, log: bool = True) -> Generator[Record]:
        """The same as an export, because the server itself protects its pages."""
        return self.records(log=log)

    def backup(
        self, target: Path, *, force: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> tuple[int, Sequence[Damage]]:
        """Write the workspace to a file, as it is at one moment: a JSONL export, which ``import`` takes back."""
        from ricordo.exchange import lines

        if target.is_dir():
            raise UsageError(f"{target} is a folder", hint=f"Name a file in it, such as {target / 'backup.jsonl'}")
        if target.exists() and not force:
            raise PathConflict(f"{target} exists", hint="Pass ‹force› to replace it, or name another file.")
        if not target.parent.is_dir():
            raise StoreError(f"there is no folder {target.parent}", hint=f"Make it first: mkdir -p {target.parent}")
        partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
        try:
            with open(partial, "xb", opener=_private) as out:
                _, counts = lines.write(self.records(), out)
                os.fsync(out.fileno())
            partial.replace(target)
        except OSError as error:
            raise StoreError(
                f"the backup {target} cannot be written: {error.strerror}", hint="Check the folder and its space."
            ) from error
        finally:
            partial.unlink(missing_ok=True)
        return counts.get("item", 0), []

    def vacuum(self, *, bin_days: float, full: bool = False, keep: Collection[str] = ()) -> VacuumReport:
        """Erase what is no longer needed. The server frees the space itself later."""
        from ricordo.values.reports import VacuumReport

        started = time.perf_counter()
        before = self._size()
        emptied = self.empty_bin(bin_days)
        blobs = self._drop_unused_rows()
        with self._database.write() as connection:
            connection.run(
                "DELETE FROM vectors v WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE c.embed_hash = v.hash)"
            )
            vectors = connection.changes()
        vectors += Vectors(self._workspace).drop_idle(keep)
        if full and self._workspace.database.is_owner():
            self._workspace.database.apart("VACUUM ANALYZE")
        return VacuumReport(before, self._size(), emptied, vectors, blobs, 0, 0, full, time.perf_counter() - started)

    def _size(self) -> int:
        with self._database.read() as connection:
            return int(connection.rows("SELECT pg_database_size(current_database())")[0][0])


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
