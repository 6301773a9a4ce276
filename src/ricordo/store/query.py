"""What a search asks of a store and what the store answers: plain values, with nothing of a store's own in them.

``Ask`` says what to look for as data: terms, phrases, filters, a moment, a vector. ``Candidates`` holds the items that
were found, each with both exact values, as columns: item by item, a hundred candidates with a few passages each would
cost a millisecond. How a store finds them (masks, posting lists, SQL) is its own business.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from ricordo.frozen import frozen
from ricordo.store.values import Replacement, Scoring
from ricordo.values.hits import Filters
from ricordo.values.items import Item

Array = npt.NDArray[Any]
CHUNKS_KEPT = 5
"""How many passages of each item are kept of either side: more are never shown."""
NO_CHUNK = -1
"""Stands in a column for a passage that there is not."""


@frozen
class PassageColumns:
    """The best passages of all candidates, candidate by candidate."""

    chunks: Array
    starts: Array
    """Where the passages of each candidate begin, and where the last one's end."""
    scores: Array
    cosines: Array
    coverage: Array
    """The share of the query's words that a passage contains, weighted by rarity; NaN where it was not measured."""

    @property
    def owners(self) -> Array:
        """The place of each passage's candidate."""
        return np.arange(len(self.starts) - 1).repeat(np.diff(self.starts))

    def kept(self, which: Array) -> PassageColumns:
        """Only those of some candidates, given as a mask."""
        mask = which.repeat(np.diff(self.starts))
        starts = np.concatenate(([0], np.diff(self.starts)[which].cumsum()))
        return PassageColumns(
            chunks=self.chunks[mask],
            starts=starts,
            scores=self.scores[mask],
            cosines=self.cosines[mask],
            coverage=self.coverage[mask],
        )


@frozen
class CandidateColumns:
    """Candidates as columns: of each its best keyword score (of at most 1) and cosine, and the passages that gave
    them.
    """

    numbers: list[int]
    refs: list[str]
    lexical: Array
    cosines: Array
    lexical_chunks: Array
    vector_chunks: Array
    joined: Array
    """Whether it was found only as a neighbour or by a link, and not by words or meaning."""
    passages: PassageColumns
    versions: Mapping[int, int] = field(default_factory=dict)
    """By number: the version at the moment asked for, where it is still kept."""

    def __len__(self) -> int:
        return len(self.numbers)

    def kept(self, which: Array) -> CandidateColumns:
        """Only some of the candidates, given as a mask."""
        places = which.nonzero()[0].tolist()
        return CandidateColumns(
            numbers=[self.numbers[place] for place in places],
            refs=[self.refs[place] for place in places],
            lexical=self.lexical[which],
            cosines=self.cosines[which],
            lexical_chunks=self.lexical_chunks[which],
            vector_chunks=self.vector_chunks[which],
            joined=self.joined[which],
            passages=self.passages.kept(which),
            versions=self.versions,
        )


def chunk_at(column: Array, place: int) -> int | None:
    """The passage at a place of a column; None where there is none."""
    chunk = int(column[place])
    return None if chunk == NO_CHUNK else chunk


MATCHES = "matches"
NEWEST = "newest"
SUBSTRING = "substring"
PARTS = 0.5
"""How much the best part of a query counts that asks for several things; the whole query has the rest."""


MOST_PREFIX_TERMS = 1_000
"""How many words that begin with a prefix are looked for; an answer says if there are more."""


@frozen
class AskedWord:
    """One word of a query: its index term, and how much it counts.

    ``spelled`` is set if the stem is so short that another word may have it, too (productivity and product). Then
    ``certainty`` is the weight of the word, and passages that do not contain the word as it is spelled get nothing for
    it. The highest score that a query can reach does not depend on ``certainty``.
    """

    term: str
    weight: float = 1.0
    certainty: float = 1.0
    spelled: str = ""
    written: str = ""
    """The word as it was asked for, folded; where it occurs nowhere, what it most likely means is looked for."""
    also: tuple[str, ...] = ()
    """Its terms in the other languages of the store, where these differ; any of them counts as the word."""

    @property
    def terms(self) -> tuple[str, ...]:
        return (self.term, *self.also)


@frozen
class Phrase:
    """Words that must follow each other: as they were written, and their index terms."""

    text: str
    terms: tuple[str, ...]


