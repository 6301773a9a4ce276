"""One connection to a PostgreSQL server, with the calls that the shared statements make.

A read begins with its first statement, in the same trip over the network. In a transaction that writes, statements are
sent one after the other (a pipeline), and only those that answer with rows are waited for. So the error of a statement
is raised by the next one that answers, or by the commit. New rows are held back until another statement follows, so
that many go in at once.
"""

from __future__ import annotations

import functools
import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, Protocol, TypeVar

import psycopg
from psycopg.types.json import Jsonb

from ricordo.errors import StoreError
from ricordo.plugins.postgres.schema import column_types
from ricordo.store.sql.database import UNREADABLE, Dialect, Row, Values, marks
from ricordo.store.tables import TABLES

T = TypeVar("T")
Asked = tuple[str, Values]
"""A statement, and what is bound in it."""
_Key = tuple[str, tuple[object, ...]]
COPY_FROM = 400
"""From this many rows on, COPY is faster than statements that insert."""
MOST_RESERVED = 500
"""At most this many numbers of items or chunks are reserved at once."""
REPLACED = 5
"""So many broken connections are replaced in a row: a server that stops ends them one after the other, so that the
next one of the pool may break too.
"""
_BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


@functools.lru_cache(1024)
def _numbered(sql: str) -> str:
    """A statement with PostgreSQL's placeholders, $1 and so on, in place of its question marks."""
    first, *others = sql.split("?")
    return first + "".join(f"${number}{text}" for number, text in enumerate(others, start=1))


def _key(sql: str, values: Values | None) -> _Key:
    return sql, tuple(tuple(value) if isinstance(value, list) else value for value in values or ())


def _read_all(cursor: psycopg.Cursor[Row]) -> list[Row]:
    return cursor.fetchall() if cursor.description is not None else []


class _Unread(BaseException):  # not an error: nobody but ``gather`` may catch it
    """A call of ``gather`` asks for rows that are not here yet."""

    def __init__(self, asked: dict[_Key, Asked]) -> None:
        self.asked = asked


class Pooled(psycopg.Connection[Row]):
    """A connection to a server. When it comes back, the pool ends what is still open, by a rollback.

    Of a read, that is made a commit: after a rollback psycopg forgets the statements that the server keeps parsed and
    planned, and each search would have all of its statements planned again.
    """

    only_read = False
    """Whether the connection is lent for reading: whoever takes it says so."""

    def rollback(self) -> None:
        """End a transaction; one that only read, by a commit."""
        if self.only_read:
            self.commit()
        else:
            super().rollback()


class PostgresDialect:
    """What PostgreSQL says in its own way."""

    def ignoring_case(self, column: str) -> str:
        """The condition that a column is a given text, in capital letters or small."""
        return f"lower({column})=lower(?)"

    def day(self, column: str) -> str:
        """The local day of a stored time."""
        return f"to_char(to_timestamp({column} / 1000000), 'YYYY-MM-DD')"

    def json_is(self, column: str, place: str, value: object) -> tuple[str, list[object]]:
        """The condition that a place in a column of JSON holds a plain value, and what is bound in it."""
        written = json.dumps(value).replace("\\u0000", "")  # which PostgreSQL cannot hold; ``json_extract`` omits it
        return f"json_extract({column}, ?) = ?::jsonb", [place, written]

    def may_hold(self, column: str, folded: str) -> tuple[str, list[object]]:
        """The condition that a text holds another in whatever case."""
        return f"strpos(folded({column}), ?) > 0", [folded]

    def unclaimed(self) -> str:
        """What is put behind a query to pass over rows that another transaction is about to change."""
        return " FOR UPDATE SKIP LOCKED"


class Lender(Protocol):
    """What lends connections: the pool of a database."""

    settings: str
    """The statement after BEGIN that settles, for the transaction alone, what would otherwise be the session's."""

    def count_trip(self) -> None:
        """Count one more trip of this thread over the network."""
        ...

    def exchange(self, raw: Pooled) -> Pooled:
        """Give a broken connection back and take another."""
        ...


