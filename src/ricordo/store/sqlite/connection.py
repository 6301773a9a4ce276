"""Opens a SQLite file safely and shares it: one writer connection per process, one reader per thread.

Every write is one short ``BEGIN IMMEDIATE`` transaction; readers see a snapshot and never wait. SQLite's errors become
ours here and nowhere else. A file may be encrypted; its log, its journal and the copies that SQLite makes for itself
are then encrypted with the same key. This module does not know what the tables hold.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal
from weakref import WeakSet

import apsw

from ricordo.errors import (
    CorruptStore,
    DamagedHeader,
    Error,
    NoStore,
    ReadOnlyStore,
    StoreError,
    Unavailable,
    half_a_character,
)
from ricordo.store.sql.database import (
    UNREADABLE,
    AroundCommit,
    Dialect,
    Row,
    decoded,
    in_parts,
    marks,
    mirroring,
)
from ricordo.store.sql.user_words import pass_gate
from ricordo.vault import find_key, vault


def lock_holder(path: Path) -> str:
    """The process that holds the write lock, as far as the system tells (Linux lists locks by inode)."""
    try:
        inode = Path(f"{path}-shm").stat().st_ino
        for line in Path("/proc/locks").read_text().splitlines():
            parts = line.split()
            if len(parts) >= 8 and parts[3] == "WRITE" and parts[5].endswith(f":{inode}") and parts[6] == "120":
                pid = parts[4]
                command = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip()
                return f"process {pid} ({command[:80]})"
    except (OSError, IndexError, ValueError):
        pass
    return "another process"


def prepare_file(path: Path, create: bool) -> None:
    """Make the file and its folder unless it is there; an error says what stands in the way."""
    if path.is_dir():
        raise StoreError(f"{path} is a folder, not a store", hint=f"Did you mean {path / 'ricordo.db'}?")
    if path.exists():
        return
    if not create:
        raise NoStore(f"there is no store at {path}", hint="Run ‹:init› or add something first.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreError(
            f"cannot make a store at {path}: {error.strerror}", hint="Name a place you can write to with ‹store›."
        ) from error


APPLICATION_ID = 0x5269_636F  # "Rico"
_OPEN_AGAIN = "Open it again with Ricordo.open()."
_LARGEST = (1 << 63) - 1
ROWS_AT_ONCE = 32
"""So many rows are written by one statement, which takes two thirds of the time of one for each."""
MOST_ROWS_KEPT = 10_000
"""How many rows a reader keeps for the next snapshots; when there are more, it forgets all."""


class SqliteDialect:
    """What SQLite says in its own way."""

    def ignoring_case(self, column: str) -> str:
        return f"{column}=? COLLATE NOCASE"

    def day(self, column: str) -> str:
        return f"date({column} / 1000000, 'unixepoch', 'localtime')"

    def json_is(self, column: str, place: str, value: object) -> tuple[str, list[object]]:
        if isinstance(value, int) and abs(value) > _LARGEST:
            value = float(value)  # as SQLite reads such a number from JSON
        return f"json_extract({column}, ?) = ?", [place, value]

    def may_hold(self, column: str, folded: str) -> tuple[str, list[object]]:
        return "TRUE", []  # SQLite cannot tell without reading the text, which the caller does

    def unclaimed(self) -> str:
        return ""  # no other transaction writes at the same time


class Connection(apsw.Connection):
    """A connection as ``sql/database.py`` describes it: statements run to their end at once (SQLite's cursors are
    lazy).
    """

    touched: set[int]
    granted: set[int]
    step: str
    database: Database | None = None
    answers: dict[tuple[str, tuple[object, ...]], list[Row]]
    """On a reader: the answers of ``once``, which hold until somebody commits."""
    kept_rows = 0
    version: int | None = None
    """On a reader: SQLite's number of the state that the answers are of."""
    in_snapshot = False
    dialect: Dialect = SqliteDialect()
    unreadable = (apsw.Error, *UNREADABLE)

    @property
    def foreign(self) -> bool:
        return self.database is not None and self.database.foreign

    def rows(self, sql: str, values: Sequence[Any] | None = None) -> list[Row]:
        return super().execute(sql, values).fetchall()

    def run(self, sql: str, values: Sequence[Any] | None = None) -> None:
        super().execute(sql, values).fetchall()

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        statement, row = f"INSERT INTO {table}({', '.join(columns)}) VALUES", f"({marks(columns)})"
        held = list(rows)
        several = len(held) // ROWS_AT_ONCE * ROWS_AT_ONCE
        if several:
            parts = (held[at : at + ROWS_AT_ONCE] for at in range(0, several, ROWS_AT_ONCE))
            joined = (tuple(chain.from_iterable(part)) for part in parts)
            self.run_many(statement + ",".join([row] * ROWS_AT_ONCE), joined)
        if several < len(held):
            self.run_many(statement + row, held[several:])

    def once(self, sql: str, *values: object) -> list[Row]:
        if not self.in_snapshot:
            return self.rows(sql, values)
        answer = self.answers.get((sql, values))
        if answer is None:
            answer = self.answers[sql, values] = self.rows(sql, values)
            self.kept_rows += 1 + len(answer)
        return answer

    def begin_snapshot(self) -> None:
        """Begin to read; answers of ``once`` are forgotten if anything was committed since, or if they are many."""
        self.run("BEGIN")
        self.in_snapshot = True
        try:
            version = self.rows("PRAGMA data_version")[0][0]
        except apsw.Error:
            self.end_snapshot()
            raise
        if version != self.version or self.kept_rows > MOST_ROWS_KEPT:
            self.version, self.answers, self.kept_rows = version, {}, 0

    def end_snapshot(self) -> None:
        """End the snapshot, unless an error already did."""
        self.in_snapshot = False
        try:
            _end(self, "COMMIT")
        except apsw.CorruptError:  # again, of a statement whose caller got over it
            _end(self, "ROLLBACK")

    def rows_in(self, sql: str, values: Sequence[object], *before: object) -> list[Row]:
        rows: list[Row] = []
        for places, part in in_parts(values):
            rows += self.rows(sql.replace("IN (*)", f"IN ({places})"), (*before, *part))
        return rows

    def ahead(self, sql: str, values: Sequence[Any] | None = None) -> Callable[[], list[Row]]:
        rows = self.rows(sql, values)
        return lambda: rows

    def gather(self, *calls: Callable[[], Any]) -> list[Any]:
        return [call() for call in calls]

    def prefetch(self, *calls: Callable[[], Any]) -> None:
        """Nothing: rows of a file are read where they are needed."""

    def meta(self, name: str) -> str | int | None:
        rows = self.rows("SELECT value FROM meta WHERE name=?", (name,))
        return rows[0][0] if rows else None

    def set_meta(self, name: str, value: str | int, *, replace: bool = True) -> bool:
        self.run(f"INSERT OR {'REPLACE' if replace else 'IGNORE'} INTO meta VALUES(?, ?)", (name, value))
        return bool(self.changes())

    def add_to_meta(self, name: str, amount: int) -> None:
        self.run("UPDATE meta SET value = value + ? WHERE name=?", (amount, name))

    def reserve_chunks(self, count: int) -> int:
        """Nothing has to be reserved: no other process can write before this transaction ends."""
        rows = self.rows("SELECT seq FROM sqlite_sequence WHERE name='chunks'")
        return int(rows[0][0]) + 1 if rows else 1

    def has_used_chunks(self) -> bool:
        return self.reserve_chunks(1) > 1

    def last_item_number(self) -> int:
        for sql in ("SELECT max(n) FROM items", "SELECT seq FROM sqlite_sequence WHERE name='items'"):
            try:
                last = self.rows(sql)
            except self.unreadable:
                continue
            if last and isinstance(last[0][0], int):
                return min(last[0][0], 10_000_000)
        return 0

    def expect(self, *, items: int, chunks: int) -> None:
        """Nothing: numbers are near."""

    def insert_numbered(self, table: str, columns: Sequence[str], values: Sequence[Any]) -> int:
        sql = f"INSERT INTO {table}({', '.join(columns)}) VALUES({marks(columns)}) RETURNING rowid"
        return int(self.rows(sql, values)[0][0])

    def stream(self, sql: str, values: Sequence[Any] | None = None) -> Iterator[Row]:
        yield from super().execute(sql, values)

    def run_many(self, sql: str, values: Iterable[Sequence[Any]]) -> None:
        super().executemany(sql, values).fetchall()


