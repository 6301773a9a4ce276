"""One store in a PostgreSQL database: its pool of connections, and the transactions on them.

A read is a snapshot, which ends in the background. A write of items takes the turn to write, so that one transaction at
a time changes items, as in SQLite; searches, other stores, and what a search records never wait for it. Nothing depends
on the session: what a transaction needs, it settles for itself, so that a pooler may give each a session of its own.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import psycopg
import psycopg.conninfo
import psycopg_pool

from ricordo.errors import CorruptStore, Error, Forbidden, ReadOnlyStore, StoreError, Unavailable, UsageError
from ricordo.plugins.postgres import schema
from ricordo.plugins.postgres.connection import Connection, Pooled
from ricordo.speaking import known_as
from ricordo.store.sql.database import AroundCommit, decoded, mirroring
from ricordo.store.sql.user_words import pass_gate
from ricordo.store.tables import TABLES

if TYPE_CHECKING:
    from ricordo.plugins.postgres.address import Address

CONNECT_SECONDS = 5.0
READ_IDLE_SECONDS = 600
"""So long a read may lie still, as one that writes a backup to a slow disk does."""
_SETTLED = {"statement_timeout": "60s", "jit": "off", "work_mem": "64MB"}
"""What every transaction settles, unless the role, the database, the server's file or the address says it."""
_KEPT_ALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
for _noisy in ("psycopg", "psycopg.pool"):
    # The pool would warn about open reads, which it is meant to end, and the driver about what a crash cut off: the
    # caller's error says that.
    logging.getLogger(_noisy).setLevel(logging.ERROR)


_REPLICA = "It is a replica: name the primary."
_READER = "Your role in the team is reader: ask its owner for ‹:team invite› with the role writer."


