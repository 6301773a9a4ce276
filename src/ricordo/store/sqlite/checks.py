"""The checks that ``doctor`` does inside the store, and how derived data are rebuilt from the canonical rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ricordo.store.index.lexical import LexicalIndex
from ricordo.store.index.postings import invert
from ricordo.store.index.segments import (
    BUILDING,
    READY,
    REPLACED,
    bump_epoch,
    clear_replaced,
    live_statistics,
    load_arrays,
    retired_log,
    statistics_of,
    with_retired,
    write_segment,
)
from ricordo.store.sql.new_chunks import FIELDS, LIVE, NewChunk
from ricordo.store.sql.stored_fields import fields_of
from ricordo.store.sqlite.connection import Connection, Database
from ricordo.store.values import TermCounts
from ricordo.text.words import Analyzer
from ricordo.values.reports import Check

_SAMPLE = 200
_BATCH = 1_000


def integrity(database: Database, repair: bool) -> Check:
    """SQLite's own check of pages and indexes; damage found here is reported, not repaired."""
    with database.read() as connection:
        rows = [row[0] for row in connection.rows("PRAGMA integrity_check(5)")]
    if rows == ["ok"]:
        return Check("integrity", True, "pages and indexes are sound")
    return Check("integrity", False, f"{'; '.join(rows)}. Restore a backup, or export what can be read.")


def lexical(database: Database, analyzer: Analyzer, repair: bool) -> Check:
    """The keyword index holds exactly the live chunks, with the right totals and frequencies."""
    problem = _lexical_problem(database, analyzer)
    if problem is None:
        return Check("keyword index", True, "agrees with the stored texts")
    if repair:
        rebuild_lexical(database, analyzer)
    return Check("keyword index", False, problem, repaired=repair)


def _lexical_problem(database: Database, analyzer: Analyzer) -> str | None:
    with database.read() as connection:
        states: dict[int, int] = dict(connection.rows("SELECT id, state FROM chunks WHERE state < 2"))
        indexed: dict[int, int] = {}
        lengths = [np.zeros((len(FIELDS), 0), np.uint32)]
        log = retired_log(connection)
        for (segment,) in connection.rows("SELECT id FROM segments WHERE state=?", (READY,)):
            arrays = with_retired(load_arrays(connection, segment), log)
            kept = arrays.states < 2
            indexed |= dict(zip(arrays.chunks[kept].tolist(), arrays.states[kept].tolist(), strict=True))
            lengths.append(arrays.lengths[:, arrays.states == LIVE])
        if indexed != states:
            off = len(set(indexed.items()) ^ set(states.items()))
            return f"{off} chunks are indexed differently from what is stored"
        stats: dict[int, int] = dict(connection.rows("SELECT field, total FROM lexical_stats"))
        if stats != statistics_of(np.concatenate(lengths, axis=1)):
            return "the totals for BM25 are off"
        sample = set(sorted(states)[:: max(1, len(states) // _SAMPLE)])
        for chunk, _, counts in chunks_with_terms(connection, analyzer, sample):
            if not _indexed_as(connection, chunk, counts):
                return f"the words of chunk {chunk} are indexed differently from its text"
    return None


def _indexed_as(connection: Connection, chunk: int, counts: TermCounts) -> bool:
    """Whether the postings give a chunk exactly these frequencies."""
    index = LexicalIndex()
    for segment in index.snapshot(connection).segments:
        places = np.flatnonzero(segment.arrays.chunks == chunk)
        if not len(places):
            continue
        terms = {term for field in counts for term in field}
        found = index.postings(connection, segment.id, terms)
        for term in terms:
            posting = found.get(term)
            if posting is None:
                return False
            at = int(np.searchsorted(posting.ordinals, places[0]))
            if at >= len(posting.ordinals) or posting.ordinals[at] != places[0]:
                return False
            stored = {field: int(values[at]) for field, values in posting.frequencies}
            if any(stored.get(field, 0) != counts[field].get(term, 0) for field in range(len(FIELDS))):
                return False
        return True
    return False


def chunks_with_terms(
    connection: Connection, analyzer: Analyzer, only: set[int] | None = None
) -> Iterator[tuple[int, int, TermCounts]]:
    """Chunk, item and terms of every searchable chunk, analysed again from the version that first held it."""
    seen: set[int] = set()
    for n, path, fields_json, layout in connection.rows(
        "SELECT item, path, fields, layout FROM versions ORDER BY item, number"
    ):
        chunks = [c for c in np.frombuffer(layout, np.int64).reshape(-1, 4)[:, 0].tolist() if c not in seen]
        if only is not None:
            chunks = [chunk for chunk in chunks if chunk in only]
        if not chunks:
            continue
        seen.update(chunks)
        fields = fields_of(fields_json)
        shared: dict[str, list[dict[str, int]]] = {}
        for chunk in chunks:
            row = connection.rows("SELECT heading, text, language FROM chunks WHERE id=? AND state<2", (chunk,))
            if row:
                heading, text, code = row[0]
                own = analyzer.in_language(code)
                if code not in shared:
                    tags = "\n".join(fields.tags)
                    shared[code] = [own.counts(part) for part in (fields.title, path, fields.description, tags)]
                context = own.counts(f"{fields.context}\n{heading}")
                yield chunk, n, (*shared[code], context, own.counts(text))


def rebuild_lexical(database: Database, analyzer: Analyzer) -> None:
    """Build the keyword index again beside the old one, in short transactions, and swap at the end."""
    with database.read() as connection:
        last = connection.rows("SELECT coalesce(max(id), 0) FROM chunks")[0][0]
        old = [row[0] for row in connection.rows("SELECT id FROM segments WHERE state=?", (READY,))]
        entries = [
            NewChunk(chunk, n, counts) for chunk, n, counts in chunks_with_terms(connection, analyzer) if chunk <= last
        ]
    built: list[int] = []
    for at in range(0, len(entries), _BATCH):
        with database.write() as connection:
            built.append(_building_segment(connection, entries[at : at + _BATCH]))
    with database.write() as connection:
        connection.run_many("UPDATE segments SET state=? WHERE id=?", [(REPLACED, s) for s in old])
        for segment in built:
            _copy_states(connection, segment)
        connection.run("DELETE FROM retired WHERE chunk <= ?", (last,))  # these changes are in the new states already
        _recount(connection)
        bump_epoch(connection)
    clear_replaced(database)


def _building_segment(connection: Connection, chunks: list[NewChunk]) -> int:
    segment = write_segment(connection, BUILDING, chunks, invert([chunk.counts for chunk in chunks]))
    connection.run_many(
        "UPDATE chunks SET lengths=? WHERE id=?",
        [(np.array(chunk.lengths(), np.uint32).tobytes(), chunk.chunk) for chunk in chunks],
    )
    return segment


def _copy_states(connection: Connection, segment: int) -> None:
    arrays = load_arrays(connection, segment)
    states = np.full(len(arrays.chunks), 2, np.uint8)
    for at, chunk in enumerate(arrays.chunks.tolist()):
        row = connection.rows("SELECT state FROM chunks WHERE id=?", (chunk,))
        if row:
            states[at] = row[0][0]
    connection.run("UPDATE segments SET state=?, states=? WHERE id=?", (READY, states.tobytes(), segment))


def _recount(connection: Connection) -> None:
    rows = [(total, field) for field, total in live_statistics(connection).items()]
    connection.run_many("UPDATE lexical_stats SET total=? WHERE field=?", rows)
