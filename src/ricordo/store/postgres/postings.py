"""The keyword index as rows: one for each term of each chunk. Scores are computed from them in SQL (``asking_sql``).

A module with the functions of ``WordIndex``: adding chunks, taking them out, what is due afterwards (nothing).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from ricordo.store.postgres import schema
from ricordo.store.sql.arrays import Array
from ricordo.store.sql.new_chunks import DELETED, FIELDS, LIVE, NewChunk
from ricordo.store.sql.protocols import AddChunks, Connection, Database, ForgetWords, Row
from ricordo.store.values import TermCounts

COPY_FROM = 400
"""From this many rows on, COPY is faster than statements that insert."""
_COLUMNS = ("term", "chunk", "item", "state", "body", "length", "others")


def prepare(counts: Sequence[TermCounts]) -> AddChunks:
    """Nothing is prepared outside of the transaction."""
    return add_chunks


def add_chunks(connection: Connection, chunks: Sequence[NewChunk]) -> None:
    """Index the chunks of one transaction."""
    if not chunks:
        return
    rows = sorted(_rows(chunks))
    _insert(connection, rows)
    live = Counter(row[0] for row in rows if row[3] == LIVE)
    counts = [(row[0], live[row[0]]) for row in rows[:1]]
    counts += [(row[0], live[row[0]]) for before, row in pairwise(rows) if before[0] != row[0]]
    connection.run(
        "INSERT INTO term_counts(term, passages) SELECT * FROM unnest(?::text[], ?::bigint[])"
        " ON CONFLICT(workspace, term) DO UPDATE SET passages = term_counts.passages + excluded.passages",
        ([term for term, _ in counts], [count for _, count in counts]),
    )
    # A term is a word of its own too: what begins with a prefix is looked up among the words.
    connection.run(
        "INSERT INTO vocabulary(word, term) SELECT term, term FROM unnest(?::text[]) term ON CONFLICT DO NOTHING",
        ([term for term, _ in counts],),
    )
    lengths = np.array([chunk.lengths() for chunk in chunks if chunk.state == LIVE], np.int64).reshape(-1, len(FIELDS))
    _count(connection, lengths, 1)
    connection.add_to_meta("index_epoch", 1)


def _insert(connection: Connection, rows: Sequence[Row]) -> None:
    """Write rows of postings, few of them as arrays in one statement."""
    if len(rows) >= COPY_FROM:
        connection.insert("postings", _COLUMNS, rows)
    elif rows:
        # An array of arrays would have to be a table of equal rows, so the last column travels as texts.
        names = ", ".join(_COLUMNS)
        types = schema.column_types("postings")
        arrays = ", ".join(f"?::{'text' if types[name].endswith('[]') else types[name]}[]" for name in _COLUMNS)
        read = ", ".join(f"{name}::{types[name]}" for name in _COLUMNS)
        connection.run(
            f"INSERT INTO postings({names}) SELECT {read} FROM unnest({arrays}) t({names})",
            [list(column) for column in zip(*rows, strict=True)],
        )


def _rows(chunks: Sequence[NewChunk]) -> Iterator[Row]:
    for chunk in chunks:
        *shared, body = chunk.counts
        *shared_lengths, length = chunk.lengths()
        number, item, state = chunk.chunk, chunk.item, chunk.state
        elsewhere = set().union(*shared)
        for term, count in body.items():
            if term not in elsewhere:
                yield term, number, item, state, count, length, None
        for term in elsewhere:
            held = [field.get(term, 0) for field in shared]
            yield term, number, item, state, body.get(term, 0), length, f"{{{str([*held, *shared_lengths])[1:-1]}}}"


def retire(connection: Connection, chunks: Sequence[tuple[int, int, bytes]], state: int) -> None:
    """Take chunks ``(id, its state so far, its lengths)`` out of normal search, at once."""
    if not chunks:
        return
    ids = [chunk for chunk, _, _ in chunks]
    connection.run(
        "UPDATE term_counts t SET passages = t.passages - p.lost FROM (SELECT term, count(*) AS lost FROM postings"
        f" WHERE chunk = ANY(?) AND state = {LIVE} GROUP BY term) p WHERE t.term = p.term",
        (ids,),
    )
    if state == DELETED:
        connection.run("DELETE FROM postings WHERE chunk = ANY(?)", (ids,))
    else:
        connection.run("UPDATE postings SET state = ? WHERE chunk = ANY(?)", (state, ids))
    lost = [np.frombuffer(lengths, np.uint32) for _, before, lengths in chunks if before == LIVE]
    _count(connection, np.array(lost, np.int64).reshape(-1, len(FIELDS)), -1)
    connection.add_to_meta("index_epoch", 1)


def _count(connection: Connection, lengths: Array, sign: int) -> None:
    """Keep the totals: field -1 counts chunks, the others terms, and the chunks that have any in that field."""
    if not len(lengths):
        return
    rows = [(sign * len(lengths), 0, -1)]
    held = (lengths > 0).sum(axis=0)
    rows += [
        (sign * int(total), sign * int(with_any), field)
        for field, (total, with_any) in enumerate(zip(lengths.sum(axis=0), held, strict=True))
    ]
    connection.run_many("UPDATE lexical_stats SET total = total + ?, passages = passages + ? WHERE field = ?", rows)


def prepare_erasing(connection: Connection, n: int) -> ForgetWords:
    """Find the terms of an item; the answer forgets those that no other item holds."""
    terms = [row[0] for row in connection.rows("SELECT DISTINCT term FROM postings WHERE item=?", (n,))]
    return lambda database: _forget_terms(database, terms)


def is_used(connection: Connection, term: str) -> bool:
    """Whether any chunk holds a term."""
    return bool(connection.rows("SELECT 1 FROM postings WHERE term=? LIMIT 1", (term,)))


def _forget_terms(database: Database, terms: list[str]) -> None:
    with database.write() as connection:
        for table in ("vocabulary", "term_counts"):
            connection.run(
                f"DELETE FROM {table} v WHERE v.term = ANY(?)"
                " AND NOT EXISTS (SELECT 1 FROM postings p WHERE p.term = v.term)",
                (terms,),
            )


def maintain(database: Database) -> int:
    """Nothing falls due after a write: the server vacuums its tables itself."""
    return 0
