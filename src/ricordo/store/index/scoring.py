"""BM25F over a snapshot of the segments: masks, scores, the best, and each word's share.

``lexical`` describes the formula, and keeps data in memory between queries. ``Wanted``, ``Matches`` and
``VectorMatches`` are the input and output of both indexes of a store; they never leave it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from ricordo.frozen import frozen
from ricordo.store.arrays import Array, distinct, first_places, lookup, only_among
from ricordo.store.index.impacts import Held, Impacts, added_up
from ricordo.store.index.postings import Posting
from ricordo.store.index.segments import Arrays
from ricordo.store.sql.database import FIELDS, Connection
from ricordo.store.values import Scoring

if TYPE_CHECKING:
    from ricordo.store.index.lexical import LexicalIndex

MOST_TIES = 500
"""Chunks that tie with the last one are returned, too, so that refs can break the tie; at most this many."""


@frozen
class Wanted:
    """One word of a query: its index terms (several for a prefix) and how much it counts.

    ``certainty`` is the part of its weight that counts if its stem may belong to another word; the maximum ignores it.
    """

    label: str
    terms: tuple[str, ...]
    weight: float = 1.0
    certainty: float = 1.0


@frozen
class Matches:
    """Chunks that matched, best first; ``maximum`` is the score that no chunk can exceed."""

    chunks: Array
    items: Array
    scores: Array
    maximum: float
    total: int
    idf: dict[str, float] = field(default_factory=dict)
    coverage: Array | None = None
    """Per chunk: the idf of the words it holds over that of all words that occur anywhere."""
    share: float = 1.0
    """The part of the maximum that belongs to words that occur anywhere."""
    item_total: int = 0
    """How many items have a chunk that matched; ``total`` counts the chunks."""


@frozen
class VectorMatches:
    """Chunks with their items and cosines to a query, the nearest first."""

    chunks: Array
    items: Array
    cosines: Array


LOOKED_UP_BELOW_ONE_IN = 8
"""If fewer than one item in this number passes a filter, only the places of those that do are looked at."""


@frozen
class Segment:
    """A segment in memory."""

    id: int
    arrays: Arrays


@frozen
class Snapshot:
    """The index as of one epoch: its segments laid end to end, and the totals that BM25 needs."""

    epoch: int
    retired_seq: int
    segments: tuple[Segment, ...]
    live: int
    totals: Array
    """How many terms each field has."""
    filled: Array
    """How many live chunks have each field at all."""
    chunks: Array
    """The chunk at each place."""
    items: Array
    """The item of the chunk at each place."""
    starts: Array
    """The place at which each segment begins, and the end."""
    alive: Array | None
    """Whether the chunk at each place is live; None where all are."""

    def begins_like(self, other: Snapshot, places: int) -> bool:
        """Whether the first ``places`` places are those of the same segments."""
        here, there = self._segments_before(places), other._segments_before(places)
        return here == there and places <= min(len(self.items), len(other.items))

    def _segments_before(self, place: int) -> list[int]:
        starts = self.starts.tolist()
        return [segment.id for segment, start in zip(self.segments, starts, strict=False) if start < place]


class View:
    """One query's view of a snapshot: its terms are read once; masks, scores and shares are computed from them."""

    def __init__(
        self, index: LexicalIndex, connection: Connection, snapshot: Snapshot, *, scoring: Scoring, times: Array | None
    ) -> None:
        self.index = index
        self.state = (snapshot.epoch, scoring)
        self.impacts = index.impacts if times is None else Impacts()
        self.connection = connection
        self.snapshot = snapshot
        self.segments = [segment.id for segment in snapshot.segments]
        self.scoring = scoring
        self.chunks, self.items = snapshot.chunks, snapshot.items
        self.held: dict[str, Held | None] = {}
        if times is None:
            self.visible = snapshot.alive
            self.live = snapshot.live
            totals, filled = snapshot.totals, snapshot.filled
        else:
            self.visible = np.isin(snapshot.chunks, times)
            self.live = int(self.visible.sum())
            totals, filled = np.zeros(len(FIELDS)), np.zeros(len(FIELDS))
            for at, segment in enumerate(snapshot.segments):
                lengths = segment.arrays.lengths[:, self.visible[snapshot.starts[at] : snapshot.starts[at + 1]]]
                totals, filled = totals + lengths.sum(axis=1), filled + (lengths > 0).sum(axis=1)
        # Only chunks that have the field count; else tags, which few items have, would look long and not count.
        self.averages = totals / np.maximum(filled, 1)

    def hold(self, wanted: Sequence[Wanted], also: Collection[str] = ()) -> None:
        """Read the terms of words, and some also, unless they are in memory, so that the other methods can use them."""
        self.held |= self.impacts.cached(self.state, [together(word) for word in wanted if len(word.terms) > 1])
        terms = {*also, *(term for word in wanted if together(word) not in self.held for term in word.terms)}
        self.held |= self.impacts.cached(self.state, terms)
        missing = {term for term in terms if term not in self.held}
        if missing:
            loaded = self.index.postings(self.connection, self.segments, missing)
            made = {term: self._made([postings.get(term) for postings in loaded]) for term in missing}
            self.impacts.keep(self.state, made)
            self.held |= made

    def _made(self, postings: Sequence[Posting | None]) -> Held | None:
        """The places of a term in all segments, and x / (k1 + x) for each."""
        places, impacts = [], []
        for at, posting in enumerate(postings):
            if posting is not None:
                x = self._weighted(at, posting)
                impacts.append(x / (self.scoring.k1 + x))
                places.append(posting.ordinals.astype(np.intp) + self.snapshot.starts[at])
        if not places:
            return None
        everywhere = np.concatenate(places)
        return Held.of(everywhere, np.concatenate(impacts), self._visible_among(everywhere))

    def _visible_among(self, places: Array) -> int:
        return len(places) if self.visible is None else int(np.count_nonzero(self.visible[places]))

    def _weighted(self, at: int, posting: Posting) -> Array:
        """The weighted frequencies. Few chunks have a term in fields other than the body; only those are computed."""
        total: Array | None = None
        for number, frequencies in reversed(posting.frequencies):
            if total is None:
                total = frequencies * self._norm(at, number, posting.ordinals)
            else:
                held = frequencies.nonzero()[0]
                total[held] += frequencies[held] * self._norm(at, number, posting.ordinals[held])
        assert total is not None  # a posting has at least one field
        return total

    def _norm(self, at: int, field: int, ordinals: Array) -> Array:
        """A field's weight over its length norm, for some chunks of a segment."""
        average, b = self.averages[field], self.scoring.b
        weight = self.scoring.weights[field]
        if not average:
            return np.full(len(ordinals), weight)
        norm: Array = weight / (self.snapshot.segments[at].arrays.lengths[field][ordinals] * (b / average) + (1.0 - b))
        return norm

    def few_places(self, allowed: Array | None) -> Array | None:
        """The places of the items that passed a filter, ascending; None if these are many, or all."""
        if allowed is None:
            return None
        grouped = self.index.by_item(self.snapshot)
        if LOOKED_UP_BELOW_ONE_IN * len(allowed) >= len(grouped):
            return None
        places: Array = np.sort(grouped.positions(allowed))
        return places

    def mask(
        self, allowed: Array | None, required: Sequence[Sequence[str]], excluded: Sequence[Sequence[str]]
    ) -> Array | None:
        """The places that may be returned; None if all may."""
        mask = self.visible
        if allowed is not None:
            mask = _both(mask, self.index.item_mask(self.snapshot, allowed))
        if required:
            mask = _both(mask, self._holding([term for group in required for term in group]))
        for group in excluded:
            barred = distinct(self.items[_both(self.visible, self._holding(group))])
            if len(barred):
                mask = _both(mask, ~lookup(self.items, barred))
        return mask

    def _holding(self, terms: Sequence[str]) -> Array:
        """The places that hold all the terms."""
        everywhere = np.ones(len(self.chunks), bool)
        for term in terms:
            held = self.held[term]
            present = np.zeros(len(self.chunks), bool)
            if held is not None:
                present[held.places] = True
            everywhere &= present
        return everywhere

    def counts(self, terms: Collection[str]) -> dict[str, int]:
        """In how many visible chunks each of some terms occurs; nothing is weighted."""
        counts = self.impacts.counts(self.snapshot.epoch)
        missing = {term for term in terms if term not in counts}
        if missing:
            loaded = self.index.postings(self.connection, self.segments, missing)
            for term in missing:
                parts = [(at, postings[term]) for at, postings in enumerate(loaded) if term in postings]
                counts[term] = sum(
                    len(posting.ordinals)
                    if self.visible is None
                    else self._visible_among(posting.ordinals + self.snapshot.starts[at])
                    for at, posting in parts
                )
        return {term: counts[term] for term in terms}

    def document_frequency(self, word: Wanted) -> int:
        """In how many visible chunks a word occurs."""
        held = self._held(word)
        return held.count if held is not None else 0

    def idf(self, word: Wanted) -> float:
        return self._idf(self.document_frequency(word))

    def _idf(self, df: int) -> float:
        return math.log1p((self.live - df + 0.5) / (df + 0.5))

    def saturation(self, word: Wanted) -> tuple[Array, Array] | None:
        """The places that hold a word, and x / (k1 + x) for each."""
        held = self._held(word)
        return held.saturation() if held is not None else None

    def _held(self, word: Wanted) -> Held | None:
        """What is held of a word: of its one term, or of all its terms together, which is kept in place of theirs."""
        name = together(word)
        if name not in self.held:
            parts = [held for term in word.terms if (held := self.held[term]) is not None]
            if len(parts) < 2:
                return parts[0] if parts else None
            places, impacts = added_up(parts, self.scoring.k1, len(self.chunks))
            self.held[name] = Held.of(places, impacts, self._visible_among(places))
            self.impacts.keep(self.state, {name: self.held[name]}, instead_of=word.terms)
        return self.held[name]

    def score(self, wanted: Sequence[Wanted], mask: Array | None, among: Array | None) -> Array:
        """The score at every place; 0 where nothing matched, a mask forbids, or which is not ``among`` some places."""
        self.frequencies: dict[str, int] = {}
        self.idfs: dict[str, float] = {}
        self.saturations: dict[str, tuple[Array, Array] | None] = {}
        scores = np.zeros(len(self.chunks))
        for word in wanted:
            postings = self._held(word)
            df = self.frequencies[word.label] = postings.count if postings is not None else 0
            self.idfs[word.label] = self._idf(df)
            saturation = self.saturations[word.label] = postings.saturation() if postings is not None else None
            if saturation is not None:
                places, x = saturation if among is None else only_among(saturation, among)
                np.add.at(scores, places, x * (self.idfs[word.label] * word.weight * word.certainty))
        if mask is not None and among is None:
            scores *= mask
        elif mask is not None:
            scores[among] *= mask[among]
        return scores

    def best(
        self,
        scores: Array,
        held: Array,
        wanted: Sequence[Wanted],
        *,
        items: int,
        also: Array | None,
        cover: bool,
    ) -> Matches:
        """Pick the best of the chunks at some places until enough different items are among them."""
        total, held_scores = len(held), scores[held]
        take = 4 * items
        while True:
            places = held[_at_least(held_scores, take)] if take < total else held
            owners, values = self.items[places], scores[places]
            picked = best_of(values, owners, items)
            if take >= total or len(distinct(owners[picked])) >= items:
                break
            take *= 4
        if also is not None and len(also):
            more = self.index.by_item(self.snapshot).positions(also)
            places = distinct(np.concatenate((more[scores[more] > 0], places[picked])))
            values = scores[places]
            picked = (-values).argsort(kind="stable")
        attainable = {word.label: self.idfs[word.label] * word.weight for word in wanted}
        present = [word for word in wanted if self.frequencies[word.label]]
        maximum = sum(attainable.values())
        here = sum(attainable[word.label] for word in present)
        return Matches(
            chunks=self.chunks[places[picked]],
            items=self.items[places[picked]],
            scores=values[picked],
            maximum=maximum,
            total=total,
            idf=dict(self.idfs),
            coverage=self._coverage(present, places)[picked] if cover else None,
            share=here / maximum if maximum else 1.0,
        )

    def _coverage(self, wanted: Sequence[Wanted], places: Array) -> Array:
        """For chunks at these places (ascending), the idf of the words they hold over that of all words."""
        held = np.zeros(len(places))
        marked = np.zeros(len(self.chunks), bool)
        for word in wanted:
            saturation = self.saturations[word.label]
            if saturation is None:
                continue
            if len(saturation[0]) < 16 * len(places):
                marked[saturation[0]] = True
                held += self.idfs[word.label] * marked[places]
                marked[saturation[0]] = False
            else:
                spot = np.minimum(np.searchsorted(saturation[0], places), len(saturation[0]) - 1)
                held += self.idfs[word.label] * (saturation[0][spot] == places)
        everything = sum(self.idfs[word.label] for word in wanted)
        return held / everything if everything else held

    def shares(
        self, wanted: Sequence[Wanted], chunks: Sequence[int]
    ) -> dict[int, list[tuple[str, dict[str, int], float, float]]]:
        """For each chunk and word: label, frequency per field, idf, and what it added to the score."""
        answer: dict[int, list[tuple[str, dict[str, int], float, float]]] = {chunk: [] for chunk in chunks}
        for word, held, places, shares in self.shares_of_words(wanted, chunks):
            for chunk, place, share in zip(held, places, shares, strict=True):
                answer[chunk].append((word.label, self._frequencies(word, place), self.idf(word), share))
        return answer

    def shares_of_words(
        self, wanted: Sequence[Wanted], chunks: Sequence[int]
    ) -> Iterator[tuple[Wanted, list[int], list[int], list[float]]]:
        """For each word: those of some chunks that hold it, their places, and what the word added to each."""
        there = lookup(self.chunks, np.array(chunks, np.int64)).nonzero()[0]
        for word in wanted:
            saturation = self.saturation(word)
            if saturation is None:
                continue
            places, x = saturation
            spots = np.minimum(np.searchsorted(places, there), len(places) - 1)
            spots = spots[places[spots] == there]
            shares = x[spots] * (self.idf(word) * word.weight * word.certainty)
            there_held = places[spots]
            yield word, self.chunks[there_held].tolist(), there_held.tolist(), shares.tolist()

    def _frequencies(self, word: Wanted, place: int) -> dict[str, int]:
        at = int(np.searchsorted(self.snapshot.starts, place, side="right")) - 1
        ordinal = place - int(self.snapshot.starts[at])
        [postings] = self.index.postings(self.connection, [self.segments[at]], set(word.terms))
        counts: dict[str, int] = {}
        for posting in (postings[term] for term in word.terms if term in postings):
            spot = int(np.searchsorted(posting.ordinals, ordinal))
            if spot < len(posting.ordinals) and posting.ordinals[spot] == ordinal:
                for index, frequencies in posting.frequencies:
                    if frequencies[spot]:
                        counts[FIELDS[index]] = counts.get(FIELDS[index], 0) + int(frequencies[spot])
        return counts


