"""Giving space back: what no version needs any more goes, the keyword index is put together, the file is rewritten.

Every step but the last is made of short transactions. The last one, SQLite's VACUUM, lets others read but not write, so
it is done only when there is something to gain.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ricordo.errors import StoreError
from ricordo.store.index import segments
from ricordo.store.sql.new_chunks import DELETED
from ricordo.store.sqlite.connection import Database

WORTHWHILE = 0.05
"""The share of free pages from which on the file is rewritten."""


def size_on_disk(path: Path) -> int:
    """What a store takes, its log included."""
    files = (Path(f"{path}{tail}") for tail in ("", "-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def merge_segments(database: Database) -> None:
    """Put the keyword index together, without the words of chunks that are gone."""
    segments.maintain(database, everything=True)
    with database.read() as connection:
        log = segments.retired_log(connection)
        ready = [row[0] for row in connection.rows("SELECT id FROM segments WHERE state=?", (segments.READY,))]
        stale = [
            segment
            for segment in ready
            if (segments.with_retired(segments.load_arrays(connection, segment), log).states == DELETED).any()
        ]
    segments.rewrite(database, stale)


def rewrite_file(database: Database, *, always: bool) -> bool:
    """Write the file again without its free pages; returns whether that was done."""
    database.checkpoint()
    with database.read() as connection:
        pages, free, size = (int(connection.pragma(name)) for name in ("page_count", "freelist_count", "page_size"))
    if not always and free < WORTHWHILE * pages:
        return False
    used = (pages - free) * size
    # SQLite builds the new file among the temporary ones, then copies it through its log.
    for folder, needed in ((database.path.parent, 2 * used), (_temporary_folder(), used)):
        left = shutil.disk_usage(folder).free
        if left < needed:
            raise StoreError(
                f"rewriting the store needs {needed / 1e6:,.0f} MB, and {folder} has {left / 1e6:,.0f} MB left",
                hint="Free some space and try again; the store is well, only larger than it need be.",
            )
    database.vacuum()
    database.checkpoint()
    return True


def _temporary_folder() -> Path:
    """Where SQLite puts temporary files."""
    named = (os.environ.get(name) for name in ("SQLITE_TMPDIR", "TMPDIR"))
    for folder in (*filter(None, named), "/var/tmp", "/usr/tmp", "/tmp"):
        if os.access(folder, os.W_OK | os.X_OK):
            return Path(folder)
    return Path()