class Database:
    """One store in a PostgreSQL database. ``read()`` gives a snapshot, ``write()`` a transaction."""

    foreign = False

    def __init__(
        self, address: Address, *, busy_seconds: float = 30.0, create: bool = True,
        connections: int = 16,
    ) -> None:  # fmt: skip
        self.address = address
        self.path = address.shown
        self.person = ""
        """The role that logged in to a team's store, which is whoever writes there; empty without a team."""
        self.busy_seconds = busy_seconds
        self.why_read_only = ""
        """Why nothing can be written, as a hint; empty if something can."""
        self.around_commit: AroundCommit | None = None
        self.on_broken: Callable[[], None] | None = None
        """Called when a connection broke: another server may answer from now on."""
        self.on_commit: Callable[[], None] | None = None
        """Called after anything was changed."""
        self._local = threading.local()
        self._closed = False
        self._came_back: WeakSet[Pooled] = WeakSet()
        self._chosen: set[str] = set()
        """The settings of the server that are not to be touched."""
        with self.translated():
            self._prepare(create=create)
        self.settings = self._settled(READ_IDLE_SECONDS)
        self.pool = psycopg_pool.ConnectionPool(
            address.dsn, min_size=0, max_size=connections, open=True, timeout=CONNECT_SECONDS,
            connection_class=Pooled, reset=_end_in_background, name=f"ricordo-{address.schema}",
            reconnect_timeout=CONNECT_SECONDS,
            kwargs={"cursor_factory": psycopg.RawCursor, **_options(address)},
        )  # fmt: skip

    def _prepare(self, *, create: bool) -> None:
        """Make or upgrade the tables, and see what this role may do, with a connection of its own."""
        name = self.address.schema
        with _connect(self.address) as raw:
            who = schema.access(raw, name)
            schema.refuse_strangers(who, self.path)
            schema.migrate(raw, name, self.path, create=create and not who.is_replica, moved=self.address.moved)
            who = schema.access(raw, name)
            rows = raw.execute("SELECT name FROM pg_settings WHERE source <> 'default'").fetchall()
            self._chosen = {setting for (setting,) in rows}
            [(has_team,)] = raw.execute(f'SELECT readers IS NOT NULL FROM "{name}".schema_version').fetchall()
        self.person = who.login if has_team else ""
        self.why_read_only = _REPLICA if who.is_replica else "" if who.may_write else _READER

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written."""
        return bool(self.why_read_only)

    def _settled(self, idle: float, *, usual_wait: float | None = None, wait: float | None = None) -> str:
        """The statement that settles what a transaction needs; ``idle`` is how many seconds it may lie still, ``wait``
        how many it waits for a lock, whatever is usual.
        """
        wanted = {**_SETTLED, "idle_in_transaction_session_timeout": f"{max(1000, int(idle * 1000))}ms"}
        if usual_wait is not None:
            wanted["lock_timeout"] = f"{max(1, int(usual_wait * 1000))}ms"
        kept = {name: value for name, value in wanted.items() if name not in self._chosen}
        if wait is not None:
            kept["lock_timeout"] = f"{max(1, int(wait * 1000))}ms"
        kept["search_path"] = f'"{self.address.schema}", pg_temp'
        return "SELECT " + ", ".join(f"set_config('{name}', '{value}', true)" for name, value in kept.items())

    @property
    def trips(self) -> int:
        """How many trips over the network this thread made."""
        return getattr(self._local, "trips", 0)

    def count_trip(self) -> None:
        """Count one more trip of this thread."""
        self._local.trips = self.trips + 1

    def exchange(self, raw: Pooled) -> Pooled:
        """Give a broken connection back and take another; the pool throws all broken ones away."""
        self._put_back(raw)
        self.pool.check()
        if self.on_broken is not None:
            self.on_broken()
        return self._taken()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A snapshot: all statements in the block see the same state. Blocks may nest."""
        self._refuse_closed()
        reader: Connection | None = getattr(self._local, "reader", None)
        with self.translated(), decoded(self.path):
            if reader is not None:
                yield reader
                return
            reader = self._local.reader = Connection(self, self._taken())
            try:
                yield reader
            finally:
                self._local.reader = None
                self._put_back(reader.raw)

    @contextmanager
    def write(self, *, durable: bool = False, wait: float | None = None, mirrored: bool = True) -> Iterator[Connection]:
        """A write transaction, the only one in this store; a commit is always durable, with or without
        ``durable``.
        """
        self._refuse_closed()
        if self.read_only:
            raise ReadOnlyStore(f"the store {self.path} can only be read", hint=self.why_read_only)
        with self.translated(), ExitStack() as stack:
            writer: Connection | None = getattr(self._local, "writer", None)
            if writer is not None:
                yield writer
                return
            stack.enter_context(known_as(self.person))
            writer = self._writer(wait, takes_turn=True)
            self._local.writer, self._local.mirrored = writer, mirrored
            try:
                yield writer
                pass_gate(self, writer)
                with mirroring(self.around_commit if mirrored else None, writer.touched, durable=durable):
                    self._commit(writer)
            finally:
                self._local.writer = None
                self._give_back(writer)

    @contextmanager
    def write_at_once(self, *, wait: float | None = None) -> Iterator[Connection]:
        """A transaction that does not wait for its turn, for rows whose writers do not disturb each other."""
        self._refuse_closed()
        with self.translated():
            if self.is_writing():
                yield self._local.writer
                return
            own = self._writer(wait, takes_turn=False)
            try:
                yield own
                self._commit(own)
            finally:
                self._give_back(own)

    def _give_back(self, connection: Connection) -> None:
        """Give a connection back to the pool; a transaction that an error left open is rolled back first."""
        try:
            if not connection.raw.closed:
                connection.raw.rollback()  # does nothing after a commit
        finally:
            self._put_back(connection.raw)

    def _taken(self) -> Pooled:
        """A connection from the pool; ``close`` leaves it to whoever has it."""
        raw = self.pool.getconn()
        self._came_back.discard(raw)
        return raw

    def _put_back(self, raw: Pooled) -> None:
        """Give a connection back to the pool, whose threads end what is open on it. A pool that is closed before they
        did so leaves it open, and a transaction of a read would keep others from changing tables: ``close`` ends it.
        """
        self._came_back.add(raw)
        self.pool.putconn(raw)
        if self._closed:
            raw.close()

    def _writer(self, wait: float | None, *, takes_turn: bool) -> Connection:
        """A transaction that writes, when it is its turn. One that lies still for long loses its turn, before those
        that began to wait with it give up.
        """
        settle = self._settled(2 / 3 * self.busy_seconds, usual_wait=self.busy_seconds, wait=wait)
        turn = [f'LOCK TABLE "{self.address.schema}".{schema.TURN} IN EXCLUSIVE MODE'] if takes_turn else []
        opening = ("BEGIN", settle, *turn, "SELECT number FROM schema_version")
        return Connection(self, self._taken(), opening=opening)

    def _commit(self, writer: Connection) -> None:
        """Commit, and wait for it: what returns is kept."""
        if writer.touched:  # what processes keep of items is out of date, even if no chunk changed
            writer.add_to_meta("index_epoch", 1)
        writer.commit()
        if self.on_commit is not None:
            self.on_commit()

    def is_mirrored(self) -> bool:
        """Whether writes of this thread are mirrored now: always, except in a transaction that switched it off."""
        return bool(self._local.mirrored) if self.is_writing() else True

    def is_writing(self) -> bool:
        """Whether this thread is inside a write transaction."""
        return getattr(self._local, "writer", None) is not None

    def is_owner(self) -> bool:
        """Whether this role may change the tables, and not only their rows."""
        with self.read() as connection:
            [(may,)] = connection.rows(
                "SELECT pg_has_role(session_user, nspowner, 'USAGE') FROM pg_namespace WHERE nspname = ?",
                (self.address.schema,),
            )
        return bool(may)

    def apart(self, statement: str) -> None:
        """Run a statement on all tables, named behind it, outside of any transaction and on a connection of its own."""
        tables = ", ".join(f'"{self.address.schema}".{table}' for table in TABLES)
        with self.translated(), _connect(self.address) as raw:
            raw.execute(f"{statement} {tables}")

    @contextmanager
    def apart_from_pool(self) -> Iterator[psycopg.Connection[Any]]:
        """A transaction on a connection of its own, for what concerns the tables and who may use them."""
        with self.translated(), _connect(self.address) as raw, raw.transaction():
            raw.execute(f'SET LOCAL search_path = "{self.address.schema}", pg_temp')
            yield raw

    def checkpoint(self) -> None:
        """Nothing to do: the server writes its own log."""

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.pool.close()
            for raw in list(self._came_back):
                raw.close()

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StoreError("the store is closed", hint="Open it again with Ricordo.open().")

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn PostgreSQL's errors into ours."""
        try:
            with translated_errors(self.path):
                yield
        except CorruptStore as error:
            if self._is_shut_out():
                raise Forbidden(
                    f"you are no longer in the team of the store {self.path}",
                    hint="Ask its owner: ‹:team invite›.",
                ) from error
            raise

    def _is_shut_out(self) -> bool:
        """Whether tables seem to be missing only because this role may not see them any more."""
        with translated_errors(self.path), _connect(self.address) as raw:
            row = raw.execute(
                "SELECT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = %s", (self.address.schema,)
            ).fetchone()
        return row is not None and not row[0]


