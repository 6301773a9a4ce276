"""The keyword index as rows in the store: adds a batch as a segment, retires chunks, merges segments by size.

A segment is immutable. Adding writes one; retiring appends to a small log; merging builds a new segment from several in
short transactions and swaps it in at the end, so that no write lock is held long. Deleted chunks are left behind by a
merge; superseded ones stay, for searches as of an earlier time. ``lexical`` computes scores.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from ricordo.frozen import frozen
from ricordo.store.arrays import Array
from ricordo.store.index.postings import combine, invert
from ricordo.store.sql.database import DELETED, FIELDS, LIVE, Connection, Database, NewChunk
from ricordo.store.tables import column_names
from ricordo.store.values import TermCounts

BUILDING, READY, REPLACED = 0, 1, 2
SEGMENT_COLUMNS = column_names("segments")
FAN_OUT = 8
MAX_MERGED = 600_000
"""Larger segments are not merged; a million chunks are in a few of them."""
STEP_ROWS = 4_000
LEASE_SECONDS = 120

AddChunks = Callable[[Connection, Sequence[NewChunk]], None]
"""Indexes the chunks that a transaction wrote."""
ForgetWords = Callable[[Database], None]
"""Erases what is left of the words of an item that was erased."""


@frozen
class _Inverted:
    """Posting rows made before the transaction, and the chunks they are for."""

    counts: Sequence[TermCounts]
    rows: Sequence[tuple[str, bytes]]

    def rows_for(self, chunks: Sequence[NewChunk]) -> Iterable[tuple[str, bytes]]:
        """The rows, if the chunks are the expected ones; else they are made again."""
        if len(chunks) == len(self.counts) and all(
            chunk.counts is expected for chunk, expected in zip(chunks, self.counts, strict=True)
        ):
            return self.rows
        return invert([chunk.counts for chunk in chunks])


def prepare(counts: Sequence[TermCounts]) -> AddChunks:
    """Do the costly part of indexing while no lock is held; the answer indexes the chunks of one transaction."""
    made = _Inverted(counts, list(invert(counts)))
    return lambda connection, chunks: _add_chunks(connection, chunks, made)


def _add_chunks(connection: Connection, chunks: Sequence[NewChunk], made: _Inverted) -> None:
    """Index the chunks of one transaction as one segment."""
    if not chunks:
        return
    write_segment(connection, READY, chunks, made.rows_for(chunks))
    live = np.array([chunk.state == LIVE for chunk in chunks])
    _count(connection, _lengths(chunks)[:, live], 1)


def _lengths(chunks: Sequence[NewChunk]) -> Array:
    """How many terms each field of each chunk has, field by field."""
    return np.frombuffer(b"".join([chunk.lengths for chunk in chunks]), np.uint32).reshape(-1, len(FIELDS)).T


def write_segment(
    connection: Connection, state: int, chunks: Sequence[NewChunk], rows: Iterable[tuple[str, bytes]]
) -> int:
    """Write a segment with its posting rows; returns its number."""
    row = (
        state,
        len(chunks),
        np.array([chunk.chunk for chunk in chunks], np.int64).tobytes(),
        np.array([chunk.item for chunk in chunks], np.int64).tobytes(),
        _lengths(chunks).tobytes(),
        bytes(chunk.state for chunk in chunks),
    )
    segment = connection.insert_numbered("segments", SEGMENT_COLUMNS, row)
    write_postings(connection, segment, rows)
    return segment


def write_postings(connection: Connection, segment: int, rows: Iterable[tuple[str, bytes]]) -> None:
    """Write posting rows of a segment."""
    connection.insert("postings", ("segment", "term", "data"), ((segment, term, data) for term, data in rows))


def retire(connection: Connection, chunks: Sequence[tuple[int, int, bytes]], state: int) -> None:
    """Take chunks ``(id, its state so far, its lengths)`` out of normal search, at once."""
    if not chunks:
        return
    connection.insert("retired", ("chunk", "state"), [(chunk, state) for chunk, _, _ in chunks])
    lost = [np.frombuffer(lengths, np.uint32) for _, before, lengths in chunks if before == LIVE]
    if lost:
        _count(connection, np.array(lost, np.int64).T, -1)


def prepare_erasing(connection: Connection, n: int) -> ForgetWords:
    """Find the segments that contain words of an item; the answer rewrites them."""
    ready = connection.rows("SELECT id FROM segments WHERE state=?", (READY,))
    holding = [segment for (segment,) in ready if (load_arrays(connection, segment).items == n).any()]
    return lambda database: rewrite(database, holding)


def is_used(connection: Connection, term: str) -> bool:
    """Whether any chunk holds a term."""
    return bool(
        connection.rows(
            "SELECT 1 FROM segments s JOIN postings p ON p.segment = s.id AND p.term = ? WHERE s.state=1 LIMIT 1",
            (term,),
        )
    )


def bump_epoch(connection: Connection) -> None:
    """Tell every process that its cached index is out of date."""
    connection.add_to_meta("index_epoch", 1)


def statistics_of(lengths: Array) -> dict[int, int]:
    """The statistics of chunks that BM25 needs, by the number under which they are stored, from the lengths of fields.

    -1 is how many chunks there are, 0 to 5 how many terms each field has, 6 to 11 how many chunks have the field.
    """
    terms = lengths.sum(axis=1, dtype=np.int64).tolist()
    filled = (lengths > 0).sum(axis=1, dtype=np.int64).tolist()
    return {-1: lengths.shape[1], **dict(enumerate([*terms, *filled]))}


def live_statistics(connection: Connection) -> dict[int, int]:
    """The same for all live chunks of a store, counted again."""
    rows = connection.rows("SELECT lengths FROM chunks WHERE state=0")
    stored = b"".join(lengths for (lengths,) in rows)
    return statistics_of(np.frombuffer(stored, np.uint32).reshape(-1, len(FIELDS)).T)


def _count(connection: Connection, lengths: Array, sign: int) -> None:
    changes = [(sign * total, field) for field, total in statistics_of(lengths).items()]
    connection.run_many("UPDATE lexical_stats SET total = total + ? WHERE field = ?", changes)


@frozen
class Arrays:
    """What a segment knows about its chunks, one entry each."""

    chunks: Array
    items: Array
    lengths: Array
    states: Array


def load_arrays(connection: Connection, segment: int) -> Arrays:
    """Read a segment's arrays with the states it was made with."""
    rows = connection.rows("SELECT chunk_ids, item_ids, lengths, states FROM segments WHERE id = ?", (segment,))
    return arrays_of(*rows[0])


