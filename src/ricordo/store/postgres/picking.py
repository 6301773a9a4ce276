"""Searches of a workspace that has a search engine beside its server.

The engine says which passages to look at, by words and by meaning. Passages that it does not know as they are now (its
tail, from ``index_outbox``) are looked at in any case, so that what was saved is found at once. Everything that is
ranked is read from the server at one moment: exact scores, exact cosines, filters, and whether a passage still counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import field

import numpy as np

from ricordo.frozen import frozen
from ricordo.store.asking import MATCHES, Ask
from ricordo.store.index.lexical import Scored
from ricordo.store.index.matching import KeywordSide
from ricordo.store.postgres.asking_sql import Compared
from ricordo.store.postgres.connection import Connection
from ricordo.store.postgres.keeping import EPOCH, Asked, likely_asked, read_likely
from ricordo.store.postgres.loading import ARCHIVED, Passing, passing_asked, wish_of
from ricordo.store.postgres.passage_words import TEXT_COLUMNS, counted, merged, number_of, packed
from ricordo.store.postgres.picked_index import FREQUENCIES, PickedIndex, PickedPassage
from ricordo.store.qdrant.points import IndexAway, Nearest, PointEngine, Space
from ricordo.store.sql.arrays import Array
from ricordo.store.sql.protocols import Row
from ricordo.text.words import Analyzer

MOST_UNAPPLIED = 2_000
"""If the engine lacks more changes than this, the server's own index answers."""
MOST_NAMED = 10_000
"""Up to this many items that pass a filter are named to the engine; of more, what it finds is filtered here."""
WORD_DEPTH, NEAR_DEPTH, MOST_DEPTH = 4, 8, 4_096
"""How many passages are asked for, for each item that is wanted, and at most."""
QUIET_SECONDS = 5.0
"""So long an engine that failed is not asked again."""
_FEW = f"(SELECT count(*) FROM (SELECT FROM index_outbox LIMIT {MOST_UNAPPLIED + 1}) few)"
_FEED = f"SELECT prefix, spaces, {_FEW} FROM index_feeds"
_MODELS = "ARRAY(SELECT v.fingerprint FROM vectors v WHERE v.hash = c.embed_hash)"
_TAIL = (
    f"SELECT o.chunk, a.words, c.item, c.lengths, {_MODELS}, {TEXT_COLUMNS} FROM (SELECT DISTINCT chunk"
    f" FROM index_outbox WHERE {_FEW} <= {MOST_UNAPPLIED}) o LEFT JOIN chunks c ON c.id = o.chunk AND c.state = 0"
    " LEFT JOIN items i ON i.n = c.item LEFT JOIN index_applied a ON a.chunk = o.chunk"
)
_TOTALS = "SELECT field, total FROM lexical_stats"
_PASSAGES = (
    f"SELECT c.id, a.words, c.item, c.lengths, {_MODELS} FROM chunks c JOIN index_applied a ON a.chunk = c.id"
    " WHERE c.state = 0 AND "
)


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
        for chunk, _, item, lengths, _, *texts in tail:
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
        self._prefix = prefix
        self._spaces = spaces
        self._tail = {row[0] for row in tail}
        self._models: dict[int, set[int]] = {row[0]: set(row[4]) for row in tail if row[2] is not None}
        self._covered: set[int] = set()
        self.near: dict[int, Array] = {}
        """By model, the chunks that the server compares exactly."""

    def look(self, items: int, vectors: Sequence[Compared]) -> None:
        """Ask the engine until each side has enough items, or nothing more."""
        ask = self.keywords.ask
        named = None
        if self.allowed is not None and len(self.allowed) <= MOST_NAMED:
            named = self.allowed.tolist()
        wanted = self._index.weights(self.keywords.wanted) if ask.by_word else []
        deep = 1
        while True:
            asked = []
            if wanted:
                limit = min(deep * WORD_DEPTH * items, MOST_DEPTH)
                asked.append(Nearest(words_space(self._prefix), merged(wanted), limit, named))
            for model, vector in vectors:
                space = model_space(self._prefix, model.number, model.dimensions)
                if space.name in self._spaces:
                    limit = min(deep * NEAR_DEPTH * items, MOST_DEPTH)
                    asked.append(Nearest(space, np.asarray(vector.values, np.float32), limit, named))
            found = self._engine.nearest(asked) if named is None or named else [[] for _ in asked]
            self._read("c.id = ANY(?)", [chunk for side in found for chunk in side])
            if all(
                len(side) < one.limit or one.limit >= MOST_DEPTH or self._items_in(side) >= items
                for one, side in zip(asked, found, strict=True)
            ):
                break
            deep *= 4
        sides = {one.space.name: side for one, side in zip(asked, found, strict=True)}
        seen: set[int] = set()
        for model, _ in vectors:
            space = model_space(self._prefix, model.number, model.dimensions)
            self.near[model.number] = self._compared(model.number, sides.get(space.name, ()), seen)
            seen.add(model.number)

    def _items_in(self, chunks: Collection[int]) -> int:
        """How many items that may be found some chunks belong to."""
        owners = set(self._index.items_of(chunks).values())
        return len(owners if self.allowed is None else owners.intersection(self.allowed.tolist()))

    def _compared(self, model: int, found: Iterable[int], before: set[int]) -> Array:
        """The chunks that have a vector of a model and of none before it, of allowed items."""
        owners = self._index.items_of([*found, *self._tail])
        chunks = [n for n in owners if model in self._models[n] and not self._models[n] & before]
        if self.allowed is not None:
            allowed = set(self.allowed.tolist())
            chunks = [n for n in chunks if owners[n] in allowed]
        return np.array(chunks, np.int64)

    def read(self, chunks: Sequence[int]) -> None:
        """Take in some passages."""
        self._read("c.id = ANY(?)", chunks)

    def covering(self, items: Array) -> Scored:
        """The scores of all passages that were picked, and of all passages of some items."""
        self.cover(items.tolist())
        return self.keywords.scored(self.allowed)

    def cover(self, items: Collection[int]) -> None:
        """Take in all passages of some items."""
        missing = [n for n in items if n not in self._covered]
        if missing:
            self._covered.update(missing)
            self._read("c.item = ANY(?)", missing)

    def _read(self, condition: str, numbers: Sequence[int]) -> None:
        if not numbers:
            return
        rows = self._connection.rows(_PASSAGES + condition, (list(dict.fromkeys(numbers)),), binary=True)
        known = [row for row in rows if row[0] not in self._tail]
        self._models |= {chunk: set(models) for chunk, _, _, _, models in known}
        self._index.add({chunk: PickedPassage(item, lengths, words) for chunk, words, item, lengths, _ in known})


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
