"""Puts a pool in order: adds up every signal that the profile names, times its weight.

Signals have values in [0, 1]; none decides alone. ``rank`` gives each item its shares; their contributions, added in
the order shown, are exactly the value it is ranked by. ``needs_of`` says what the signals of a profile need beyond the
two scores; the store brings it with the candidates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ricordo.errors import UsageError
from ricordo.frozen import frozen
from ricordo.search.candidates import Array, Lowered, Member, Pool
from ricordo.search.profiles import SIDES, Profile
from ricordo.search.request import Boosts
from ricordo.search.signals import ITEM, SIGNALS, Context, mentions_of
from ricordo.store.query import Needs
from ricordo.values.hits import Explain, Filters, SignalShare
from ricordo.values.items import Fields, Item, Ref
from ricordo.values.kinds import KINDS
from ricordo.values.use import shifted

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
NO_ITEM = Item("", Ref("agent", "/"), "document", "live", 0, "", "", Fields(), datetime.min, datetime.min)
"""Used in place of the item if no signal looks at it."""


@frozen
class Ranked:
    """A member with its place in the ranking: the value it was ranked by, its score, and why.

    ``matched`` is the passage that the words of the query are explained by.
    """

    n: int
    value: float
    score: float
    member: Member
    version: int | None = None
    matched: int | None = None
    explain: Explain | None = None
    repeats: bool = False
    """Whether it is a turn of a session that says nothing but what was asked."""

    @property
    def chunks(self) -> tuple[tuple[int, float], ...]:
        return self.member.evidence

    @property
    def best_chunk(self) -> int | None:
        return self.chunks[0][0] if self.chunks else None

    def scored(self, score: float, why: str) -> Ranked:
        """The same with another score, for a reason that is shown."""
        if self.explain is None:
            return replace(self, score=score)
        return replace(self, score=score, explain=replace(self.explain, steps=(*self.explain.steps, (why, score))))


def ranked(
    member: Member, value: float, shares: tuple[SignalShare, ...] = (), lowered: Lowered = (), *, explain: bool
) -> Ranked:
    """A member that is ranked by a value, of which only a part may count."""
    score = min(1.0, max(0.0, value))
    why = Explain(value, shares) if explain else None
    entry = Ranked(member.n, value, score, member, member.version, member.lexical_chunk, why)
    for reason, part in lowered:
        entry = entry.scored(entry.score * part, f"{reason} ×{part}")
    return entry


@frozen
class Ranking:
    """The members of a pool in order, made when they are looked at (once), and the weights that made the order."""

    pool: Pool
    order: Iterable[Ranked]
    weights: Mapping[str, float]


def needs_of(profile: Profile) -> Needs:
    """What a profile's signals and steps need to know of the candidates; signals without weight need nothing."""
    terms = list(profile.signals.values())
    used = {term.signal for term in terms if term.weight or term.without_vectors}
    return Needs(
        items=any(SIGNALS[term.signal].of == ITEM for term in terms),
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
    shares: Sequence[tuple[SignalShare, ...]] = [()] * len(pool)
    if explain and given:
        rows = zip(_rows_of(raw), _rows_of(given), strict=True)
        shares = [tuple(map(SignalShare, weights, row, weights.values(), parts)) for row, parts in rows]
    when, windows = as_of or datetime.now(UTC), pool.answer.windows
    lowered = {place: pool.lowered(n, when) for place, n in enumerate(pool.found.numbers) if n in windows}
    counted = values
    if lowered:
        counted = values.copy()
        counted[list(lowered)] *= [prod(part for _, part in reasons) for reasons in lowered.values()]
    order = sorted(zip((-counted).tolist(), pool.found.refs, range(len(pool)), strict=True))
    listed = values.tolist()
    entries = (
        ranked(Member(pool, place), listed[place], shares[place], lowered.get(place, ()), explain=explain)
        for *_, place in order
    )
    return Ranking(pool, entries, weights)


def _rows_of(columns: Sequence[Array]) -> list[tuple[float, ...]]:
    return list(zip(*(column.tolist() for column in columns), strict=True))


_COLUMNS: dict[str, Callable[[Pool], Array]] = {
    "lexical": lambda pool: pool.lexical,
    "vector": lambda pool: np.maximum(pool.cosines, 0.0),
}
"""Signals that are columns of the pool already: the two sides."""


def _raw_values(pool: Pool, boosts: Boosts, profile: Profile, labels: Sequence[str]) -> list[Array]:
    """For each signal that a profile names, its value for every member, in the members' order."""
    names = [profile.signals[label].signal for label in labels]
    if set(names) <= _COLUMNS.keys():
        return [_COLUMNS[name](pool) for name in names]
    members = pool.members()
    context = _context(pool, members, boosts, profile.per_side)
    rows = [(member.n, member, context.items.get(member.n, NO_ITEM)) for member in members]
    return [
        _COLUMNS[name](pool)
        if name in _COLUMNS
        else np.array([SIGNALS[name].value(context, *row) for row in rows], np.float64)
        for name in names
    ]


def _weights(pool: Pool, profile: Profile) -> dict[str, float]:
    """The profile's weights; with ``spread``, each side's by how well it separates the members of this pool."""
    weights = profile.weights(vectors=pool.has_vectors, words=pool.has_words)
    if profile.fusion == "spread" and all(weights.get(side) for side in SIDES):  # a side without weight keeps none
        shares = weights["lexical"], weights["vector"]
        sides = spread_weights(pool.lexical, np.maximum(pool.cosines, 0.0), shares, pool.belief)
        weights |= zip(SIDES, sides, strict=True)
    shift = pool.answer.learned_shift
    return shifted(weights, profile.learns, shift) if profile.learns and shift else weights


def _context(pool: Pool, members: Sequence[Member], boosts: Boosts, per_side: int) -> Context:
    """What the signals look at: ranks within each side's own best, and the extremes of the pool."""
    answer = pool.answer
    by_words = sorted((-m.lexical, m.ref, m.n) for m in members if m.lexical > 0)
    by_meaning = sorted((-m.cosine, m.ref, m.n) for m in members if pool.has_vectors and m.vector_chunk is not None)
    return Context(
        answer.items,
        boosts,
        datetime.now(UTC),
        {n: rank for rank, (*_, n) in enumerate(by_words[:per_side], start=1)},
        {n: rank for rank, (*_, n) in enumerate(by_meaning[:per_side], start=1)},
        float(pool.lexical.max(initial=0.0)),
        max((1.0 + minus for minus, *_ in by_meaning), default=0.0),
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


def with_memories(
    ranking: Ranking, pool: Pool, score: float, *, explain: bool, as_of: datetime | None = None
) -> Ranking:
    """The order of all hits by value; memories, which all have the same value, are ordered by how well their words
    match.
    """
    ranking.pool.total += pool.total
    ranking.pool.others.append(pool)
    share = SignalShare("memory", score, 1.0, score)
    best = sorted(pool.members(), key=lambda member: (-member.lexical, member.ref))
    moment = as_of or datetime.now(UTC)
    memories = [ranked(member, score, (share,), pool.lowered(member.n, moment), explain=explain) for member in best]
    return merged(ranking, memories)


def merged(ranking: Ranking, others: Iterable[Ranked]) -> Ranking:
    """The ranking with members of another pool, all by their scores."""
    return replace(ranking, order=sorted([*ranking.order, *others], key=lambda entry: -entry.score))