def arrays_of(chunk_ids: bytes, item_ids: bytes, lengths: bytes, states: bytes) -> Arrays:
    """The arrays of a segment from its row; those of a damaged row have different sizes."""
    arrays = Arrays(
        np.frombuffer(chunk_ids, np.int64),
        np.frombuffer(item_ids, np.int64),
        np.frombuffer(lengths, np.uint32).reshape(len(FIELDS), -1),
        np.frombuffer(states, np.uint8),
    )
    if not len(arrays.chunks) == len(arrays.items) == arrays.lengths.shape[1] == len(arrays.states):
        raise ValueError("a segment of the keyword index has columns of different lengths")
    return arrays


def with_retired(arrays: Arrays, log: dict[int, int]) -> Arrays:
    """The arrays with later state changes applied."""
    if not log:
        return arrays
    ids = np.fromiter(log, np.int64, len(log))
    hit = np.isin(arrays.chunks, ids)
    if not hit.any():
        return arrays
    states = arrays.states.copy()
    states[hit] = [log[chunk] for chunk in arrays.chunks[hit].tolist()]
    return Arrays(arrays.chunks, arrays.items, arrays.lengths, states)


def retired_log(connection: Connection) -> dict[int, int]:
    """State changes: chunk → state, the latest winning."""
    return dict(connection.rows("SELECT chunk, state FROM retired ORDER BY seq"))


def maintain(database: Database, *, everything: bool = False) -> int:
    """Do the merges that are due and clear what earlier ones left; returns how many were done."""
    merged = 0
    while (plan := _claim(database, everything=everything)) is not None:
        Merge(database, *plan).run()
        merged += 1
        everything = False
    clear_replaced(database)
    return merged


