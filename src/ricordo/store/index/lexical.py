"""Keyword search over the segments: exact BM25F, with filters applied before the best are picked.

For a term t in a chunk, each field's frequency is divided by ``1 - b + b·length/average`` of that field and weighted;
with x their sum, the term adds ``idf · x / (k1 + x)``, where ``idf = ln(1 + (N - df + .5)/(df + .5))``. N, df and the
averages count live chunks only (or, for a search as of a time, the chunks that were live then). A score is therefore
below the sum of the idfs, which is reported as ``maximum``; words that occur nowhere count in it, because they were
asked for.

``search`` interprets the query (operators, phrases); this module gets terms.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from ricordo.frozen import frozen
from ricordo.store.arrays import Array, Grouped, count_distinct, lookup
from ricordo.store.index.impacts import Impacts
from ricordo.store.index.postings import Posting, decode
from ricordo.store.index.scoring import Matches, Segment, Snapshot, View, Wanted
from ricordo.store.index.segments import READY, Arrays, arrays_of, with_retired
from ricordo.store.query import MOST_PREFIX_TERMS
from ricordo.store.sql.database import FIELDS, LIVE, UNREADABLE, Connection, Row, marks, not_in
from ricordo.store.values import Scoring
from ricordo.text.alike import first_letters

_ARRAYS = "SELECT id, chunk_ids, item_ids, lengths, states FROM segments"
_PRESENT = f"SELECT id FROM segments WHERE state={READY}"
EPOCH = "SELECT value FROM meta WHERE name='index_epoch'"
"""A number that every write of items counts up."""
_POSTINGS = "SELECT segment, term, data FROM postings WHERE"
_BETWEEN = f"segment IN ({_PRESENT}) AND term>=? AND term<?"
DAMAGED = "a part of the keyword index is damaged and left out; 'ricordo doctor --repair' builds it again"
_CACHE_BYTES = 16 << 20
"""Room for postings as they are stored. They are needed again when a commit changed what each adds to a score."""


@frozen
class Scored:
    """The scores of all chunks for a query."""

    view: View
    scores: Array
    wanted: Sequence[Wanted]
    held: Array
    """The places of chunks that match, ascending."""
    item_total: int
    """How many items match."""

    def best(self, items: int, also: Array | None = None, *, cover: bool = True) -> Matches:
        """The best chunks until enough different items are among them, and those of the items in ``also``."""
        matches = self.view.best(self.scores, self.held, self.wanted, items=items, also=also, cover=cover)
        return replace(matches, item_total=self.item_total)


class LexicalIndex:
    """Answers keyword queries; keeps what it read in memory and notices every commit of any process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._cache: OrderedDict[tuple[int, str], Posting | None] = OrderedDict()
        self._cached_bytes = 0
        self._alive: tuple[int, Array] | None = None
        self._by_item: tuple[Snapshot, Grouped] | None = None
        self._item_mask: tuple[Array, Array, Array] | None = None
        self._damaged: set[int] = set()
        """Segments in use of which something cannot be read, and is left out."""
        self.impacts = Impacts()

    @property
    def problem(self) -> str:
        """What answers lack; empty if nothing."""
        return DAMAGED if self._damaged else ""

    def snapshot(self, connection: Connection) -> Snapshot:
        """The current state, re-read only where something changed."""
        epoch = connection.once(EPOCH)[0][0]
        with self._lock:
            snapshot = self._snapshot
            if snapshot is None or snapshot.epoch != epoch:
                self._snapshot = snapshot = self._reload(connection, epoch, snapshot)
            return snapshot

    def _reload(self, connection: Connection, epoch: int, old: Snapshot | None) -> Snapshot:
        after = old.retired_seq if old else 0
        if old and epoch < old.epoch:  # another file took the place of ours
            old, after = None, 0
            self._cache.clear()
            self._cached_bytes = 0
        held = {segment.id: segment.arrays for segment in old.segments} if old else {}
        unread, numbers = not_in("id", held)
        retired, present, fresh, totals = connection.gather(
            lambda: connection.rows("SELECT seq, chunk, state FROM retired WHERE seq > ? ORDER BY seq", (after,)),
            lambda: connection.rows("SELECT id FROM segments WHERE state=? ORDER BY id", (READY,)),
            lambda: connection.rows(f"{_ARRAYS} WHERE state=?{unread}", (READY, *numbers)),
            lambda: connection.rows("SELECT field, total FROM lexical_stats"),
        )
        self._damaged &= {number for (number,) in present}
        for number, *row in fresh:
            try:
                held[number] = _narrow(arrays_of(*row))
            except UNREADABLE:  # a damaged row costs itself alone
                self._damaged.add(number)
        parts = {number: held[number] for (number,) in present if number in held}
        return laid_end_to_end(epoch, parts, retired, dict(totals), after=after)

    def expect(self, connection: Connection, terms: Collection[str]) -> None:
        """Read the current state and, together with it, the posting lists that are not here: of terms that were not
        looked at yet, and of the others in segments that are new.
        """
        latest = self._snapshot
        unseen = sorted(set(terms) if latest is None else self._unseen(latest, terms))
        sql = f"{_POSTINGS} segment IN ({_PRESENT}) AND term IN (*)"
        [(epoch,)], rows = connection.gather(lambda: connection.once(EPOCH), lambda: connection.rows_in(sql, unseen))
        seen = sorted(set(terms).difference(unseen)) if latest is None or latest.epoch != epoch else []
        held = [segment.id for segment in latest.segments] if latest is not None else []
        unread, numbers = not_in("segment", held)
        snapshot, more = connection.gather(
            lambda: self.snapshot(connection),
            lambda: connection.rows_in(sql.replace(" AND term", f"{unread} AND term"), seen, *numbers),
        )
        present = [segment.id for segment in snapshot.segments]
        self._keep(present, unseen, rows)
        self._keep([number for number in present if number not in held], seen, more)

    def _unseen(self, latest: Snapshot, terms: Collection[str]) -> list[str]:
        """Those of the terms of which something is not in memory."""
        unknown = self.impacts.unseen(latest.epoch, terms)
        return [term for term in unknown if any((part.id, term) not in self._cache for part in latest.segments)]

    def alive(self, connection: Connection) -> Array:
        """Whether a chunk is live, by chunk id."""
        snapshot = self.snapshot(connection)
        with self._lock:
            if self._alive is None or self._alive[0] != snapshot.epoch:
                table = np.zeros(int(snapshot.chunks.max(initial=0)) + 1, bool)
                table[snapshot.chunks] = True if snapshot.alive is None else snapshot.alive
                self._alive = (snapshot.epoch, table)
            return self._alive[1]

    def by_item(self, snapshot: Snapshot) -> Grouped:
        with self._lock:
            cached = self._by_item
            if cached is None or not snapshot.begins_like(cached[0], len(cached[1].order)):
                cached = (snapshot, Grouped.of(snapshot.items))
            elif cached[0] is not snapshot:
                cached = (snapshot, cached[1].of_longer(snapshot.items))
            self._by_item = cached
            return cached[1]

    def item_mask(self, snapshot: Snapshot, allowed: Array) -> Array:
        """Which places belong to some items; the last answer is kept, as filters are often used several times."""
        cached = self._item_mask
        if cached is None or cached[0] is not snapshot.items or cached[1] is not allowed:
            self._item_mask = cached = (snapshot.items, allowed, lookup(snapshot.items, allowed))
        return cached[2]

    def search(
        self,
        connection: Connection,
        wanted: Sequence[Wanted],
        *,
        scoring: Scoring,
        items: int,
        allowed: Array | None = None,
        required: Sequence[Sequence[str]] = (),
        excluded: Sequence[Sequence[str]] = (),
        times: Array | None = None,
        also: Array | None = None,
        cover: bool = False,
    ) -> Matches:
        """The best chunks until ``items`` different items are among them, ties included.

        ``allowed`` holds the item numbers that passed the filters; ``required`` are groups of terms that must all be in
        the chunk (the words of a phrase); ``excluded`` are groups whose common presence in any chunk rules out its
        item; ``times`` are the ids of the chunks that were live at the time asked for; ``also`` are items whose
        matching chunks are answered whatever their rank. ``cover`` measures how much of the query each chunk holds.
        """
        scored = self.scored(
            connection, wanted, scoring=scoring, allowed=allowed, required=required, excluded=excluded, times=times
        )
        return scored.best(items, also, cover=cover)

    def scored(
        self,
        connection: Connection,
        wanted: Sequence[Wanted],
        *,
        scoring: Scoring,
        allowed: Array | None = None,
        required: Sequence[Sequence[str]] = (),
        excluded: Sequence[Sequence[str]] = (),
        times: Array | None = None,
    ) -> Scored:
        """The scores of all chunks, of which the best can be picked several times; see ``search``."""
        view = self._view(connection, wanted, scoring, times, also={t for g in (*required, *excluded) for t in g})
        among = view.few_places(allowed)
        mask = view.mask(allowed if among is None else None, required, excluded)
        scores = view.score(wanted, mask, among)
        held = (scores > 0).nonzero()[0] if among is None else among[scores[among] > 0]
        return Scored(view=view, scores=scores, wanted=wanted, held=held, item_total=count_distinct(view.items[held]))

    def _view(
        self,
        connection: Connection,
        wanted: Sequence[Wanted],
        scoring: Scoring,
        times: Array | None,
        *,
        also: Collection[str] = (),
    ) -> View:
        """The view of a query in which its words can be looked at, and some terms also."""
        view = View(self, connection, self.snapshot(connection), scoring=scoring, times=times)
        view.hold(wanted, also)
        return view

    def shares(
        self,
        connection: Connection,
        wanted: Sequence[Wanted],
        chunks: Sequence[int],
        *,
        scoring: Scoring,
        times: Array | None = None,
    ) -> dict[int, list[tuple[str, dict[str, int], float, float]]]:
        """For each chunk and word: label, frequency per field, idf, and what it added to the score."""
        return self._view(connection, wanted, scoring, times).shares(wanted, chunks)

    def word_shares(
        self,
        connection: Connection,
        wanted: Sequence[Wanted],
        chunks: Sequence[int],
        *,
        scoring: Scoring,
        times: Array | None = None,
    ) -> dict[int, dict[str, float]]:
        """What each word added to the score of each chunk that holds it, by chunk and label."""
        view = self._view(connection, wanted, scoring, times)
        by_chunk: dict[int, dict[str, float]] = {}
        for word, held, _, shares in view.shares_of_words(wanted, chunks):
            for chunk, share in zip(held, shares, strict=True):
                by_chunk.setdefault(chunk, {})[word.label] = share
        return by_chunk

    def document_frequencies(self, connection: Connection, terms: Collection[str]) -> tuple[int, dict[str, int]]:
        """The number of live chunks, and for each term in how many of them it occurs."""
        snapshot = self.snapshot(connection)
        return snapshot.live, View(self, connection, snapshot, scoring=Scoring(), times=None).counts(terms)

    def posting_sizes(self, connection: Connection, terms: Collection[str]) -> Counter[str]:
        """How many bytes the postings of each term take; they are not read for that."""
        sql = f"SELECT term, length(data) FROM postings WHERE segment IN ({_PRESENT}) AND term IN (*)"
        sizes: Counter[str] = Counter()
        for term, size in connection.rows_in(sql, sorted(terms)):
            sizes[term] += size
        return sizes

    def terms_starting_with(self, connection: Connection, prefix: str, limit: int = MOST_PREFIX_TERMS) -> list[str]:
        """Index terms for a prefix: terms that start with it, and the stems of words that do."""
        end = prefix + "\U0010ffff"
        terms, stems = connection.gather(
            lambda: connection.rows(
                f"SELECT DISTINCT term FROM postings WHERE {_BETWEEN} ORDER BY term LIMIT ?", (prefix, end, limit)
            ),
            lambda: connection.rows(
                "SELECT DISTINCT term FROM vocabulary WHERE word>=? AND word<? LIMIT ?", (prefix, end, limit)
            ),
        )
        return list(dict.fromkeys(term for (term,) in (*terms, *stems)))[:limit]

    def words_like(self, connection: Connection, unknown: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The words that begin like some others, each with its index terms; terms are included as words.

        A word of two languages has two terms: running is run in an English passage and running in a French one.
        """
        words: dict[str, tuple[str, ...]] = {}
        for some in connection.gather(
            *(partial(self._words_from, connection, letter) for letter in first_letters(unknown))
        ):
            words |= some
        return words

    def _words_from(self, connection: Connection, letter: str) -> dict[str, tuple[str, ...]]:
        end = letter + "\U0010ffff"
        words: dict[str, tuple[str, ...]] = {}
        terms, vocabulary = connection.gather(
            lambda: connection.rows(f"SELECT DISTINCT term FROM postings WHERE {_BETWEEN}", (letter, end)),
            lambda: connection.rows("SELECT word, term FROM vocabulary WHERE word>=? AND word<?", (letter, end)),
        )
        words |= {term: (term,) for (term,) in terms}
        for word, term in vocabulary:
            if term in words:
                words[word] = (term, *words.get(word, ()))
        return words

    def postings(self, connection: Connection, segments: Sequence[int], terms: set[str]) -> list[dict[str, Posting]]:
        """The posting lists of terms, by segment; from memory where possible."""
        pairs = [(segment, term) for segment in segments for term in terms]
        with self._lock:
            postings = {pair: self._cache[pair] for pair in pairs if pair in self._cache}
            for pair in postings:
                self._cache.move_to_end(pair)
        missing = [pair for pair in pairs if pair not in postings]
        if missing:
            among, unread = sorted({segment for segment, _ in missing}), sorted({term for _, term in missing})
            sql = f"{_POSTINGS} segment IN ({marks(among)}) AND term IN (*)"
            postings |= self._keep(among, unread, connection.rows_in(sql, unread, *among))
        lists: dict[int, dict[str, Posting]] = {segment: {} for segment in segments}
        for segment, term in pairs:
            if (posting := postings[segment, term]) is not None:
                lists[segment][term] = posting
        return list(lists.values())

    def _keep(
        self, segments: Sequence[int], terms: Sequence[str], rows: Sequence[Row]
    ) -> dict[tuple[int, str], Posting | None]:
        """Keep what was read of terms in segments; None stands for a term that a segment does not have."""
        read: dict[tuple[int, str], Posting] = {}
        try:
            read = {(segment, term): decode(data) for segment, term, data in rows}
        except UNREADABLE:
            for segment, term, data in rows:
                try:
                    read[segment, term] = decode(data)
                except UNREADABLE:  # a damaged row costs itself alone
                    self._damaged.add(segment)
        postings = {(segment, term): read.get((segment, term)) for segment in segments for term in terms}
        with self._lock:
            for pair, posting in postings.items():
                self._remember(pair, posting)
        return postings

    def _remember(self, key: tuple[int, str], posting: Posting | None) -> None:
        if key in self._cache:
            return
        self._cache[key] = posting
        self._cached_bytes += _size(posting)
        while self._cached_bytes > _CACHE_BYTES and self._cache:
            _, dropped = self._cache.popitem(last=False)
            self._cached_bytes -= _size(dropped)


def laid_end_to_end(
    epoch: int, parts: Mapping[int, Arrays], retired: Sequence[Row], totals: Mapping[int, int], *, after: int = 0
) -> Snapshot:
    """The segments of one moment as a snapshot; ``retired`` are the changes of states that they do not have yet."""
    log = {chunk: state for _, chunk, state in retired}
    parts = {number: with_retired(part, log) for number, part in parts.items()}
    starts = np.cumsum([0, *(len(part.chunks) for part in parts.values())])
    chunks = _together([part.chunks for part in parts.values()], np.int64)
    items = _together([part.items for part in parts.values()], np.int64)
    states = _together([part.states for part in parts.values()], np.uint8)
    segments = [
        Segment(number, Arrays(chunks[start:end], items[start:end], part.lengths, part.states))
        for (number, part), (start, end) in zip(parts.items(), pairwise(starts), strict=True)
    ]
    return Snapshot(
        epoch=epoch,
        retired_seq=retired[-1][0] if retired else after,
        segments=tuple(segments),
        live=totals[-1],
        totals=np.array([totals[i] for i in range(len(FIELDS))], np.float64),
        filled=np.array([totals[len(FIELDS) + i] for i in range(len(FIELDS))], np.float64),
        chunks=chunks,
        items=items,
        starts=starts,
        alive=states == LIVE if states.any() else None,
    )


def _narrow(arrays: Arrays) -> Arrays:
    """The same with lengths in 16 bits, where they fit: these are most of what is kept of a segment."""
    small = arrays.lengths.max(initial=0) <= np.iinfo(np.uint16).max
    return replace(arrays, lengths=arrays.lengths.astype(np.uint16)) if small else arrays


def _together(parts: Sequence[Array], kind: type[np.generic]) -> Array:
    return np.concatenate(parts) if parts else np.zeros(0, kind)


def _size(posting: Posting | None) -> int:
    return 200 if posting is None else 200 + len(posting.ordinals) * (4 + 2 * len(posting.frequencies))
