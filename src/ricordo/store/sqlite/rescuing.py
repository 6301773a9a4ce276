"""Copies all rows that can still be read of a damaged file into a new store, so that they can be exported from there.

A table that SQLite reads to its end is copied as it is. The rows of the others, whose tree or schema is damaged, are
taken from their pages one by one, and recognised by the number and types of their values: no two tables have the same.
Nothing that was deleted comes back that way, because deleted rows are overwritten.
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import groupby
from mmap import ACCESS_READ, mmap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import apsw

from ricordo.errors import CorruptStore
from ricordo.exchange.records import Record
from ricordo.store.sql.batches import marks
from ricordo.store.sql.heads import new_id
from ricordo.store.sql.machines import HOME_MACHINE
from ricordo.store.sql.protocols import UNREADABLE, Row
from ricordo.store.sqlite import salvaging
from ricordo.store.sqlite.backing_up import copy_pages
from ricordo.store.sqlite.connection import APPLICATION_ID, Connection, Database
from ricordo.store.sqlite.raw_rows import HEADER, MAGIC, RawPages, RawRow, page_size
from ricordo.store.sqlite.schema import SCHEMA_VERSION, migrate

_TABLES = (
    "items", "versions", "chunks", "blobs", "links", "usage", "feedback", "weight_log", "query_log", "retrieval_log",
    "roots", "audit", "meta", "secrets", "learned",
)  # fmt: skip
"""What an export holds. The rest is made again from it."""
_IN_META = {"language", HOME_MACHINE}
"""Names by which the table of what concerns the whole store is known."""
_TYPES: Mapping[str, tuple[type, ...]] = {
    "INTEGER": (int,), "TEXT": (str,), "BLOB": (bytes,), "REAL": (float, int), "ANY": (int, str, bytes, float),
}  # fmt: skip


class ColumnShape(NamedTuple):
    """A column of a table: what it may hold, and whether a row of an earlier version may lack it."""

    name: str
    types: tuple[type, ...]
    may_be_empty: bool
    may_be_missing: bool
    is_number: bool
    """Whether it is the row's number, which stands beside the values."""


def is_sound(connection: Connection) -> bool:
    """Whether the pages of an open store and its indexes are in order."""
    try:
        return connection.rows("PRAGMA integrity_check(1)") == [("ok",)]
    except apsw.Error:
        return False


def salvage_open(source: Connection, language: str, left_out: list[str], *, log: bool) -> Iterator[Record]:
    """The records of a damaged store that could be opened."""
    with TemporaryDirectory(prefix="ricordo-") as folder:
        flat = Path(folder) / "pages.db"
        flat.touch(0o600)
        copy_pages(source, flat)
        yield from _records(flat, language, left_out, log=log)


def salvage_file(path: Path, language: str, left_out: list[str], *, log: bool) -> Iterator[Record]:
    """The records of a file that cannot be opened as a store."""
    with TemporaryDirectory(prefix="ricordo-") as folder:
        flat = Path(folder) / "pages.db"
        for end in ("", "-wal"):
            if Path(f"{path}{end}").exists():
                shutil.copyfile(f"{path}{end}", f"{flat}{end}")
        _mend_header(flat)
        with suppress(apsw.Error), closing(apsw.Connection(str(flat))) as connection:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        yield from _records(flat, language, left_out, log=log)


def _mend_header(flat: Path) -> None:
    """Write a new header where the old one is damaged: SQLite reads in it how large the pages are, and little else."""
    with flat.open("r+b") as file:
        header = file.read(HEADER)
        if header[:16] == MAGIC and _opens(flat):
            return
        size = page_size(header)
        file.seek(0)
        file.write(MAGIC + struct.pack(">H6B", size % 65_536 or 1, 2, 2, 0, 64, 32, 32))
        # changes, pages, free pages (two), schema cookie and format, cache, vacuum, UTF-8, version, vacuum, program
        file.write(struct.pack(">12I", 1, 0, 0, 0, 1, 4, 0, 0, 1, SCHEMA_VERSION, 0, APPLICATION_ID).ljust(68, b"\0"))
        file.write(struct.pack(">II", 0, 3_045_000))  # of another change: then the size of the file counts


def _opens(flat: Path) -> bool:
    try:
        with closing(apsw.Connection(str(flat))) as connection:
            connection.execute("PRAGMA user_version").fetchall()
    except apsw.Error:
        return False
    return True


def _records(flat: Path, language: str, left_out: list[str], *, log: bool) -> Iterator[Record]:
    fresh = Database(flat.with_name("rescued.db"))
    with closing(fresh):
        migrate(fresh)
        writer = fresh.connection()
        writer.pragma("foreign_keys", 0)
        with _transaction(writer):
            _take_over(writer, flat, left_out)
        if not writer.rows("SELECT 1 FROM items LIMIT 1"):
            raise CorruptStore(
                "not a single item can be read from the file",
                hint="Restore a backup. Memories and notes may still be in the knowledge folder, as Markdown files.",
            )
        with fresh.read() as connection:
            known = str(connection.meta("language") or language)
            yield from salvaging.records(connection, known, left_out, log=log)


@contextmanager
def _transaction(connection: Connection) -> Iterator[None]:
    connection.run("BEGIN IMMEDIATE")
    yield
    connection.run("COMMIT")


