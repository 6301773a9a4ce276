"""BM25F over a snapshot of the segments: masks, scores, the best, and each word's share.

``lexical`` describes the formula, and keeps data in memory between queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ricordo.frozen import frozen
from ricordo.store.base import Scoring
from ricordo.store.sqlite.arrays import distinct
from ricordo.store.sqlite.connection import Connection
from ricordo.store.sqlite.impacts import Impacts
from ricordo.store.sqlite.matches import Matches, Wanted
from ricordo.store.sqlite.postings import FIELDS, Array, Posting
from ricordo.store.sqlite.segments import LIVE, Arrays

MOST_TIES = 500
"""Chunks that tie with the last one are returned, too, so that refs can break the tie; at most this many."""


class PostingSource(Protocol):
    """Loads posting lists, and caches what was computed from them."""

    impacts: Impacts

    def postings(self, connection: Connection, segment: int, terms: set[str]) -> dict[str, Posting]: ...


@frozen
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


@frozen
class Snapshot:
    """The index as of one epoch: its segments, and the totals that BM25 needs."""

    epoch: int
    retired_seq: int
    segments: tuple[Segment, ...]
    live: int
    totals: Array
    """How many terms each field has."""
    filled: Array
    """How many live chunks have each field at all."""


class View:
    """One query's view of a snapshot: postings are loaded once; masks, scores and shares are computed from them."""

    def __init__(
        self, index: PostingSource, connection: Connection, snapshot: Snapshot, scoring: Scoring, times: Array | None
    ) -> None:
        self.index = index
        self.epoch = snapshot.epoch
        self.impacts = index.impacts if times is None else Impacts()
        self.connection = connection
        self.segments = snapshot.segments
        self.scoring = scoring
        self.visible = [segment.visible(times) for segment in self.segments]
        if times is None:
            self.live = snapshot.live
            totals, filled = snapshot.totals, snapshot.filled
        else:
            self.live = sum(int(mask.sum()) for mask in self.visible if mask is not None)
            totals, filled = np.zeros(len(FIELDS)), np.zeros(len(FIELDS))
            for segment, mask in zip(self.segments, self.visible, strict=True):
                lengths = segment.arrays.lengths[:, mask]
                totals, filled = totals + lengths.sum(axis=1), filled + (lengths > 0).sum(axis=1)
        # Only chunks that have the field count; else tags, which few items have, would look long and not count.
        self.averages = totals / np.maximum(filled, 1)
        self.loaded: list[dict[str, Posting]] = []

    def load(self, terms: set[str]) -> None:
        self.loaded = [self.index.postings(self.connection, segment.id, terms) for segment in self.segments]

    def masks(
        self, allowed: Array | None, required: Sequence[Sequence[str]], excluded: Sequence[Sequence[str]]
    ) -> list[Array | None]:
        """Per segment, the chunks that may be returned; None if all may."""
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
            barred = distinct(np.concatenate(holders)) if holders else np.zeros(0, np.int64)
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
        """In how many visible chunks a word occurs."""
        count = 0
        for at, visible in enumerate(self.visible):
            lists = [p.ordinals for term in word.terms if (p := self.loaded[at].get(term)) is not None]
            if not lists:
                continue
            ordinals = lists[0] if len(lists) == 1 else distinct(np.concatenate(lists))
            count += len(ordinals) if visible is None else int(visible[ordinals].sum())
        return count

    def idf(self, word: Wanted) -> float:
        return self._idf(self.document_frequency(word))

    def _idf(self, df: int) -> float:
        return float(np.log1p((self.live - df + 0.5) / (df + 0.5)))

    def saturation(self, at: int, word: Wanted) -> tuple[Array, Array] | None:
        """For one segment: the ordinals that hold a word, and x / (k1 + x) for each."""
        parts = [found for term in word.terms if (found := self.impacts.of(self, at, term)) is not None]
        if len(parts) < 2:
            return parts[0] if parts else None
        dense = np.zeros(len(self.segments[at].arrays.chunks))
        for ordinals, impact in parts:
            dense[ordinals] += impact * self.scoring.k1 / (1.0 - impact)  # back to x, which can be added up
        held = np.flatnonzero(dense)
        x = dense[held]
        return held, x / (self.scoring.k1 + x)

    def posting(self, at: int, term: str) -> Posting | None:
        return self.loaded[at].get(term)

    def segment_id(self, at: int) -> int:
        return self.segments[at].id

    def norm(self, at: int, field: int) -> Array:
        """A field's weight over its length norm, for every chunk of a segment."""
        average, b = self.averages[field], self.scoring.b
        if not average:
            return np.full(len(self.segments[at].arrays.chunks), self.scoring.weights[field])
        lengths = self.segments[at].arrays.lengths[field]
        found: Array = self.scoring.weights[field] / (lengths * (b / average) + (1.0 - b))
        return found

    def score(self, wanted: Sequence[Wanted], masks: Sequence[Array | None]) -> list[Array]:
        """Scores of all chunks of each segment; 0 where nothing matched or a mask forbids."""
        self.counts = {word.label: self.document_frequency(word) for word in wanted}
        self.idfs = {word.label: self._idf(self.counts[word.label]) for word in wanted}
        answers = []
        for at, mask in enumerate(masks):
            scores = np.zeros(len(self.segments[at].arrays.chunks))
            for word in wanted:
                found = self.saturation(at, word)
                if found is not None:
                    ordinals, x = found
                    scores[ordinals] += x * (self.idfs[word.label] * word.weight * word.certainty)
            if mask is not None:
                scores *= mask
            answers.append(scores)
        return answers

    def best(
        self, scores: Sequence[Array], wanted: Sequence[Wanted], items: int, also: Array | None, *, cover: bool
    ) -> Matches:
        """Pick the best chunks of all segments until enough different items are among them."""
        everything = np.concatenate(scores) if scores else np.zeros(0)
        total = int(np.count_nonzero(everything))
        take = 4 * items
        while True:
            places = _at_least(everything, take) if take < total else np.flatnonzero(everything)
            chunks, owners = self._owners(places)
            values = everything[places]
            picked = best_of(values, owners, items)
            if take >= total or len(distinct(owners[picked])) >= items:
                break
            take *= 4
        if also is not None and len(also):
            more = np.concatenate([_lookup(segment.arrays.items, also) for segment in self.segments])
            wider = distinct(np.concatenate((np.flatnonzero(more & (everything > 0)), places[picked])))
            chunks, owners = self._owners(wider)
            values, places = everything[wider], wider
            picked = np.argsort(-values, kind="stable")
        attainable = {word.label: self.idfs[word.label] * word.weight for word in wanted}
        present = [word for word in wanted if self.counts[word.label]]
        maximum = sum(attainable.values())
        here = sum(attainable[word.label] for word in present)
        return Matches(
            chunks[picked],
            owners[picked],
            values[picked],
            maximum,
            total,
            dict(self.idfs),
            self._coverage(present, places)[picked] if cover else None,
            here / maximum if maximum else 1.0,
        )

    def _coverage(self, wanted: Sequence[Wanted], places: Array) -> Array:
        """For chunks at these places (ascending), the idf of the words they hold over that of all words."""
        held = np.zeros(len(places))
        start = low = 0
        for at, segment in enumerate(self.segments):
            high = low + len(segment.arrays.chunks)
            end = int(np.searchsorted(places, high))
            inside = places[start:end] - low
            for word in wanted if len(inside) else ():
                found = self.saturation(at, word)
                if found is not None:
                    spot = np.minimum(np.searchsorted(found[0], inside), len(found[0]) - 1)
                    held[start:end] += self.idfs[word.label] * (found[0][spot] == inside)
            start, low = end, high
        everything = sum(self.idfs[word.label] for word in wanted)
        return held / everything if everything else held

    def _owners(self, places: Array) -> tuple[Array, Array]:
        """Chunk and item at each place of all segments laid end to end; places ascend."""
        chunks, items = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        start = low = 0
        for segment in self.segments:
            high = low + len(segment.arrays.chunks)
            end = int(np.searchsorted(places, high))
            chunks.append(segment.arrays.chunks[places[start:end] - low])
            items.append(segment.arrays.items[places[start:end] - low])
            start, low = end, high
        return np.concatenate(chunks), np.concatenate(items)

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
                    share = float(x[position] * (idf * word.weight * word.certainty))
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


def _at_least(scores: Array, count: int) -> Array:
    """Places of at least ``count`` of the best scores, ascending, found in one pass; there may be a few more.

    The count-th best of the maxima of equal blocks is reached by at least ``count`` scores.
    """
    width = len(scores) // (16 * count)
    if width < 2:
        floor = np.partition(scores, len(scores) - count)[len(scores) - count]
    else:
        blocks = len(scores) // width
        maxima = scores[: blocks * width].reshape(blocks, width).max(axis=1)
        floor = np.partition(maxima, blocks - count)[blocks - count]
    found: Array = np.flatnonzero(scores >= floor) if floor > 0 else np.flatnonzero(scores)
    return found


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
