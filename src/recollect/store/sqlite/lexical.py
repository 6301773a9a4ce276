"""Keyword search over the segments: BM25F with filters before the best are picked, exact to the last chunk.

For a term t in a chunk, each field's frequency is divided by ``1 - b + b·length/average`` of that field and weighted;
with x their sum, the term adds ``idf · x / (k1 + x)``, where ``idf = ln(1 + (N - df + .5)/(df + .5))``. N, df and the
averages count live chunks only (or, for a search as of a time, the chunks that were live then). A score is therefore
below the sum of the idfs, which is reported as ``maximum``; words that stand nowhere count in it, for they were asked
for and are missing.

What a query means (operators, phrases) is decided in ``search``; this module is given terms.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from recollect.store.base import Matches, Scoring, Wanted
from recollect.store.sqlite.connection import Connection
from recollect.store.sqlite.postings import FIELDS, Array, Posting, decode
from recollect.store.sqlite.segments import LIVE, READY, Arrays, load_arrays, with_retired

_CACHE_BYTES = 96 << 20
MOST_TIES = 500
"""Chunks that tie with the last one asked for are answered too, so that refs can break the tie; up to here."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment in memory."""

    id: int
    arrays: Arrays
    all_live: bool

    def visible(self, times: Array | None) -> Array | None:
        """Which chunks count: the live ones or, as of a time, the given ids. None means all."""
        if times is not None:
            return np.isin(self.arrays.chunks, times)
        return None if self.all_live else self.arrays.states == LIVE


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The index as of one epoch: its segments, and the totals that BM25 needs."""

    epoch: int
    retired_seq: int
    segments: tuple[Segment, ...]
    live: int
    totals: Array


class LexicalIndex:
    """Answers keyword queries; keeps what it read in memory and notices every commit of any process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._cache: OrderedDict[tuple[int, str], Posting | None] = OrderedDict()
        self._cached_bytes = 0
        self._alive: tuple[int, Array] | None = None

    def snapshot(self, connection: Connection) -> Snapshot:
        """The current state, re-read only where something changed."""
        epoch = connection.rows("SELECT value FROM meta WHERE name='index_epoch'")[0][0]
        with self._lock:
            known = self._snapshot
            if known is None or known.epoch != epoch:
                self._snapshot = known = self._reload(connection, epoch, known)
            return known

    def _reload(self, connection: Connection, epoch: int, old: Snapshot | None) -> Snapshot:
        after = old.retired_seq if old else 0
        if old and epoch < old.epoch:  # the file was replaced under us
            old, after = None, 0
            self._cache.clear()
            self._cached_bytes = 0
        held = {segment.id: segment.arrays for segment in old.segments} if old else {}
        rows = connection.rows("SELECT seq, chunk, state FROM retired WHERE seq > ? ORDER BY seq", (after,))
        log = {chunk: state for _, chunk, state in rows}
        segments = []
        for (segment,) in connection.rows("SELECT id FROM segments WHERE state=? ORDER BY id", (READY,)):
            known = held.get(segment)
            arrays = with_retired(load_arrays(connection, segment) if known is None else known, log)
            segments.append(Segment(segment, arrays, not arrays.states.any()))
        totals: dict[int, int] = dict(connection.rows("SELECT field, total FROM lexical_stats"))
        return Snapshot(
            epoch,
            rows[-1][0] if rows else after,
            tuple(segments),
            totals[-1],
            np.array([totals[i] for i in range(len(FIELDS))], np.float64),
        )

    def alive(self, connection: Connection) -> Array:
        """Whether a chunk is live, by chunk id."""
        snapshot = self.snapshot(connection)
        with self._lock:
            if self._alive is None or self._alive[0] != snapshot.epoch:
                highest = max((int(s.arrays.chunks.max(initial=0)) for s in snapshot.segments), default=0)
                table = np.zeros(highest + 1, bool)
                for segment in snapshot.segments:
                    table[segment.arrays.chunks] = segment.arrays.states == LIVE
                self._alive = (snapshot.epoch, table)
            return self._alive[1]

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
    ) -> Matches:
        """The best chunks until ``items`` different items are among them, ties included.

        ``allowed`` holds the item numbers that passed the filters; ``required`` are groups of terms that must all stand
        in the chunk (the words of a phrase); ``excluded`` are groups whose common presence in any chunk rules out its
        item; ``times`` are the ids of the chunks that were live at the time asked for; ``also`` are items whose
        matching chunks are answered whatever their rank.
        """
        view = _View(self, connection, self.snapshot(connection), scoring, times)
        view.load({term for word in wanted for term in word.terms} | {t for g in (*required, *excluded) for t in g})
        masks = view.masks(allowed, required, excluded)
        return view.best(view.score(wanted, masks), wanted, items, also)

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
        view = _View(self, connection, self.snapshot(connection), scoring, times)
        view.load({term for word in wanted for term in word.terms})
        return view.shares(wanted, chunks)

    def document_frequencies(self, connection: Connection, terms: Collection[str]) -> tuple[int, dict[str, int]]:
        """The number of live chunks, and for each term in how many of them it stands."""
        snapshot = self.snapshot(connection)
        view = _View(self, connection, snapshot, Scoring(), None)
        view.load(set(terms))
        return snapshot.live, {term: view.document_frequency(Wanted(term, (term,))) for term in terms}

    def terms_starting_with(self, connection: Connection, prefix: str, limit: int = 200) -> list[str]:
        """Index terms for a prefix: terms that start with it, and the stems of words that do."""
        end = prefix + "\U0010ffff"
        found: dict[str, None] = {}
        for segment in self.snapshot(connection).segments:
            for (term,) in connection.rows(
                "SELECT term FROM postings WHERE segment=? AND term>=? AND term<? LIMIT ?",
                (segment.id, prefix, end, limit),
            ):
                found[term] = None
        for (term,) in connection.rows(
            "SELECT DISTINCT term FROM vocabulary WHERE word>=? AND word<? LIMIT ?", (prefix, end, limit)
        ):
            found[term] = None
        return list(found)[:limit]

    def postings(self, connection: Connection, segment: int, terms: set[str]) -> dict[str, Posting]:
        """Posting lists of a segment, from memory where possible."""
        found: dict[str, Posting] = {}
        missing = []
        with self._lock:
            for term in terms:
                key = (segment, term)
                if key in self._cache:
                    posting = self._cache[key]
                    self._cache.move_to_end(key)
                    if posting is not None:
                        found[term] = posting
                else:
                    missing.append(term)
        if missing:
            rows = _read_postings(connection, segment, missing)
            with self._lock:
                for term in missing:
                    self._remember((segment, term), rows.get(term))
            found |= rows
        return found

    def _remember(self, key: tuple[int, str], posting: Posting | None) -> None:
        if key in self._cache:
            return
        self._cache[key] = posting
        self._cached_bytes += _size(posting)
        while self._cached_bytes > _CACHE_BYTES and self._cache:
            _, dropped = self._cache.popitem(last=False)
            self._cached_bytes -= _size(dropped)


