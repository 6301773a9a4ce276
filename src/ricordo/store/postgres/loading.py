"""What a search needs before it scores words: the index at its moment, and which items and chunks it may look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ricordo.frozen import frozen
from ricordo.store.asking import Ask
from ricordo.store.index.matching import KeywordSide
from ricordo.store.postgres import dialect
from ricordo.store.postgres.connection import Connection
from ricordo.store.postgres.keeping import CHANGED, Asked, KeptIndex, Wish, numbers
from ricordo.store.sql.arrays import Array
from ricordo.store.sql.filters import where
from ricordo.store.sql.protocols import Row
from ricordo.store.sql.times import micros
from ricordo.text.words import fold

MOST_NUMBERS = 2_000_000
"""How many numbers of items that passed a filter are kept; when there are more, all are dropped."""
ARCHIVED = ("archived",)


@frozen
class Loaded:
    """The keyword side of an ask, the items that pass its filters (None where all do), and what was sent along."""

    keywords: KeywordSide
    allowed: Array | None
    rest: list[list[Row]]


class Passing:
    """Which items pass filters, kept until an item changes."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], tuple[int, Array]] = {}

    def epoch(self, key: tuple[object, ...]) -> int:
        """The state of the store at which the items of a filter were read; -1 if they never were."""
        found = self._known.get(key)
        return -1 if found is None else found[0]

    def items(self, key: tuple[object, ...], epoch: int, read: Sequence[Row]) -> Array:
        """The items that pass; ``read`` is what the server answered, if anything changed."""
        found = self._known.get(key)
        if found is None or found[0] != epoch:
            if sum(len(items) for _, items in self._known.values()) > MOST_NUMBERS:
                self._known = {}
            found = self._known[key] = (epoch, numbers(read))
        return found[1]


def wish_of(ask: Ask) -> Wish:
    """What an ask will look at in the index."""
    terms = {term for word in ask.words for term in word.terms}
    terms.update(term for phrase in (*ask.phrases, *ask.excluded_phrases) for term in phrase.terms)
    terms.update(term for group in ask.excluded for term in group)
    now = ask.as_of is None and ask.filters.states != ARCHIVED
    written = tuple((word.written, word.term) for word in ask.words if word.written) if now and ask.by_word else ()
    return Wish(frozenset(terms), tuple(dict.fromkeys(map(fold, ask.prefixes))), written)


def passing_asked(passing: Passing, ask: Ask) -> tuple[tuple[object, ...], Asked | None]:
    """The key of an ask's filters, and the statement that reads which items pass; None where all do."""
    filters = replace(ask.filters, states=("live", "archived")) if ask.as_of is not None else ask.filters
    condition, values = where(filters, dialect)
    key = (condition, *values)
    if ask.as_of is None and filters.is_empty():
        return key, None
    statement = f"SELECT string_agg(int8send(i.n), '') FROM items i WHERE {condition} AND {CHANGED}"
    return key, (statement, (*values, passing.epoch(key)))


def load(words: KeptIndex, passing: Passing, connection: Connection, ask: Ask, also: Sequence[Asked] = ()) -> Loaded:
    """Read all that the keyword side of an ask needs, in one trip; ``also`` is sent along."""
    key, filtered = passing_asked(passing, ask)
    asked: dict[str, Asked] = {"allowed": filtered} if filtered is not None else {}
    if ask.as_of is not None:
        asked["times"] = (
            "SELECT string_agg(int8send(id), '') FROM chunks WHERE state < 2 AND live_from <= ?"
            " AND (live_until IS NULL OR live_until > ?)",
            (micros(ask.as_of), micros(ask.as_of)),
        )
    elif ask.filters.states == ARCHIVED:
        asked["times"] = (
            "SELECT string_agg(int8send(chunk), '') FROM items i JOIN versions v ON v.item = i.n AND"
            f" v.number = i.version CROSS JOIN LATERAL layout_chunks(v.layout) chunk WHERE {key[0]}",
            key[1:],
        )
    rest = words.load(connection, wish_of(ask), [*asked.values(), *also])
    found = dict(zip(asked, rest, strict=False))
    assert connection.snapshot is not None, "it was just read"
    allowed = passing.items(key, connection.snapshot.epoch, found["allowed"]) if "allowed" in found else None
    times = numbers(found["times"]) if "times" in found else None
    return Loaded(KeywordSide(words, connection, ask, times), allowed, rest[len(asked) :])