class Database:
    """One SQLite file. ``read()`` gives a snapshot, ``write()`` a transaction that commits when the block ends well."""

    def __init__(self, path: Path, *, busy_seconds: float = 30.0, create: bool = True) -> None:
        self.path = path
        self.busy_seconds = busy_seconds
        self.longest_write = 0.0
        self._local = threading.local()
        self._write_lock = threading.RLock()
        self._connections: WeakSet[Connection] = WeakSet()  # a reader goes with its thread
        self._connections_lock = threading.Lock()
        self._writer: Connection | None = None
        self._closed = False
        self.read_only = False
        self.is_immutable = False
        """Whether the file is read without locks, because its folder does not allow any."""
        self.around_commit: AroundCommit | None = None
        self._mirrored = True
        self.foreign = False
        self.notice = ""
        """What was found when it was opened, and is said once."""
        self.key = find_key(path) if path.exists() or create else None
        """What the file is encrypted with; None if everybody can read it."""
        prepare_file(path, create)
        try:
            with self.translated():
                self._try_to_open()
        except Error:
            self.close()
            raise

    def _try_to_open(self) -> None:
        try:
            self._open_first()
        except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.ProtocolError):
            if not self.read_only:
                raise
            log = Path(f"{self.path}-wal")
            if log.exists() and log.stat().st_size:
                raise ReadOnlyStore(
                    f"the store {self.path} has changes in its log that cannot be read where nothing can be written",
                    hint=f"Copy it with {log.name} to a folder that can be written to, and use the copy.",
                ) from None
            self.is_immutable = True
            self._open_first()

    def _open_first(self) -> None:
        """Open once, without writing, to see what the file is before anything else touches it."""
        connection = self._connect()
        application = connection.pragma("application_id")
        tables = connection.rows("SELECT count(*) FROM sqlite_schema")[0][0]
        if application != APPLICATION_ID and (application != 0 or tables):
            connection.close()
            raise CorruptStore(
                f"{self.path} is a SQLite file, but not a Ricordo store",
                hint="Name another file with ‹store›, or leave it out to use the default store.",
            )
        if not self.read_only:
            connection.pragma("journal_mode", "wal")
            self._keep_damaged_log(connection)
        self._local.connection = connection

    def _keep_damaged_log(self, connection: Connection) -> None:
        """Copy a log of which SQLite drops committed pages without a word, because one before them is damaged: it is
        deleted, or written over, soon.
        """
        log = Path(f"{self.path}-wal")
        if not _loses_commits(log, connection):
            return
        said = f"the end of the log of the store {self.path} is damaged, and the changes in it are lost"
        try:
            for aside in (Path(f"{log}.damaged{number}") for number in ("", *range(2, 10))):
                if not aside.exists():
                    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                        file.write(log.read_bytes())
                elif aside.read_bytes()[:_LOG_HEADER] != log.read_bytes()[:_LOG_HEADER]:
                    continue  # it was kept another time
                else:
                    return  # and that was said
                self.notice = f"{said}; the log is kept as {aside.name}: ricordo doctor"
                return
        except OSError as error:
            self.notice = f"{said}; the log cannot be kept: {error.strerror}"

    def _connect(self) -> Connection:
        flags = apsw.SQLITE_OPEN_READWRITE
        if not os.access(self.path, os.W_OK) or not os.access(self.path.parent, os.W_OK):
            self.read_only = True
        if self.read_only:
            flags = apsw.SQLITE_OPEN_READONLY
        name = str(self.path)
        if self.is_immutable:
            name, flags = f"{self.path.absolute().as_uri()}?immutable=1", flags | apsw.SQLITE_OPEN_URI
        connection = Connection(name, flags=flags)
        self.unlock(connection)
        connection.set_busy_timeout(int(self.busy_seconds * 1000))
        connection.pragma("synchronous", "NORMAL")
        connection.pragma("foreign_keys", 1)
        connection.pragma("temp_store", "MEMORY")
        connection.database = self
        with self._connections_lock:
            self._connections.add(connection)
        return connection

    def unlock(self, connection: Connection) -> None:
        """Give a connection to this file, or to a copy of it, its key."""
        if self.key is not None:
            vault(f"the store {self.path}").unlock(connection, self.key)

    def connection(self) -> Connection:
        if self._closed:
            raise StoreError("the store is closed", hint=_OPEN_AGAIN)
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            with self.translated():
                connection = self._local.connection = self._connect()
        return connection

    def read(self) -> Snapshot:
        """A snapshot: all statements in the block see the same state. Blocks may nest."""
        return Snapshot(self)

    @contextmanager
    def write(self, *, durable: bool = False, wait: float | None = None, mirrored: bool = True) -> Iterator[Connection]:
        """A write transaction; ``durable`` waits for the disk, so that nothing that was acknowledged is lost.

        ``wait`` is how many seconds to wait for other processes, for work that may be skipped. Just before it commits,
        ``around_commit`` is called with the items it touched, unless ``mirrored`` is off.
        """
        if self.read_only:
            raise ReadOnlyStore(
                f"the store {self.path} can only be read",
                hint="Make the file and its folder writable, or name another store with ‹store›.",
            )
        with self._write_lock, self.translated():
            writer = self._writing_connection()
            if writer.in_transaction:
                yield writer
                return
            writer.pragma("synchronous", "FULL" if durable else "NORMAL")
            self._begin(writer, self.busy_seconds if wait is None else wait)
            started = time.perf_counter()
            writer.touched, writer.granted, writer.step = set(), set(), ""
            self._mirrored = mirrored
            try:
                yield writer
                pass_gate(self, writer)
                if writer.touched:  # what processes keep of items is out of date, even if no chunk changed
                    writer.add_to_meta("index_epoch", 1)
                with mirroring(self.around_commit if mirrored else None, writer.touched, durable=durable):
                    writer.run("COMMIT")
            finally:
                _end(writer, "ROLLBACK")  # if it is still open, after an error or after a COMMIT that failed
            self.longest_write = max(self.longest_write, time.perf_counter() - started)

    def write_at_once(self, *, wait: float | None = None) -> AbstractContextManager[Connection]:
        """A write transaction: a file has one writer at a time."""
        return self.write(wait=wait)

    def is_mirrored(self) -> bool:
        return self._mirrored if self.is_writing() else True

    def is_writing(self) -> bool:
        with self._write_lock:
            return self._writer is not None and self._writer.in_transaction

    def _writing_connection(self) -> Connection:
        if self._writer is None:
            self._writer = self._connect()
            self._writer.pragma("cache_size", -65536)
            self._writer.pragma("wal_autocheckpoint", 4000)
            self._writer.pragma("secure_delete", 1)
        return self._writer

    def _begin(self, writer: Connection, seconds: float) -> None:
        writer.set_busy_timeout(int(seconds * 1000))
        try:
            writer.run("BEGIN IMMEDIATE")
        except apsw.BusyError:
            holder = lock_holder(self.path)
            raise Unavailable(
                f"the store {self.path} was busy for {seconds:.0f} s, held by {holder}",
                hint="Try again when that process is done.",
            ) from None
        finally:
            writer.set_busy_timeout(int(self.busy_seconds * 1000))

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn SQLite's errors into ours."""
        try:
            yield
        except UnicodeEncodeError:
            raise half_a_character() from None
        except apsw.ConnectionClosedError as error:  # by another thread, meanwhile
            raise StoreError("the store is closed", hint=_OPEN_AGAIN) from error
        except (apsw.CorruptError, apsw.NotADBError) as error:
            if self.key is not None and isinstance(error, apsw.NotADBError):
                raise DamagedHeader(
                    f"the beginning of the encrypted store {self.path} is damaged ({error}); its key is right",
                    hint="Nothing was written. Restore a backup, with the file beside it whose name ends in -key.",
                ) from error
            raise CorruptStore(
                f"the store {self.path} is damaged or not a Ricordo store ({error})",
                hint="Nothing was written. If it is encrypted, its file that ends in -key must lie beside it. Otherwise"
                " restore a backup, or make a new store from the knowledge folder (‹:sync›), or see what"
                f" 'sqlite3 {self.path} .recover' saves; or name another file with ‹store›.",
            ) from error
        except apsw.ReadOnlyError as error:
            raise ReadOnlyStore(
                f"the store {self.path} can only be read ({error})",
                hint="Make the file and its folder writable, or name another store with ‹store›.",
            ) from error
        except apsw.FullError as error:
            raise StoreError(
                f"no space is left for the store {self.path}",
                hint="Free some disk space and try again; nothing is lost.",
            ) from error
        except apsw.NoMemError as error:
            hint = "Close other programs and try again; nothing is lost."
            raise StoreError(f"there is not enough memory to use the store {self.path}", hint=hint) from error
        except apsw.BusyError as error:
            raise Unavailable(
                f"the store {self.path} is busy, held by {lock_holder(self.path)} ({error})",
                hint="Try again when that process is done.",
            ) from error
        except (apsw.CantOpenError, apsw.IOError, apsw.PermissionsError, apsw.ProtocolError) as error:
            raise StoreError(
                f"the store {self.path} cannot be opened or read ({error})",
                hint="Check the path and its permissions, or name another store with ‹store›.",
            ) from error
        except (apsw.SQLError, apsw.MismatchError, apsw.FormatError) as error:
            raise CorruptStore(
                f"the tables of the store {self.path} are not what they should be ({error})",
                hint="Restore a backup, or save what can be read with ‹:export --salvage FILE›.",
            ) from error

    def checkpoint(self) -> None:
        with self._write_lock, self.translated():
            (self._writer or self.connection()).run("PRAGMA wal_checkpoint(TRUNCATE)")

    def vacuum(self) -> None:
        """Rewrite the file without its free pages; others may read meanwhile."""
        with self._write_lock, self.translated():
            writer = self._writing_connection()
            writer.pragma("temp_store", "FILE")  # in memory, there would have to be room for the whole store
            try:
                writer.run("VACUUM")
            finally:
                writer.pragma("temp_store", "MEMORY")

    def close(self) -> None:
        self._closed = True
        with self._connections_lock:
            for connection in self._connections:
                try:
                    connection.close(True)
                except apsw.ThreadingViolationError:
                    connection.interrupt()  # a thread that is not waited for still uses it; this ends its statement
                except apsw.Error:
                    pass  # writing the log into the file failed; all that was committed is still in the log
            self._connections.clear()


