"""Whether the indexes of a store agree with its texts and vectors, and how they are built again from these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ricordo.errors import CorruptStore
from ricordo.store.backlog import enqueue_missing
from ricordo.store.index.entries import Entries
from ricordo.store.index.lexical import LexicalIndex
from ricordo.store.index.postings import MAX_FREQUENCY, Posting, invert
from ricordo.store.index.scoring import Snapshot
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
from ricordo.store.index.sketches import sketch
from ricordo.store.search.vectors import BLOCK_ENTRIES, VectorIndex, bump_vectors, write_block
from ricordo.store.sql.database import DELETED, FIELDS, LIVE, Connection, Database, NewChunk, lengths_of
from ricordo.store.sql.items import fields_of
from ricordo.store.values import Languages, TermCounts
from ricordo.text.words import Analyzer
from ricordo.values.reports import Check

_SAMPLE = 200
_VECTOR_SAMPLE = 500
_BATCH = 1_000
_EMBEDDED = (
    "SELECT c.id, c.item, v.id, v.vector FROM chunks c JOIN vectors v ON v.fingerprint=? AND v.hash=c.embed_hash"
    " WHERE c.state < 2 AND c.id > ? ORDER BY c.id LIMIT ?"
)
_TEXTS = "SELECT id, heading, text, language FROM chunks WHERE state<2 AND id IN (*)"


def lexical(database: Database, analyzer: Analyzer, repair: bool) -> Check:
    """The keyword index holds exactly the live chunks, with the right totals and frequencies."""
    try:
        problem = _lexical_problem(database, analyzer)
    except CorruptStore as error:
        problem = error.message
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
            not_deleted = arrays.states < 2
            indexed |= dict(zip(arrays.chunks[not_deleted].tolist(), arrays.states[not_deleted].tolist(), strict=True))
            lengths.append(arrays.lengths[:, arrays.states == LIVE])
        if indexed != states:
            off = len(set(indexed.items()) ^ set(states.items()))
            return f"{off} chunks are indexed differently from what is stored"
        stats: dict[int, int] = dict(connection.rows("SELECT field, total FROM lexical_stats"))
        if stats != statistics_of(np.concatenate(lengths, axis=1)):
            return "the totals for BM25 are off"
        sample = set(sorted(states)[:: max(1, len(states) // _SAMPLE)])
        chosen = list(chunks_with_terms(connection, analyzer, sample))
        index = LexicalIndex()
        present = [segment.id for segment in index.snapshot(connection).segments]
        terms = {term for _, _, counts in chosen for field in counts for term in field}
        postings = dict(zip(present, index.postings(connection, present, terms), strict=True))
        for chunk, _, counts in chosen:
            if not _indexed_as(index.snapshot(connection), postings, chunk, counts):
                return f"the words of chunk {chunk} are indexed differently from its text"
    return None


def _indexed_as(
    snapshot: Snapshot, postings: Mapping[int, Mapping[str, Posting]], chunk: int, counts: TermCounts
) -> bool:
    """Whether the postings give a chunk exactly these frequencies."""
    for segment in snapshot.segments:
        places = np.flatnonzero(segment.arrays.chunks == chunk)
        if len(places):
            terms = postings[segment.id]
            wanted: dict[str, dict[int, int]] = {}
            for field, held in enumerate(counts):
                for term, count in held.items():
                    wanted.setdefault(term, {})[field] = min(count, MAX_FREQUENCY)
            return all(
                term in terms and terms[term].frequencies_at(int(places[0])) == fields
                for term, fields in wanted.items()
            )
    return False


def chunks_with_terms(
    connection: Connection, analyzer: Analyzer, only: set[int] | None = None
) -> Iterator[tuple[int, int, TermCounts]]:
    """Chunk, item and terms of every searchable chunk, analysed again from the version that first held it."""
    seen: set[int] = set()
    rows = connection.rows("SELECT item, path, fields, layout FROM versions ORDER BY item, number")
    for at in range(0, len(rows), _BATCH):
        held: list[tuple[int, str, str, list[int]]] = []
        for n, path, fields_json, layout in rows[at : at + _BATCH]:
            chunks = [c for c in np.frombuffer(layout, np.int64).reshape(-1, 4)[:, 0].tolist() if c not in seen]
            chunks = chunks if only is None else [chunk for chunk in chunks if chunk in only]
            seen.update(chunks)
            held.append((n, path, fields_json, chunks))
        wanted = [chunk for *_, chunks in held for chunk in chunks]
        texts = {chunk: texts for chunk, *texts in connection.rows_in(_TEXTS, wanted)} if wanted else {}
        for n, path, fields_json, chunks in held:
            fields = fields_of(fields_json) if chunks else None
            shared: dict[str, list[dict[str, int]]] = {}
            for chunk in chunks:
                if chunk in texts and fields is not None:
                    heading, text, code = texts[chunk]
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
            NewChunk(chunk, n, counts, lengths_of(counts))
            for chunk, n, counts in chunks_with_terms(connection, analyzer)
            if chunk <= last
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
        rows = [(total, field) for field, total in live_statistics(connection).items()]
        connection.run_many("UPDATE lexical_stats SET total=? WHERE field=?", rows)
        bump_epoch(connection)
    clear_replaced(database)


def _building_segment(connection: Connection, chunks: list[NewChunk]) -> int:
    segment = write_segment(connection, BUILDING, chunks, invert([chunk.counts for chunk in chunks]))
    connection.run_many("UPDATE chunks SET lengths=? WHERE id=?", [(chunk.lengths, chunk.chunk) for chunk in chunks])
    return segment


def _copy_states(connection: Connection, segment: int) -> None:
    chunks = load_arrays(connection, segment).chunks.tolist()
    state_of: dict[int, int] = dict(connection.rows_in("SELECT id, state FROM chunks WHERE id IN (*)", chunks))
    states = bytes(state_of.get(chunk, DELETED) for chunk in chunks)
    connection.run("UPDATE segments SET state=?, states=? WHERE id=?", (READY, states, segment))


def vectors(database: Database, repair: bool) -> Check:
    """Every live chunk has its vector or waits for it; rows are whole; sketches are those of their vectors."""
    with database.read() as connection:
        active = connection.rows("SELECT id, name, dimensions FROM fingerprints WHERE active")
        if not active:
            return Check("vectors", True, "none yet")
        number, name, dimensions = active[0]
        problem = _lost(connection, number) or _problem(connection, number, dimensions)
        others = connection.rows("SELECT id, name, dimensions FROM fingerprints WHERE NOT active")
        broken = [(model, fault) for model in others if (fault := _problem(connection, model[0], model[2]))]
        live = connection.rows("SELECT count(*) FROM chunks WHERE state=0")[0][0]
        waiting = connection.rows(
            "SELECT count(*) FROM jobs j JOIN chunks c ON c.id=j.chunk AND c.state=0 WHERE j.fingerprint=?", (number,)
        )[0][0]
    if problem is None and broken:  # of the model for other languages, or of a fallback
        return _mended(database, broken, repair)
    if problem is None and waiting:
        have = f"{live - waiting:,} of {live:,} passages have theirs"
        return Check("vectors", True, f"{have}, {waiting:,} wait: 'ricordo embed' makes them ({name})")
    if problem is None:
        return Check("vectors", True, f"whole ({name})")
    if repair:
        rebuild_vectors(database, number, dimensions)
        for (other, _, size), _ in broken:
            rebuild_vectors(database, other, size, waiting=())
    return Check("vectors", False, problem, repaired=repair)


def _mended(database: Database, broken: list[tuple[tuple[int, str, int], str]], repair: bool) -> Check:
    """The check that names the first problem of vectors which are not the active model's."""
    for (number, _, dimensions), _ in broken if repair else ():
        rebuild_vectors(database, number, dimensions, waiting=())
    (_, name, _), problem = broken[0]
    return Check("vectors", False, f"{problem} ({name})", repaired=repair)