class Connection:
    """One connection, with the calls that the shared statements make."""

    dialect: Dialect = PostgresDialect()
    unreadable = UNREADABLE
    foreign = False
    """A store on a server never comes with a project."""

    def __init__(self, lender: Lender, raw: Pooled, *, writing: bool) -> None:
        self._lender = lender
        self.raw = raw
        raw.only_read = not writing  # also after a read that asked for nothing, and so left it as it was
        self.writing = writing
        self.begun = writing
        self.touched: set[int] = set()
        self.granted: set[int] = set()
        self.step = ""
        self.remembered: dict[_Key, list[Row]] = {}
        """In a read: the answers of ``once`` and ``gather``, which cannot change."""
        self._gathering = False
        self._last: psycopg.Cursor[Row] | None = None
        self._held: dict[tuple[str, Sequence[str]], list[Values]] = {}
        """New rows that were not sent yet, by table and columns."""
        self._open = ExitStack()
        self._pipeline = self._open.enter_context(raw.pipeline()) if writing else None
        self._item_numbers: deque[int] = deque()
        self._items_made = 0
        self._next_chunk, self._last_chunk = 1, 0
        self._streams = 0

    def rows(self, sql: str, values: Values | None = None) -> list[Row]:
        """Run a statement and read all its rows."""
        if not self.writing and (self.remembered or self._gathering):
            key = _key(sql, values)
            if key in self.remembered:
                return self.remembered[key]
            if self._gathering:
                raise _Unread({key: (sql, values or ())})
        cursor = self._execute(sql, values)
        self._wait()
        return _read_all(cursor)

    def once(self, sql: str, *values: object) -> list[Row]:
        """The rows of a query that is asked many times; within a read they cannot change, so they are read once."""
        if self.writing:
            return self.rows(sql, values)
        [found] = self.gather(lambda: self.rows(sql, values))
        rows: list[Row] = found
        return rows

    def rows_in(self, sql: str, values: Sequence[object], *before: object) -> list[Row]:
        """The rows of a query with ``IN (*)`` at its end, where the star stands for any number of values."""
        return self.rows(sql.replace("IN (*)", "= ANY(?)"), (*before, list(values))) if values else []

    def gather(self, *calls: Callable[[], Any]) -> list[Any]:
        """What some calls answer that only read. Each is made until it asks for rows that are not here; what all of
        them ask for travels together, and then they are made again.
        """
        if self.writing:
            return [call() for call in calls]
        outer = self._gathering
        while True:
            asked: dict[_Key, Asked] = {}
            found = []
            self._gathering = True
            try:
                for call in calls:
                    try:
                        found.append(call())
                    except _Unread as unread:
                        asked |= unread.asked
            finally:
                self._gathering = outer
            if not asked:
                return found
            if outer:
                raise _Unread(asked)
            self.remembered |= zip(asked, self.together(list(asked.values())), strict=True)

    def prefetch(self, *calls: Callable[[], Any]) -> None:
        """Let what some calls will read travel together."""
        self.gather(*calls)

    def run(self, sql: str, values: Values | None = None) -> None:
        """Run a statement that answers nothing; in a transaction that writes, it is not waited for."""
        self._execute(sql, values)

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Values]) -> None:
        """Write new rows, with the next statement."""
        self._held.setdefault((table, columns), []).extend(rows)

    def _send_held(self) -> None:
        """Send the rows that were held back: first the items, to which the other rows belong."""
        held, self._held = self._held, {}
        for (table, columns), rows in sorted(held.items(), key=lambda pair: pair[0][0] != "items"):
            names = ", ".join(columns)
            if not rows:
                continue
            if len(rows) >= COPY_FROM:
                self._copy_rows(table, columns, rows)
            elif table == "postings":  # many short rows: as arrays they are one statement
                types = column_types(TABLES[table])
                arrays = ", ".join(f"?::{types[name]}[]" for name in columns)
                self.run(
                    f"INSERT INTO {table}({names}) SELECT * FROM unnest({arrays})",
                    [list(column) for column in zip(*rows, strict=True)],
                )
            else:
                self.run_many(f"INSERT INTO {table}({names}) VALUES({marks(columns)})", rows)

    def _wait(self) -> None:
        """Wait for the results of everything that was sent."""
        if self._pipeline is not None:
            self._lender.count_trip()
            self._pipeline.sync()

    def commit(self) -> None:
        """Commit, and wait until the server has done so."""
        done = self._execute("COMMIT")
        self.end_pipeline()
        if done.statusmessage != "COMMIT":
            raise StoreError("a transaction was not committed", hint="Nothing of it was saved; try again.")

    def end_pipeline(self) -> None:
        """Wait for everything that was sent, and from now on for each statement."""
        if self._pipeline is not None:
            self._lender.count_trip()
            self._pipeline = None
            self._open.close()

    def together(self, asked: Sequence[Asked]) -> list[list[Row]]:
        """Run statements that do not depend on each other in one trip."""
        if not self.begun:
            return self._first_of(lambda: self._piped([(_BEGIN_READ, ()), (self._lender.settings, ()), *asked])[2:])
        return self._piped(asked)

    def _piped(self, asked: Sequence[Asked]) -> list[list[Row]]:
        self._lender.count_trip()
        self._send_held()
        with self.raw.pipeline():
            cursors = [self.raw.execute(_numbered(sql), values or None, binary=True) for sql, values in asked]
        self.begun = True
        return [_read_all(cursor) for cursor in cursors]

    def _execute(self, sql: str, values: Values | None = None) -> psycopg.Cursor[Row]:
        sent, bound = _numbered(sql), values or None
        if not self.begun:
            return self._first_of(lambda: self._begin_with(sent, bound))
        self._send_held()
        if self._pipeline is None:
            self._lender.count_trip()
        self._last = self.raw.execute(sent, bound, binary=True)
        return self._last

    def _begin_with(self, sent: str, bound: Values | None) -> psycopg.Cursor[Row]:
        self._lender.count_trip()
        with self.raw.pipeline():
            self.raw.execute(_BEGIN_READ)
            self.raw.execute(self._lender.settings)
            cursor = self.raw.execute(sent, bound, binary=True)
        self.begun = True
        return cursor

    def _first_of(self, ask: Callable[[], T]) -> T:
        """Begin a read; a connection that broke while it lay in the pool is replaced."""
        for _ in range(REPLACED):
            try:
                return ask()
            except psycopg.OperationalError:
                if not self.raw.broken:
                    raise
                self.raw = self._lender.exchange(self.raw)
                self.raw.only_read = True
        return ask()

    def stream(self, sql: str, values: Values | None = None) -> Iterator[Row]:
        """Run a query and read its rows as they are asked for."""
        if not self.begun:
            self.run("SELECT 1")
        self._send_held()
        self.end_pipeline()  # in which there are no cursors on the server
        self._streams += 1
        with psycopg.RawServerCursor(self.raw, f"rows_{id(sql)}_{threading.get_ident()}_{self._streams}") as cursor:
            cursor.itersize = 500
            cursor.execute(_numbered(sql), values or None, binary=True)
            yield from cursor

    def run_many(self, sql: str, values: Iterable[Values]) -> None:
        """Run a statement once for each set of values, without waiting in between."""
        rows = list(values)
        if not rows:
            return
        self._send_held()
        if self._pipeline is None:
            self._lender.count_trip()
        self._last = self.raw.cursor()
        self._last.executemany(_numbered(sql), rows)

    def changes(self) -> int:
        """How many rows the last statement wrote."""
        self._send_held()
        self._wait()
        return max(self._last.rowcount, 0) if self._last is not None else 0

    def meta(self, name: str) -> str | int | None:
        """A value that concerns the whole store; None when it was never set."""
        found = self.rows("SELECT value FROM meta WHERE name=?", (name,))
        return found[0][0] if found else None

    def set_meta(self, name: str, value: str | int, *, replace: bool = True) -> bool:
        """Keep a value for the whole store, without ``replace`` only a first one; returns whether it was written."""
        how = "(name) DO UPDATE SET value = excluded.value" if replace else "DO NOTHING"
        self.run(f"INSERT INTO meta(name, value) VALUES(?, ?) ON CONFLICT {how}", (name, Jsonb(value)))
        return bool(self.changes())

    def add_to_meta(self, name: str, amount: int) -> None:
        """Add to a number that concerns the whole store."""
        self.run("UPDATE meta SET value = to_jsonb(value::bigint + ?) WHERE name=?", (amount, name))

    def reserve_chunks(self, count: int) -> int:
        """The first of ``count`` chunk ids that were never used, so that a new chunk inherits nothing."""
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

    def has_used_chunks(self) -> bool:
        """Whether any chunk was ever written."""
        return self.meta("last_chunk") != 0

    def last_item_number(self) -> int:
        """The highest number that an item has; 0 if there is none."""
        return int(self.rows("SELECT coalesce(max(n), 0) FROM items")[0][0])

    def insert_item(self, columns: Sequence[str], values: Values) -> int:
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
        self.insert("items", ("n", *columns), [(n, *values)])
        return n

    def _copy_rows(self, table: str, columns: Sequence[str], rows: Sequence[Values]) -> None:
        """Write many rows with COPY; there is none in a pipeline, so that one waits."""
        self.end_pipeline()
        with self.raw.cursor() as cursor, cursor.copy(f"COPY {table}({', '.join(columns)}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        self._open = ExitStack()
        self._pipeline = self._open.enter_context(self.raw.pipeline())