def merge_all(database: Database) -> None:
    """Put the whole index together, without the words of chunks that are gone."""
    maintain(database, everything=True)
    with database.read() as connection:
        log = retired_log(connection)
        ready = [row[0] for row in connection.rows("SELECT id FROM segments WHERE state=?", (READY,))]
        stale = [s for s in ready if (with_retired(load_arrays(connection, s), log).states == DELETED).any()]
    rewrite(database, stale)


def rewrite(database: Database, segments: Iterable[int]) -> None:
    """Rewrite segments without their deleted chunks, so that none of their words stays in the file."""
    for segment in segments:
        with database.write() as connection:
            if not connection.rows("SELECT 1 FROM segments WHERE id=? AND state=?", (segment, READY)):
                continue
            _call_off(connection, segment)
            target, owner = _lease(connection, [segment])
        Merge(database, target, [segment], owner).run()
    clear_replaced(database)


def _call_off(connection: Connection, segment: int) -> None:
    """Cancel the merges that copy from a segment, because they would bring back what was copied before."""
    for target, sources in connection.rows("SELECT target, sources FROM merges"):
        if segment in json.loads(sources):
            _abandon(connection, target)


def _abandon(connection: Connection, target: int) -> None:
    connection.run("UPDATE segments SET state=? WHERE id=?", (REPLACED, target))
    connection.run("DELETE FROM merges WHERE target=?", (target,))


def _claim(database: Database, *, everything: bool) -> tuple[int, list[int], str] | None:
    """Reserve a set of segments of one size class, so that no other process merges them too."""
    with database.read() as connection:
        if _due(connection, everything) is None and not _expired(connection):
            return None
    with database.write() as connection:
        for target, _ in _expired(connection):
            _abandon(connection, target)
        sources = _due(connection, everything)
        if sources is None:
            return None
        target, owner = _lease(connection, sources)
        return target, sources, owner


def _lease(connection: Connection, sources: list[int]) -> tuple[int, str]:
    target: int = connection.rows(
        "INSERT INTO segments(state, docs, chunk_ids, item_ids, lengths, states) VALUES(?,0,?,?,?,?) RETURNING id",
        (BUILDING, b"", b"", b"", b""),
    )[0][0]
    owner = f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
    connection.insert(
        "merges",
        ("target", "sources", "owner", "lease_until"),
        [(target, json.dumps(sources), owner, int(time.time()) + LEASE_SECONDS)],
    )
    return target, owner


def _expired(connection: Connection) -> list[tuple[int, str]]:
    return connection.rows("SELECT target, sources FROM merges WHERE lease_until NOT BETWEEN ? AND ?", running_leases())


def running_leases() -> tuple[int, int]:
    """Between which times a lease ends that counts; a later end was set by a clock that was ahead."""
    now = int(time.time())
    return now, now + 2 * LEASE_SECONDS


def _due(connection: Connection, everything: bool) -> list[int] | None:
    """Segments of one size class, if there are enough to merge; with ``everything``, all that are small enough."""
    busy = {
        source
        for (sources,) in connection.rows(
            "SELECT sources FROM merges WHERE lease_until BETWEEN ? AND ?", running_leases()
        )
        for source in json.loads(sources)
    }
    classes: dict[int, list[tuple[int, int]]] = {}
    for segment, docs in connection.rows("SELECT id, docs FROM segments WHERE state=? ORDER BY id", (READY,)):
        if segment not in busy and docs <= MAX_MERGED // 2:
            level = 0 if everything else (max(docs, 1).bit_length() - 1) // 3  # size classes grow eightfold
            classes.setdefault(level, []).append((segment, docs))
    for level in sorted(classes):
        members = classes[level] if everything else classes[level][:FAN_OUT]
        if len(members) >= (2 if everything else FAN_OUT) and sum(docs for _, docs in members) <= MAX_MERGED:
            return [segment for segment, _ in members]
    return None


