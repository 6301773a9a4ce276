"""One connection to a PostgreSQL server, with the calls that the parts of a store make.

Parts that both stores share write SQL with SQLite's question marks; ``_native`` turns them into PostgreSQL's own. A
read begins with its first statement, in the same trip over the network. In a transaction that writes, statements are
sent one after the other (a pipeline), and only those that answer with rows are waited for. So the error of a statement
is raised by the next one that answers, or by the commit. Plain inserts are held back until another statement follows,
so that many rows go in at once.
"""

from __future__ import annotations

import functools
import re
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.types.json import Jsonb

from ricordo.errors import StoreError
from ricordo.store.postgres import schema
from ricordo.store.sqlite.connection import Row, WordIndex

if TYPE_CHECKING:
    from ricordo.store.postgres.database import Database

COPY_FROM = 400
_BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_ANSWERS = re.compile(r"SELECT\b|WITH\b|.*\bRETURNING\b", re.DOTALL)
_PLAIN_INSERT = re.compile(r"INSERT INTO (\w+)\(([\w, ]+)\) VALUES\([?,]+\)")
MOST_RESERVED = 500
_MARK = re.compile(r"'(?:[^']|'')*'|\?(\d*)|ON CONFLICT\((\w+)\)| INDEXED BY \w+")


@functools.lru_cache(1024)
def _native(sql: str) -> str:
    """A statement with numbered placeholders; keys named in it begin with the workspace."""
    count = 0

    def put(found: re.Match[str]) -> str:
        nonlocal count
        text = found.group()
        if text.startswith("?"):
            count += 1
            return f"${found.group(1) or count}"
        if text.startswith("ON"):
            return f"ON CONFLICT(workspace, {found.group(2)})"
        return "" if text.startswith(" INDEXED") else text

    return _MARK.sub(put, sql)