def _end_in_background(raw: psycopg.Connection[Any]) -> None:
    """Nothing to do. Because there is such a function, the pool ends reads in a thread of its own, and nobody waits."""


def _connect(address: Address) -> psycopg.Connection[Any]:
    """A connection outside of the pool."""
    try:
        return psycopg.connect(address.dsn, **_options(address))
    except psycopg.ProgrammingError:  # its words repeat parts of the address, which may be secret
        raise UsageError(
            f"PostgreSQL does not understand the address of the store {address.shown}",
            hint="Check what stands after ? in it; such an option is sslmode=require.",
        ) from None


def _options(address: Address) -> dict[str, Any]:
    """How a connection is opened; the address, and the service that it names, have the last word."""
    given = psycopg.conninfo.conninfo_to_dict(address.dsn)
    usual = {"connect_timeout": int(CONNECT_SECONDS), "application_name": "ricordo"}
    usual |= {} if "service" in given else _KEPT_ALIVE
    own = {name: value for name, value in usual.items() if name not in given}
    return {"autocommit": True, "prepare_threshold": address.prepare, **own}


@contextmanager
def translated_errors(path: str) -> Iterator[None]:
    """Turn PostgreSQL's errors into ours."""
    try:
        yield
    except (psycopg_pool.PoolTimeout, psycopg.errors.ConnectionTimeout) as error:
        raise Unavailable(
            f"the store {path} does not answer", hint="Check that the server runs and can be reached."
        ) from error
    except psycopg.errors.QueryCanceled as error:
        raise Unavailable(
            f"the store {path} took too long and was stopped", hint="Try again; see docs/scaling.md."
        ) from error
    except psycopg.errors.ReadOnlySqlTransaction as error:
        raise ReadOnlyStore(f"the store {path} can only be read", hint="It is a replica: name the primary.") from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise _refused(path, error) from error
    except psycopg.errors.DiskFull as error:
        raise StoreError(f"no space is left for the store {path}", hint="Free some; nothing is lost.") from error
    except (psycopg.errors.DeadlockDetected, psycopg.errors.LockNotAvailable) as error:
        raise Unavailable(
            f"the store {path} was busy for long, held by another connection", hint="Try again when that one is done."
        ) from error
    except psycopg.errors.IdleInTransactionSessionTimeout as error:
        raise Unavailable(
            f"the store {path} ended a transaction that lay still for too long",
            hint="Nothing of it was saved; try again.",
        ) from error
    except psycopg.errors.DuplicateSchema as error:
        raise StoreError(
            f"the store {path} cannot be upgraded ({_first_line(error)})", hint="Rename that schema, and open it again."
        ) from error
    except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn) as error:
        raise CorruptStore(
            f"the tables of the store {path} are not what they should be ({_first_line(error)})",
            hint="Were you removed from its team? Ask an owner. Otherwise restore a backup, or name another store with"
            " ‹store›.",
        ) from error
    except psycopg.DataError as error:
        if "NUL" not in str(error):
            raise
        raise UsageError(
            "a text holds the character U+0000, which PostgreSQL cannot hold", hint="Leave it out."
        ) from None
    except psycopg.DatabaseError as error:
        if error.sqlstate is not None and not isinstance(error, psycopg.OperationalError):
            raise  # the server did not understand us
        raise Unavailable(
            f"the store {path} cannot be reached ({_first_line(error)})",
            hint="Check that the server runs, and its address, user and password.",
        ) from error


def _refused(path: str, error: psycopg.errors.InsufficientPrivilege) -> Error:
    said = _first_line(error)
    if "must be owner" in said or "must be able to SET ROLE" in said:
        return StoreError(f"only the owner of the store {path} may do this ({said})", hint="‹:team status› names it.")
    if "permission denied for database" in said:
        return StoreError(
            f"this role may not make the tables of the store {path} ({said})",
            hint="Let an administrator run GRANT CREATE ON DATABASE … TO this role, or open it first as one that may.",
        )
    if "permission denied for schema" in said:
        return Forbidden(f"you are no longer in the team of the store {path}", hint="Ask its owner: ‹:team invite›.")
    if "permission denied for table" in said:
        return ReadOnlyStore(f"the store {path} can only be read by you ({said})", hint=_READER)
    return StoreError(f"the store {path} refuses this ({said})", hint="docs/scaling.md says what which role may do.")


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
