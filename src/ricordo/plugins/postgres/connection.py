"""One connection to a PostgreSQL server, with the calls that the shared statements make.

A transaction begins with its first statement, in the same trip over the network. In one that writes, statements that
answer nothing are held back until one asks for rows, or the commit; then all of them travel together. So the error of a
statement is raised by the next one that answers, or by the commit; and the server always knows that it waits for the
client, so that it can end a transaction whose client went away.
"""

from __future__ import annotations

import functools
import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import psycopg
from psycopg.types.json import Jsonb

from ricordo.errors import ReadOnlyStore, StoreError
from ricordo.plugins.postgres.schema import SCHEMA_VERSION, column_types
from ricordo.store.sql.database import UNREADABLE, Dialect, Row, Values, marks
from ricordo.store.tables import TABLES

Asked = tuple[str, Values]
"""A statement, and what is bound in it."""
_Key = tuple[str, tuple[object, ...]]
COPY_FROM = 400
"""From this many rows on, COPY is faster than statements that insert."""
MOST_HELD = 2_000
"""At most this many rows and statements are held back."""
MOST_RESERVED = 500
"""At most this many numbers of items or chunks are reserved at once."""
REPLACED = 5
"""So many broken connections are replaced in a row: a server that stops ends them one after the other, so that the
next one of the pool may break too.
"""
_NEXT = "SELECT nextval(pg_get_serial_sequence(?, ?)) FROM generate_series(1, ?::int)"
_RESERVE = "UPDATE meta SET value = to_jsonb(value::bigint + ?) WHERE name='last_chunk' RETURNING value"
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


class _Pipeline(psycopg.Pipeline):
    """Statements that travel together, behind which only a Sync is sent.

    psycopg also sends a Flush, and then a server no longer knows that it waits for the client: it would never end a
    transaction that lies still.
    """

    def _fetch_gen(self, *, flush: bool) -> Any:
        return super()._fetch_gen(flush=False)


class Pooled(psycopg.Connection[Row]):
    """A connection to a server. When it comes back, the pool ends what is still open, by a rollback.

    Of a read, that is made a commit: after a rollback psycopg forgets the statements that the server keeps parsed and
    planned, and each search would have all of its statements planned again.
    """

    @contextmanager
    def pipeline(self) -> Iterator[psycopg.Pipeline]:
        """Send the statements of the block together, and wait for them at its end."""
        self._pipeline = pipeline = _Pipeline(self)
        try:
            with pipeline:
                yield pipeline
        finally:
            self._pipeline = None

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

    path: str
    settings: str
    """The statement after BEGIN that settles, for the transaction alone, what would otherwise be the session's."""

    def count_trip(self) -> None:
        """Count one more trip of this thread over the network."""
        ...

    def exchange(self, raw: Pooled) -> Pooled:
        """Give a broken connection back and take another."""
        ...


class Held(NamedTuple):
    """A statement that is to be sent; with ``many``, once for each of these sets of values. Its rows are put into
    ``answer``, if somebody wants them.
    """

    sql: str
    values: Values | None
    many: Sequence[Values] | None = None
    answer: list[list[Row]] | None = None


