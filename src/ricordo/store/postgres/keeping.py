"""The keyword index of a workspace in this process: segments by their numbers, posting lists as far as they were used.

A search first asks, in one trip, what changed since the last one: which segments there are now, those that are new, the
chunks that were retired, and the posting lists of its words that are not here yet. Everything else is computed here, by
the code that the file's index has. Whatever is not at hand is asked for when it is needed, so that the answer never
depends on what was brought along.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from ricordo.frozen import frozen
from ricordo.store.asking import MOST_PREFIX_TERMS
from ricordo.store.index.lexical import LexicalIndex, laid_end_to_end
from ricordo.store.index.postings import Posting, decode
from ricordo.store.index.scoring import Snapshot
from ricordo.store.index.segments import READY, Arrays, arrays_of
from ricordo.store.postgres.connection import Connection
from ricordo.store.sql import protocols
from ricordo.store.sql.arrays import Array
from ricordo.store.sql.protocols import Row, Values

EPOCH = "SELECT value FROM meta WHERE name = 'index_epoch'"
CHANGED = f"({EPOCH}) <> to_jsonb(?::bigint)"
_SEGMENTS = f"SELECT id FROM segments WHERE state = {READY} AND {CHANGED} ORDER BY id"
_ARRAYS = (
    "SELECT id, chunk_ids, item_ids, lengths, states FROM segments"
    f" WHERE state = {READY} AND id <> ALL(?) AND {CHANGED}"
)
_RETIRED = f"SELECT seq, chunk, state FROM retired WHERE {CHANGED} ORDER BY seq"
_TOTALS = f"SELECT field, total FROM lexical_stats WHERE {CHANGED}"
_POSTINGS = (
    "WITH pairs AS MATERIALIZED (SELECT s.id, t.term FROM segments s CROSS JOIN ({terms}) t(term)"
    f" WHERE s.state = {READY} AND (s.id <> ALL(?) OR t.term <> ALL(?)))"
    " SELECT p.segment, p.term, p.data FROM pairs a JOIN postings p ON p.segment = a.id AND p.term = a.term"
)
_BEGINNING = (
    "SELECT DISTINCT term FROM (SELECT p.term FROM segments s CROSS JOIN LATERAL (SELECT p.term FROM postings p"
    f" WHERE p.segment = s.id AND p.term >= ? AND p.term < ? LIMIT ?) p WHERE s.state = {READY}"
    " UNION ALL (SELECT term FROM vocabulary WHERE word >= ? AND word < ? LIMIT ?)) found LIMIT ?"
)
Asked = tuple[str, Values]


@frozen
class Wish:
    """What a search will look at: index terms, beginnings of words, and words that may be unknown, with their terms."""

    terms: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()
    written: tuple[tuple[str, str], ...] = ()


class KeptIndex(LexicalIndex):
    """The file's keyword index over a server's rows."""

    def __init__(self) -> None:
        super().__init__()
        self._arrays: dict[int, Arrays] = {}
        """The arrays of segments as they were made, by number."""

    def load(self, connection: Connection, wish: Wish, also: Sequence[Asked] = ()) -> list[list[Row]]:
        """Bring this index to the moment that a connection sees, and what a search needs; in one trip.

        ``also`` are statements that are sent along; returns their answers.
        """
        known = self._snapshot
        epoch = -1 if known is None else known.epoch
        held = self._arrays  # another thread may put other segments in its place
        segments = [] if known is None else [segment.id for segment in known.segments]
        cached = [term for term in wish.terms if all((one, term) in self._cache for one in segments)]
        terms, values = _wished(wish)
        answers = connection.together(
            [
                (EPOCH, ()),
                (_SEGMENTS, (epoch,)),
                (_ARRAYS, (list(held), epoch)),
                (_RETIRED, (epoch,)),
                (_TOTALS, (epoch,)),
                (_POSTINGS.format(terms=terms), (*values, segments, cached)),
                *((_BEGINNING, _bounds(prefix)) for prefix in wish.prefixes),
                *([likely_asked(wish.written)] if wish.written else []),
                *also,
            ],
            binary=True,
        )
        now, present, arrays, retired, totals, postings = answers[:6]
        rest = answers[6:]
        begun, rest = rest[: len(wish.prefixes)], rest[len(wish.prefixes) :]
        connection.begun_with = {
            prefix: [term for (term,) in rows] for prefix, rows in zip(wish.prefixes, begun, strict=True)
        }
        terms_brought = set(wish.terms).union(*connection.begun_with.values())
        if wish.written:
            connection.unknown, connection.likely = read_likely(rest.pop(0))
            terms_brought.update(*connection.likely.values())
        if known is not None and known.epoch == now[0][0]:
            connection.snapshot = known
        else:
            made = held | {number: arrays_of(*row) for number, *row in arrays}
            parts = {number: made[number] for (number,) in present}
            connection.snapshot = laid_end_to_end(now[0][0], parts, retired, dict(totals))
            self._keep_newest(connection.snapshot, parts)
        self._keep(connection, postings, terms_brought, set(cached), set(segments))
        return rest

    def _keep_newest(self, made: Snapshot, parts: dict[int, Arrays]) -> None:
        with self._lock:
            if self._snapshot is None or self._snapshot.epoch <= made.epoch:
                self._snapshot, self._arrays = made, parts

    def _keep(
        self, connection: Connection, rows: Iterable[Row], terms: set[str], cached: set[str], segments: set[int]
    ) -> None:
        """Keep the posting lists that were brought, and note which segments lack a term."""
        assert connection.snapshot is not None, "it was just read"
        brought: dict[tuple[int, str], Posting] = {(segment, term): decode(data) for segment, term, data in rows}
        with self._lock:
            for segment in connection.snapshot.segments:
                for term in terms:
                    if term not in cached or segment.id not in segments:
                        self._remember((segment.id, term), brought.get((segment.id, term)))

    def snapshot(self, connection: protocols.Connection) -> Snapshot:
        """The index at the moment that a connection sees."""
        assert isinstance(connection, Connection)
        if connection.snapshot is None:
            self.load(connection, Wish())
        assert connection.snapshot is not None, "it was just read"
        return connection.snapshot

    def terms_starting_with(
        self, connection: protocols.Connection, prefix: str, limit: int = MOST_PREFIX_TERMS
    ) -> list[str]:
        """Index terms for a prefix: terms that start with it, and the stems of words that do."""
        assert isinstance(connection, Connection)
        if prefix not in connection.begun_with:
            self.load(connection, Wish(prefixes=(prefix,)))
        return sorted(connection.begun_with[prefix])[:limit]

    def words_like(self, connection: protocols.Connection, unknown: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The words that some unknown ones may mean, each with its index terms."""
        assert isinstance(connection, Connection)
        if set(unknown) <= connection.unknown:
            return connection.likely
        return super().words_like(connection, unknown)

    def bring(self, connection: Connection, terms: Collection[str]) -> None:
        """Read the posting lists of some terms in one trip, as far as they are not here."""
        known = connection.snapshot
        if known is None or any((segment.id, term) not in self._cache for segment in known.segments for term in terms):
            self.load(connection, Wish(frozenset(terms)))

    def forget(self) -> None:
        """Read everything again: the server may have been replaced by another."""
        with self._lock:
            self._snapshot = None
            self._arrays = {}
            self._cache.clear()
            self._cached_bytes = 0


