"""Searches of a workspace that has a search engine beside its server.

The engine says which passages to look at, by words and by meaning. Passages that it does not know as they are now (its
tail, from ``index_outbox``) are looked at in any case, so that what was saved is found at once. Everything that is
ranked is read from the server at one moment: exact scores, exact cosines, filters, and whether a passage still counts.
"""

from __future__ import annotations

import time
from base64 import b64decode
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ricordo.frozen import frozen
from ricordo.store.asking import MATCHES, Ask
from ricordo.store.index.lexical import Scored
from ricordo.store.index.matching import KeywordSide
from ricordo.store.postgres.asking_sql import Compared, Statement
from ricordo.store.postgres.connection import Connection
from ricordo.store.postgres.keeping import EPOCH, Asked, likely_asked, read_likely
from ricordo.store.postgres.loading import ARCHIVED, Passing, passing_asked, wish_of
from ricordo.store.postgres.passage_words import ENTRY, TEXT_COLUMNS, counted, merged, number_of, packed
from ricordo.store.postgres.picked_index import FREQUENCIES, PickedIndex, PickedPassage
from ricordo.store.qdrant.points import Found, IndexAway, Nearest, PointEngine, Space
from ricordo.store.sql.arrays import Array, distinct
from ricordo.store.sql.protocols import Row
from ricordo.text.words import Analyzer

MOST_UNAPPLIED = 2_000
"""If the engine lacks more changes than this, the server's own index answers."""
MOST_NAMED = 10_000
"""Up to this many items that pass a filter are named to the engine; of more, what it finds is filtered here."""
WORD_DEPTH, NEAR_DEPTH, MOST_DEPTH = 4, 8, 4_096
"""How many passages are asked for, for each item that is wanted, and at most."""
SAME_SCORE = 0.97
"""What comes so near to the last score that is wanted may be better by its exact score."""
QUIET_SECONDS = 5.0
"""So long an engine that failed is not asked again."""
_FEW = f"(SELECT count(*) FROM (SELECT FROM index_outbox LIMIT {MOST_UNAPPLIED + 1}) few)"
_FEED = f"SELECT prefix, spaces, {_FEW} FROM index_feeds"
_TAIL = (
    f"SELECT o.chunk, a.words, c.item, c.lengths, {TEXT_COLUMNS} FROM (SELECT DISTINCT chunk"
    f" FROM index_outbox WHERE {_FEW} <= {MOST_UNAPPLIED}) o LEFT JOIN chunks c ON c.id = o.chunk AND c.state = 0"
    " LEFT JOIN items i ON i.n = c.item LEFT JOIN index_applied a ON a.chunk = o.chunk"
)
_TOTALS = "SELECT field, total FROM lexical_stats"
_PASSAGES = (
    "SELECT c.id, a.words, c.item, c.lengths FROM chunks c JOIN index_applied a ON a.chunk = c.id WHERE c.state = 0 AND"
)
_HOLDS = "EXISTS (SELECT FROM unnest(?::bytea[]) t(term) WHERE position(t.term IN words) > 0)"
"""Whether a passage may hold one of some terms: the four bytes of a number may also stand across two entries."""
_PICKED = (
    f"{_PASSAGES} c.id = ANY(ARRAY(SELECT unnest(?::bigint[]) UNION SELECT id FROM chunks WHERE state = 0"
    f" AND item = ANY(ARRAY(SELECT item FROM near UNION SELECT item FROM joined)))) AND {_HOLDS}"
)
_AS_JSON = "SELECT json_agg(json_build_array(id, encode(words, 'base64'), item, encode(lengths, 'base64'))) FROM picked"
_PICKED_TEXTS = f" OR c.id = ANY(ARRAY(SELECT id FROM picked WHERE item IN (SELECT item FROM pool) AND {_HOLDS}))"


def words_space(prefix: str) -> Space:
    """Where the words of passages are."""
    return Space(f"{prefix}-words")


def model_space(prefix: str, number: int, dimensions: int) -> Space:
    """Where the vectors of a model are."""
    return Space(f"{prefix}-m{number}", dimensions)


@frozen
class Picked:
    """What came of asking the engine; without ``picking``, ``problem`` says why the server's own index answers."""

    picking: Picking | None = None
    problem: str = ""
    rest: list[list[Row]] = field(default_factory=list)
    """The answers of what was sent along."""