def _size(posting: Posting | None) -> int:
    return 200 if posting is None else 200 + len(posting.ordinals) * (4 + 2 * len(posting.frequencies))


def _read_postings(connection: Connection, segment: int, terms: list[str]) -> dict[str, Posting]:
    found: dict[str, Posting] = {}
    for at in range(0, len(terms), 500):
        part = terms[at : at + 500]
        marks = ",".join("?" * len(part))
        for term, data in connection.rows(
            f"SELECT term, data FROM postings WHERE segment=? AND term IN ({marks})", (segment, *part)
        ):
            found[term] = decode(data)
    return found


class _View:
    """One query's look at a snapshot: postings loaded once, then masks, scores and shares from them."""

    def __init__(
        self, index: LexicalIndex, connection: Connection, snapshot: Snapshot, scoring: Scoring, times: Array | None
    ) -> None:
        self.index = index
        self.connection = connection
        self.segments = snapshot.segments
        self.scoring = scoring
        self.visible = [segment.visible(times) for segment in self.segments]
        if times is None:
            self.live = snapshot.live
            totals = snapshot.totals
        else:
            self.live = sum(int(mask.sum()) for mask in self.visible if mask is not None)
            totals = np.zeros(len(FIELDS))
            for segment, mask in zip(self.segments, self.visible, strict=True):
                totals = totals + segment.arrays.lengths[:, mask].sum(axis=1)
        self.averages = totals / max(self.live, 1)
        self.loaded: list[dict[str, Posting]] = []

    def load(self, terms: set[str]) -> None:
        self.loaded = [self.index.postings(self.connection, segment.id, terms) for segment in self.segments]

    def masks(
        self, allowed: Array | None, required: Sequence[Sequence[str]], excluded: Sequence[Sequence[str]]
    ) -> list[Array | None]:
        """Per segment, the chunks that may be answered at all; None where all may."""
        masks: list[Array | None] = list(self.visible)
        if allowed is not None:
            masks = [_both(mask, _lookup(s.arrays.items, allowed)) for mask, s in self._each(masks)]
        if required:
            groups = [term for group in required for term in group]
            masks = [_both(mask, self._holding(i, groups)) for i, mask in enumerate(masks)]
        for group in excluded:
            holders = [
                segment.arrays.items[_both(mask, self._holding(i, group))]
                for i, (mask, segment) in enumerate(self._each(self.visible))
            ]
            barred = np.unique(np.concatenate(holders)) if holders else np.zeros(0, np.int64)
            if len(barred):
                masks = [_both(mask, ~_lookup(s.arrays.items, barred)) for mask, s in self._each(masks)]
        return masks

    def _each(self, masks: Sequence[Array | None]) -> zip[tuple[Array | None, Segment]]:
        return zip(masks, self.segments, strict=True)

    def _holding(self, at: int, terms: Sequence[str]) -> Array:
        """Chunks of a segment that hold all the terms."""
        size = len(self.segments[at].arrays.chunks)
        held = np.ones(size, bool)
        for term in terms:
            posting = self.loaded[at].get(term)
            present = np.zeros(size, bool)
            if posting is not None:
                present[posting.ordinals] = True
            held &= present
        return held

    def document_frequency(self, word: Wanted) -> int:
        """In how many visible chunks a word stands."""
        count = 0
        for at, visible in enumerate(self.visible):
            lists = [p.ordinals for term in word.terms if (p := self.loaded[at].get(term)) is not None]
            if not lists:
                continue
            ordinals = lists[0] if len(lists) == 1 else np.unique(np.concatenate(lists))
            count += len(ordinals) if visible is None else int(visible[ordinals].sum())
        return count

    def idf(self, word: Wanted) -> float:
        df = self.document_frequency(word)
        return float(np.log1p((self.live - df + 0.5) / (df + 0.5)))

    def saturation(self, at: int, word: Wanted) -> tuple[Array, Array] | None:
        """For one segment: the ordinals that hold a word, and x / (k1 + x) for each."""
        parts = [
            (posting.ordinals, self._weighted(at, posting))
            for term in word.terms
            if (posting := self.loaded[at].get(term)) is not None
        ]
        if not parts:
            return None
        ordinals, x = parts[0]
        if len(parts) > 1:
            dense = np.zeros(len(self.segments[at].arrays.chunks))
            for some, value in parts:
                dense[some] += value
            ordinals = np.flatnonzero(dense)
            x = dense[ordinals]
        return ordinals, x / (self.scoring.k1 + x)

    def _weighted(self, at: int, posting: Posting) -> Array:
        lengths = self.segments[at].arrays.lengths
        b = self.scoring.b
        total: Array | None = None
        for index, frequencies in posting.frequencies:
            average = self.averages[index]
            norm = lengths[index][posting.ordinals] * (b / average if average else 0.0)
            norm += 1.0 - b if average else 1.0
            part = frequencies * self.scoring.weights[index] / norm
            total = part if total is None else total + part
        assert total is not None  # a posting stands in at least one field
        return total

    def score(self, wanted: Sequence[Wanted], masks: Sequence[Array | None]) -> list[Array]:
        """Scores of all chunks of each segment; 0 where nothing matched or a mask forbids."""
        self.idfs = {word.label: self.idf(word) for word in wanted}
        answers = []
        for at, mask in enumerate(masks):
            scores = np.zeros(len(self.segments[at].arrays.chunks))
            for word in wanted:
                found = self.saturation(at, word)
                if found is not None:
                    ordinals, x = found
                    x *= self.idfs[word.label] * word.weight * word.doubt
                    scores[ordinals] += x
            if mask is not None:
                scores *= mask
            answers.append(scores)
        return answers

    def best(self, scores: Sequence[Array], wanted: Sequence[Wanted], items: int, also: Array | None) -> Matches:
        """Pick the best chunks of all segments until enough different items are among them."""
        chunks, owners, values = [], [], []
        for part, segment in zip(scores, self.segments, strict=True):
            hit = np.flatnonzero(part)
            chunks.append(segment.arrays.chunks[hit])
            owners.append(segment.arrays.items[hit])
            values.append(part[hit])
        none = np.zeros(0, np.int64)
        all_chunks = np.concatenate(chunks) if chunks else none
        all_items = np.concatenate(owners) if owners else none
        all_scores = np.concatenate(values) if values else np.zeros(0)
        picked = best_of(all_scores, all_items, items)
        if also is not None and len(also):
            more = np.flatnonzero(_lookup(all_items, also))
            picked = np.concatenate((picked, np.setdiff1d(more, picked)))
            picked = picked[np.argsort(-all_scores[picked], kind="stable")]
        maximum = sum(self.idfs[word.label] * word.weight for word in wanted)
        return Matches(
            all_chunks[picked], all_items[picked], all_scores[picked], maximum, len(all_chunks), dict(self.idfs)
        )

    def shares(
        self, wanted: Sequence[Wanted], chunks: Sequence[int]
    ) -> dict[int, list[tuple[str, dict[str, int], float, float]]]:
        ids = np.array(chunks, np.int64)
        answer: dict[int, list[tuple[str, dict[str, int], float, float]]] = {chunk: [] for chunk in chunks}
        for word in wanted:
            idf = self.idf(word)
            for at, segment in enumerate(self.segments):
                found = self.saturation(at, word)
                if found is None:
                    continue
                ordinals, x = found
                for position in np.flatnonzero(np.isin(segment.arrays.chunks[ordinals], ids)).tolist():
                    ordinal = int(ordinals[position])
                    share = float(x[position] * (idf * word.weight * word.doubt))
                    frequencies = self._frequencies(at, word, ordinal)
                    answer[int(segment.arrays.chunks[ordinal])].append((word.label, frequencies, idf, share))
        return answer

    def _frequencies(self, at: int, word: Wanted, ordinal: int) -> dict[str, int]:
        counts: dict[str, int] = {}
        for term in word.terms:
            posting = self.loaded[at].get(term)
            if posting is None:
                continue
            place = int(np.searchsorted(posting.ordinals, ordinal))
            if place < len(posting.ordinals) and posting.ordinals[place] == ordinal:
                for index, frequencies in posting.frequencies:
                    if frequencies[place]:
                        counts[FIELDS[index]] = counts.get(FIELDS[index], 0) + int(frequencies[place])
        return counts


def _lookup(values: Array, wanted: Array) -> Array:
    """Like ``np.isin`` for small whole numbers, without sorting."""
    table = np.zeros(int(max(values.max(initial=0), wanted.max(initial=0))) + 1, bool)
    table[wanted] = True
    found: Array = table[values]
    return found


def _both(mask: Array | None, other: Array) -> Array:
    return other if mask is None else mask & other


def best_of(scores: Array, items: Array, count: int) -> Array:
    """Positions of the best scores, best first, until ``count`` different items (and all ties of the last) are in."""
    size = len(scores)
    take = min(size, 4 * count)
    while True:
        if take >= size:
            picked = np.arange(size)
        else:
            floor = np.partition(scores, size - take)[size - take]
            picked = np.flatnonzero(scores >= floor)
        picked = picked[np.argsort(-scores[picked], kind="stable")]
        _, first = np.unique(items[picked], return_index=True)
        if len(first) >= count or take >= size:
            break
        take *= 4
    if len(first) > count:
        last = scores[picked[np.sort(first)[count - 1]]]
        picked = picked[scores[picked] >= last][: max(4 * count, MOST_TIES)]
    return picked
