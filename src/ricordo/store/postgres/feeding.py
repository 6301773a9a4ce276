"""Feeds a search engine with the changes of a workspace, from ``index_outbox``.

A step takes some notes, oldest first, brings the engine to what their passages are now, and then takes the notes away,
in one transaction with ``index_applied`` and ``index_terms``. If it is interrupted anywhere, the next step does the
same again: points have the numbers of their passages, so that nothing is there twice. One process at a time feeds a
workspace: it holds a lease, sends nothing after half of its time, and takes no note away once it is another's.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

import numpy as np

from ricordo.errors import Error
from ricordo.frozen import frozen
from ricordo.store.postgres.database import Database
from ricordo.store.postgres.nearness import decoded
from ricordo.store.postgres.passage_words import TEXT_COLUMNS, counted, impacts, packed, terms_in
from ricordo.store.postgres.picking import model_space, words_space
from ricordo.store.qdrant.points import IndexAway, Point, PointEngine, Space
from ricordo.store.sql.arrays import Array
from ricordo.store.sql.protocols import Row
from ricordo.store.values import Scoring
from ricordo.text.words import Analyzer

BATCH = 500
LEASE_SECONDS = 120
POLL_SECONDS = 5.0
"""How often a process that could not feed looks again."""
NAME = "qdrant"
_NOW = "extract(epoch FROM clock_timestamp())::bigint"
_LEASE = (
    f"UPDATE index_feeds SET owner = ?, lease_until = {_NOW} + {LEASE_SECONDS} WHERE name = '{NAME}'"
    f" AND (owner = ? OR lease_until NOT BETWEEN {_NOW} AND {_NOW} + {2 * LEASE_SECONDS}) RETURNING prefix, spaces"
)
_KEEP = (
    f"UPDATE index_feeds SET lease_until = {_NOW} + {LEASE_SECONDS}, spaces = ?"
    f" WHERE name = '{NAME}' AND owner = ? AND prefix = ? RETURNING 1"
)
_PASSAGES = f"SELECT c.id, c.item, c.lengths, {TEXT_COLUMNS} FROM chunks c JOIN items i ON i.n = c.item"
_VECTORS = (
    "SELECT c.id, v.fingerprint, vector_send(v.vector) FROM chunks c JOIN vectors v ON v.hash = c.embed_hash"
    " WHERE c.id = ANY(?) AND c.state = 0"
)
_log = logging.getLogger(__name__)


class LeaseLost(Error):  # noqa: N818 - names are words of the domain
    """Another process feeds the engine now."""

    code = "lease_lost"


@frozen
class _Lease:
    """The right to feed, until a moment of this process's clock, and what the engine has."""

    prefix: str
    spaces: tuple[str, ...]
    until: float


@frozen
class _Batch:
    """Notes that were read, and what their passages are now."""

    notes: Sequence[Row]
    words: Mapping[int, bytes]
    """Of live passages."""
    lengths: Mapping[int, bytes]
    items: Mapping[int, int]
    vectors: Mapping[int, Mapping[int, Array]]
    """By model and passage."""
    dimensions: Mapping[int, int]
    totals: Mapping[int, int]

    @property
    def chunks(self) -> list[int]:
        return sorted({chunk for _, chunk in self.notes})


