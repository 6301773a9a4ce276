"""How a store answers an ask: it makes masks from the filters, a pool from both sides, and candidates from it.

1. Filters and the moment become a mask of items and a list of chunks; both sides use them before they pick their best.
2. The meaning side brings its nearest, the keyword side its best, and each item gets the value that the other side
   has for it.
3. Neighbours in a thread and linked items are added, if the ranking needs them.
4. What else the ranking needs is read for the items of the pool.

Every item of the pool gets both values, whichever side found it. So a zero means that nothing matched, not that it was
not computed. Values stay in arrays from the indexes to the ranking; nothing is done item by item.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ricordo.frozen import frozen
from ricordo.store.arrays import Array, distinct, few_per_group
from ricordo.store.backlog import ACTIVE, STRAYS
from ricordo.store.index.scoring import Matches, VectorMatches
from ricordo.store.query import (
    CHUNKS_KEPT,
    MATCHES,
    NEWEST,
    NO_CHUNK,
    Ask,
    CandidateColumns,
    Candidates,
    PassageColumns,
    QueryVector,
)
from ricordo.store.search.caches import Brief, SearchedStore, chunks_at, current_chunks, items_at, substring_chunks
from ricordo.store.search.vectors import VECTOR_EPOCH, MeaningSide, MeaningSides, vectors_of_item
from ricordo.store.search.words import EVERY, KeywordSide, terms_of
from ricordo.store.sql import items, links
from ricordo.store.sql.database import Connection
from ricordo.store.sql.filters import DISTINCT
from ricordo.store.sql.history import neighbours_in_threads
from ricordo.store.sql.items import chunk_texts
from ricordo.store.sql.usage import feedback_priors, learned_shift
from ricordo.text.words import Analyzer, fold, tfidf_cosine, tfidf_idf
from ricordo.values.items import Item

SUBSTRING_VALUE = 0.5
"""The score of a substring match, which has no word frequency."""
_NOTHING = 1e-12
Frequencies = Callable[[Collection[str]], tuple[int, dict[str, int]]]
"""Answers how many live chunks there are, and in how many of them each term occurs."""
Texts = Callable[[Sequence[int]], Mapping[int, tuple[int, str, str]]]
"""Answers the item, heading and text of chunks."""


@frozen
class _Rows:
    """Passages with a value of one side, the best of each item first."""

    items: Array
    chunks: Array
    values: Array
    coverage: Array | None = None


class GatheredPool:
    """What both sides found, by item number."""

    def __init__(self) -> None:
        self.total = 0
        self.maximum = 0.0
        self.share = 1.0
        self.has_vectors = False
        """Whether any item that was found has a cosine."""
        self.by_substring = False
        self._numbers: dict[int, bool] = {}
        """Every item in the order in which it was added, and whether it only joined."""
        self._words: list[_Rows] = []
        self._near: list[_Rows] = []
        self._fills = False
        self._columns: CandidateColumns | None = None

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, n: object) -> bool:
        return n in self._numbers

    @property
    def numbers(self) -> list[int]:
        """The items in the order in which they were added."""
        return list(self._numbers)

    def add(self, numbers: Collection[int], *, joined: bool = False) -> None:
        """Add items without values; ``joined`` if neither side found them."""
        self._numbers |= {n: joined for n in numbers if n not in self._numbers}
        self._columns = None

    def drop(self, n: int) -> None:
        """Leave an item out."""
        self._numbers.pop(n, None)
        for side in (self._words, self._near):
            side[:] = [_picked(rows, rows.items != n) for rows in side]
        self._columns = None

    def take_matches(self, matches: Matches) -> None:
        """Take in what the keyword side found for the whole ask."""
        self.total = matches.item_total
        self.maximum = matches.maximum
        self.share = matches.share
        self.add_scores(matches)

    def add_scores(self, matches: Matches, *, joined: bool = False) -> None:
        """Take in keyword scores; ``joined`` if they belong to items that neither side found."""
        scale = 1.0 / matches.maximum if matches.maximum else 0.0
        rows = _Rows(matches.items, matches.chunks, matches.scores * scale, matches.coverage)
        self._words.append(self._best_rows(rows, joined=joined))

    def add_cosines(self, near: VectorMatches) -> None:
        """Take in cosines."""
        self.has_vectors = self.has_vectors or len(near.items) > 0
        self._near.append(self._best_rows(_Rows(near.items, near.chunks, near.cosines), joined=False))

    def add_substrings(self, matches: Collection[tuple[int, int]]) -> None:
        """Take in ``(chunk, item)`` of texts that hold the query as a substring."""
        rows = np.array(list(matches), np.int64).reshape(-1, 2)
        self.add(rows[:, 1].tolist())
        self._words.append(_Rows(rows[:, 1], rows[:, 0], np.full(len(rows), SUBSTRING_VALUE)))

    def _best_rows(self, rows: _Rows, *, joined: bool) -> _Rows:
        few, starts = few_per_group(rows.items, rows.values, CHUNKS_KEPT)
        self.add(rows.items[few[starts[:-1]]].tolist(), joined=joined)
        return _picked(rows, few)

    def worded_chunks(self) -> list[int]:
        """The passages that hold words of the query."""
        return [chunk for rows in self._words for chunk in rows.chunks.tolist()]

    def take_back(self, lost: Mapping[int, float]) -> None:
        """Lower the keyword scores of some chunks, and with them those of their items."""
        if not lost:
            return
        for at, rows in enumerate(self._words):
            less = np.array([lost.get(chunk, 0.0) for chunk in rows.chunks.tolist()], np.float64)
            lowered = _Rows(rows.items, rows.chunks, np.maximum(rows.values - less, 0.0), rows.coverage)
            self._words[at] = self._best_rows(lowered, joined=False)
        self._columns = None

    def fill_missing_cosines(self) -> None:
        """Give items that still wait for their vector the middle of the others' cosines."""
        self._fills = True
        self._columns = None

    def best(self, count: int) -> list[int]:
        """The items that match best, by words and then by meaning."""
        columns = self.columns()
        values = zip((-columns.lexical).tolist(), (-columns.cosines).tolist(), columns.numbers, strict=True)
        return [n for lexical, cosine, n in sorted(values)[:count] if lexical < 0 or cosine < 0]

    def best_chunks(self) -> dict[int, int]:
        """By item, its best passage: by words if any matched, else by meaning."""
        columns = self.columns()
        chunks = np.where(columns.lexical_chunks == NO_CHUNK, columns.vector_chunks, columns.lexical_chunks).tolist()
        return {n: chunk for n, chunk in zip(columns.numbers, chunks, strict=True) if chunk != NO_CHUNK}

    def candidates(self, refs: Mapping[int, str], versions: Mapping[int, int]) -> CandidateColumns:
        """The items as columns, in the order in which they were added; items that are gone are left out."""
        columns = self.columns()
        if not refs.keys() >= set(columns.numbers):
            columns = columns.kept(np.array([n in refs for n in columns.numbers], bool))
        return CandidateColumns(
            numbers=columns.numbers,
            refs=[refs[n] for n in columns.numbers],
            lexical=columns.lexical,
            cosines=columns.cosines,
            lexical_chunks=columns.lexical_chunks,
            vector_chunks=columns.vector_chunks,
            joined=columns.joined,
            passages=columns.passages,
            versions=versions,
        )

    def columns(self) -> CandidateColumns:
        """Everything that was added, as columns without refs."""
        if self._columns is None:
            self._columns = self._as_columns()
        return self._columns

    def _as_columns(self) -> CandidateColumns:
        numbers = np.fromiter(self._numbers, np.int64, len(self._numbers))
        words, near = _together(self._words), _together(self._near)
        place = _Places(numbers)
        word_owners, near_owners = place.of(words.items), place.of(near.items)
        lexical, lexical_chunks = _best_of_each(word_owners, words, len(numbers))
        lexical_chunks[lexical <= _NOTHING] = NO_CHUNK
        lexical[lexical <= _NOTHING] = 0.0
        cosines, vector_chunks = _best_of_each(near_owners, near, len(numbers))
        has_vector = vector_chunks != NO_CHUNK
        if self._fills and has_vector.any():
            cosines[~has_vector] = np.sort(cosines[has_vector])[np.count_nonzero(has_vector) // 2]
        return CandidateColumns(
            numbers=numbers.tolist(),
            refs=[],
            lexical=lexical,
            cosines=cosines,
            lexical_chunks=lexical_chunks,
            vector_chunks=vector_chunks,
            joined=np.fromiter(self._numbers.values(), bool, len(numbers)),
            passages=_passages((word_owners, words), (near_owners, near), len(numbers)),
        )


class _Places:
    """Where each item number stands in a column of distinct numbers."""

    def __init__(self, numbers: Array) -> None:
        self.order = numbers.argsort()
        self.ordered = numbers[self.order]

    def of(self, items: Array) -> Array:
        return self.order[np.searchsorted(self.ordered, items)]


def _picked(rows: _Rows, which: Array) -> _Rows:
    coverage = None if rows.coverage is None else rows.coverage[which]
    return _Rows(rows.items[which], rows.chunks[which], rows.values[which], coverage)


def _together(parts: Sequence[_Rows]) -> _Rows:
    if not parts:
        none = np.zeros(0, np.int64)
        return _Rows(none, none, np.zeros(0), np.zeros(0))
    return _Rows(
        np.concatenate([rows.items for rows in parts]),
        np.concatenate([rows.chunks for rows in parts]),
        np.concatenate([rows.values for rows in parts]),
        np.concatenate([_coverage(rows) for rows in parts]),
    )


def _coverage(rows: _Rows) -> Array:
    return np.full(len(rows.items), np.nan) if rows.coverage is None else rows.coverage


def _best_of_each(owners: Array, rows: _Rows, count: int) -> tuple[Array, Array]:
    """By item: its highest value, and the passage that has it; 0 and NO_CHUNK where it has none."""
    values, chunks = np.zeros(count), np.full(count, NO_CHUNK)
    first = np.concatenate(([True], owners[1:] != owners[:-1])).nonzero()[0] if len(owners) else owners
    first = first[rows.values[first].argsort(kind="stable")]  # of an item that was added twice, the best comes last
    values[owners[first]], chunks[owners[first]] = rows.values[first], rows.chunks[first]
    return values, chunks


def _passages(words: tuple[Array, _Rows], near: tuple[Array, _Rows], count: int) -> PassageColumns:
    """The passages of both sides, each once, item by item."""
    owners = np.concatenate((words[0], near[0]))
    chunks = np.concatenate((words[1].chunks, near[1].chunks))
    keys = owners * (int(chunks.max(initial=0)) + 1) + chunks
    order = keys.argsort(kind="stable")
    ordered = keys[order]
    first = np.ones(len(ordered), bool)
    first[1:] = ordered[1:] != ordered[:-1]
    place = np.empty(len(order), np.int64)
    place[order] = first.cumsum() - 1
    picked = order[first]
    scores, cosines, coverage = np.zeros(len(picked)), np.zeros(len(picked)), np.full(len(picked), np.nan)
    by_word, by_meaning = place[: len(words[0])], place[len(words[0]) :]
    scores[by_word], coverage[by_word] = words[1].values, words[1].coverage
    cosines[by_meaning] = near[1].values
    starts = np.concatenate(([0], np.bincount(owners[picked], minlength=count).cumsum()))
    return PassageColumns(chunks=chunks[picked], starts=starts, scores=scores, cosines=cosines, coverage=coverage)


def tfidf_cosines(
    texts_of: Texts,
    analyzer: Analyzer,
    query: str,
    *,
    pool: GatheredPool,
    by_number: Mapping[int, Item],
    frequencies: Frequencies,
    respelled: Mapping[str, tuple[str, ...]],
) -> dict[int, float]:
    """The cosine of the query with each item's best chunk and its fields, without stop words.

    For a word in ``respelled``, which occurs nowhere, the likeliest of its terms that the item has counts instead.
    """
    chunks = pool.best_chunks()
    texts = texts_of(list(chunks.values()))
    counts: dict[int, dict[str, int]] = {}
    for n, item in by_number.items():
        chunk = chunks.get(n)
        body = texts[chunk][2] if chunk is not None and chunk in texts else ""
        fields = item.fields
        whole = "\n".join((fields.title, fields.description, fields.context, " ".join(fields.tags), body))
        counts[n] = analyzer.content_counts(whole)
    asked = analyzer.content_counts(query)
    terms = {term for table in counts.values() for term in table}.union(asked, *respelled.values())
    total, frequency_of = frequencies(terms)
    idf = {term: tfidf_idf(total, frequency_of.get(term, 0)) for term in terms}
    instead = {term: likely for word, likely in respelled.items() for term in analyzer.terms_of(word) if term in asked}

    def meant(table: Mapping[str, int]) -> dict[str, int]:
        words: dict[str, int] = {}
        for term, count in asked.items():
            likely = instead.get(term, (term,))
            frequency_of = next((option for option in likely if option in table), likely[0])
            words[frequency_of] = words.get(frequency_of, 0) + count
        return words

    return {n: tfidf_cosine(meant(table) if instead else asked, table, idf) for n, table in counts.items()}


ARCHIVED = ("archived",)
_MOST_LIKENESSES = 8
"""For at most this many passages of an item, similar passages are searched."""


MODELS = (
    "SELECT f.name FROM fingerprints f WHERE EXISTS (SELECT 1 FROM vector_blocks b WHERE b.fingerprint = f.id)"
    " OR (SELECT 1 FROM jobs j WHERE j.fingerprint = f.id ORDER BY j.chunk LIMIT 1) IS NOT NULL ORDER BY f.name"
)
"""The models that have vectors, or texts that wait for theirs. By the order, PostgreSQL takes the index of the jobs, in
which the first is found at once; else it may read all of them.
"""
_WAITING = "SELECT count(*) FROM jobs WHERE fingerprint IN (SELECT id FROM fingerprints WHERE name IN (?, ?))"


class Standing(NamedTuple):
    """What a ranking needs to know of the whole store."""

    active: str | None
    has_apart: bool
    languages: tuple[str, ...]
    models: tuple[str, ...]
    waiting: int
    strays: bool
    learned_shift: float


class _AboutItems(NamedTuple):
    items: Mapping[int, Item]
    briefs: Mapping[int, Brief]
    feedback: Mapping[int, float]
    versions: Mapping[int, int]


def masks(opened: SearchedStore, connection: Connection, ask: Ask) -> tuple[Array | None, Array | None]:
    """The items that pass the filters (None where all do), and the chunks to look among, where not the live ones.

    Chunks of archived items are not among the live ones: an ask for these alone looks at their current chunks.
    """
    if ask.as_of is not None:
        filters = replace(ask.filters, states=("live", "archived"))
        return opened.filters.items(connection, filters, as_of=True), chunks_at(connection, ask.as_of)
    allowed = opened.filters.items(connection, ask.filters)
    if ask.filters.states == ARCHIVED and allowed is not None:
        return allowed, current_chunks(connection, allowed)
    return allowed, None


class Gathering:
    """Answers one ask, with one connection, as the store is at one moment."""

    def __init__(self, opened: SearchedStore, connection: Connection, ask: Ask) -> None:
        self.opened = opened
        self.connection = connection
        self.ask = ask
        self.pool = GatheredPool()
        self.allowed: Array | None = None
        self.meaning: MeaningSides | None = None

    def candidates(self) -> Candidates:
        """Everything that was found, with what the ranking needs to know about it."""
        ask, pool, connection = self.ask, self.pool, self.connection
        is_now = ask.find == NEWEST and ask.as_of is None
        connection.prefetch(
            self._standing,
            lambda: None if is_now else masks(self.opened, connection, ask),
            lambda: self.opened.lexical.expect(connection, terms_of(ask)),
            lambda: connection.once(VECTOR_EPOCH),
            *(partial(self._vectors_of, vector) for vector in ask.vectors),
            *(partial(self.opened.lexical.terms_starting_with, connection, fold(prefix)) for prefix in ask.prefixes),
        )
        self.allowed, times = (None, None) if is_now else masks(self.opened, connection, ask)
        self.keywords = KeywordSide(self.opened.lexical, connection, ask, times)
        if ask.find == MATCHES:
            self._take_both_sides(times)
            pool.total = max(pool.total, len(pool))
        else:
            if ask.find == NEWEST:
                pool.total = self._take_newest()
            else:
                if ask.excludes:
                    self.allowed = self.keywords.allowed_items(self.allowed)
                self._take_substrings(times)
                pool.total = len(pool)
        connection.prefetch(self._thread_neighbours, self._linked, partial(self._about_items, pool.numbers))
        near = self._thread_neighbours()
        self._join({other for others in near.values() for other, _ in others})
        distances = self._linked()
        self._join(distances)
        return self._answer(near, distances)

    def _vectors_of(self, vector: QueryVector) -> None:
        """Bring what is kept of a model's vectors up to date."""
        MeaningSide(self.opened, self.connection, vector.fingerprint, len(vector.values)).load()

    def _standing(self) -> Standing:
        """What a ranking needs to know of the whole store."""
        ask, connection = self.ask, self.connection
        active, languages, models, waiting, strays, shift = connection.gather(
            lambda: connection.once(ACTIVE),
            lambda: connection.once(DISTINCT),
            lambda: connection.once(MODELS) if self.opened.is_remote else [],
            lambda: connection.once(_WAITING, ask.model, ask.second) if ask.model else [(0,)],
            lambda: connection.once(STRAYS, ask.model, ask.second) if ask.model else [(False,)],
            lambda: learned_shift(connection, ask.needs.learned_by) if ask.needs.learned_by else 0.0,
        )
        return Standing(
            active=active[0][0],
            has_apart=bool(active[0][1]),
            languages=tuple(code for (code,) in languages),
            models=tuple(name for (name,) in models),
            waiting=waiting[0][0] if active[0][0] else 0,
            strays=bool(strays[0][0]),
            learned_shift=shift,
        )

    def similar(self, n: int) -> Candidates:
        """The items nearest to one item: to the middle of its passages, then by its nearest passage."""
        ask, pool = self.ask, self.pool
        self.keywords = KeywordSide(self.opened.lexical, self.connection, Ask(), None)
        own = vectors_of_item(self.connection, ask.model, n)
        if len(own):
            meaning = MeaningSide(self.opened, self.connection, ask.model, own.shape[1])
            allowed = self.opened.filters.items(self.connection, ask.filters)
            for vector in (own.mean(axis=0), *own[:_MOST_LIKENESSES]):
                unit = vector / max(float(np.linalg.norm(vector)), 1e-12)
                pool.add_cosines(meaning.nearest(unit, ask.per_side + 1, allowed))
            pool.drop(n)
        pool.total = len(pool)
        return self._answer({}, {})

    def _take_both_sides(self, times: Array | None) -> None:
        """Find by words and by meaning. Exclusions and phrases apply to both; only the keyword side can check them."""
        ask, pool = self.ask, self.pool
        near = None
        if ask.vectors:
            self.meaning = MeaningSides(self.opened, self.connection, ask.vectors, times)
            if ask.excludes:
                self.allowed = self.keywords.allowed_items(self.allowed)
            if not ask.phrases:
                near = self.meaning.nearest(ask.per_side, self.allowed)
                pool.add_cosines(near)
        if ask.by_word or ask.phrases:
            also = distinct(near.items) if near is not None else None
            matches = self.keywords.matches(ask.per_side, self.allowed, also)
            pool.take_matches(matches)
            if any(word.spelled for word in ask.words):
                self._drop_other_words()
            if not len(matches.chunks) and times is None and not ask.excluded:
                pool.by_substring = self._take_substrings()
        if self.meaning is not None:
            has_cosine = set(near.items.tolist()) if near is not None else set()
            missing = np.array([n for n in pool.numbers if n not in has_cosine], np.int64)
            pool.add_cosines(self.meaning.scores(missing))
            pool.fill_missing_cosines()

    def _drop_other_words(self) -> None:
        """Lower the scores of passages that matched another word with the same stem."""
        pool = self.pool
        lost = self.keywords.lost_to_other_words(pool.worded_chunks())
        pool.take_back({chunk: share / pool.maximum for chunk, share in lost.items()})

    def _take_substrings(self, times: Array | None = None) -> bool:
        """Take in the texts that hold the query as it is written; returns whether there are any."""
        ask = self.ask
        matches = substring_chunks(self.connection, ask.text, limit=ask.per_side, allowed=self.allowed, times=times)
        self.pool.add_substrings(matches)
        return bool(matches)

    def _take_newest(self) -> int:
        """Everything that passes the filters and holds nothing that is excluded, newest first; returns how many do. As
        of a time, that are the items that had a text then.
        """
        ask, filters = self.ask, self.ask.filters
        allowed_then: Array | None = None
        if ask.as_of is not None:
            filters = replace(filters, states=("live", "archived"))
            allowed_then = items_at(self.connection, ask.as_of)
        if ask.excludes or allowed_then is not None:
            allowed = self.opened.filters.items(self.connection, filters, as_of=allowed_then is not None)
            if allowed_then is not None:
                allowed = allowed_then if allowed is None else allowed_then[np.isin(allowed_then, allowed)]
            allowed_then = self.keywords.allowed_items(allowed)
        eligible = set(allowed_then.tolist()) if allowed_then is not None else None
        for n in items.newest(self.connection, filters, ask.per_side if eligible is None else EVERY):
            if eligible is None or n in eligible:
                self.pool.add([n])
                if len(self.pool) >= ask.per_side:
                    break
        return items.count(self.connection, filters) if eligible is None else len(eligible)

    def _thread_neighbours(self) -> Mapping[int, list[tuple[int, int]]]:
        reach = self.ask.needs.thread_reach
        if not reach:
            return {}
        briefs = self.opened.briefs.read(self.connection, self.pool.numbers)
        return neighbours_in_threads(
            self.connection, [n for n, (_, in_thread, *_) in briefs.items() if in_thread], reach
        )

    def _linked(self) -> Mapping[int, int]:
        needs = self.ask.needs
        seeds = self.pool.best(needs.link_seeds) if needs.link_seeds else ()
        return links.neighbours(self.connection, seeds, needs.link_depth) if seeds else {}

    def _join(self, others: Collection[int]) -> None:
        """Add items that neither side found, with their values, unless the ask excludes them."""
        ask, pool = self.ask, self.pool
        numbers = np.array([n for n in others if n not in pool], np.int64)
        if self.allowed is not None:
            numbers = numbers[np.isin(numbers, self.allowed)]
        if len(numbers) and ask.excludes:
            numbers = self.keywords.allowed_items(numbers)
        if not len(numbers):
            return
        if ask.by_word or ask.phrases:
            matches = self.keywords.matches(len(numbers), numbers)
            pool.add_scores(matches, joined=True)
            numbers = distinct(matches.items) if ask.phrases else numbers
        pool.add(numbers.tolist(), joined=True)
        if self.meaning is not None and len(numbers):
            pool.add_cosines(self.meaning.scores(numbers))
            pool.fill_missing_cosines()

    def _about_items(self, numbers: Sequence[int]) -> _AboutItems:
        """What a ranking needs to know of some items."""
        needs, connection = self.ask.needs, self.connection
        by_number, briefs, feedback, versions = connection.gather(
            lambda: items.by_numbers(connection, numbers) if needs.items or needs.tfidf else {},
            lambda: {} if needs.items or needs.tfidf else self.opened.briefs.read(connection, numbers),
            lambda: feedback_priors(connection, numbers) if needs.feedback else {},
            lambda: items.versions_at(connection, numbers, self.ask.as_of) if self.ask.as_of else {},
        )
        return _AboutItems(by_number, briefs, feedback, versions)

    def _answer(self, near: Mapping[int, list[tuple[int, int]]], distances: Mapping[int, int]) -> Candidates:
        pool, needs = self.pool, self.ask.needs
        standing = self._standing()
        by_number, briefs, feedback, versions = self._about_items(pool.numbers)
        if by_number:
            refs = {n: str(item.ref) for n, item in by_number.items()}
            windows = {n: (item.fields.valid_from, item.fields.valid_until) for n, item in by_number.items()}
        else:
            refs = {n: ref for n, (ref, *_) in briefs.items()}
            windows = {n: window for n, (*_, window) in briefs.items() if window is not None}
        return Candidates(
            found=pool.candidates(refs, versions),
            total=pool.total,
            maximum=pool.maximum,
            share=pool.share,
            has_vectors=pool.has_vectors,
            by_substring=pool.by_substring,
            prefix_terms=self.keywords.prefix_terms,
            neighbours=near,
            distances=distances,
            items=by_number,
            tfidf=self._tfidf(by_number) if needs.tfidf else {},
            feedback=feedback,
            learned_shift=standing.learned_shift,
            active=standing.active,
            has_apart=standing.has_apart,
            waiting=standing.waiting,
            respelled=self.keywords.respelled,
            windows=windows,
            languages=standing.languages,
            strays=standing.strays,
            models=standing.models,
            problems=self._problems(),
        )

    def _problems(self) -> tuple[str, ...]:
        """What of the indexes is left out, because it is damaged."""
        of_vectors = self.opened.vector_index.problem if self.ask.vectors else ""
        return tuple(filter(None, (self.opened.lexical.problem, of_vectors)))

    def _tfidf(self, by_number: Mapping[int, Item]) -> dict[int, float]:
        """TF-IDF cosine of the query with each candidate."""
        frequencies = partial(self.opened.lexical.document_frequencies, self.connection)
        texts_of = partial(chunk_texts, self.connection)
        respelled = self.keywords.respelled
        return tfidf_cosines(
            texts_of,
            self.opened.analyzer,
            self.ask.text,
            pool=self.pool,
            by_number=by_number,
            frequencies=frequencies,
            respelled=respelled,
        )
