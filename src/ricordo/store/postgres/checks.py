"""The checks of a PostgreSQL store: whether derived data agree with the data they come from."""

from __future__ import annotations

from collections.abc import Iterator

from ricordo.store.postgres import postings
from ricordo.store.postgres.connection import Connection
from ricordo.store.postgres.database import Database
from ricordo.store.sql.new_chunks import NewChunk
from ricordo.store.sql.saving import LENGTHS
from ricordo.text.words import Analyzer
from ricordo.values.reports import Check

_BATCH = 500


def keyword_index(database: Database, analyzer: Analyzer, repair: bool) -> Check:
    """Every live chunk has its rows, no other chunk has any, and the totals are right."""
    with database.read() as connection:
        problem = _index_problem(connection)
    if problem and repair:
        rebuild(database, analyzer)
    return Check(
        "keyword index", not problem, problem or "agrees with the stored texts", repaired=bool(problem) and repair
    )


def _index_problem(connection: Connection) -> str:
    [(wrong,)] = connection.rows(
        "SELECT count(*) FROM (SELECT p.chunk FROM postings p LEFT JOIN chunks c ON c.id = p.chunk"
        " WHERE c.id IS NULL OR c.state <> p.state OR c.item <> p.item GROUP BY p.chunk) off"
    )
    if wrong:
        return f"{wrong} passages are indexed otherwise than they are"
    [(live, counted)] = connection.rows(
        "SELECT (SELECT count(*) FROM chunks WHERE state = 0), (SELECT total FROM lexical_stats WHERE field = -1)"
    )
    if live != counted:
        return f"{live} passages can be found, {counted} are counted"
    [(missing,)] = connection.rows(
        "SELECT count(*) FROM chunks c WHERE c.state = 0 AND length_at(c.lengths, 5) > 0"
        " AND NOT EXISTS (SELECT 1 FROM postings p WHERE p.chunk = c.id)"
    )
    if missing:
        return f"{missing} passages are not indexed"
    [(wrong,)] = connection.rows(
        "SELECT count(*) FROM term_counts t FULL JOIN (SELECT term, count(*) AS passages FROM postings WHERE state = 0"
        " GROUP BY term) p USING (term) WHERE coalesce(t.passages, 0) <> coalesce(p.passages, 0)"
    )
    return f"{wrong} terms are counted otherwise than they occur" if wrong else ""


def rebuild(database: Database, analyzer: Analyzer) -> None:
    """Index every passage again, from the stored texts, in one transaction."""
    with database.write(durable=True, mirrored=False) as connection:
        connection.run("DELETE FROM postings")
        connection.run("DELETE FROM term_counts")
        connection.run("UPDATE lexical_stats SET total = 0, passages = 0")
        chunks = list(_chunks(connection, analyzer))
        for at in range(0, len(chunks), _BATCH):
            batch = chunks[at : at + _BATCH]
            connection.run_many(
                "UPDATE chunks SET lengths=? WHERE id=?",
                [(LENGTHS.pack(*chunk.lengths()), chunk.chunk) for chunk in batch],
            )
            postings.add_chunks(connection, batch)


def _chunks(connection: Connection, analyzer: Analyzer) -> Iterator[NewChunk]:
    import json

    for chunk, n, state, heading, text, code, title, path, description, fields in connection.rows(
        "SELECT c.id, c.item, c.state, c.heading, c.text, c.language, i.title, i.path, i.description, i.fields"
        " FROM chunks c"
        " JOIN items i ON i.n = c.item WHERE c.state < 2"
    ):
        stored = json.loads(fields)
        context = f"{stored.get('context', '')}\n{heading}" if heading else stored.get("context", "")
        parts = (title, path, description, "\n".join(stored.get("tags", ())), context, text)
        own = analyzer.in_language(code)
        yield NewChunk(chunk, n, tuple(own.counts(part) for part in parts), state)


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