_LOG_HEADER, _FRAME_HEADER = 32, 24


def _loses_commits(log: Path, connection: Connection) -> bool:
    """Whether a log has a commit after the pages that SQLite reads of it. It reads until the first damaged page.

    The last page that was written may be incomplete, after a process was killed, and says nothing.
    """
    noop: int | None = getattr(apsw, "SQLITE_CHECKPOINT_NOOP", None)  # since SQLite 3.51
    try:
        if noop is None or os.stat(log).st_size <= _LOG_HEADER:  # noqa: PTH116 - pathlib is slow
            return False
        frame = _FRAME_HEADER + int(connection.pragma("page_size"))
        for _ in range(2):
            read = connection.wal_checkpoint(mode=noop)[0]
            with log.open("rb") as file:
                header = file.read(_LOG_HEADER)
                at = _LOG_HEADER + max(read, 0) * frame
                found = _later_commit(file, at, frame, header[16:24] if _is_sound(header) else b"")
            if not found or connection.wal_checkpoint(mode=noop)[0] != read:
                return False  # or another process has just written
            time.sleep(_SETTLED_SECONDS)  # it may be about to say what it wrote
    except (OSError, apsw.Error):
        return False  # who reads on is told what is wrong
    return True


_SETTLED_SECONDS = 0.05


