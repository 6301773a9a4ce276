"""Giving space back: what no version needs any more goes, the keyword index is put together, the file is rewritten.

Every step but the last is made of short transactions. The last one, SQLite's VACUUM, lets others read but not write, so
it is done only when there is something to gain.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np

from ricordo.errors import StoreError
from ricordo.store.index import segments
from ricordo.store.index.entries import Entries
from ricordo.store.sql.new_chunks import DELETED
from ricordo.store.sqlite.connection import Connection, Database
from ricordo.store.sqlite.vectors import bump_vectors, compact, read_block, write_block

BATCH = 5_000
WORTHWHILE = 0.05
"""The share of free pages from which on the file is rewritten."""

_UNUSED = "NOT EXISTS (SELECT 1 FROM chunks c WHERE c.embed_hash = vectors.hash)"


def size_on_disk(path: Path) -> int:
    """What a store takes, its log included."""
    files = (Path(f"{path}{tail}") for tail in ("", "-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def drop_unused_vectors(database: Database) -> int:
    """Drop vectors of texts that no version holds, from the blocks, then from the rows; returns their number."""
    with database.read() as connection:
        unused = [row[0] for row in connection.rows(f"SELECT id FROM vectors WHERE {_UNUSED}")]
        blocks = connection.rows("SELECT id, fingerprint FROM vector_blocks")
    for block, fingerprint in blocks:
        with database.write() as connection:
            _shed(connection, block, fingerprint)
    for fingerprint in {fingerprint for _, fingerprint in blocks}:
        with database.write() as connection:
            compact(connection, fingerprint)
    dropped = 0
    for at in range(0, len(unused), BATCH):
        with database.write() as connection:
            before = connection.total_changes()
            # A text may have come back since the list was made.
            connection.run_many(
                f"DELETE FROM vectors WHERE id=? AND {_UNUSED}", [(vector,) for vector in unused[at : at + BATCH]]
            )
            dropped += connection.total_changes() - before
    return dropped


def _shed(connection: Connection, block: int, fingerprint: int) -> None:
    """Rewrite a block without the chunks that are gone for good."""
    if not connection.rows("SELECT 1 FROM vector_blocks WHERE id=?", (block,)):
        return  # another process put it together with others
    entries = read_block(connection, block)
    low, high = (int(entries.chunks.min()), int(entries.chunks.max())) if len(entries.chunks) else (0, -1)
    rows = connection.rows("SELECT id FROM chunks WHERE state < 2 AND id BETWEEN ? AND ?", (low, high))
    kept = np.isin(entries.chunks, np.fromiter((row[0] for row in rows), np.int64, len(rows)))
    if kept.all() and len(kept):
        return
    connection.run("DELETE FROM vector_blocks WHERE id=?", (block,))
    bump_vectors(connection)
    if kept.any():
        left = Entries(entries.chunks[kept], entries.items[kept], entries.vectors[kept], entries.sketches[:, kept])
        write_block(connection, fingerprint, left)


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
