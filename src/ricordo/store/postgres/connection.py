"""Connections to a PostgreSQL server and the transactions on them. PostgreSQL's errors become those of the tree here.

Parts that both stores share write SQL with SQLite's question marks; ``_native`` turns them into PostgreSQL's own. A
read is a snapshot that begins with its first statement, in the same trip over the network, and is ended behind the
caller's back. A write holds the workspace's lock, so that one transaction at a time changes a workspace, as in SQLite;
searches and other workspaces never wait for it.
"""

from __future__ import annotations

import functools
import logging
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import psycopg
import psycopg_pool
from psycopg.types.json import Jsonb

from ricordo.errors import CorruptStore, ReadOnlyStore, StoreError, Unavailable
from ricordo.store.postgres import postings, schema
from ricordo.store.postgres.address import Address
from ricordo.store.sqlite.connection import UNREADABLE, AroundCommit, Row, WordIndex

CONNECT_SECONDS = 5.0
STATEMENT_SECONDS = 60.0
WRITE_LOCK = 0x5269
COPY_FROM = 2_000
_BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_MARK = re.compile(r"'(?:[^']|'')*'|\?(\d*)|ON CONFLICT\((\w+)\)| INDEXED BY \w+")
logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # it warns of reads that it is meant to end


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
        self._changes = 0
        self._total = 0

    def rows(self, sql: str, values: Sequence[Any] | None = None) -> list[Row]:
        """Run a statement and read all it answers."""
        cursor = self._execute(_native(sql), [_bound(value) for value in values] if values else None)
        self._changes = max(cursor.rowcount, 0)
        self._total += self._changes
        return [_read(row) for row in cursor.fetchall()] if cursor.description is not None else []

    def together(self, asked: Sequence[tuple[str, Sequence[Any]]]) -> list[list[Row]]:
        """Run statements that do not depend on each other in one trip over the network."""
        if not self.begun:
            answers: list[list[Row]] = self._first_of(lambda: self._piped([(_BEGIN_READ, ()), *asked])[1:])
            return answers
        return self._piped(asked)

    def _piped(self, asked: Sequence[tuple[str, Sequence[Any]]]) -> list[list[Row]]:
        self.database.trips += 1
        with self.raw.pipeline():
            cursors = [
                self.raw.execute(_native(sql), [_bound(value) for value in values] or None) for sql, values in asked
            ]
        self.begun = True
        return [
            [_read(row) for row in cursor.fetchall()] if cursor.description is not None else [] for cursor in cursors
        ]

    def _execute(self, sql: str, values: Sequence[Any] | None) -> psycopg.Cursor[Row]:
        if not self.begun:
            cursor: psycopg.Cursor[Row] = self._first_of(lambda: self._begin_with(sql, values))
            return cursor
        self.database.trips += 1
        return self.raw.execute(sql, values)

    def _begin_with(self, sql: str, values: Sequence[Any] | None) -> psycopg.Cursor[Row]:
        self.database.trips += 1
        with self.raw.pipeline():
            self.raw.execute(_BEGIN_READ)
            cursor = self.raw.execute(sql, values)
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
        with psycopg.RawServerCursor(self.raw, f"rows_{id(sql)}_{threading.get_ident()}_{self._next()}") as cursor:
            cursor.itersize = 500
            cursor.execute(_native(sql), [_bound(value) for value in values] if values else None)
            for row in cursor:
                yield _read(row)

    def _next(self) -> int:
        self._streams = getattr(self, "_streams", 0) + 1
        return self._streams

    def run_many(self, sql: str, values: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each set of values, all in one trip."""
        rows = [[_bound(value) for value in row] for row in values]
        if not rows:
            return
        self.database.trips += 1
        with self.raw.cursor() as cursor:
            cursor.executemany(_native(sql), rows)
            self._changes = max(cursor.rowcount, 0)
            self._total += self._changes

    def changes(self) -> int:
        """How many rows the last statement wrote."""
        return self._changes

    def total_changes(self) -> int:
        """How many rows were written so far."""
        return self._total

    def meta(self, name: str) -> Any:
        """A value that concerns the whole store; None when it was never set."""
        found = self.rows("SELECT value FROM meta WHERE name=?", (name,))
        return found[0][0] if found else None

    def set_meta(self, name: str, value: Any, *, replace: bool = True) -> bool:
        """Keep a value for the whole store; without ``replace`` only where there is none. Whether it was written."""
        how = "UPDATE SET value = excluded.value" if replace else "NOTHING"
        self.rows(f"INSERT INTO meta(name, value) VALUES(?, ?) ON CONFLICT(name) DO {how}", (name, Jsonb(value)))
        return bool(self._changes)

    def add_to_meta(self, name: str, amount: int) -> None:
        """Count a value of the whole store up."""
        self.rows("UPDATE meta SET value = to_jsonb(value::bigint + ?) WHERE name=?", (amount, name))

    def next_chunks(self, count: int) -> int:
        """The first of so many chunk ids that were never given out; they are reserved."""
        if not count:
            return int(self.meta("last_chunk")) + 1
        [(last,)] = self.rows(
            "UPDATE meta SET value = to_jsonb(value::bigint + ?) WHERE name='last_chunk' RETURNING value", (count,)
        )
        return int(last) - count + 1

    def ignoring_case(self, column: str) -> str:
        """The condition that a column is a given text, in capital letters or small."""
        return f"lower({column})=lower(?)"

    def day(self, column: str) -> str:
        """The local day of a stored time."""
        return f"to_char(to_timestamp({column} / 1000000), 'YYYY-MM-DD')"

    def insert_rows(self, table: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> None:
        """Write rows at once, few as arrays, many with COPY; ``columns`` are names with their types.

        COPY cannot write to a table with row-level security, so that it goes by way of a temporary one.
        """
        names = ", ".join(columns)
        if len(rows) < COPY_FROM:
            arrays = ", ".join(f"?::{kind}[]" for kind in columns.values())
            values = [[_bound(value) for value in column] for column in zip(*rows, strict=True)]
            self.rows(f"INSERT INTO {table}({names}) SELECT * FROM unnest({arrays})", values)
            return
        kinds = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        self.rows(f"CREATE TEMPORARY TABLE IF NOT EXISTS new_{table}({kinds}) ON COMMIT DELETE ROWS")
        with self.raw.cursor() as cursor, cursor.copy(f"COPY new_{table}({names}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row([_bound(value) for value in row])
        self.rows(f"INSERT INTO {table}({names}) SELECT {names} FROM new_{table}")
        self.rows(f"TRUNCATE new_{table}")


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


class Database:
    """One workspace of one PostgreSQL database. ``read()`` gives a snapshot, ``write()`` a transaction."""

    words: WordIndex = postings

    def __init__(
        self, address: Address, *, busy_seconds: float = 30.0, create: bool = True, partitions: int = 0,
        connections: int = 16,
    ) -> None:  # fmt: skip
        self.address = address
        self.path = address.shown
        self.busy_seconds = busy_seconds
        self.read_only = False
        self.around_commit: AroundCommit | None = None
        self.trips = 0
        """How often the server was asked: each is a trip over the network."""
        self._local = threading.local()
        self._closed = False
        with self.translated():
            self._prepare(create=create, partitions=partitions)
        self.pool = psycopg_pool.ConnectionPool(
            address.dsn, min_size=0, max_size=connections, open=True, timeout=CONNECT_SECONDS,
            configure=self._configure, name=f"ricordo-{self.workspace}", reconnect_timeout=CONNECT_SECONDS,
            kwargs={"cursor_factory": psycopg.RawCursor, "autocommit": True, **_limits()},
        )  # fmt: skip

    def _prepare(self, *, create: bool, partitions: int) -> None:
        """Migrate and find the workspace, with a connection of its own."""
        with psycopg.connect(self.address.dsn, autocommit=True, **_limits()) as raw:
            self.read_only = bool(raw.execute("SELECT pg_is_in_recovery()").fetchone()[0])  # type: ignore[index]
            make = create and not self.read_only
            schema.migrate(raw, self.address.schema, self.path, create=make, partitions=partitions)
            number = schema.workspace_number(raw, self.address.schema, self.address.workspace, create=make)
            if number is None:
                raise StoreError(f"there is no workspace at {self.path}", hint="Run 'ricordo init' with this --store.")
            self.workspace = number
            row = raw.execute("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user").fetchone()
            self._role = schema.APPLICATION_ROLE if row is not None and row[0] else None

    def _configure(self, raw: psycopg.Connection[Any]) -> None:
        become = f"SET ROLE {self._role};" if self._role else ""
        with psycopg.ClientCursor(raw) as cursor:
            cursor.execute(
                f"{become} SET search_path = {self.address.schema}, public;"
                f" SET ricordo.workspace = '{self.workspace}'; SET statement_timeout = '{int(STATEMENT_SECONDS)}s';"
                " SET jit = off; SET hnsw.ef_search = 200; SET hnsw.iterative_scan = strict_order;"
            )

    def connection(self) -> Connection:
        """This thread's reader, while a read is open."""
        found: Connection = self._local.reader
        return found

    def exchange(self, raw: psycopg.Connection[Row]) -> psycopg.Connection[Row]:
        """Give a broken connection back and take another; the pool throws all broken ones away."""
        self.pool.putconn(raw)
        self.pool.check()
        return self.pool.getconn()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A snapshot: all statements in the block see the same state. Blocks may nest."""
        self._refuse_closed()
        reader: Connection | None = getattr(self._local, "reader", None)
        with self.translated(), self._decoded():
            if reader is not None:
                yield reader
                return
            reader = self._local.reader = Connection(self, self.pool.getconn(), writing=False)
            try:
                yield reader
            finally:
                self._local.reader = None
                self.pool.putconn(reader.raw)

    @contextmanager
    def write(self, *, durable: bool = False, wait: float | None = None, mirrored: bool = True) -> Iterator[Connection]:
        """A write transaction, the only one in this workspace; what it committed stays, ``durable`` or not."""
        self._refuse_closed()
        if self.read_only:
            raise ReadOnlyStore(f"the store {self.path} can only be read", hint="It is a replica: name the primary.")
        with self.translated():
            writer: Connection | None = getattr(self._local, "writer", None)
            if writer is not None:
                yield writer
                return
            writer = self._begin_write(self.busy_seconds if wait is None else wait)
            self._local.writer, self._local.mirrored = writer, mirrored
            try:
                yield writer
                with self._around_commit(writer, durable=durable, mirrored=mirrored):
                    self._commit(writer)
            except BaseException:
                if not writer.raw.closed:
                    writer.raw.rollback()
                raise
            finally:
                self._local.writer = None
                self.pool.putconn(writer.raw)

    @contextmanager
    def apart(self) -> Iterator[Connection]:
        """A transaction that waits for no other: for rows whose writers do not disturb each other."""
        self._refuse_closed()
        with self.translated():
            if self.is_writing():
                yield self._local.writer
                return
            apart = self._begin_write(None)
            try:
                yield apart
                self._commit(apart)
            except BaseException:
                if not apart.raw.closed:
                    apart.raw.rollback()
                raise
            finally:
                self.pool.putconn(apart.raw)

    def _begin_write(self, seconds: float | None) -> Connection:
        for attempt in (1, 2):
            raw = self.pool.getconn()
            try:
                self.trips += 1
                with raw.pipeline():
                    raw.execute("BEGIN")
                    if seconds is not None:
                        raw.execute(f"SET LOCAL lock_timeout = '{max(1, int(seconds * 1000))}ms'")
                        raw.execute("SELECT pg_advisory_xact_lock($1, $2)", (WRITE_LOCK, self.workspace))
                return Connection(self, raw, writing=True)
            except psycopg.errors.LockNotAvailable:
                raw.rollback()
                self.pool.putconn(raw)
                raise Unavailable(
                    f"the store {self.path} was busy for {seconds or 0:.0f} s, held by another connection",
                    hint="Try again when that one is done, or raise store.busy_seconds.",
                ) from None
            except psycopg.OperationalError:
                self.pool.putconn(raw)
                self.pool.check()
                if attempt == 2:
                    raise
        raise AssertionError("unreachable")

    def _commit(self, writer: Connection) -> None:
        if writer.touched:
            writer.rows("SELECT pg_notify(?, ?)", (self.channel, str(len(writer.touched))))
        self.trips += 1
        writer.raw.commit()

    @property
    def channel(self) -> str:
        """Where changes of this workspace are announced to other processes."""
        return f"ricordo_{self.address.schema}_{self.workspace}"

    def wait_for_change(self, seconds: float) -> bool:
        """Wait until any process commits a change of items here; whether one did."""
        with self.translated(), psycopg.connect(self.address.dsn, autocommit=True, **_limits()) as raw:
            raw.execute(f'LISTEN "{self.channel}"')
            return any(True for _ in raw.notifies(timeout=seconds, stop_after=1))

    def _around_commit(self, writer: Connection, *, durable: bool, mirrored: bool) -> AbstractContextManager[None]:
        if self.around_commit is None or not mirrored or not writer.touched:
            return nullcontext()
        return self.around_commit(frozenset(writer.touched), durable=durable)

    def is_mirrored(self) -> bool:
        """Whether what this thread writes now is mirrored: always, but inside a transaction that said otherwise."""
        return bool(self._local.mirrored) if self.is_writing() else True

    def is_writing(self) -> bool:
        """Whether this thread is inside a write transaction."""
        return getattr(self._local, "writer", None) is not None

    def as_owner(self, statement: str) -> None:
        """Run a statement that only the owner of the tables may run, outside of any transaction."""
        with self.translated(), psycopg.connect(self.address.dsn, autocommit=True, **_limits()) as raw:
            raw.execute(f"SET search_path = {self.address.schema}, public")
            raw.execute("SET maintenance_work_mem = '512MB'")
            raw.execute(statement)

    def checkpoint(self) -> None:
        """Nothing to do: the server writes its own log."""

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.pool.close()

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StoreError("the store is closed", hint="Open it again with Ricordo.open().")

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn PostgreSQL's errors into ours."""
        try:
            yield
        except (psycopg_pool.PoolTimeout, psycopg.errors.ConnectionTimeout) as error:
            raise Unavailable(
                f"the store {self.path} does not answer", hint="Check that the server runs and can be reached."
            ) from error
        except psycopg.errors.QueryCanceled as error:
            raise Unavailable(
                f"the store {self.path} took too long and was stopped", hint="Try again; see docs/scaling.md."
            ) from error
        except psycopg.errors.ReadOnlySqlTransaction as error:
            raise ReadOnlyStore(
                f"the store {self.path} can only be read", hint="It is a replica: name the primary."
            ) from error
        except psycopg.errors.InsufficientPrivilege as error:
            raise StoreError(
                f"the store {self.path} refuses this ({_first_line(error)})",
                hint="docs/scaling.md lists what the role needs to be granted.",
            ) from error
        except psycopg.errors.DiskFull as error:
            raise StoreError(
                f"no space is left for the store {self.path}", hint="Free some; nothing is lost."
            ) from error
        except psycopg.OperationalError as error:
            raise Unavailable(
                f"the store {self.path} cannot be reached ({_first_line(error)})",
                hint="Check that the server runs, and its address, user and password.",
            ) from error
        except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn) as error:
            raise CorruptStore(
                f"the tables of the store {self.path} are not what they should be ({_first_line(error)})",
                hint="Restore a backup, or name another store with --store.",
            ) from error

    @contextmanager
    def _decoded(self) -> Iterator[None]:
        """Turn what a row that makes no sense raises into the error for damage; the trace stays beside it."""
        try:
            yield
        except UNREADABLE as error:
            raise CorruptStore(
                f"something in the store {self.path} cannot be read ({type(error).__name__}: {error})",
                hint="'ricordo doctor' names what is damaged. If it finds nothing, this is a mistake in Ricordo.",
            ) from error


def _limits() -> dict[str, Any]:
    return {"connect_timeout": int(CONNECT_SECONDS), "application_name": "ricordo"}


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