class Outside:
    """The search engine of a workspace, as searches see it."""

    def __init__(self, engine: PointEngine, analyzer: Analyzer, passing: Callable[[], Passing]) -> None:
        self.engine = engine
        self._analyzer = analyzer
        self._passing = passing
        self._counted: dict[int, bytes] = {}
        """The words of passages of the tail that were counted already; a passage never changes its text."""
        self._away: tuple[float, str] = (0.0, "")
        self.on_tail: Callable[[], None] = lambda: None
        """Called when a search saw changes that the engine lacks."""

    def picked(self, connection: Connection, ask: Ask, vectors: Callable[[], Sequence[Compared]]) -> Picked:
        """Ask the engine for the passages of both sides."""
        begun = self.begun(connection, ask)
        if begun.picking is None:
            return begun
        try:
            begun.picking.look(ask.per_side, vectors())
        except IndexAway as error:
            self._away = (time.monotonic() + QUIET_SECONDS, error.message)
            return Picked(problem=_told(error.message))
        return begun

    def begun(self, connection: Connection, ask: Ask, also: Sequence[Asked] = ()) -> Picked:
        """Read what the engine does not know, and how rare the words are; ``also`` is sent along."""
        if not is_plain(ask):
            return Picked()
        until, problem = self._away
        if time.monotonic() < until:
            return Picked(problem=_told(problem))
        wish = wish_of(ask)
        numbers = sorted({number_of(term) for term in wish.terms})
        key, allowed = passing_asked(self._passing(), ask)
        asked: list[Asked] = [(_FEED, ()), (EPOCH, ()), (_TOTALS, ()), (_TAIL, ()), (FREQUENCIES, (numbers,))]
        answers = connection.together(
            [
                *asked,
                *([allowed] if allowed is not None else []),
                *([likely_asked(wish.written)] if wish.written else []),
                *also,
            ],
            binary=True,
        )
        feed, epoch, totals, tail, frequencies = answers[: len(asked)]
        rest = answers[len(asked) :]
        passed = rest.pop(0) if allowed is not None else None
        if wish.written:
            connection.unknown, connection.likely = read_likely(rest.pop(0))
        if not feed or feed[0][2] > MOST_UNAPPLIED:
            self.on_tail()
            return Picked(problem=_behind(feed))
        if tail:
            self.on_tail()
        index = self._index(dict(totals), tail)
        index.take_frequencies(numbers, frequencies)
        items = None if passed is None else self._passing().items(key, epoch[0][0], passed)
        keywords = KeywordSide(index, connection, ask, None)
        made = Picking(self.engine, connection, keywords, index, items, feed[0][0], feed[0][1].split(), tail)
        return Picked(made, rest=rest)

    def _index(self, totals: dict[int, int], tail: Sequence[Row]) -> PickedIndex:
        if len(self._counted) > 4 * MOST_UNAPPLIED:
            self._counted.clear()
        passages: dict[int, PickedPassage] = {}
        for chunk, _, item, lengths, *texts in tail:
            if item is not None:
                if chunk not in self._counted:
                    self._counted[chunk] = packed(counted(self._analyzer, *texts))
                passages[chunk] = PickedPassage(item, lengths, self._counted[chunk])
        came = [one.words for one in passages.values()]
        index = PickedIndex(totals, came, [words for _, words, *_ in tail if words is not None])
        index.add(passages)
        return index


