"""The checks of a PostgreSQL store: whether derived data agree with the data they come from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ricordo.store.index import segments
from ricordo.store.index.segments import REPLACED, live_statistics
from ricordo.store.postgres.connection import Connection
from ricordo.store.postgres.database import Database
from ricordo.store.postgres.keeping import KeptIndex
from ricordo.store.postgres.passage_words import TEXT_COLUMNS, counted
from ricordo.store.sql.new_chunks import DELETED, FIELDS, NewChunk
from ricordo.store.sql.saving import LENGTHS
from ricordo.text.words import Analyzer
from ricordo.values.reports import Check

_BATCH = 2_000
_SAMPLE = 50
"""The words of about so many passages are compared with their texts."""


def keyword_index(database: Database, analyzer: Analyzer, repair: bool) -> Check:
    """Every live chunk has its rows, no other chunk has any, and the totals are right."""
    with database.read() as connection:
        problem = _index_problem(connection, analyzer)
    if problem and repair:
        rebuild(database, analyzer)
    return Check(
        "keyword index", not problem, problem or "agrees with the stored texts", repaired=bool(problem) and repair
    )


def _index_problem(connection: Connection, analyzer: Analyzer) -> str:
    index = KeptIndex()
    snapshot = index.snapshot(connection)
    states = dict[int, int](connection.rows("SELECT id, state FROM chunks WHERE state < 2"))
    indexed: dict[int, int] = {}
    for segment in snapshot.segments:
        indexed |= dict(zip(segment.arrays.chunks.tolist(), segment.arrays.states.tolist(), strict=True))
    indexed = {chunk: state for chunk, state in indexed.items() if state != DELETED}
    if missing := len(states.keys() - indexed.keys()):
        return f"{missing} passages are not indexed"
    if wrong := sum(states.get(chunk) != state for chunk, state in indexed.items()):
        return f"{wrong} passages are indexed otherwise than they are"
    totals = dict[int, int](connection.rows("SELECT field, total FROM lexical_stats"))
    if totals != live_statistics(connection):
        return "the totals of words are off"
    sample = set(sorted(states)[:: max(1, len(states) // _SAMPLE)])
    chosen = list(_chunks(connection, analyzer, sample))
    index.bring(connection, {term for chunk in chosen for term in chunk.counts[-1]})
    wrong = sum(not _is_indexed_as(index, connection, chunk) for chunk in chosen)
    return f"the words of {wrong} passages are indexed otherwise than their texts" if wrong else ""


def _is_indexed_as(index: KeptIndex, connection: Connection, chunk: NewChunk) -> bool:
    """Whether the postings give the text of a passage exactly its frequencies."""
    body = chunk.counts[-1]
    for segment in index.snapshot(connection).segments:
        places = np.flatnonzero(segment.arrays.chunks == chunk.chunk)
        if len(places):
            found = index.postings(connection, segment.id, set(body))
            return all(
                term in found and found[term].frequencies_at(int(places[0])).get(len(FIELDS) - 1) == count
                for term, count in body.items()
            )
    return False


def rebuild(database: Database, analyzer: Analyzer) -> None:
    """Index every passage again, from the stored texts, in one transaction."""
    with database.write(durable=True, mirrored=False) as connection:
        connection.run(f"UPDATE segments SET state = {REPLACED}")
        connection.run("DELETE FROM merges")
        connection.run("DELETE FROM retired")
        connection.run("UPDATE lexical_stats SET total = 0")
        chunks = list(_chunks(connection, analyzer))
        for at in range(0, len(chunks), _BATCH):
            batch = chunks[at : at + _BATCH]
            connection.run_many(
                "UPDATE chunks SET lengths=? WHERE id=?",
                [(LENGTHS.pack(*chunk.lengths()), chunk.chunk) for chunk in batch],
            )
            segments.prepare([chunk.counts for chunk in batch])(connection, batch)
        segments.bump_epoch(connection)
    segments.maintain(database)


def _chunks(connection: Connection, analyzer: Analyzer, only: set[int] | None = None) -> Iterator[NewChunk]:
    for chunk, n, state, *texts in connection.rows(
        f"SELECT c.id, c.item, c.state, {TEXT_COLUMNS} FROM chunks c"
        " JOIN items i ON i.n = c.item WHERE c.state < 2" + ("" if only is None else " AND c.id = ANY(?)"),
        () if only is None else (sorted(only),),
    ):
        yield NewChunk(chunk, n, counted(analyzer, *texts), state)


def references(database: Database, repair: bool) -> Check:
    """Nothing waits for a passage that is gone, and every version holds passages that are there."""
    with database.read() as connection:
        [(jobs, heads)] = connection.rows(
            "SELECT (SELECT count(*) FROM jobs j WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE c.id = j.chunk)),"
            " (SELECT count(*) FROM items i WHERE NOT EXISTS"
            " (SELECT 1 FROM versions v WHERE v.item = i.n AND v.number = i.version))"
        )
    if jobs and repair:
        with database.write() as connection:
            connection.run("DELETE FROM jobs j WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE c.id = j.chunk)")
    ok = not jobs and not heads
    detail = "all lead somewhere" if ok else f"{jobs} jobs without a passage, {heads} items without their version"
    return Check("references", ok, detail, repaired=bool(jobs) and repair and not heads)


def separation(database: Database) -> Check:
    """Row-level security is on for every table, so that no workspace sees another."""
    with database.read() as connection:
        rows = connection.rows(
            "SELECT relname FROM pg_class WHERE relnamespace = current_schema::regnamespace AND relkind IN ('r', 'p')"
            " AND NOT relispartition AND relname NOT IN ('workspaces', 'schema_version')"
            " AND NOT (relrowsecurity AND relforcerowsecurity)"
        )
        [(passes_by,)] = connection.rows("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user")
    if passes_by:
        return Check("workspaces", False, "this role passes row-level security by; use another, see docs/scaling.md")
    off = ", ".join(row[0] for row in rows)
    return Check(
        "workspaces", not off, f"row-level security is off for {off}" if off else "are separated by the server"
    )