@frozen
class QueryVector:
    """A query's vector, of length 1, and the fingerprint of the vectors it can be compared with."""

    fingerprint: str
    values: Array = field(compare=False)
    parts: tuple[Array, ...] = field(default=(), compare=False)
    """The vectors of its parts, if it asks for several things."""
    shift: float = 0.0
    stretch: float = 1.0
    """What makes cosines of its model comparable with those of others."""

    def comparable(self, cosines: Array) -> Array:
        """Cosines of its model on the scale that all models share, which ends at 1."""
        scaled: Array = np.minimum(self.shift + self.stretch * cosines, 1.0)
        return scaled


@frozen
class Needs:
    """What a ranking needs to know about the candidates besides their scores; nothing else is loaded."""

    items: bool = False
    """The items themselves, without their texts."""
    tfidf: bool = False
    """The TF-IDF cosine of the query's text with each candidate."""
    feedback: bool = False
    """What the verdicts on each candidate say."""
    thread_reach: int = 0
    """Items up to this many places away in a candidate's thread become candidates, too."""
    link_seeds: int = 0
    """Items that are linked with this many of the best candidates become candidates, too."""
    link_depth: int = 2
    learned_by: str = ""
    """The profile whose learned weights are asked for."""
    vectors: bool = False
    """Whether the ranking will ask for cosines with a query that moved; a store may keep the vectors at hand for it."""


@frozen
class Ask:
    """What to look for.

    ``find`` is MATCHES (by word and by meaning), NEWEST (whatever passes the filters) or SUBSTRING (texts that hold
    ``text``, newest first). Filters, ``as_of``, phrases and exclusions bind both sides, and the best are picked after
    they apply. ``per_side`` is how many items each side brings; it comes from the profile and the page asked for.
    """

    find: str = MATCHES
    text: str = ""
    """The query as plain text: for a search by substring if no word matches, and for TF-IDF."""
    words: tuple[AskedWord, ...] = ()
    prefixes: tuple[str, ...] = ()
    phrases: tuple[Phrase, ...] = ()
    excluded: tuple[tuple[str, ...], ...] = ()
    """Groups of terms: an item with a passage that holds all terms of a group is left out."""
    excluded_phrases: tuple[Phrase, ...] = ()
    filters: Filters = field(default_factory=Filters)
    as_of: datetime | None = None
    by_word: bool = True
    vector: QueryVector | None = None
    other: QueryVector | None = None
    """The vector by another model, for passages that have none of the first."""
    model: str = ""
    """The fingerprint of the embedder that is set: how many passages wait for it is counted."""
    second: str = ""
    """The fingerprint of the one that embeds other languages; those that wait for it count, too."""
    per_side: int = 30
    rarest: int = 0
    """Only this many of the rarest known words count; 0 means all."""
    scoring: Scoring = field(default_factory=Scoring)
    needs: Needs = field(default_factory=Needs)

    @property
    def vectors(self) -> tuple[QueryVector, ...]:
        """The vectors to compare with, the first one first."""
        return tuple([vector for vector in (self.vector, self.other) if vector is not None])

    @property
    def excludes(self) -> bool:
        return bool(self.excluded or self.excluded_phrases)


Window = tuple[str | None, str | None]
"""From when and until when an item is valid, by its fields."""


@frozen
class Candidates:
    """What a store found for an ask."""

    found: CandidateColumns
    total: int = 0
    """How many passages or items there were to choose from."""
    maximum: float = 0.0
    """The keyword score that no passage can exceed; scores of candidates are divided by it."""
    share: float = 1.0
    """How much of the maximum belongs to words that occur anywhere."""
    has_vectors: bool = False
    by_substring: bool = False
    """Whether no word was found and texts that contain the query as a substring are shown instead."""
    prefix_terms: tuple[str, ...] = ()
    """The index terms that the prefixes match."""
    neighbours: Mapping[int, Sequence[tuple[int, int]]] = field(default_factory=dict)
    """By item: the other items near it in its thread, and how many places away each is."""
    distances: Mapping[int, int] = field(default_factory=dict)
    """By item: how many links away from the best candidates it is."""
    items: Mapping[int, Item] = field(default_factory=dict)
    tfidf: Mapping[int, float] = field(default_factory=dict)
    feedback: Mapping[int, float] = field(default_factory=dict)
    learned_shift: float = 0.0
    active: str | None = None
    """The fingerprint whose vectors searches use; None where nothing was ever embedded."""
    has_apart: bool = False
    """Whether the store has items of drives that are apart (``values.kinds``)."""
    waiting: int = 0
    """How many passages wait for a vector of the model that is set."""
    respelled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Words that occur nowhere, and the index terms that were looked for in their place."""
    windows: Mapping[int, Window] = field(default_factory=dict)
    """By item, if it has such dates: from when and until when it is valid."""
    languages: tuple[str, ...] = ()
    """The languages of passages that are not in the store's own."""
    strays: bool = False
    """Whether passages wait for a vector of another model, or were saved while no model could be used."""
    problems: tuple[str, ...] = ()
    """What did not work as it is set, so that something else answered."""
    models: tuple[str, ...] = ()
    """The models that have vectors, or texts that wait for theirs; empty in a store that knows this at any time."""