class Picking:
    """One ask: the passages that the engine picked for it, with what the server knows of them."""

    def __init__(
        self, engine: PointEngine, connection: Connection, keywords: KeywordSide, index: PickedIndex,
        allowed: Array | None, prefix: str, spaces: Collection[str], tail: Sequence[Row],
    ) -> None:  # fmt: skip
        self._engine = engine
        self._connection = connection
        self.keywords = keywords
        self._index = index
        self.allowed = allowed
        """The items that pass the filters; None where all do."""
        self._inside = None if allowed is None else set(allowed.tolist())
        self._prefix = prefix
        self._spaces = spaces
        self._tail: dict[int, int | None] = {row[0]: row[2] for row in tail}
        """The items of the passages that the engine does not know as they are; None where a passage is gone."""
        self._covered: set[int] = set()
        self.worded: list[Found] = []
        """What the engine found by words, best first."""
        self.near: dict[int, Array] = {}
        """By model, the chunks that the server compares exactly."""

    def look(self, items: int, vectors: Sequence[Compared]) -> None:
        """Ask the engine until each side has enough items, or nothing more."""
        named = None
        if self.allowed is not None and len(self.allowed) <= MOST_NAMED:
            named = self.allowed.tolist()
        wanted = self._index.weights(self.keywords.wanted) if self.keywords.ask.by_word else []
        words, spaces = words_space(self._prefix), {}
        for model, vector in vectors:
            space = model_space(self._prefix, model.number, model.dimensions)
            if space.name in self._spaces:
                spaces[model.number] = (space, np.asarray(vector.values, np.float32))
        deep = 1
        while True:
            word_limit, near_limit = (min(deep * depth * items, MOST_DEPTH) for depth in (WORD_DEPTH, NEAR_DEPTH))
            asked = [Nearest(words, merged(wanted), word_limit, named)] if wanted else []
            asked += [Nearest(space, vector, near_limit, named) for space, vector in spaces.values()]
            found = self._engine.nearest(asked) if named is None or named else [[] for _ in asked]
            counting = [[one for one in side if self._counts(one[0], one[1])] for side in found]
            if all(
                len(side) < one.limit or one.limit >= MOST_DEPTH or len({item for _, item, _ in some}) >= items
                for one, side, some in zip(asked, found, counting, strict=True)
            ):
                break
            deep *= 4
        sides = {one.space.name: side for one, side in zip(asked, counting, strict=True)}
        self.worded = sides.get(words.name, [])
        unknown = [chunk for chunk, item in self._tail.items() if item is not None and self._counts(chunk, item)]
        for model, _ in vectors:
            side = sides[spaces[model.number][0].name] if model.number in spaces else []
            self.near[model.number] = distinct(np.array([*(chunk for chunk, *_ in side), *unknown], np.int64))

    def _counts(self, chunk: int, item: int) -> bool:
        """Whether a passage is still there, and of an item that may be found."""
        return (self._inside is None or item in self._inside) and self._tail.get(chunk, item) is not None

    def likely(self, count: int) -> list[int]:
        """The items that are likely among the best by words; the engine's scores are those of when it was fed."""
        first: dict[int, float] = {}
        for _, item, score in self.worded:
            first.setdefault(item, score)
        scores = list(first.values())
        floor = SAME_SCORE * scores[count - 1] if len(scores) > count else 0.0
        return [item for item, score in first.items() if score >= floor]

    def add_passages(self, statement: Statement, answers: dict[str, str]) -> tuple[str, list[Any]]:
        """Let a statement bring the words of what was picked, and of all passages of the nearest items and of those
        that join them, as far as they hold a word of the ask.

        Returns the condition of the texts that are read, too, and its values.
        """
        ask, wanted = self.keywords.ask, self.keywords.wanted
        terms = {term for word in wanted for term in word.terms}
        if not ask.by_word or not terms:
            return "", []
        statement.step("picked", _PICKED, ([chunk for chunk, *_ in self.worded], _as_bytes(terms)))
        answers["passages"] = _AS_JSON
        read = terms if ask.needs.tfidf else {term for word in ask.words if word.spelled for term in word.terms}
        return (_PICKED_TEXTS, [_as_bytes(read)]) if read else ("", [])

    def take_answer(self, answer: dict[str, Any]) -> None:
        """Take in the passages that came with an answer."""
        if "passages" in answer:
            self._covered.update(item for _, item, _ in answer.get("near") or [])
            self._covered.update(answer.get("joined") or [])
            self.take(
                (chunk, b64decode(words), item, b64decode(lengths))
                for chunk, words, item, lengths in answer.pop("passages") or []
            )

    def take(self, rows: Iterable[Row]) -> None:
        """Take in passages; those that the engine does not know as they are now are here already."""
        self._index.add(
            {
                chunk: PickedPassage(item, lengths, words)
                for chunk, words, item, lengths in rows
                if chunk not in self._tail
            }
        )

    def covering(self, items: Array) -> Scored:
        """The scores of all passages that were picked, and of all passages of some items."""
        self.cover(items.tolist())
        return self.keywords.scored(self.allowed)

    def cover(self, items: Collection[int]) -> None:
        """Take in all passages of some items, as far as no answer brought them."""
        missing = [n for n in items if n not in self._covered]
        if missing:
            self._covered.update(missing)
            self.take(self._connection.rows(f"{_PASSAGES} c.item = ANY(?)", (missing,), binary=True))


def passages_asked(chunks: Sequence[int]) -> Asked:
    """The statement that reads the words of some passages."""
    return f"{_PASSAGES} c.id = ANY(?)", (list(chunks),)


def _as_bytes(terms: Iterable[str]) -> list[bytes]:
    """Terms as they stand among the words of a passage."""
    return [np.array(number_of(term), ENTRY["term"]).tobytes() for term in terms]


def is_plain(ask: Ask) -> bool:
    """Whether the engine can pick for an ask; phrases, exclusions, prefixes and the past are left to the server."""
    return (
        ask.find == MATCHES
        and ask.as_of is None
        and ask.filters.states != ARCHIVED
        and not (ask.phrases or ask.excludes or ask.prefixes)
    )


def _told(problem: str) -> str:
    return f"index: {problem}; PostgreSQL's own index answered"


def _behind(feed: Sequence[Row]) -> str:
    if not feed:
        return _told("the search engine was never filled (run 'ricordo index rebuild')")
    return _told(f"the search engine lacks more than {MOST_UNAPPLIED:,} changes (see 'ricordo index status')")