class Connection:
    """One connection, with the calls that the shared parts make."""

    def __init__(self, database: Database, raw: psycopg.Connection[Row], *, writing: bool) -> None:
        self.database = database
        self.raw = raw
        self.writing = writing
        self.begun = writing
        self.touched: set[int] = set()
        self.words: WordIndex = database.words
        self.vectors_at_hand: tuple[str, dict[int, Any]] | None = None
        """The vectors of all candidates of the last search, if its answer brought them, and their fingerprint."""
        self._last: psycopg.Cursor[Row] | None = None
        self._held: dict[str, list[Sequence[Any]]] = {}
        self._open = ExitStack()
        self._pipeline = self._open.enter_context(raw.pipeline()) if writing else None
        self._item_numbers: deque[int] = deque()
        self._items_made = 0
        self._next_chunk, self._last_chunk = 1, 0
        self._streams = 0

    def rows(self, sql: str, values: Sequence[Any] | None = None, *, binary: bool = False) -> list[Row]:
        """Run a statement and read all it answers; ``binary`` halves the size of bytes on their way."""
        if self._pipeline is not None and _PLAIN_INSERT.fullmatch(sql):
            self._held.setdefault(sql, []).append(values or ())
            return []
        sent = _native(sql)
        bound = [_bound(value) for value in values] if values else None
        self._last = cursor = self._execute(sent, bound, binary=binary)
        if self._pipeline is not None:
            if not _ANSWERS.match(sent):
                return []
            self._wait()
        return [_read(row) for row in cursor.fetchall()] if cursor.description is not None else []

    def _send_held(self) -> None:
        """Send the inserts that were held back: first the items, to which the other rows belong."""
        held, self._held = self._held, {}
        for sql, rows in sorted(held.items(), key=lambda pair: not pair[0].startswith("INSERT INTO items(")):
            found = _PLAIN_INSERT.fullmatch(sql)
            assert found is not None, "only such statements are held back"
            if len(rows) < COPY_FROM:
                self._last = self.raw.cursor()
                self._last.executemany(_native(sql), [[_bound(value) for value in row] for row in rows])
            else:
                self.insert_rows(found.group(1), found.group(2).split(", "), rows)

    def _wait(self) -> None:
        """Wait for the results of everything that was sent."""
        if self._pipeline is not None:
            self.database.trips += 1
            self._pipeline.sync()

    def send(self, sql: str, values: Sequence[Any] | None = None) -> psycopg.Cursor[Row]:
        """Run a statement whose answer nobody reads."""
        self._send_held()
        return self.raw.execute(sql, values)

    def commit(self) -> None:
        """Commit, and wait until the server has done so."""
        done = self.send("COMMIT")
        self.end_pipeline()
        if done.statusmessage != "COMMIT":
            raise StoreError("a transaction was not committed", hint="Nothing of it was saved; try again.")

    def end_pipeline(self) -> None:
        """Wait for everything that was sent, and from now on for each statement."""
        if self._pipeline is not None:
            self.database.trips += 1
            self._pipeline = None
            self._open.close()

    def together(self, asked: Sequence[tuple[str, Sequence[Any]]]) -> list[list[Row]]:
        """Run statements that do not depend on each other in one trip over the network."""
        if not self.begun:
            answers: list[list[Row]] = self._first_of(lambda: self._piped([(_BEGIN_READ, ()), *asked])[1:])
            return answers
        return self._piped(asked)

    def _piped(self, asked: Sequence[tuple[str, Sequence[Any]]]) -> list[list[Row]]:
        self.database.trips += 1
        self._send_held()
        with self.raw.pipeline():
            cursors = [
                self.raw.execute(_native(sql), [_bound(value) for value in values] or None) for sql, values in asked
            ]
        self.begun = True
        return [
            [_read(row) for row in cursor.fetchall()] if cursor.description is not None else [] for cursor in cursors
        ]

    def _execute(self, sql: str, values: Sequence[Any] | None, *, binary: bool = False) -> psycopg.Cursor[Row]:
        if not self.begun:
            cursor: psycopg.Cursor[Row] = self._first_of(lambda: self._begin_with(sql, values, binary=binary))
            return cursor
        if self._pipeline is None:
            self.database.trips += 1
        self._send_held()
        return self.raw.execute(sql, values, binary=binary)

    def _begin_with(self, sql: str, values: Sequence[Any] | None, *, binary: bool) -> psycopg.Cursor[Row]:
        self.database.trips += 1
        with self.raw.pipeline():
            self.raw.execute(_BEGIN_READ)
            cursor = self.raw.execute(sql, values, binary=binary)
        self.begun = True
        return cursor

    def _first_of(self, ask: Any) -> Any:
        """Begin a read; a connection that broke while it lay in the pool is replaced, once."""
        try:
            return ask()
        except psycopg.OperationalError:
            if not self.raw.broken:
                raise
            self.raw = self.database.exchange(self.raw)
            return ask()

    def stream(self, sql: str, values: Sequence[Any] | None = None) -> Iterator[Row]:
        """Run a query and read its rows as they are asked for."""
        if not self.begun:
            self.rows("SELECT 1")
        self._send_held()
        self.end_pipeline()  # in which there are no cursors on the server
        self._streams += 1
        with psycopg.RawServerCursor(self.raw, f"rows_{id(sql)}_{threading.get_ident()}_{self._streams}") as cursor:
            cursor.itersize = 500
            cursor.execute(_native(sql), [_bound(value) for value in values] if values else None)
            for row in cursor:
                yield _read(row)

    def run_many(self, sql: str, values: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each set of values, without waiting in between."""
        if self._pipeline is not None and _PLAIN_INSERT.fullmatch(sql):
            self._held.setdefault(sql, []).extend(values)
            return
        rows = [[_bound(value) for value in row] for row in values]
        if not rows:
            return
        if self._pipeline is None:
            self.database.trips += 1
        self._send_held()
        self._last = self.raw.cursor()
        self._last.executemany(_native(sql), rows)

    def changes(self) -> int:
        """How many rows the last statement wrote."""
        self._send_held()
        self._wait()
        return max(self._last.rowcount, 0) if self._last is not None else 0

    def meta(self, name: str) -> Any:
        """A value that concerns the whole store; None when it was never set."""
        found = self.rows("SELECT value FROM meta WHERE name=?", (name,))
        return found[0][0] if found else None

    def set_meta(self, name: str, value: Any, *, replace: bool = True) -> bool:
        """Keep a value for the whole store; without ``replace`` only where there is none. Whether it was written."""
        how = "UPDATE SET value = excluded.value" if replace else "NOTHING"
        self.rows(f"INSERT INTO meta(name, value) VALUES(?, ?) ON CONFLICT(name) DO {how}", (name, Jsonb(value)))
        return bool(self.changes())

    def add_to_meta(self, name: str, amount: int) -> None:
        """Count a value of the whole store up."""
        self.rows("UPDATE meta SET value = to_jsonb(value::bigint + ?) WHERE name=?", (amount, name))

    def next_chunks(self, count: int) -> int:
        """The first of so many chunk ids that were never given out; they are reserved."""
        if not count:
            return int(self.meta("last_chunk")) + 1
        if self._next_chunk + count > self._last_chunk + 1:
            # A transaction that asks again will ask often, so that it gets many at once.
            reserved = max(count, MOST_RESERVED if self._last_chunk else 0)
            [(last,)] = self.rows(
                "UPDATE meta SET value = to_jsonb(value::bigint + ?) WHERE name='last_chunk' RETURNING value",
                (reserved,),
            )
            self._next_chunk, self._last_chunk = int(last) - reserved + 1, int(last)
        self._next_chunk += count
        return self._next_chunk - count

    def insert_item(self, columns: Sequence[str], values: Sequence[Any]) -> int:
        """Write the row of a new item; returns its number."""
        if not self._item_numbers:
            reserved = min(1 + 7 * self._items_made, MOST_RESERVED)
            self._item_numbers.extend(
                number
                for (number,) in self.rows(
                    "SELECT nextval(pg_get_serial_sequence('items', 'n')) FROM generate_series(1, ?::int)", (reserved,)
                )
            )
        self._items_made += 1
        n = self._item_numbers.popleft()
        marks = ",".join("?" * (len(values) + 1))
        self.rows(f"INSERT INTO items(n, {', '.join(columns)}) VALUES({marks})", (n, *values))
        return n

    def ignoring_case(self, column: str) -> str:
        """The condition that a column is a given text, in capital letters or small."""
        return f"lower({column})=lower(?)"

    def day(self, column: str) -> str:
        """The local day of a stored time."""
        return f"to_char(to_timestamp({column} / 1000000), 'YYYY-MM-DD')"

    def insert_rows(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Write rows at once, few as arrays, many with COPY.

        COPY cannot write to a table with row-level security, so that it goes by way of a temporary one.
        """
        names = ", ".join(columns)
        types = schema.column_types(table)
        if len(rows) < COPY_FROM:
            # An array of arrays would have to be a table of equal rows, so arrays travel as texts.
            arrays = ", ".join(f"?::{'text' if types[name].endswith('[]') else types[name]}[]" for name in columns)
            read = ", ".join(f"{name}::{types[name]}" for name in columns)
            values = [[_bound(value) for value in column] for column in zip(*rows, strict=True)]
            self.rows(f"INSERT INTO {table}({names}) SELECT {read} FROM unnest({arrays}) t({names})", values)
            return
        with self._copying(table):
            with self.raw.cursor() as cursor, cursor.copy(f"COPY new_{table}({names}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row([_bound(value) for value in row])
            self.rows(f"INSERT INTO {table}({names}) SELECT {names} FROM new_{table}")

    def copy_bytes(self, table: str, columns: Sequence[str], rows: Iterable[bytes]) -> None:
        """Put rows, as the bytes of a binary COPY, into the temporary table ``new_...``."""
        with self._copying(table):
            statement = f"COPY new_{table}({', '.join(columns)}) FROM STDIN (FORMAT BINARY)"
            with self.raw.cursor() as cursor, cursor.copy(statement) as copy:
                copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
                for row in rows:
                    copy.write(row)
                copy.write(b"\xff\xff")

    @contextmanager
    def _copying(self, table: str) -> Iterator[None]:
        """Make an empty temporary table of the same columns; there is no COPY in a pipeline, so that one waits."""
        self._send_held()
        self.end_pipeline()
        kinds = ", ".join(f"{name} {kind}" for name, kind in schema.column_types(table).items())
        self.rows(f"CREATE TEMPORARY TABLE IF NOT EXISTS new_{table}({kinds}) ON COMMIT DELETE ROWS")
        self.rows(f"TRUNCATE new_{table}")
        yield
        self._open = ExitStack()
        self._pipeline = self._open.enter_context(self.raw.pipeline())


_ESCAPE = "\uf8f0"


def _bound(value: Any) -> Any:
    """A value as PostgreSQL takes it: its texts cannot hold the character 0, so that one is written otherwise."""
    if isinstance(value, str) and ("\0" in value or _ESCAPE in value):
        return value.replace(_ESCAPE, _ESCAPE + "1").replace("\0", _ESCAPE + "0")
    return value


def _read(row: Row) -> Row:
    for value in row:
        if isinstance(value, str) and _ESCAPE in value:
            return tuple(unescaped(one) if isinstance(one, str) else one for one in row)
    return row


def unescaped(text: str) -> str:
    """A text as it was before it was written."""
    return text.replace(_ESCAPE + "0", "\0").replace(_ESCAPE + "1", _ESCAPE)
