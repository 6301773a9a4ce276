"""A search engine that is fed from a store: filled, looked at, compared with the store, given up.

``index_feeds`` has one row if the store has such an engine. Then every change of a passage or of its vectors notes the
passage in ``index_outbox``, in the transaction of the change, whoever makes it. A step of the feeder takes some notes,
oldest first, brings the engine to what their passages are now, and takes the notes away. If it is interrupted anywhere,
the next step does the same again: points have the numbers of their passages, so that nothing is there twice. One
process at a time feeds a store: it holds a lease, sends nothing after half of its time, and takes no note away once it
is another's.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ricordo.backlog_thread import BacklogThread
from ricordo.errors import Error, MissingExtra, UsageError
from ricordo.frozen import frozen
from ricordo.masking import masked
from ricordo.plugins.postgres.database import Database
from ricordo.plugins.postgres.schema import TURN, grant_all, table_statements
from ricordo.plugins.qdrant.engine import IndexAway, IndexLost, Point, PointEngine, Space
from ricordo.plugins.qdrant.values import IndexReport
from ricordo.plugins.qdrant.vectors import EngineVectors, model_space
from ricordo.store.base import store_identity
from ricordo.store.sql.database import Row, now_micros
from ricordo.store.tables import Table
from ricordo.values.reports import Check

if TYPE_CHECKING:
    from ricordo.plugins.postgres.store import PostgresStore
    from ricordo.store.arrays import Array

ANSWER_SECONDS = 10
"""How long an answer may take; it is far less than a feeder's lease."""
BATCH = 500
LEASE_SECONDS = 120
TABLES = {
    "index_feeds": Table("name text, prefix text, spaces text, owner text, lease_until int", "name"),
    "index_outbox": Table("seq serial, chunk int, at int", "seq"),
}
NAME = "qdrant"
_SAMPLE = 50
_NOTE = """
CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql
SET search_path = "{schema}", pg_temp AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM index_feeds) THEN
    INSERT INTO index_outbox(chunk, at)
      SELECT c.id, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint FROM {chosen};
  END IF;
  RETURN NULL;
END $$"""
_CHUNKS = "changed c"
_EMBEDDED = "changed v JOIN chunks c ON c.embed_hash = v.hash WHERE c.state = 0"
_TRIGGERS = (
    ("chunks", "INSERT", "NEW", "note_chunks"),
    ("chunks", "UPDATE", "NEW", "note_chunks"),
    ("chunks", "DELETE", "OLD", "note_chunks"),
    ("vectors", "INSERT", "NEW", "note_vectors"),
)
_NOW = "extract(epoch FROM clock_timestamp())::bigint"
_LEASE = (
    f"UPDATE index_feeds SET owner = ?, lease_until = {_NOW} + {LEASE_SECONDS} WHERE name = '{NAME}'"
    f" AND (owner = ? OR lease_until NOT BETWEEN {_NOW} AND {_NOW} + {2 * LEASE_SECONDS}) RETURNING prefix, spaces"
)
_KEEP = (
    f"UPDATE index_feeds SET lease_until = {_NOW} + {LEASE_SECONDS}, spaces = ?"
    f" WHERE name = '{NAME}' AND owner = ? AND prefix = ? RETURNING 1"
)
_VECTORS = (
    "SELECT c.id, c.item, v.fingerprint, v.vector FROM chunks c JOIN vectors v ON v.hash = c.embed_hash"
    " WHERE c.state = 0 AND c.id IN (*)"
)
_MODELS = (
    "SELECT f.id, f.name, f.dimensions, (SELECT count(*) FROM chunks c JOIN vectors v ON v.hash = c.embed_hash"
    " WHERE v.fingerprint = f.id AND c.state = 0) FROM fingerprints f ORDER BY f.id"
)
_STATUS = (
    "SELECT (SELECT total FROM lexical_stats WHERE field = -1), (SELECT count(*) FROM index_outbox),"
    " (SELECT min(at) FROM index_outbox),"
    f" (SELECT owner FROM index_feeds WHERE name = '{NAME}' AND lease_until > {_NOW})"
)
_NEVER = "it was never filled: run 'ricordo index --rebuild'"


@frozen
class IndexChoice:
    """Where the engine is (the address of a server, or a folder for the one in this process), and how it is split."""

    address: str
    key_env: str = "QDRANT_API_KEY"
    """The environment variable that holds the server's key."""
    shards: int = 1
    replicas: int = 1

    @property
    def shown(self) -> str:
        return masked(self.address)

    def open(self) -> PointEngine:
        """Open it; a server is asked only when it is needed."""
        try:
            if self.address.startswith(("http://", "https://")):
                from ricordo.plugins.qdrant.client import ClientEngine, connected

                client = connected(self.address, os.environ.get(self.key_env, ""), ANSWER_SECONDS)
                return ClientEngine(client, self.shown, shards=self.shards, replicas=self.replicas)
            from ricordo.plugins.qdrant.edge import EdgeEngine

            return EdgeEngine(Path(self.address).expanduser(), shards=self.shards)
        except ImportError as error:
            raise MissingExtra("qdrant", "search engines beside a server") from error