def _take_over(writer: Connection, flat: Path, left_out: list[str]) -> None:
    """Copy what SQLite reads, then what stands on the pages of tables that it does not read to their end."""
    columns = {table: _columns(writer, table) for (table,) in writer.rows(_ALL_TABLES)}
    damaged = [table for table in _TABLES if not _copy_table(writer, flat, table, [one.name for one in columns[table]])]
    if damaged:
        _copy_pages(writer, flat, columns, damaged)
        left_out += [f"the table {table}: it is damaged; all that its pages still hold was taken" for table in damaged]
    _make_items_anew(writer, left_out)


_ALL_TABLES = "SELECT name FROM pragma_table_list WHERE schema='main' AND name NOT LIKE 'sqlite_%'"


def _columns(connection: Connection, table: str) -> list[ColumnShape]:
    rows = connection.rows(f"PRAGMA table_info({table})")
    keyed = [row for row in rows if row[5]]
    has_numbers = connection.rows(f"SELECT wr FROM pragma_table_list('{table}')") == [(0,)]
    number = keyed[0][1] if has_numbers and len(keyed) == 1 and keyed[0][2] == "INTEGER" else ""
    return [
        ColumnShape(name, _TYPES[kind], not needed, default is not None or not needed, name == number)
        for _, name, kind, needed, default, _ in rows
    ]


def _copy_table(writer: Connection, flat: Path, table: str, known: Sequence[str]) -> bool:
    """Copy the rows of a table as SQLite reads them; returns whether it read them all."""
    uri = f"{flat.as_uri()}?immutable=1"
    try:
        with closing(Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)) as source:
            there = [row[1] for row in source.rows(f"PRAGMA table_info({table})")]
            columns = [name for name in there if name in known]
            if not columns:
                return False
            for row in source.stream(f"SELECT {', '.join(columns)} FROM {table}"):
                _insert(writer, table, columns, row)
    except (apsw.Error, *UNREADABLE):
        return False
    return True


def _insert(writer: Connection, table: str, columns: Sequence[str], row: Row) -> None:
    """Write a row, unless it is there or makes no sense. What concerns the whole store replaces a new store's own."""
    doubled = "REPLACE" if table == "meta" else "IGNORE"
    with suppress(apsw.Error):
        writer.run(f"INSERT OR {doubled} INTO {table}({', '.join(columns)}) VALUES({marks(row)})", row)


def _copy_pages(
    writer: Connection, flat: Path, columns: Mapping[str, Sequence[ColumnShape]], damaged: Sequence[str]
) -> None:
    with flat.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        for rows in RawPages(data).rows():
            table = _table_of(rows, columns)
            if table not in damaged:
                continue
            for row in rows:
                values = tuple(
                    row.number if column.is_number else value
                    for column, value in zip(columns[table], row.values, strict=False)
                )
                _insert(writer, table, [one.name for one in columns[table][: len(values)]], values)


def _table_of(rows: Sequence[RawRow], columns: Mapping[str, Sequence[ColumnShape]]) -> str:
    """The table whose rows these are; empty if none is, or more than one may be."""
    if rows[0].number is None:
        return _keyed_table_of(rows)
    longest = max(len(row.values) for row in rows)
    found = {table: sum(_matches(row, shape) for row in rows) for table, shape in columns.items()}
    most = max(found.values())
    missing = {table: len(columns[table]) - longest for table, count in found.items() if count == most > 0}
    nearest = [table for table, count in missing.items() if count == min(missing.values())]
    return nearest[0] if len(nearest) == 1 else ""


def _keyed_table_of(rows: Sequence[RawRow]) -> str:
    """The same for tables without row numbers, whose pages look like those of indexes."""
    shapes = {tuple(type(value) for value in row.values) for row in rows}
    if shapes == {(int, str, int)}:
        return "secrets"
    names = {row.values[0] for row in rows if len(row.values) == 2}
    return "meta" if names & _IN_META else ""


def _matches(row: RawRow, shape: Sequence[ColumnShape]) -> bool:
    if len(row.values) > len(shape) or not all(column.may_be_missing for column in shape[len(row.values) :]):
        return False
    return all(
        value is None
        if column.is_number
        else isinstance(value, column.types) or (value is None and column.may_be_empty)
        for column, value in zip(shape, row.values, strict=False)
    )


def _make_items_anew(writer: Connection, left_out: list[str]) -> None:
    """Make the rows of items that lost theirs, from their versions: only id, use and state of the item are gone."""
    orphans = writer.rows(
        "SELECT item, number, hash, text_hash, drive, path, kind, state, fields, size, created_at, provenance"
        " FROM versions WHERE item NOT IN (SELECT n FROM items) ORDER BY item, number"
    )
    for n, versions in groupby(orphans, key=lambda row: row[0]):
        every = list(versions)
        _, number, digest, text, drive, path, kind, state, fields, size, at, provenance = every[-1]
        row = (
            n,
            new_id(),
            drive,
            path,
            kind,
            state,
            number,
            digest,
            text,
            "",
            "",
            "{}",
            fields,
            size,
            every[0][10],
            at,
            provenance,
        )
        _insert(writer, "items", _ITEM_COLUMNS, row)
        is_made = writer.rows("SELECT 1 FROM items WHERE n=?", (n,))
        what = "its row was lost, and was made anew from its versions" if is_made else "its row was lost"
        left_out.append(f"{drive}:{path}: {what}")


_ITEM_COLUMNS = (
    "n", "id", "drive", "path", "kind", "state", "version", "hash", "text_hash", "title", "description", "metadata",
    "fields", "size", "created_at", "updated_at", "provenance",
)  # fmt: skip
