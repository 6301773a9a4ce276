"""Puts a pool in order: adds up every signal that the profile names, times its weight.

``rank`` gives each item its shares; their contributions, added in the order shown, are exactly the value it is ranked
by. ``needs_of`` says what the signals of a profile need beyond the two scores; the store brings it with the candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import prod
from typing import overload

import numpy as np

from ricordo.frozen import frozen
from ricordo.memory.learning import shifted
from ricordo.search import signals
from ricordo.search.fusion import spread_weights
from ricordo.search.neighbours import REACH
from ricordo.search.pool import Array, Lowered, Member, Pool
from ricordo.search.profile import SIDES, Profile
from ricordo.search.request import Boosts
from ricordo.store.asking import Needs
from ricordo.values.hits import SignalShare
from ricordo.values.items import Fields, Item, Ref

GRAPH_SEEDS = 5
OF_THE_ITEM = frozenset(
    {"severity", "temporal", "recency", "decayed_recency", "decay", "importance", "tags", "domain", "freshness"}
)
"""Signals that look at the item itself."""
NO_ITEM = Item("", Ref("agent", "/"), "document", "live", 0, "", "", Fields(), datetime.min, datetime.min)
"""Used in place of the item if no signal looks at it."""
MOST_MENTIONS = 1e12
"""The largest number of mentions that is believed; metadata may hold anything, so other values are ignored."""


@frozen
class Weighed:
    """A member with the value it is ranked by and, if an explanation is wanted, the parts of that value."""

    member: Member
    value: float
    shares: tuple[SignalShare, ...] = ()
    ceiling: float | None = None
    """The score of the last item of the pool, which an item from beyond the pool does not exceed."""
    lowered: Lowered = ()
    """Why only a part of its value counts: it is not valid at the time that was asked about, say."""

    @property
    def counted(self) -> float:
        """What it is ordered by."""
        return self.value * part_left(self.lowered)


def part_left(lowered: Lowered) -> float:
    """The part of a value that counts."""
    return prod(part for _, part in lowered)


class WeighedInOrder(Sequence[Weighed]):
    """The members of a pool in order; each is made when it is looked at, because a page shows few of them."""

    def __init__(
        self, pool: Pool, places: Sequence[int], values: Sequence[float], lowered: Mapping[int, Lowered], shares: Shares
    ) -> None:
        self.pool = pool
        self.places = places
        self.values = values
        self.lowered = lowered
        self.shares = shares

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[Weighed]:
        return map(self._weighed, self.places)

    @overload
    def __getitem__(self, rank: int) -> Weighed: ...
    @overload
    def __getitem__(self, rank: slice) -> Sequence[Weighed]: ...
    def __getitem__(self, rank: int | slice) -> Weighed | Sequence[Weighed]:
        if isinstance(rank, slice):
            return [self._weighed(place) for place in self.places[rank]]
        return self._weighed(self.places[rank])

    def _weighed(self, place: int) -> Weighed:
        own = self.shares[place] if self.shares else ()
        return Weighed(Member(self.pool, place), self.values[place], own, lowered=self.lowered.get(place, ()))


@frozen
class Ranking:
    """A pool in order, and the weights that made it."""

    pool: Pool
    order: Sequence[Weighed]
    weights: Mapping[str, float]


@frozen
class Context:
    """All that the signals of one search look at."""

    items: Mapping[int, Item]
    boosts: Boosts
    now: datetime
    lexical_ranks: Mapping[int, int]
    vector_ranks: Mapping[int, int]
    best_lexical: float
    farthest: float
    most_important: float
    most_mentioned: float
    tfidf: Mapping[int, float]
    distances: Mapping[int, int]
    priors: Mapping[int, float]


Signal = Callable[[Context, int, Member, Item], float]
Shares = Sequence[tuple[SignalShare, ...]]
"""The parts of each member's value; empty if no explanation is wanted."""