def _later_commit(file: BinaryIO, at: int, frame: int, salts: bytes) -> bool:
    """Whether one of the pages after the one at a position ends a transaction of the log with these salts, or of that
    of the second page if the log's own are damaged. Pages of earlier logs may lie behind those of this one.
    """
    foreign = 0
    while foreign < 2:
        at += frame
        file.seek(at)
        header = file.read(frame)
        if len(header) < frame:
            return False
        salts = salts or header[8:16]
        if header[8:16] != salts:
            foreign += 1
        elif any(header[4:8]):
            return True
    return False


def _is_sound(header: bytes) -> bool:
    """Whether the checksum at the end of a log's header fits."""
    order: Literal["big", "little"] = "big" if header[3] & 1 else "little"
    one = two = 0
    for at in range(0, 24, 8):
        one = (one + int.from_bytes(header[at : at + 4], order) + two) & 0xFFFFFFFF
        two = (two + int.from_bytes(header[at + 4 : at + 8], order) + one) & 0xFFFFFFFF
    return header[24:32] == one.to_bytes(4, "big") + two.to_bytes(4, "big")


def _end(connection: Connection, statement: str) -> None:
    if connection.in_transaction:
        connection.run(statement)


class Snapshot:
    """The block of ``Database.read``; inside another one it is a part of that one. No generator, because a search
    enters dozens.
    """

    __slots__ = ("_connection", "_database", "_is_outermost")

    def __init__(self, database: Database) -> None:
        self._database = database

    def __enter__(self) -> Connection:
        self._connection = connection = self._database.connection()
        self._is_outermost = not connection.in_transaction
        if self._is_outermost:
            with self._database.translated(), decoded(self._database.path):
                connection.begin_snapshot()
        return connection

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None and not self._is_outermost:
            return
        with self._database.translated(), decoded(self._database.path):
            try:
                if error is not None:
                    raise error
            finally:
                if self._is_outermost:
                    self._connection.end_snapshot()
