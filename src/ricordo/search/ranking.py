"""Puts a pool in order: adds up every signal that the profile names, times its weight.

Signals are pure functions with values in [0, 1]; none decides alone. ``rank`` gives each item its shares; their
contributions, added in the order shown, are exactly the value it is ranked by. ``needs_of`` says what the signals of a
profile need beyond the two scores; the store brings it with the candidates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import prod
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from ricordo.errors import UsageError
from ricordo.frozen import frozen
from ricordo.search.candidates import Array, Lowered, Member, Pool
from ricordo.search.profiles import SIDES, Profile
from ricordo.search.request import Boosts
from ricordo.store.query import Needs
from ricordo.values.hits import Filters, SignalShare
from ricordo.values.items import Fields, Item, Ref
from ricordo.values.kinds import KINDS
from ricordo.values.use import shifted

RANK_CONSTANT = 60
RECENCY_DAYS = 365.0
FRESHNESS_DAYS = 30.0
DECAY_ZONE = 0.25
"""The last part of a validity window, over which an item fades."""
SEVERITY = {"critical": 1.0, "warning": 0.7, "suggestion": 0.4}
GRAPH = {0: 1.0, 1: 0.5, 2: 0.33}
_DAY = timedelta(days=1)


def halving(age: timedelta, days: float) -> float:
    """1 when new, one half after ``days``; the future counts as now."""
    return float(0.5 ** (max(age / _DAY, 0.0) / days))


def recency(changed: datetime, now: datetime) -> float:
    """How recently the content changed, with a half-life of a year."""
    return halving(now - changed, RECENCY_DAYS)


def freshness(changed: datetime, now: datetime) -> float:
    """How recently the content changed, with a half-life of a month."""
    return halving(now - changed, FRESHNESS_DAYS)


def validity(start: datetime, end: datetime, now: datetime) -> float:
    """1 for the first three quarters of a window, then linear to 0 at its end; 0 outside, and in an empty window."""
    if not start <= now < end:
        return 0.0
    return min(1.0, (end - now) / (end - start) / DECAY_ZONE)


def temporal(start: datetime | None, end: datetime | None, changed: datetime, now: datetime) -> float:
    """The validity window if both dates exist, else recency; with only one date, 0 outside of it."""
    if start is not None and end is not None:
        return validity(start, end, now)
    is_outside = (start is not None and now < start) or (end is not None and now >= end)
    return 0.0 if is_outside else recency(changed, now)


def severity(value: str | None) -> float:
    """critical 1, warning .7, suggestion .4, none 0."""
    return SEVERITY.get(value or "", 0.0)


def overlap(wanted: Collection[str], tags: Collection[str]) -> float:
    """Jaccard similarity of two sets of tags, case ignored."""
    one, other = {tag.lower() for tag in wanted}, {tag.lower() for tag in tags}
    return len(one & other) / len(one | other) if one and other else 0.0


def domain_match(wanted: str | None, domain: str | None) -> float:
    """1 for the same domain, else 0."""
    return float(bool(wanted) and bool(domain) and str(wanted).lower() == str(domain).lower())


def graph_proximity(distance: int | None) -> float:
    """1 for a best match itself, .5 and .33 for one and two links away, 0 beyond."""
    return GRAPH.get(distance, 0.0) if distance is not None else 0.0


def rank_score(rank: int | None) -> float:
    """Reciprocal rank as fusion by ranks uses it, scaled so that the first place is 1; ranks from 1."""
    return 0.0 if rank is None else (RANK_CONSTANT + 1) / (RANK_CONSTANT + rank)


def reciprocal(rank: int | None) -> float:
    """1/(1 + rank) with ranks from 1 counted as 0, 1, 2, …: first place 1, second one half."""
    return 0.0 if rank is None else 1.0 / rank


def relative(value: float, best: float) -> float:
    """A value over the best in the pool."""
    return value / best if best > 0 else 0.0


def nearness(cosine: float | None, farthest: float) -> float:
    """1 − distance / the largest distance in the pool; without a vector 0."""
    if cosine is None:
        return 0.0
    return min(1.0, max(0.0, 1.0 - (1.0 - cosine) / farthest)) if farthest > 0 else 1.0


PRIOR = 15
USUAL_COSINES = 0.085
USUAL_LEXICAL = 0.16
"""Usual spreads of the two sides, as the refined pool holds them."""

Values = Sequence[float] | npt.NDArray[Any]


def spread_weights(
    lexical: Values, cosines: Values, shares: tuple[float, float], belief: float = 1.0
) -> tuple[float, float]:
    """The weights ``(lexical, vector)`` of the two sides; their sum stays the same.

    ``belief`` is the part of its weight that the keyword side keeps; the rest goes to the vector side.
    """
    lexical_share, vector_share = shares
    together = lexical_share + vector_share
    if not np.any(lexical):
        return 0.0, together
    if not np.any(cosines):
        return together, 0.0
    spread_lexical, spread_vector = steady_spreads(lexical, cosines)
    steady_lexical, steady_vector = lexical_share * belief / spread_lexical, vector_share / spread_vector
    vector = together * steady_vector / (steady_vector + steady_lexical)
    return together - vector, vector


def steady_spreads(lexical: Values, cosines: Values) -> tuple[float, float]:
    """The spreads of both sides, mixed with the usual ones."""
    return steady_spread(lexical, USUAL_LEXICAL), steady_spread(cosines, USUAL_COSINES)


def steady_spread(values: Values, usual: float) -> float:
    """The spread of some values, with the usual one counted PRIOR times."""
    count = len(values)
    away = np.asarray(values) - np.mean(values)
    return math.sqrt((float(away @ away) + PRIOR * usual**2) / (count + PRIOR))


GRAPH_SEEDS = 5
THREAD_REACH = 2
"""How many turns before and after one are its neighbours."""
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
    return temporal(_when(fields.valid_from), _when(fields.valid_until), item.updated_at, context.now)


def _importance(context: Context, _: int, __: Member, item: Item) -> float:
    """Importance over the largest found; for an entity without one, its mentions over the most found."""
    if item.fields.importance:
        return relative(float(item.fields.importance), context.most_important)
    return relative(mentions_of(item), context.most_mentioned)


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
    "lexical_rank": lambda c, n, m, i: rank_score(c.lexical_ranks.get(n)),
    "vector_rank": lambda c, n, m, i: rank_score(c.vector_ranks.get(n)),
    "lexical_relative": lambda c, n, m, i: relative(m.lexical, c.best_lexical),
    "lexical_reciprocal": lambda c, n, m, i: reciprocal(c.lexical_ranks.get(n)),
    "vector_nearness": lambda c, n, m, i: nearness(m.cosine if m.vector_chunk is not None else None, c.farthest),
    "tfidf": lambda c, n, m, i: c.tfidf.get(n, 0.0),
    "severity": lambda c, n, m, i: severity(i.fields.severity),
    "temporal": _temporal,
    "recency": lambda c, n, m, i: recency(i.updated_at, c.now),
    "decayed_recency": lambda c, n, m, i: i.decay_score * recency(i.updated_at, c.now),
    "decay": lambda c, n, m, i: i.decay_score,
    "importance": _importance,
    "tags": lambda c, n, m, i: overlap(c.boosts.tags, i.fields.tags),
    "domain": lambda c, n, m, i: domain_match(c.boosts.domain, i.fields.domain),
    "graph": lambda c, n, m, i: graph_proximity(c.distances.get(n)),
    "freshness": lambda c, n, m, i: freshness(i.updated_at, c.now),
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
        thread_reach=THREAD_REACH if profile.fusion == "spread" and "neighbours" in profile.refine else 0,
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
    ``as_of``, come after valid items that fit as well.
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
    windows = pool.answer.windows
    found = ((place, pool.lowered(n, when)) for place, n in enumerate(pool.found.numbers) if n in windows)
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


ON_THEIR_OWN = ("memory", "session")
NO_KIND = ("\x00none",)
"""A filter that nothing passes."""


def memory_score_of(profile: Profile) -> float:
    """The score of a memory in this profile; a usage error if the profile has no such score."""
    if profile.memory_score is None:
        raise UsageError(
            f"the profile '{profile.name}' ranks memories with everything else",
            hint="Leave out ‹memories›, or use ‹profile=vault›.",
        )
    return profile.memory_score


def memories_apart(filters: Filters) -> tuple[Filters, Filters]:
    """The filters for everything but memories, and those for memories alone.

    A filter by kind that names neither memories nor sessions does not apply to them, because they were asked for in
    addition.
    """
    kinds = filters.kinds or KINDS
    rest = tuple(kind for kind in kinds if kind not in ON_THEIR_OWN) or NO_KIND
    own = tuple(kind for kind in kinds if kind in ON_THEIR_OWN) or ON_THEIR_OWN
    return replace(filters, kinds=rest), replace(filters, kinds=own)


def with_memories(ranking: Ranking, found: Pool, score: float, as_of: datetime | None = None) -> Ranking:
    """The order of all hits by value; memories, which all have the same value, are ordered by how well their words
    match.

    The ranking then holds the members of both pools.
    """
    pool = ranking.pool
    pool.total += found.total
    share = SignalShare("memory", score, 1.0, score)
    best = sorted(found.members(), key=lambda member: (-member.lexical, member.ref))
    pool.others.append(found)
    moment = as_of or datetime.now(UTC)
    memories = [Weighed(member, score, (share,), lowered=found.lowered(member.n, moment)) for member in best]
    return replace(ranking, order=sorted([*ranking.order, *memories], key=lambda entry: -entry.counted))