def _lost(connection: Connection, number: int) -> str | None:
    entries = VectorIndex().entries(connection, number)
    # Those in other languages may wait for another model, or for none where no model reads them.
    live = {row[0] for row in connection.rows("SELECT id FROM chunks WHERE state=0 AND language IN ('', 'en')")}
    waiting = {row[0] for row in connection.rows("SELECT chunk FROM jobs WHERE fingerprint=?", (number,))}
    lost = live - set(entries.chunks.tolist()) - waiting
    if lost:
        return f"{len(lost)} passages have no vector and do not wait for one"
    return None


def _problem(connection: Connection, number: int, dimensions: int) -> str | None:
    entries = VectorIndex().entries(connection, number)
    rows = connection.rows(
        "SELECT count(*) FROM vectors WHERE fingerprint=? AND length(vector)<>?", (number, 4 * dimensions)
    )
    if rows[0][0]:
        return f"{rows[0][0]} vectors have the wrong length"
    positions = range(0, len(entries.chunks), max(1, len(entries.chunks) // _VECTOR_SAMPLE))
    numbers = [(int(entries.chunks[position]), int(entries.vectors[position])) for position in positions]
    sql, texts = (
        "SELECT id, vector, hash FROM vectors WHERE id IN (*)",
        "SELECT id, embed_hash FROM chunks WHERE id IN (*)",
    )
    held = {vector: row for vector, *row in connection.rows_in(sql, [vector for _, vector in numbers])}
    hashes: dict[int, bytes] = dict(connection.rows_in(texts, [chunk for chunk, _ in numbers]))
    for position, (chunk, vector) in zip(positions, numbers, strict=True):
        if vector not in held or hashes.get(chunk, held[vector][1]) != held[vector][1]:
            return f"passage {chunk} points at a vector that is not its own"
        row = np.frombuffer(held[vector][0], np.float32)
        if not np.isfinite(row).all() or (sketch(row[None, :])[:, 0] != entries.sketches[:, position]).any():
            return f"the sketch of passage {chunk} is not that of its vector"
    return None


def rebuild_vectors(database: Database, number: int, dimensions: int, waiting: tuple[str, ...] = ("", "en")) -> None:
    """Drop bad rows, write all blocks again from what is left, and let what has no vector wait for one, if it is in one
    of the languages of ``waiting``.
    """
    with database.write() as connection:
        bump_vectors(connection)
        connection.run("DELETE FROM vectors WHERE fingerprint=? AND length(vector)<>?", (number, 4 * dimensions))
        connection.run("DELETE FROM vector_blocks WHERE fingerprint=?", (number,))
        have: list[int] = []
        last = -1
        while rows := connection.rows(_EMBEDDED, (number, last, BLOCK_ENTRIES)):
            last = rows[-1][0]
            sound = [row for row in rows if np.isfinite(np.frombuffer(row[3], np.float32)).all()]
            if sound:
                write_block(connection, number, _entries(sound))
            have += [row[0] for row in sound]
        if waiting:
            enqueue_missing(connection, number, np.array(have, np.int64), None, languages=Languages(only=waiting))


def _entries(rows: list[tuple[int, int, int, bytes]]) -> Entries:
    chunks, items, ids, data = zip(*rows, strict=True)
    matrix = np.stack([np.frombuffer(vector, np.float32) for vector in data])
    return Entries(np.array(chunks, np.int64), np.array(items, np.int64), np.array(ids, np.int64), sketch(matrix))
