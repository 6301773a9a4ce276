"""How the SQLite store answers an ask: it makes masks from the filters, a pool from both sides, and candidates from it.

1. Filters and the moment become a mask of items and a list of chunks; both sides use them before they pick their best.
2. The meaning side brings its nearest, the keyword side its best, and each item gets the value that the other side
   has for it.
3. Neighbours in a thread and linked items are added, if the ranking needs them.
4. What else the ranking needs is read for the items of the pool.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from ricordo.store.asking import MATCHES, NEWEST, Ask, Candidates
from ricordo.store.index.matching import EVERY, KeywordSide
from ricordo.store.sql import items, links
from ricordo.store.sql.arrays import Array, distinct
from ricordo.store.sql.chunk_rows import chunk_texts
from ricordo.store.sql.jobs import STRAYS
from ricordo.store.sql.languages import DISTINCT
from ricordo.store.sql.lessons import feedback_priors, learned_shift
from ricordo.store.sql.pool import GatheredPool
from ricordo.store.sql.tfidf_scores import tfidf_cosines
from ricordo.store.sql.threads import neighbours_in_threads
from ricordo.store.sqlite.chunk_rows import chunks_at, current_chunks, items_at, substring_chunks
from ricordo.store.sqlite.connection import Connection
from ricordo.store.sqlite.nearness import MeaningSide, MeaningSides, vectors_of_item
from ricordo.store.sqlite.open_file import OpenFile
from ricordo.values.items import Item

ARCHIVED = ("archived",)
_MOST_LIKENESSES = 8
"""For at most this many passages of an item, similar passages are searched."""


def masks(file: OpenFile, connection: Connection, ask: Ask) -> tuple[Array | None, Array | None]:
    """The items that pass the filters (None where all do), and the chunks to look among, where not the live ones.

    Chunks of archived items are not among the live ones: an ask for these alone looks at their current chunks.
    """
    if ask.as_of is not None:
        filters = replace(ask.filters, states=("live", "archived"))
        return file.filters.items(connection, filters, as_of=True), chunks_at(connection, ask.as_of)
    allowed = file.filters.items(connection, ask.filters)
    if ask.filters.states == ARCHIVED and allowed is not None:
        return allowed, current_chunks(connection, allowed)
    return allowed, None


class Gathering:
    """Answers one ask, with one connection, as the store is at one moment."""

    def __init__(self, file: OpenFile, connection: Connection, ask: Ask) -> None:
        self.file = file
        self.connection = connection
        self.ask = ask
        self.pool = GatheredPool()
        self.allowed: Array | None = None
        self.meaning: MeaningSides | None = None

    def candidates(self) -> Candidates:
        """Everything that was found, with what the ranking needs to know about it."""
        ask, pool = self.ask, self.pool
        is_now = ask.find == NEWEST and ask.as_of is None
        self.allowed, times = (None, None) if is_now else masks(self.file, self.connection, ask)
        self.keywords = KeywordSide(self.file.lexical, self.connection, ask, times)
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
        near = self._join_thread_neighbours() if ask.needs.thread_reach else {}
        distances = self._join_linked() if ask.needs.link_seeds else {}
        return self._answer(near, distances)

    def similar(self, n: int) -> Candidates:
        """The items nearest to one item: to the middle of its passages, then by its nearest passage."""
        ask, pool = self.ask, self.pool
        self.keywords = KeywordSide(self.file.lexical, self.connection, Ask(), None)
        own = vectors_of_item(self.connection, ask.model, n)
        if len(own):
            meaning = MeaningSide(self.file, self.connection, ask.model, own.shape[1])
            allowed = self.file.filters.items(self.connection, ask.filters)
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
            self.meaning = MeaningSides(self.file, self.connection, ask.vectors, times)
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
            known = set(near.items.tolist()) if near is not None else set()
            missing = np.array([n for n in pool.numbers if n not in known], np.int64)
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
        found = substring_chunks(self.connection, ask.text, limit=ask.per_side, allowed=self.allowed, times=times)
        self.pool.add_substrings(found)
        return bool(found)

    def _take_newest(self) -> int:
        """Everything that passes the filters and holds nothing that is excluded, newest first; returns how many do. As
        of a time, that are the items that had a text then.
        """
        ask, filters = self.ask, self.ask.filters
        kept: Array | None = None
        if ask.as_of is not None:
            filters = replace(filters, states=("live", "archived"))
            kept = items_at(self.connection, ask.as_of)
        if ask.excludes or kept is not None:
            allowed = self.file.filters.items(self.connection, filters, as_of=kept is not None)
            if kept is not None:
                allowed = kept if allowed is None else kept[np.isin(kept, allowed)]
            kept = self.keywords.allowed_items(allowed)
        found = set(kept.tolist()) if kept is not None else None
        for n in items.newest(self.connection, filters, ask.per_side if found is None else EVERY):
            if found is None or n in found:
                self.pool.add([n])
                if len(self.pool) >= ask.per_side:
                    break
        return items.count(self.connection, filters) if found is None else len(found)

    def _join_thread_neighbours(self) -> Mapping[int, list[tuple[int, int]]]:
        briefs = self.file.briefs.read(self.connection, self.pool.numbers)
        in_threads = [n for n, (_, in_thread, *_) in briefs.items() if in_thread]
        near = neighbours_in_threads(self.connection, in_threads, self.ask.needs.thread_reach)
        self._join({other for others in near.values() for other, _ in others})
        return near

    def _join_linked(self) -> Mapping[int, int]:
        needs = self.ask.needs
        seeds = self.pool.best(needs.link_seeds)
        distances = links.neighbours(self.connection, seeds, needs.link_depth) if seeds else {}
        self._join(distances)
        return distances

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

    def _answer(self, near: Mapping[int, list[tuple[int, int]]], distances: Mapping[int, int]) -> Candidates:
        ask, pool, connection, needs = self.ask, self.pool, self.connection, self.ask.needs
        numbers = pool.numbers
        known = items.by_numbers(connection, numbers) if needs.items or needs.tfidf else {}
        if known:
            refs = {n: str(item.ref) for n, item in known.items()}
            windows = {n: (item.fields.valid_from, item.fields.valid_until) for n, item in known.items()}
        else:
            briefs = self.file.briefs.read(connection, numbers)
            refs = {n: ref for n, (ref, *_) in briefs.items()}
            windows = {n: window for n, (*_, window) in briefs.items() if window is not None}
        active = connection.once("SELECT name FROM fingerprints WHERE active")
        return Candidates(
            pool.candidates(refs, items.versions_at(connection, numbers, ask.as_of) if ask.as_of else {}),
            pool.total,
            pool.maximum,
            pool.share,
            {},
            pool.has_vectors,
            pool.by_substring,
            self.keywords.prefix_terms,
            near,
            distances,
            known,
            self._tfidf(known) if needs.tfidf else {},
            feedback_priors(connection, numbers) if needs.feedback else {},
            learned_shift(connection, needs.learned_by) if needs.learned_by else 0.0,
            active[0][0] if active else None,
            _waiting(connection, ask) if ask.model and active else 0,
            self.keywords.respelled,
            windows,
            tuple(row[0] for row in connection.once(DISTINCT)),
            bool(ask.model) and bool(connection.rows(STRAYS, (ask.model, ask.second))[0][0]),
        )

    def _tfidf(self, known: Mapping[int, Item]) -> dict[int, float]:
        """TF-IDF cosine of the query with each candidate."""
        frequencies = partial(self.file.lexical.document_frequencies, self.connection)
        texts_of = partial(chunk_texts, self.connection)
        respelled = self.keywords.respelled
        return tfidf_cosines(texts_of, self.file.analyzer, self.ask.text, self.pool, known, frequencies, respelled)


def _waiting(connection: Connection, ask: Ask) -> int:
    rows = connection.rows(
        "SELECT count(*) FROM jobs WHERE fingerprint IN (SELECT id FROM fingerprints WHERE name IN (?, ?))",
        (ask.model, ask.second),
    )
    return int(rows[0][0])
