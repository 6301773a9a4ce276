"""The pool of one ask: the items that both sides found, each with its keyword score and its cosine.

Every item gets both values, whichever side found it. So a zero means that nothing matched, not that it was not
computed. Values stay in arrays from the indexes to the ranking; nothing is done item by item.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from ricordo.frozen import frozen
from ricordo.store.arrays import Array, few_per_group
from ricordo.store.index.scoring import Matches, VectorMatches
from ricordo.store.query import CHUNKS_KEPT, NO_CHUNK, CandidateColumns, PassageColumns
from ricordo.text.words import Analyzer, tfidf_cosine, tfidf_idf
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
