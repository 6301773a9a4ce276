"""More passages than there is time to save one by one: recombined from saved ones, inside the database.

A made passage has the first half of one saved text and the second half of another, and of the index rows of each about
half. So words are as frequent as before, and no two passages are alike. Vectors are written without the backlog.
"""

from __future__ import annotations

from ricordo.store.postgres.nearness import write_vectors
from ricordo.store.postgres.store import PostgresStore
from ricordo.store.sql import jobs
from team.passages import Passages

_BLOCK = 10_000
_MADE = """
CREATE TEMPORARY TABLE made ON COMMIT DROP AS
WITH saved AS MATERIALIZED (
  SELECT row_number() OVER (ORDER BY i.n) - 1 AS place, i.n, c.id AS chunk
  FROM items i JOIN chunks c ON c.item = i.n WHERE i.drive = 'note')
SELECT j, a.n AS model, a.chunk AS one, b.chunk AS other, nextval(pg_get_serial_sequence('items', 'n')) AS n,
  (SELECT value::bigint FROM meta WHERE name = 'last_chunk') + 1 + j AS chunk
FROM generate_series(0, {more} - 1) j JOIN saved a ON a.place = j % {saved}
JOIN saved b ON b.place = (j::bigint * 7919 + 13) % {saved}"""
_STATEMENTS = (
    """INSERT INTO items(n, id, drive, path, kind, state, version, hash, text_hash, title, description, metadata,
  fields, size, created_at, updated_at, indexed_at) SELECT m.n, gen_random_uuid()::text, i.drive,
  '/' || ({saved} + m.j), i.kind, 'live', 1, md5('hash ' || m.j), md5('text ' || m.j), '', '', '{{}}', i.fields,
  i.size, i.created_at, i.updated_at, i.indexed_at FROM made m JOIN items i ON i.n = m.model""",
    """INSERT INTO chunks(id, item, state, live_from, key, embed_hash, lengths, heading, prefix, text)
  SELECT m.chunk, m.n, 0, a.live_from, decode(md5('key ' || m.j), 'hex'),
  sha256(convert_to('text ' || ({saved} + m.j), 'utf8')), a.lengths, '', '',
  left(a.text, length(a.text) / 2) || ' ' || right(b.text, length(b.text) / 2)
  FROM made m JOIN chunks a ON a.id = m.one JOIN chunks b ON b.id = m.other""",
    # A version's layout: the chunk, where it starts, its first and last line, each in eight bytes, the lowest first.
    """INSERT INTO versions(item, number, hash, text_hash, drive, path, kind, state, fields, layout, marks, first_line,
  size, created_at) SELECT i.n, 1, i.hash, i.text_hash, i.drive, i.path, i.kind, 'live', i.fields,
  set_byte(set_byte(set_byte(set_byte(set_byte(set_byte(decode(repeat('00', 32), 'hex'), 16, 1), 24, 1),
  0, (m.chunk & 255)::int), 1, (m.chunk >> 8 & 255)::int), 2, (m.chunk >> 16 & 255)::int),
  3, (m.chunk >> 24 & 255)::int), '[]', 1, i.size, i.created_at FROM made m JOIN items i ON i.n = m.n""",
    """INSERT INTO postings(term, chunk, item, state, body, length, others)
  SELECT p.term, m.chunk, m.n, 0, p.body, p.length, p.others FROM made m JOIN postings p ON p.chunk = m.one
  WHERE hashtext(p.term) % 2 = 0 ORDER BY p.term, m.chunk""",
    """INSERT INTO postings(term, chunk, item, state, body, length, others)
  SELECT p.term, m.chunk, m.n, 0, p.body, p.length, p.others FROM made m JOIN postings p ON p.chunk = m.other
  WHERE hashtext(p.term) % 2 <> 0 ORDER BY p.term, m.chunk""",
    """INSERT INTO term_counts(term, passages) SELECT term, count(*) FROM postings WHERE state = 0 GROUP BY term
  ON CONFLICT (workspace, term) DO UPDATE SET passages = excluded.passages""",
    "UPDATE lexical_stats SET total = total * {count} / {saved}, passages = passages * {count} / {saved}",
    "UPDATE meta SET value = to_jsonb(value::bigint + {more} + 1) WHERE name = 'last_chunk'",
)


def recombine(store: PostgresStore, saved: int, count: int) -> None:
    """Make passages until there are so many, in one transaction."""
    values = {"saved": saved, "count": count, "more": count - saved}
    with store.database.write(mirrored=False) as connection:
        connection.rows("SET LOCAL statement_timeout = 0")
        connection.rows("SET LOCAL work_mem = '1GB'")
        connection.rows(_MADE.format(**values))
        connection.rows("ANALYZE made")
        for statement in _STATEMENTS:
            connection.send(statement.format(**values))


def give_vectors(store: PostgresStore, passages: Passages) -> None:
    """Give every passage its vector: by its number, as its path says."""
    width = passages.vectors.shape[1]
    with store.database.write() as connection:
        number = jobs.fingerprint_id(connection, passages.fingerprint, width)  # type: ignore[arg-type]
        connection.rows("DELETE FROM jobs")
    with store.database.read() as connection:
        rows = connection.rows("SELECT c.embed_hash, i.path FROM chunks c JOIN items i ON i.n = c.item")
    for start in range(0, len(rows), _BLOCK):
        part = {digest: passages.vectors[int(path[1:])] for digest, path in rows[start : start + _BLOCK]}
        with store.database.write_at_once() as connection:
            write_vectors(connection, number, part)
