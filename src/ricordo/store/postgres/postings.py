"""The keyword index as rows: one for each term of each chunk. Scores are computed from them in SQL (``asking_sql``).

A module with the functions of ``WordIndex``: adding chunks, taking them out, what is due afterwards (nothing).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ricordo.store.base import TermCounts
from ricordo.store.sqlite.new_chunks import DELETED, LIVE, NewChunk

FIELDS = ("title", "path", "description", "tags", "context", "body")
_COLUMNS = ("term", "chunk", "item", "state", "body", "length", "others")


def inverted(counts: Sequence[TermCounts]) -> None:
    """Nothing is prepared outside of the transaction."""


def add_chunks(connection: Any, chunks: Sequence[NewChunk], made: None) -> None:
    """Index the chunks of one transaction."""
    if not chunks:
        return
    rows = sorted(_rows(chunks))
    if rows:
        connection.insert_rows("postings", _COLUMNS, rows)
    live = Counter(row[0] for row in rows if row[3] == LIVE)
    counts = [(row[0], live[row[0]]) for row in rows[:1]]
    counts += [(row[0], live[row[0]]) for before, row in pairwise(rows) if before[0] != row[0]]
    connection.rows(
        "INSERT INTO term_counts(term, passages) SELECT * FROM unnest(?::text[], ?::bigint[])"
        " ON CONFLICT(term) DO UPDATE SET passages = term_counts.passages + excluded.passages",
        ([term for term, _ in counts], [count for _, count in counts]),
    )
    # A term is a word of its own too: what begins with a prefix is looked up among the words.
    connection.rows(
        "INSERT INTO vocabulary(word, term) SELECT term, term FROM unnest(?::text[]) term ON CONFLICT DO NOTHING",
        ([term for term, _ in counts],),
    )
    lengths = np.array([chunk.lengths() for chunk in chunks if chunk.state == LIVE], np.int64).reshape(-1, len(FIELDS))
    _count(connection, lengths, 1)
    connection.add_to_meta("index_epoch", 1)


def _rows(chunks: Sequence[NewChunk]) -> Iterator[tuple[Any, ...]]:
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


def retire(connection: Any, chunks: Sequence[tuple[int, int, bytes]], state: int) -> None:
    """Take chunks ``(id, its state so far, its lengths)`` out of normal search, at once."""
    if not chunks:
        return
    ids = [chunk for chunk, _, _ in chunks]
    connection.rows(
        "UPDATE term_counts t SET passages = t.passages - p.lost FROM (SELECT term, count(*) AS lost FROM postings"
        f" WHERE chunk = ANY(?) AND state = {LIVE} GROUP BY term) p WHERE t.term = p.term",
        (ids,),
    )
    if state == DELETED:
        connection.rows("DELETE FROM postings WHERE chunk = ANY(?)", (ids,))
    else:
        connection.rows("UPDATE postings SET state = ? WHERE chunk = ANY(?)", (state, ids))
    lost = [np.frombuffer(lengths, np.uint32) for _, before, lengths in chunks if before == LIVE]
    _count(connection, np.array(lost, np.int64).reshape(-1, len(FIELDS)), -1)
    connection.add_to_meta("index_epoch", 1)


def _count(connection: Any, lengths: Any, sign: int) -> None:
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


def holding(connection: Any, n: int) -> list[str]:
    """The terms of an item that is about to be erased."""
    return [row[0] for row in connection.rows("SELECT DISTINCT term FROM postings WHERE item=?", (n,))]


def is_used(connection: Any, term: str) -> bool:
    """Whether any chunk holds a term."""
    return bool(connection.rows("SELECT 1 FROM postings WHERE term=? LIMIT 1", (term,)))


def rewrite(database: Any, terms: Sequence[str]) -> None:
    """Forget the terms of an erased item that no other one holds."""
    with database.write() as connection:
        for table in ("vocabulary", "term_counts"):
            connection.rows(
                f"DELETE FROM {table} v WHERE v.term = ANY(?)"
                " AND NOT EXISTS (SELECT 1 FROM postings p WHERE p.term = v.term)",
                (list(terms),),
            )


def maintain(database: Any) -> None:
    """Nothing falls due after a write: the server vacuums its tables itself."""