class Connection:
    """One connection, with the calls that the shared statements make."""

    dialect: Dialect = PostgresDialect()
    unreadable = UNREADABLE
    foreign = False
    """A store on a server never comes with a project."""

    def __init__(self, lender: Lender, raw: Pooled, *, opening: Sequence[str] = ()) -> None:
        """``opening`` begins a transaction that writes, and asks at its end which schema is there; without it, this is
        a read.
        """
        self._lender = lender
        self.raw = raw
        self.writing = bool(opening)
        raw.only_read = not opening  # also after a read that asked for nothing, and so left it as it was
        self._opening = [Held(sql, None) for sql in opening or (_BEGIN_READ, lender.settings)]
        self.begun = False
        self.touched: set[int] = set()
        self.granted: set[int] = set()
        self.step = ""
        self.remembered: dict[_Key, list[Row]] = {}
        """The answers of ``once`` and ``gather``. In a read they cannot change; in a write, ``gather`` forgets them."""
        self._gathering = False
        self._changed = 0
        self._held: list[Held] = []
        self._rows: dict[tuple[str, Sequence[str]], list[Values]] = {}
        """New rows that were not sent yet, by table and columns."""
        self._many_held = 0
        self._coming: dict[str, tuple[int, Callable[[], list[Row]]]] = {}
        """How many numbers for new rows were asked for, and what gives them, by table."""
        self._numbers: dict[str, deque[int]] = {}
        """Numbers that were reserved for new rows, by table."""
        self._made: dict[str, int] = {}
        self._next_chunk, self._last_chunk = 1, 0
        self._streams = 0

    def rows(self, sql: str, values: Values | None = None) -> list[Row]:
        """Run a statement and read all its rows."""
        if self.remembered or self._gathering:
            key = _key(sql, values)
            if key in self.remembered:
                return self.remembered[key]
            if self._gathering:
                raise _Unread({key: (sql, values or ())})
        return self.together([(sql, values or ())])[0]

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

    def ahead(self, sql: str, values: Values | None = None) -> Callable[[], list[Row]]:
        """Hold a statement back as ``run`` does; what this returns gives its rows."""
        answer: list[list[Row]] = []
        self._hold_rows()
        self._hold(Held(sql, tuple(values) if values else None, answer=answer))

        def rows() -> list[Row]:
            if not answer:
                self._send([])
            return answer[0]

        return rows

    def gather(self, *calls: Callable[[], Any]) -> list[Any]:
        """What some calls answer that only read. Each is made until it asks for rows that are not here; what all of
        them ask for travels together, and then they are made again.
        """
        outer = self._gathering
        found: dict[int, Any] = {}
        try:
            while True:
                asked: dict[_Key, Asked] = {}
                self._gathering = True
                try:
                    for place, call in enumerate(calls):
                        try:
                            if place not in found:
                                found[place] = call()
                        except _Unread as unread:
                            asked |= unread.asked
                finally:
                    self._gathering = outer
                if not asked:
                    return [found[place] for place in range(len(calls))]
                if outer:
                    raise _Unread(asked)
                self.remembered |= zip(asked, self.together(list(asked.values())), strict=True)
        finally:
            if self.writing and not outer:
                self.remembered = {}

    def prefetch(self, *calls: Callable[[], Any]) -> None:
        """Let what some calls will read travel together."""
        if not self.writing:
            self.gather(*calls)

    def run(self, sql: str, values: Values | None = None) -> None:
        """Run a statement that answers nothing; in a transaction that writes, it travels with the next that does."""
        if not self.writing:
            self.together([(sql, values or ())])
            return
        self._hold_rows()
        self._hold(Held(sql, tuple(values) if values else None))

    def run_many(self, sql: str, values: Iterable[Values]) -> None:
        """Run a statement once for each set of values."""
        rows = list(values)
        if rows:
            self._hold_rows()
            self._hold(Held(sql, None, rows))

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Values]) -> None:
        """Write new rows, with the next statement."""
        new = list(rows)
        self._rows.setdefault((table, columns), []).extend(new)
        self._count_held(len(new))

    def _hold(self, held: Held) -> None:
        self._held.append(held)
        self._count_held(len(held.many or "1"))

    def _count_held(self, more: int) -> None:
        self._many_held += more
        if self._many_held > MOST_HELD:
            self._hold_rows()
            self._send([])

    def _hold_rows(self) -> None:
        """Let the new rows travel with the next statement: first the items, to which the other rows belong."""
        if not self._rows:
            return
        taken, self._rows = self._rows, {}
        for (table, columns), rows in sorted(taken.items(), key=lambda pair: pair[0][0] != "items"):
            names = ", ".join(columns)
            if not rows:
                continue
            if len(rows) >= COPY_FROM:
                self._send([])
                self._copy_rows(table, columns, rows)
            elif table == "postings":  # many short rows: as arrays they are one statement
                types = column_types(TABLES[table])
                arrays = ", ".join(f"?::{types[name]}[]" for name in columns)
                values = [list(column) for column in zip(*rows, strict=True)]
                self._held.append(Held(f"INSERT INTO {table}({names}) SELECT * FROM unnest({arrays})", values))
            else:
                self._held.append(Held(f"INSERT INTO {table}({names}) VALUES({marks(columns)})", None, rows))

    def together(self, asked: Sequence[Asked]) -> list[list[Row]]:
        """Run statements that do not depend on each other in one trip."""
        self._hold_rows()
        sent = self._send([Held(sql, values or None) for sql, values in asked])
        return [_read_all(cursor) for cursor in sent]

    def _send(self, asked: Sequence[Held]) -> list[psycopg.Cursor[Row]]:
        """Send what is held back and then ``asked``, in one trip; the cursors of what was asked."""
        held, self._held, self._many_held = self._held, [], 0
        if not self.begun:
            cursors = self._first_of([*self._opening, *held, *asked])
        elif held or asked:
            cursors = self._piped([*held, *asked])
        else:
            return []
        for one, cursor in zip(held, cursors, strict=False):
            if one.answer is not None:
                one.answer.append(_read_all(cursor))
        return cursors[len(cursors) - len(asked) :]

    def _first_of(self, statements: Sequence[Held]) -> list[psycopg.Cursor[Row]]:
        """Begin; a connection that broke while it lay in the pool is replaced."""
        for attempt in range(REPLACED + 1):
            try:
                cursors = self._piped(statements)
                break
            except psycopg.DatabaseError:
                if not self.raw.broken or attempt == REPLACED:
                    raise
                self.raw = self._lender.exchange(self.raw)
                self.raw.only_read = not self.writing
        self.begun = True
        if self.writing:
            [(number,)] = cursors[len(self._opening) - 1].fetchall()
            if number > SCHEMA_VERSION:
                raise ReadOnlyStore(
                    f"the store {self._lender.path} was upgraded, and this Ricordo is too old to write to it",
                    hint="Upgrade Ricordo (pip install -U ricordo) and start this program again.",
                )
        return cursors[len(self._opening) :]

    def _piped(self, statements: Sequence[Held]) -> list[psycopg.Cursor[Row]]:
        self._lender.count_trip()
        cursors = []
        with self.raw.pipeline():
            for sql, values, many, _ in statements:
                if many is None:
                    cursors.append(self.raw.execute(_numbered(sql), values or None, binary=True))
                else:
                    cursors.append(self.raw.cursor())
                    cursors[-1].executemany(_numbered(sql), many)
        self._changed = max(cursors[-1].rowcount, 0)
        return cursors

    def commit(self) -> None:
        """Commit, and wait until the server has done so."""
        self._hold_rows()
        if not self.begun and not self._held:
            return
        if not self.begun:
            self._send([])  # what is sent with a commit must not be sent twice
        (done,) = self._send([Held("COMMIT", None)])
        if done.statusmessage != "COMMIT":
            raise StoreError("a transaction was not committed", hint="Nothing of it was saved; try again.")

    def stream(self, sql: str, values: Values | None = None) -> Iterator[Row]:
        """Run a query and read its rows as they are asked for."""
        self._hold_rows()
        self._send([])
        self._streams += 1
        with psycopg.RawServerCursor(self.raw, f"rows_{id(sql)}_{threading.get_ident()}_{self._streams}") as cursor:
            cursor.itersize = 500
            cursor.execute(_numbered(sql), values or None, binary=True)
            yield from cursor

    def changes(self) -> int:
        """How many rows the last statement wrote."""
        self._hold_rows()
        self._send([])
        return self._changed

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
            reserved, coming = self._coming.pop("chunks", (0, None))
            if coming is None or reserved < count:
                # A transaction that asks again will ask often, so that it gets many at once.
                reserved = max(count, MOST_RESERVED if self._last_chunk else 0)
                coming = self.ahead(_RESERVE, (reserved,))
            [(last,)] = coming()
            self._next_chunk, self._last_chunk = int(last) - reserved + 1, int(last)
        self._next_chunk += count
        return self._next_chunk - count

    def has_used_chunks(self) -> bool:
        """Whether any chunk was ever written."""
        return self.meta("last_chunk") != 0

    def last_item_number(self) -> int:
        """The highest number that an item has; 0 if there is none."""
        return int(self.rows("SELECT coalesce(max(n), 0) FROM items")[0][0])

    def expect(self, *, items: int, chunks: int) -> None:
        """Let the numbers of new items and chunks come with the first answer."""
        if self.begun or not chunks:
            return
        for table, most in (("items", min(items, MOST_RESERVED)), ("segments", 1)):
            self._coming[table] = most, self.ahead(_NEXT, (table, TABLES[table].key, most))
        self._coming["chunks"] = chunks, self.ahead(_RESERVE, (chunks,))

    def insert_numbered(self, table: str, columns: Sequence[str], values: Values) -> int:
        """Write a row of a table that numbers its rows; returns its number."""
        key = TABLES[table].key
        if not self._numbers.get(table):
            _, coming = self._coming.pop(table, (0, None))
            if coming is None:
                made = self._made[table] = min(self._made.get(table, 0) * 8 + 1, MOST_RESERVED)
                coming = self.ahead(_NEXT, (table, key, made))
            self._numbers[table] = deque(number for (number,) in coming())
        n = self._numbers[table].popleft()
        self.insert(table, (key, *columns), [(n, *values)])
        return n

    def _copy_rows(self, table: str, columns: Sequence[str], rows: Sequence[Values]) -> None:
        """Write many rows with COPY."""
        self._lender.count_trip()
        with self.raw.cursor() as cursor, cursor.copy(f"COPY {table}({', '.join(columns)}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