def together(word: Wanted) -> str:
    """The name under which all terms of a word are held together."""
    return "\n".join(word.terms)


def _both(mask: Array | None, other: Array) -> Array:
    return other if mask is None else mask & other


def _at_least(scores: Array, count: int) -> Array:
    """Places of at least ``count`` of the best scores, ascending, found in one pass; there may be a few more.

    The count-th best of the maxima of equal blocks is reached by at least ``count`` scores.
    """
    width = len(scores) // (4 * count)
    if width < 2:
        floor = np.partition(scores, len(scores) - count)[len(scores) - count]
    else:
        blocks = len(scores) // width
        maxima = scores[: blocks * width].reshape(blocks, width).max(axis=1)
        floor = np.partition(maxima, blocks - count)[blocks - count]
    best: Array = (scores >= floor).nonzero()[0] if floor > 0 else scores.nonzero()[0]
    return best


def best_of(scores: Array, items: Array, count: int) -> Array:
    """Positions of the best scores, best first, until ``count`` different items (and all ties of the last) are in."""
    size = len(scores)
    take = min(size, 4 * count)
    while True:
        if take >= size:
            picked = np.arange(size)
        else:
            floor = np.partition(scores, size - take)[size - take]
            picked = (scores >= floor).nonzero()[0]
        picked = picked[(-scores[picked]).argsort(kind="stable")]
        first = first_places(items[picked])
        if len(first) >= count or take >= size:
            break
        take *= 4
    if len(first) > count:
        last = scores[picked[first[count - 1]]]
        picked = picked[scores[picked] >= last][: max(4 * count, MOST_TIES)]
    return picked