class Feeder:
    """Brings the engine of a workspace up to date, step by step."""

    def __init__(self, database: Database, engine: PointEngine, analyzer: Analyzer) -> None:
        self._database = database
        self._engine = engine
        self._analyzer = analyzer
        self._owner = f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._lock = threading.Lock()  # threads of a process share its lease

    def step(self) -> int | None:
        """Apply some notes; returns how many. None if there is nothing to feed, or another process does it."""
        with self._lock:
            lease = self._lease()
            if lease is None:
                return None
            batch = self._read()
            if batch.notes:
                self._note(lease, batch, self._apply(lease, batch))
            else:
                self._give_up()
            return len(batch.notes)

    def feed(self) -> int:
        """Apply all notes there are; returns how many were applied here."""
        applied = 0
        with suppress(LeaseLost):  # another process does the rest
            while done := self.step():
                applied += done
        if applied:
            self._engine.settle()
        return applied

    def _give_up(self) -> None:
        """Let another process feed at once."""
        with self._database.write_at_once() as connection:
            connection.run("UPDATE index_feeds SET lease_until = 0 WHERE owner = ?", (self._owner,))

    def _lease(self) -> _Lease | None:
        asked = time.monotonic()
        with self._database.write_at_once() as connection:
            rows = connection.rows(_LEASE, (self._owner, self._owner))
        return _Lease(rows[0][0], tuple(rows[0][1].split()), asked + LEASE_SECONDS / 2) if rows else None

    def _read(self) -> _Batch:
        with self._database.read() as connection:
            notes = connection.rows("SELECT seq, chunk FROM index_outbox ORDER BY seq LIMIT ?", (BATCH,))
            chunks = sorted({chunk for _, chunk in notes})
            passages, vectors, models, totals = connection.together(
                [
                    (f"{_PASSAGES} WHERE c.id = ANY(?) AND c.state = 0", (chunks,)),
                    (_VECTORS, (chunks,)),
                    ("SELECT id, dimensions FROM fingerprints", ()),
                    ("SELECT field, total FROM lexical_stats", ()),
                ],
                binary=True,
            )
        by_model: dict[int, dict[int, Array]] = {number: {} for number, _ in models}
        for chunk, number, data in vectors:
            by_model[number][chunk] = decoded(data)
        return _Batch(
            notes,
            {chunk: packed(counted(self._analyzer, *texts)) for chunk, _, _, *texts in passages},
            {row[0]: row[2] for row in passages},
            {row[0]: row[1] for row in passages},
            by_model,
            dict(models),
            dict(totals),
        )

    def _apply(self, lease: _Lease, batch: _Batch) -> tuple[str, ...]:
        """Bring the engine to what the passages are; returns the spaces that it has now."""
        scoring = Scoring()
        words = {
            chunk: Point(chunk, batch.items[chunk], impacts(held, batch.lengths[chunk], batch.totals, scoring))
            for chunk, held in batch.words.items()
            if held
        }
        put: list[tuple[Space, Mapping[int, Point]]] = [(words_space(lease.prefix), words)]
        for number, dimensions in batch.dimensions.items():
            found = batch.vectors[number]
            space = model_space(lease.prefix, number, dimensions)
            if found or space.name in lease.spaces:
                points = {n: Point(n, batch.items[n], vector) for n, vector in found.items() if n in batch.items}
                put.append((space, points))
        seq = max(seq for seq, _ in batch.notes)
        for space, given in put:
            self._refuse_late(lease)
            if space.name not in lease.spaces:
                self._engine.make(space)
            if given:
                self._engine.put(space, list(given.values()), seq)
            if gone := [chunk for chunk in batch.chunks if chunk not in given]:
                self._engine.remove(space, gone)
        return tuple(dict.fromkeys((*lease.spaces, *(space.name for space, _ in put))))

    def _refuse_late(self, lease: _Lease) -> None:
        if time.monotonic() > lease.until:
            raise LeaseLost("feeding the search engine took longer than its lease")

    def _note(self, lease: _Lease, batch: _Batch, spaces: Sequence[str]) -> None:
        """Take the notes away, and count the words of what was applied; all at once, or nothing."""
        chunks = batch.chunks
        with self._database.write_at_once() as connection:
            if not connection.rows(_KEEP, (" ".join(spaces), self._owner, lease.prefix)):
                raise LeaseLost("another process feeds the search engine now")
            before = dict[int, bytes](
                connection.rows("SELECT chunk, words FROM index_applied WHERE chunk = ANY(?)", (chunks,))
            )
            terms, moved = _moved(before.values(), batch.words.values())
            connection.run("DELETE FROM index_applied WHERE chunk = ANY(?)", (chunks,))
            connection.run(
                "INSERT INTO index_applied(chunk, words) SELECT * FROM unnest(?::bigint[], ?::bytea[])",
                (list(batch.words), list(batch.words.values())),
            )
            connection.run(
                "INSERT INTO index_terms(term, chunks) SELECT * FROM unnest(?::bigint[], ?::bigint[])"
                " ON CONFLICT (workspace, term) DO UPDATE SET chunks = index_terms.chunks + excluded.chunks",
                (terms.tolist(), moved.tolist()),
            )
            connection.run("DELETE FROM index_outbox WHERE seq = ANY(?)", ([seq for seq, _ in batch.notes],))


def _moved(before: Iterable[bytes], after: Iterable[bytes]) -> tuple[Array, Array]:
    """In how many more passages each term occurs afterwards; terms of which nothing changed are left out."""
    gone = [terms_in(words) for words in before]
    come = [terms_in(words) for words in after]
    signs = np.repeat([-1, 1], [sum(map(len, gone)), sum(map(len, come))])
    terms, places = np.unique(np.concatenate([*gone, *come, np.zeros(0, np.int64)]), return_inverse=True)
    moved = np.bincount(places, signs, len(terms)).astype(np.int64)
    return terms[moved != 0], moved[moved != 0]


class FeedingThread:
    """Feeds in the background of a process, whenever it is told that something changed."""

    def __init__(self, feeder: Feeder) -> None:
        self._feeder = feeder
        self._woken = threading.Event()
        self._ends = False
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def wake(self) -> None:
        """Say that something changed; the first time, the thread is started."""
        self._woken.set()
        with self._lock:
            if self._thread is None and not self._ends:
                self._thread = threading.Thread(target=self._run, name="ricordo-feeder", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while not self._ends:
            self._woken.wait()
            self._woken.clear()
            try:
                while not self._ends and (done := self._feeder.step()) != 0:
                    if done is None:
                        break
            except (IndexAway, LeaseLost) as error:
                _log.info("the search engine was not fed: %s", error.message)
                if not self._ends:
                    self._woken.wait(POLL_SECONDS)
            except Error as error:  # the server is away: what is noted there waits
                _log.info("the search engine was not fed: %s", error.message)

    def close(self) -> None:
        """End after the step that runs now."""
        with self._lock:
            self._ends = True
            thread = self._thread
        self._woken.set()
        if thread is not None:
            thread.join()