def _when(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _temporal(context: Context, _: int, __: Member, item: Item) -> float:
    fields = item.fields
    return signals.temporal(_when(fields.valid_from), _when(fields.valid_until), item.updated_at, context.now)


def _decayed_recency(context: Context, _: int, __: Member, item: Item) -> float:
    return item.decay_score * signals.recency(item.updated_at, context.now)


def _importance(context: Context, _: int, __: Member, item: Item) -> float:
    """Importance over the largest found; for an entity without one, its mentions over the most found."""
    if item.fields.importance:
        return signals.relative(float(item.fields.importance), context.most_important)
    return signals.relative(mentions_of(item), context.most_mentioned)


def mentions_of(item: Item) -> float:
    """How often an item was mentioned, by our count and by what its metadata says."""
    given = item.fields.metadata.get("mention_count")
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 < given <= MOST_MENTIONS:
        return float(item.mention_count)
    return float(given) + item.mention_count


_OF_THE_SIDES: dict[str, Callable[[Pool], Array]] = {
    "lexical": lambda pool: pool.lexical,
    "vector": lambda pool: np.maximum(pool.cosines, 0.0),
}
"""Signals that are columns of the pool: the two sides."""
_SIGNALS: dict[str, Signal] = {
    "lexical_rank": lambda c, n, m, i: signals.rank_score(c.lexical_ranks.get(n)),
    "vector_rank": lambda c, n, m, i: signals.rank_score(c.vector_ranks.get(n)),
    "lexical_relative": lambda c, n, m, i: signals.relative(m.lexical, c.best_lexical),
    "lexical_reciprocal": lambda c, n, m, i: signals.reciprocal(c.lexical_ranks.get(n)),
    "vector_nearness": lambda c, n, m, i: signals.nearness(
        m.cosine if m.vector_chunk is not None else None, c.farthest
    ),
    "tfidf": lambda c, n, m, i: c.tfidf.get(n, 0.0),
    "severity": lambda c, n, m, i: signals.severity(i.fields.severity),
    "temporal": _temporal,
    "recency": lambda c, n, m, i: signals.recency(i.updated_at, c.now),
    "decayed_recency": _decayed_recency,
    "decay": lambda c, n, m, i: i.decay_score,
    "importance": _importance,
    "tags": lambda c, n, m, i: signals.overlap(c.boosts.tags, i.fields.tags),
    "domain": lambda c, n, m, i: signals.domain_match(c.boosts.domain, i.fields.domain),
    "graph": lambda c, n, m, i: signals.graph_proximity(c.distances.get(n)),
    "freshness": lambda c, n, m, i: signals.freshness(i.updated_at, c.now),
    "feedback": lambda c, n, m, i: c.priors.get(n, 0.5),
}


def needs_of(profile: Profile) -> Needs:
    """What a profile's signals and steps need to know of the candidates; signals without weight need nothing."""
    terms = list(profile.signals.values())
    used = {term.signal for term in terms if term.weight or term.without_vectors}
    return Needs(
        items=any(term.signal in OF_THE_ITEM for term in terms),
        tfidf="tfidf" in used,
        feedback="feedback" in used,
        thread_reach=REACH if profile.fusion == "spread" and "neighbours" in profile.refine else 0,
        link_seeds=GRAPH_SEEDS if "graph" in used else 0,
        learned_by=profile.name if profile.learns else "",
        vectors=profile.fusion == "spread" and not {"feedback", "questions"}.isdisjoint(profile.refine),
    )


def rank(
    pool: Pool,
    profile: Profile,
    boosts: Boosts,
    *,
    explain: bool = False,
    weights: Mapping[str, float] | None = None,
    as_of: datetime | None = None,
) -> Ranking:
    """The pool in order of value, ties by ref; with the shares of each signal where they are to be explained.

    ``weights`` are those of another pool, for items from beyond it. Items that are not valid now, or at the time
    ``as_of``, come after valid items that fit as well; so do those of branches that are not merged.
    """
    weights = _weights(pool, profile) if weights is None else weights
    raw = _raw_values(pool, boosts, profile, list(weights))
    given = [column * weight for column, weight in zip(raw, weights.values(), strict=True)]
    values = sum(given, np.zeros(len(pool)))
    shares: Shares = ()
    if explain and given:
        rows = zip(_rows_of(raw), _rows_of(given), strict=True)
        shares = [tuple(map(SignalShare, weights, row, weights.values(), parts)) for row, parts in rows]
    lowered = _lowered(pool, as_of or datetime.now(UTC))
    counted = values
    if lowered:
        counted = values.copy()
        counted[list(lowered)] *= [part_left(reasons) for reasons in lowered.values()]
    order = sorted(zip((-counted).tolist(), pool.found.refs, range(len(pool)), strict=True))
    places = [place for *_, place in order]
    return Ranking(pool, WeighedInOrder(pool, places, values.tolist(), lowered, shares), weights)


def _rows_of(columns: Sequence[Array]) -> list[tuple[float, ...]]:
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _lowered(pool: Pool, when: datetime) -> dict[int, Lowered]:
    """By the places of members of which only a part counts at a time: why."""
    known = pool.answer.windows.keys() | pool.unmerged.keys()
    if not known:
        return {}
    found = ((place, pool.lowered(n, when)) for place, n in enumerate(pool.found.numbers) if n in known)
    return {place: reasons for place, reasons in found if reasons}


def _raw_values(pool: Pool, boosts: Boosts, profile: Profile, labels: Sequence[str]) -> list[Array]:
    """For each signal that a profile names, its value for every member, in the members' order."""
    names = [profile.signals[label].signal for label in labels]
    if set(names) <= _OF_THE_SIDES.keys():
        return [_OF_THE_SIDES[name](pool) for name in names]
    members = pool.members()
    context = _context(pool, members, boosts, profile.per_side)
    known = context.items
    rows = [(member.n, member, known.get(member.n, NO_ITEM)) for member in members]
    return [
        _OF_THE_SIDES[name](pool)
        if name in _OF_THE_SIDES
        else np.array([_SIGNALS[name](context, *row) for row in rows], np.float64)
        for name in names
    ]


def _weights(pool: Pool, profile: Profile) -> dict[str, float]:
    weights = profile.weights(vectors=pool.has_vectors, words=pool.has_words)
    if profile.fusion == "spread" and all(weights.get(side) for side in SIDES):
        weights = _spread(pool, weights)  # a side without weight keeps none
    shift = pool.answer.learned_shift
    return shifted(weights, profile.learns, shift) if profile.learns and shift else weights


def _spread(pool: Pool, weights: Mapping[str, float]) -> dict[str, float]:
    """Divide the weight of the two sides by how well each separates the members of this pool."""
    lexical, vector = spread_weights(
        pool.lexical,
        np.maximum(pool.cosines, 0.0),
        (weights.get("lexical", 0.0), weights.get("vector", 0.0)),
        pool.belief,
    )
    return {**weights, "lexical": lexical, "vector": vector}


def _context(pool: Pool, members: Sequence[Member], boosts: Boosts, per_side: int) -> Context:
    """What the signals look at: ranks within each side's own best, and the extremes of the pool."""
    answer = pool.answer
    found = sorted((-m.lexical, m.ref, m.n) for m in members if m.lexical > 0)
    near = sorted((-m.cosine, m.ref, m.n) for m in members if pool.has_vectors and m.vector_chunk is not None)
    return Context(
        answer.items,
        boosts,
        datetime.now(UTC),
        {n: rank for rank, (*_, n) in enumerate(found[:per_side], start=1)},
        {n: rank for rank, (*_, n) in enumerate(near[:per_side], start=1)},
        float(pool.lexical.max(initial=0.0)),
        max((1.0 + minus for minus, *_ in near), default=0.0),
        max((float(item.fields.importance or 0) for item in answer.items.values()), default=0.0),
        max((mentions_of(item) for item in answer.items.values() if not item.fields.importance), default=0.0),
        answer.tfidf,
        answer.distances,
        answer.feedback,
    )