class LeaseLost(Error):  # noqa: N818 - names are words of the domain
    """Another process feeds the engine now."""

    code = "lease_lost"


@frozen
class _Lease:
    """The right to feed, until a moment of this process's clock, and what the engine has."""

    prefix: str
    spaces: tuple[str, ...]
    until: float


class Feeder:
    """Brings the engine of a store up to date, step by step."""

    def __init__(self, database: Database, engine: PointEngine) -> None:
        self._database = database
        self._engine = engine
        self._owner = f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._lock = threading.Lock()  # threads of a process share its lease

    def step(self) -> int | None:
        """Apply some notes; returns how many. None if there is nothing to feed, or another process does it."""
        with self._lock:
            asked = time.monotonic()
            with self._database.write_at_once() as connection:
                there = connection.rows("SELECT to_regclass('index_feeds') IS NOT NULL")[0][0]
                rows = connection.rows(_LEASE, (self._owner, self._owner)) if there else []
            if not rows:
                return None
            lease = _Lease(rows[0][0], tuple(rows[0][1].split()), asked + LEASE_SECONDS / 2)
            with self._database.read() as connection:
                notes = connection.rows("SELECT seq, chunk FROM index_outbox ORDER BY seq LIMIT ?", (BATCH,))
                chunks = sorted({chunk for _, chunk in notes})
                vectors, models = connection.gather(
                    lambda: connection.rows_in(_VECTORS, chunks),
                    lambda: connection.rows("SELECT id, dimensions FROM fingerprints"),
                )
            if notes:
                self._finish(lease, notes, self._apply(lease, notes, vectors, dict(models)))
            else:  # another process may feed at once
                with self._database.write_at_once() as connection:
                    connection.run("UPDATE index_feeds SET lease_until = 0 WHERE owner = ?", (self._owner,))
            return len(notes)

    def feed(self) -> int:
        """Apply all notes there are; returns how many were applied here."""
        applied = 0
        with suppress(LeaseLost):  # another process does the rest
            while done := self.step():
                applied += done
        if applied:
            self._engine.settle()
        return applied

    def _apply(
        self, lease: _Lease, notes: Sequence[Row], vectors: Sequence[Row], models: Mapping[int, int]
    ) -> tuple[str, ...]:
        """Bring the engine to what the passages are; returns the spaces that it has now."""
        seq = max(seq for seq, _ in notes)
        spaces = dict.fromkeys(lease.spaces)
        for number, dimensions in models.items():
            space = model_space(lease.prefix, number, dimensions)
            given = {
                chunk: Point(chunk, item, _numbers(data)) for chunk, item, model, data in vectors if model == number
            }
            if not given and space.name not in lease.spaces:
                continue
            if time.monotonic() > lease.until:
                raise LeaseLost("feeding the search engine took longer than its lease")
            self._engine.make(space)
            spaces[space.name] = None
            if given:
                self._engine.put(space, list(given.values()), seq)
            if gone := [chunk for chunk in {chunk for _, chunk in notes} if chunk not in given]:
                self._engine.remove(space, gone)
        return tuple(spaces)

    def _finish(self, lease: _Lease, notes: Sequence[Row], spaces: Sequence[str]) -> None:
        with self._database.write_at_once() as connection:
            if not connection.rows(_KEEP, (" ".join(spaces), self._owner, lease.prefix)):
                raise LeaseLost("another process feeds the search engine now")
            connection.run("DELETE FROM index_outbox WHERE seq = ANY(?)", ([seq for seq, _ in notes],))


def _numbers(data: bytes) -> Array:
    return np.frombuffer(data, np.float32)