def _bounds(prefix: str) -> Values:
    most = MOST_PREFIX_TERMS
    return (prefix, prefix + "\U0010ffff", most, prefix, prefix + "\U0010ffff", most, most)


def _wished(wish: Wish) -> tuple[str, Values]:
    """The terms whose posting lists are brought, as a statement."""
    sql, values = "SELECT unnest(?::text[])", [list[object](wish.terms)]
    parts: list[object] = [*values]
    for prefix in wish.prefixes:
        sql += f" UNION ({_BEGINNING})"
        parts += _bounds(prefix)
    if wish.written:
        likely, asked = likely_asked(wish.written)
        sql += f" UNION SELECT term FROM ({likely}) likely WHERE term IS NOT NULL"
        parts += asked
    return sql, parts


_IN_USE = f"SELECT 1 FROM segments s JOIN postings p ON p.segment = s.id WHERE s.state = {READY} AND p.term = "
_LIKELY = f"""WITH u AS MATERIALIZED (
  SELECT * FROM unnest(?::text[], ?::text[], ?::bool[], ?::bool[], ?::int[]) w(word, term, code, ascii, wrong)
  WHERE NOT EXISTS ({_IN_USE} w.term))
 SELECT u.word, v.word AS known, v.term FROM u
 LEFT JOIN LATERAL (
  SELECT w.word, w.term FROM (
   SELECT word, term FROM vocabulary WHERE word >= left(u.word, 1) AND word < left(u.word, 1) || chr(1114111)
   UNION SELECT p.term, p.term FROM segments s JOIN postings p ON p.segment = s.id
    WHERE s.state = {READY} AND p.term >= left(u.word, 1) AND p.term < left(u.word, 1) || chr(1114111)) w
  WHERE CASE WHEN u.code THEN starts_with(w.word, u.word)
   ELSE abs(length(w.word) - length(u.word)) <= u.wrong AND length(translate(w.word, u.word, '')) <= u.wrong
    AND length(translate(u.word, w.word, '')) <= u.wrong
    OR NOT u.ascii AND left(w.word, 4) = left(u.word, 4) END) v ON true"""
"""For each asked word that stands nowhere: the words that may be meant. Those with other letters are left out at once:
one wrong letter leaves at most one letter on either side that the other word has not at all.
"""


def likely_asked(written: Sequence[tuple[str, str]]) -> Asked:
    """The statement that looks for words that asked ones may mean, where these stand nowhere."""
    from ricordo.text.alike import LONG_WORD

    words = [word for word, _ in written]
    return _LIKELY, (
        words,
        [term for _, term in written],
        [any(sign.isdigit() for sign in word) for word in words],
        [word.isascii() for word in words],
        [2 if len(word) >= LONG_WORD else 1 for word in words],
    )


def read_likely(rows: Sequence[Row]) -> tuple[set[str], dict[str, tuple[str, ...]]]:
    """The words that stand nowhere, and the known words that may be meant, with their terms."""
    likely: dict[str, tuple[str, ...]] = {}
    for _, known, term in rows:
        if known is not None and term not in likely.get(known, ()):
            likely[known] = (*likely.get(known, ()), term)
    return {word for word, _, _ in rows}, likely


def numbers(rows: Sequence[Row]) -> Array:
    """Numbers that came as the bytes of one value."""
    return np.frombuffer(rows[0][0] or b"", ">i8").astype(np.int64)