@frozen
class Aim:
    """A query's vector that is to be moved towards some passages, as far as these agree with each other.

    If the query asks for several things, a passage that answers one of them well counts, too: see ``together``.
    """

    query: Array = field(compare=False)
    towards: tuple[tuple[int, float], ...] = ()
    """Passages and their weights."""
    pull: float = 0.0
    related: float = 1.0
    """The cosine from which the passages count as related to the query; below, they move it less, at 0 not at all."""
    parts: tuple[Array, ...] = field(default=(), compare=False)

    def moved(self, vectors: Mapping[int, Array]) -> Array | None:
        """The moved vector, of length 1, given the vectors of the passages.

        If none of them has one, the query stays where it is; None if it has no parts either, so nothing would change.
        """
        held = [(weight, vectors[chunk]) for chunk, weight in self.towards if chunk in vectors]
        if not held:
            return self.query.astype(np.float32) if self.parts else None
        weights = np.array([weight for weight, _ in held])
        centre = (weights / weights.sum()) @ np.stack([vector for _, vector in held])
        agreement = float(centre @ centre)
        relevance = float(centre @ self.query) / max(math.sqrt(agreement), 1e-12) / self.related
        aim = self.query + self.pull * agreement * min(1.0, max(0.0, relevance)) * centre
        aim /= max(float(np.linalg.norm(aim)), 1e-12)
        moved: Array = aim.astype(np.float32)
        return moved

    def together(self, whole: Array, parts: Sequence[Array]) -> Array:
        """The cosines of passages with a query that asks for several things; -1 where a passage has no vector.

        ``PARTS`` of the value is the best cosine with a part, measured by how far it lies above the mean of that part:
        a part that is near to everything must not decide. The rest is the cosine with the whole query.
        """
        has_vector = whole >= -1 + 1e-9  # without a vector it is -1 exactly
        if not parts or not has_vector.any():
            return whole
        cosines = np.array([part[has_vector] for part in parts])
        best = (cosines - cosines.mean(axis=1, keepdims=True)).max(axis=0) + cosines.mean()
        cosines_of_all = np.full(len(whole), -1.0)
        cosines_of_all[has_vector] = np.clip((1 - PARTS) * whole[has_vector] + PARTS * best, -1.0, 1.0)
        return cosines_of_all


@frozen
class Shown:
    """An item to be shown: which of its passages, in which version (None is the current one).

    Without passages, its first one is meant. ``matched`` is the passage whose words are to be explained.
    """

    n: int
    chunks: tuple[int, ...] = ()
    version: int | None = None
    matched: int | None = None


@frozen
class PassageText:
    """A passage with its place in its item: its number, how many passages there are, its first character and its
    lines.
    """

    chunk: int
    heading: str
    text: str
    start: int
    lines: tuple[int, int]
    position: int
    of: int


@frozen
class WordShare:
    """What one word of a query added to a passage: how often it occurs in each field, how rare it is, and its part of
    the score.
    """

    label: str
    frequencies: Mapping[str, int]
    idf: float
    share: float


@frozen
class Passages:
    """What a page shows of its items, by their numbers."""

    items: Mapping[int, Item] = field(default_factory=dict)
    texts: Mapping[int, tuple[PassageText, ...]] = field(default_factory=dict)
    marks: Mapping[int, Sequence[tuple[int, str]]] = field(default_factory=dict)
    """The labels of pages, slides and the like, with the characters they begin at."""
    shares: Mapping[int, Sequence[WordShare]] = field(default_factory=dict)
    """By passage."""
    vectors: Mapping[int, Array] = field(default_factory=dict)
    """By passage, where they were asked for."""
    sessions: Mapping[str, str] = field(default_factory=dict)
    """By thread: the title of the session that shown turns belong to."""
    replaced: Mapping[int, Replacement] = field(default_factory=dict)
    """Of questions about the past: what replaced an item since."""
    contradicted: Mapping[int, tuple[int, str]] = field(default_factory=dict)
    """The number and the ref of the newest live item that contradicts an item."""