class Feed:
    """The engine of one store."""

    def __init__(self, store: PostgresStore, choice: IndexChoice, *, in_background: bool = True) -> None:
        self._database = store.database
        self._choice = choice
        self.engine = choice.open()
        self.feeder = Feeder(store.database, self.engine)
        self._thread = BacklogThread(self.feeder.step, name="ricordo-feeder", problem="the search engine was not fed")
        wakes = in_background and not store.database.read_only
        store.opened.search_vectors_with(
            lambda: EngineVectors(self.engine, self._thread.wake if wakes else lambda: None)
        )
        if wakes:
            store.database.on_commit = self._thread.wake
        store.beside = self

    def run(self) -> int:
        """Apply the changes that wait, unless another process does; returns how many were applied here."""
        return self.feeder.feed()

    def rebuild(self) -> None:
        """Fill the engine anew; until that is done, the store's own index answers searches."""
        self.engine.check()  # before anything is changed
        self._make_tables()
        before = self._feed()
        store = store_identity(self._database)[:8] or "store"
        prefix = f"ricordo-{store}-{uuid.uuid4().hex[:6]}"
        with self._database.write(durable=True, mirrored=False) as connection:
            for table in TABLES:
                connection.run(f"DELETE FROM {table}")
            connection.run(
                "INSERT INTO index_feeds(name, prefix, spaces, owner, lease_until) VALUES(?, ?, '', '', 0)",
                (NAME, prefix),
            )
            connection.run(
                "INSERT INTO index_outbox(chunk, at) SELECT id, ? FROM chunks WHERE state = 0 ORDER BY id",
                (now_micros(),),
            )
        self._throw_away(before)
        self.feeder.feed()

    def _make_tables(self) -> None:
        """Make the tables and triggers, unless they are there; that takes an owner of the tables."""
        schema = self._database.address.schema
        with self._database.apart_from_pool() as raw:
            raw.execute(f"LOCK TABLE {TURN}")
            there = raw.execute("SELECT to_regclass('index_feeds') IS NOT NULL").fetchone()
            if there is not None and there[0]:
                return
            for name, table in TABLES.items():
                for statement in table_statements(name, table):
                    raw.execute(statement)
            for name, chosen in (("note_chunks", _CHUNKS), ("note_vectors", _EMBEDDED)):
                raw.execute(_NOTE.format(name=name, schema=schema, chosen=chosen))
            for on, event, rows, function in _TRIGGERS:
                raw.execute(
                    f"CREATE TRIGGER feed_{event.lower()} AFTER {event} ON {on} REFERENCING {rows} TABLE AS changed"
                    f" FOR EACH STATEMENT EXECUTE FUNCTION {function}()"
                )
            grant_all(raw, schema)

    def drop(self) -> None:
        """Stop feeding, and throw away what the engine has."""
        before = self._feed()
        if before is None:
            raise UsageError("no search engine is fed from this store")
        with self._database.write(durable=True, mirrored=False) as connection:
            for table in TABLES:
                connection.run(f"DELETE FROM {table}")
        self._throw_away(before)

    def _feed(self) -> tuple[str, list[str]] | None:
        """The prefix and the spaces of what is fed; None if nothing is."""
        with self._database.read() as connection:
            if not connection.rows("SELECT to_regclass('index_feeds') IS NOT NULL")[0][0]:
                return None
            rows = connection.rows(f"SELECT prefix, spaces FROM index_feeds WHERE name = '{NAME}'")
        return (rows[0][0], rows[0][1].split()) if rows else None

    def _throw_away(self, fed: tuple[str, list[str]] | None) -> None:
        with suppress(IndexAway):  # it may be gone with all that it had
            for name in fed[1] if fed is not None else ():
                self.engine.drop(Space(name))

    def report(self) -> IndexReport:
        """How far the engine is."""
        fed = self._feed()
        if fed is None:
            with self._database.read() as connection:
                [(passages,)] = connection.rows("SELECT total FROM lexical_stats WHERE field = -1")
            return IndexReport(self._choice.shown, passages, 0, 0.0, "", {}, _NEVER)
        with self._database.read() as connection:
            [(passages, waiting, oldest, owner)] = connection.rows(_STATUS)
            models = connection.rows(_MODELS)
        lag = max(0.0, (now_micros() - oldest) / 1e6) if oldest is not None else 0.0
        vectors, problem = {}, ""
        try:
            for number, name, dimensions, _ in models:
                space = model_space(fed[0], number, dimensions)
                if space.name in fed[1]:
                    vectors[name] = self.engine.count(space)
        except IndexAway as error:
            problem = error.message
        return IndexReport(self._choice.shown, passages, waiting, round(lag, 1), owner or "", vectors, problem)

    def check(self, repair: bool) -> Check:
        """Compare the engine with the store: how many vectors there are, and some of them one by one."""
        try:
            problem = self._problem()
        except IndexLost as error:
            problem = error.message
        except IndexAway as error:
            return Check("search engine", False, error.message)
        if problem and repair:
            self.rebuild()
        return Check(
            "search engine", not problem, problem or "holds what the store has", repaired=bool(problem) and repair
        )

    def _problem(self) -> str:
        fed = self._feed()
        if fed is None:
            return _NEVER
        with self._database.read() as connection:
            models = connection.rows(_MODELS)
            waiting = connection.rows("SELECT count(*) FROM index_outbox")[0][0]
            chunks = {number: [row[0] for row in connection.rows(_SOME, (number,))] for number, *_ in models}
        for number, name, dimensions, embedded in models:
            space = model_space(fed[0], number, dimensions)
            there = self.engine.count(space) if space.name in fed[1] else 0
            if waiting or (not embedded and not there):
                continue
            if there != embedded:
                return f"it holds {there} vectors of {name} instead of {embedded}"
            if missing := len(set(chunks[number]) - self.engine.held(space, chunks[number])):
                return f"{missing} of {len(chunks[number])} passages that were looked for are missing"
        return ""

    def close(self) -> None:
        self._database.on_commit = None
        self._thread.stop(None)
        with suppress(IndexAway):
            self.engine.close()


_SOME = (
    "SELECT c.id FROM chunks c JOIN vectors v ON v.hash = c.embed_hash WHERE v.fingerprint = ? AND c.state = 0"
    f" ORDER BY c.embed_hash LIMIT {_SAMPLE}"
)
