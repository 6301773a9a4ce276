"""The keyword index as rows: one for each term of each chunk. Scores are computed from them in SQL (``asking_sql``).

A module with the functions of ``WordIndex``: adding chunks, taking them out, what is due afterwards (nothing).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ricordo.store.base import TermCounts
from ricordo.store.sqlite.new_chunks import DELETED, LIVE, NewChunk

FIELDS = ("title", "path", "description", "tags", "context", "body")
_COLUMNS = {
    "term": "text", "chunk": "bigint", "item": "bigint", "state": "smallint",
    **{f"f{at}": "int" for at in range(6)}, **{f"l{at}": "int" for at in range(6)},
}  # fmt: skip


def inverted(counts: Sequence[TermCounts]) -> None:
    """Nothing is prepared outside of the transaction."""


def add_chunks(connection: Any, chunks: Sequence[NewChunk], made: None) -> None:
    """Index the chunks of one transaction."""
    if not chunks:
        return
    rows = list(_rows(chunks))
    if rows:
        connection.insert_rows("postings", _COLUMNS, rows)
    terms = {term for chunk in chunks for field in chunk.counts for term in field}
    # A term is a word of its own too: what begins with a prefix is looked up among the words.
    connection.rows(
        "INSERT INTO vocabulary(word, term) SELECT term, term FROM unnest(?::text[]) term ON CONFLICT DO NOTHING",
        (sorted(terms),),
    )
    live = np.array([chunk.lengths() for chunk in chunks if chunk.state == LIVE], np.int64).reshape(-1, len(FIELDS))
    _count(connection, live, 1)
    connection.add_to_meta("index_epoch", 1)


def _rows(chunks: Sequence[NewChunk]) -> Iterator[tuple[Any, ...]]:
    for chunk in chunks:
        lengths = chunk.lengths()
        for term in dict.fromkeys(term for field in chunk.counts for term in field):
            held = [field.get(term, 0) for field in chunk.counts]
            yield (term, chunk.chunk, chunk.item, chunk.state, *held, *lengths)


def retire(connection: Any, chunks: Sequence[tuple[int, int, bytes]], state: int) -> None:
    """Take chunks ``(id, its state so far, its lengths)`` out of normal search, at once."""
    if not chunks:
        return
    ids = [chunk for chunk, _, _ in chunks]
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
        connection.rows(
            "DELETE FROM vocabulary v WHERE v.term = ANY(?)"
            " AND NOT EXISTS (SELECT 1 FROM postings p WHERE p.term = v.term)",
            (list(terms),),
        )


def maintain(database: Any) -> None:
    """Nothing falls due after a write: the server vacuums its tables itself."""