def clear_replaced(database: Database) -> None:
    """Delete the rows of replaced segments, a bounded number at a time."""
    with database.read() as connection:
        gone = [row[0] for row in connection.rows("SELECT id FROM segments WHERE state=?", (REPLACED,))]
    for segment in gone:
        while True:
            with database.write() as connection:
                connection.run(
                    # A range, not a list: before it has statistics, PostgreSQL compares a list row by row.
                    "DELETE FROM postings WHERE segment=? AND term <= (SELECT max(term) FROM"
                    " (SELECT term FROM postings WHERE segment=? ORDER BY term LIMIT ?) first_terms)",
                    (segment, segment, 2 * STEP_ROWS),
                )
                if connection.changes() == 0:
                    connection.run("DELETE FROM segments WHERE id=?", (segment,))
                    break


class Merge:
    """One merge: copy the postings in steps, then swap. Interrupted anywhere, the sources stay in use."""

    def __init__(self, database: Database, target: int, sources: Sequence[int], owner: str) -> None:
        self.database = database
        self.target = target
        self.sources = list(sources)
        self.owner = owner

    def run(self) -> None:
        with self.database.read() as connection:
            log = retired_log(connection)
            arrays = [with_retired(load_arrays(connection, source), log) for source in self.sources]
        stays = [part.states != DELETED for part in arrays]
        moves: list[Array] = []
        offset = 0
        for mask in stays:
            moves.append(np.where(mask, np.cumsum(mask) - 1 + offset, -1))
            offset += int(mask.sum())
        for rows in self._steps():
            merged = list(combine(rows, moves))
            with self.database.write() as connection:
                if not self._still_ours(connection):
                    return
                write_postings(connection, self.target, merged)
        self._swap(arrays, stays)

    def _steps(self) -> Iterator[list[tuple[str, int, bytes]]]:
        """Rows of all sources in term order, a bounded number of terms at a time."""
        after = ""
        limit = max(1, STEP_ROWS // len(self.sources))
        while True:
            with self.database.read() as connection:
                batches = [
                    connection.rows(
                        "SELECT term, data FROM postings WHERE segment=? AND term>? ORDER BY term LIMIT ?",
                        (source, after, limit),
                    )
                    for source in self.sources
                ]
            if not any(batches):
                return
            full = [batch[-1][0] for batch in batches if len(batch) == limit]
            bound = min(full) if full else None
            rows = [
                (term, index, data)
                for index, batch in enumerate(batches)
                for term, data in batch
                if bound is None or term <= bound
            ]
            rows.sort(key=lambda row: (row[0], row[1]))
            yield rows
            if bound is None:
                return
            after = bound

    def _still_ours(self, connection: Connection) -> bool:
        connection.run(
            "UPDATE merges SET lease_until=? WHERE target=? AND owner=?",
            (int(time.time()) + LEASE_SECONDS, self.target, self.owner),
        )
        return connection.changes() == 1

    def _swap(self, arrays: Sequence[Arrays], stays: Sequence[Array]) -> None:
        chunks = np.concatenate([part.chunks[mask] for part, mask in zip(arrays, stays, strict=True)])
        items = np.concatenate([part.items[mask] for part, mask in zip(arrays, stays, strict=True)])
        lengths = np.concatenate([part.lengths[:, mask] for part, mask in zip(arrays, stays, strict=True)], axis=1)
        states = np.concatenate([part.states[mask] for part, mask in zip(arrays, stays, strict=True)])
        everything = np.concatenate([part.chunks for part in arrays]).tolist()
        with self.database.write() as connection:
            if not self._still_ours(connection):
                return
            current = with_retired(Arrays(chunks, items, lengths, states), retired_log(connection))
            connection.run(
                "UPDATE segments SET state=?, docs=?, chunk_ids=?, item_ids=?, lengths=?, states=? WHERE id=?",
                (
                    READY,
                    len(chunks),
                    chunks.tobytes(),
                    items.tobytes(),
                    np.ascontiguousarray(lengths).tobytes(),
                    current.states.tobytes(),
                    self.target,
                ),
            )
            connection.run_many(
                "UPDATE segments SET state=? WHERE id=?", [(REPLACED, source) for source in self.sources]
            )
            folded = set(everything)
            done = [(seq,) for seq, chunk in connection.rows("SELECT seq, chunk FROM retired") if chunk in folded]
            connection.run_many("DELETE FROM retired WHERE seq=?", done)
            connection.run("DELETE FROM merges WHERE target=?", (self.target,))
            bump_epoch(connection)
