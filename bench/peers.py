"""The engines we measure against, set up to be as fast as they can be: FTS5 and sqlite-vec inside SQLite."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import numpy.typing as npt

from ricordo.store.values import Scoring
from ricordo.text.words import Analyzer
from timing import timed

BATCH = 1_000


_WORD = re.compile(r"[^\W_]+")


def query_words(question: str, analyzer: Analyzer) -> list[str]:
    """Plain letters and digits without stop words: nothing that one side would treat as a phrase."""
    words = dict.fromkeys(word.lower() for word in _WORD.findall(question))
    kept = [word for word in words if not analyzer.is_stop_word(word)]
    return kept or list(words)


def open_peer(file: Path) -> apsw.Connection:
    """A connection whose page cache holds the whole file."""
    connection = apsw.Connection(str(file))
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "NORMAL")
    connection.pragma("cache_size", -4_000_000)
    connection.pragma("mmap_size", 1 << 34)
    return connection


def fill_fts5(connection: apsw.Connection, store: Path) -> float:
    """Copy a store's chunks into an FTS5 table with the same six columns; answers the seconds it took."""
    weights = ", ".join(map(str, Scoring().weights))
    connection.execute(
        "CREATE VIRTUAL TABLE passages USING fts5(title, path, description, tags, context, body,"
        " tokenize='porter unicode61')"
    )
    connection.execute("INSERT INTO passages(passages, rank) VALUES('rank', ?)", (f"bm25({weights})",))
    source = apsw.Connection(str(store), flags=apsw.SQLITE_OPEN_READONLY)
    rows = source.execute(
        "SELECT chunks.id, items.title, items.path, items.description,"
        " coalesce((SELECT group_concat(tag, ' ') FROM item_tags WHERE item_tags.item = items.n), ''),"
        " chunks.heading, chunks.text"
        " FROM chunks JOIN items ON items.n = chunks.item WHERE chunks.state = 0 ORDER BY chunks.id"
    )
    columns = "rowid, title, path, description, tags, context, body"
    seconds = _insert(connection, f"INSERT INTO passages({columns}) VALUES(?,?,?,?,?,?,?)", rows)
    connection.execute("INSERT INTO passages(passages) VALUES('optimize')")
    source.close()
    return seconds


def ask_fts5(connection: apsw.Connection, results: int) -> Callable[[Sequence[str]], list[int]]:
    """A search for any of some words: ids of the best chunks."""

    def ask(words: Sequence[str]) -> list[int]:
        found = connection.execute(
            "SELECT rowid, rank FROM passages WHERE passages MATCH ? ORDER BY rank LIMIT ?",
            (" OR ".join(f'"{word}"' for word in words), results),
        ).fetchall()
        return [row[0] for row in found]

    return ask


def fill_sqlite_vec(connection: apsw.Connection, ids: Sequence[int], vectors: npt.NDArray[np.float32]) -> float:
    """Put vectors into a sqlite-vec table of float32; answers the seconds it took."""
    load_sqlite_vec(connection)
    kind = f"embedding float[{vectors.shape[1]}] distance_metric=cosine"
    connection.execute(f"CREATE VIRTUAL TABLE meanings USING vec0({kind})")
    rows = ((number, vector.tobytes()) for number, vector in zip(ids, vectors, strict=True))
    return _insert(connection, "INSERT INTO meanings(rowid, embedding) VALUES(?,?)", rows)


def load_sqlite_vec(connection: apsw.Connection) -> None:
    """Make sqlite-vec's tables known to a connection."""
    try:
        import sqlite_vec
    except ImportError:
        raise SystemExit("this benchmark needs sqlite-vec: pip install 'ricordo[bench]'") from None
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())


def ask_sqlite_vec(connection: apsw.Connection, results: int) -> Callable[[npt.NDArray[np.float32]], list[int]]:
    """A search for the nearest vectors: their ids."""

    def ask(query: npt.NDArray[np.float32]) -> list[int]:
        found = connection.execute(
            "SELECT rowid FROM meanings WHERE embedding MATCH ? AND k = ? ORDER BY distance",
            (query.tobytes(), results),
        ).fetchall()
        return [row[0] for row in found]

    return ask


def _insert(connection: apsw.Connection, statement: str, rows: Iterable[tuple[Any, ...]]) -> float:
    """Insert in transactions of a thousand; the seconds that inserting alone took."""

    def write(batch: Sequence[tuple[Any, ...]]) -> None:
        with connection:
            connection.executemany(statement, batch)

    rows = iter(rows)
    seconds = 0.0
    while batch := list(islice(rows, BATCH)):
        seconds += timed(lambda batch=batch: write(batch)) / 1000  # type: ignore[misc]
    return seconds
