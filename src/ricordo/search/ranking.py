"""From a pool to an order: every signal the profile names, weighed and added up, nothing hidden.

``rank`` gives each item its shares; their contributions, added in the order shown, are exactly the value it is ranked
by. What a signal needs beyond the pool (links, term frequencies, feedback) is loaded once, and only if it has weight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ricordo.frozen import frozen
from ricordo.memory.learning import shifted
from ricordo.search import signals
from ricordo.search.fusion import spread_weights
from ricordo.search.profile import SIDES, Profile
from ricordo.search.request import Boosts
from ricordo.search.sides import Member, Pool
from ricordo.store.base import Store
from ricordo.text.words import Analyzer
from ricordo.values.hits import SignalShare
from ricordo.values.items import Fields, Item, Ref

GRAPH_SEEDS = 5
MOST_TIES = 200
OF_THE_POOL = frozenset({"lexical", "vector"})
"""Signals that look at nothing but the pool."""
NO_ITEM = Item("", Ref("agent", "/"), "document", "live", 0, "", "", Fields(), datetime.min, datetime.min)
"""Stands in where no signal looks at the item."""
MOST_MENTIONS = 1e12
"""Metadata may hold anything; what is no count (negative, infinite, absurd) says nothing."""


@frozen
class Standing:
    """An item with the value it is ranked by and what made it up."""

    n: int
    value: float
    shares: tuple[SignalShare, ...]


@dataclass(slots=True)
class Context:
    """All that the signals of one search look at."""

    pool: Pool
    items: Mapping[int, Item]
    boosts: Boosts
    now: datetime
    lexical_ranks: dict[int, int] = field(default_factory=dict)
    vector_ranks: dict[int, int] = field(default_factory=dict)
    best_lexical: float = 0.0
    farthest: float = 0.0
    most_important: float = 0.0
    tfidf: Mapping[int, float] = field(default_factory=dict)
    distances: Mapping[int, int] = field(default_factory=dict)
    priors: Mapping[int, float] = field(default_factory=dict)


Signal = Callable[[Context, int, Member, Item], float]


def _when(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _temporal(context: Context, _: int, __: Member, item: Item) -> float:
    fields = item.fields
    return signals.temporal(_when(fields.valid_from), _when(fields.valid_until), item.updated_at, context.now)


def _decayed_recency(context: Context, _: int, __: Member, item: Item) -> float:
    return item.decay_score * signals.recency(item.updated_at, context.now)


def importance_of(item: Item) -> float:
    """Its importance; how often it was mentioned stands in for an entity without one."""
    if item.fields.importance:
        return float(item.fields.importance)
    given = item.fields.metadata.get("mention_count")
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 < given <= MOST_MENTIONS:
        return float(item.mention_count)
    return float(given) + item.mention_count


_SIGNALS: dict[str, Signal] = {
    "lexical": lambda c, n, m, i: m.lexical,
    "vector": lambda c, n, m, i: max(m.cosine, 0.0),
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
    "importance": lambda c, n, m, i: signals.relative(importance_of(i), c.most_important),
    "tags": lambda c, n, m, i: signals.overlap(c.boosts.tags, i.fields.tags),
    "domain": lambda c, n, m, i: signals.domain_match(c.boosts.domain, i.fields.domain),
    "graph": lambda c, n, m, i: signals.graph_proximity(c.distances.get(n)),
    "freshness": lambda c, n, m, i: signals.freshness(i.updated_at, c.now),
    "feedback": lambda c, n, m, i: c.priors.get(n, 0.5),
}


class Ranker:
    """Ranks pools of one store."""

    def __init__(self, store: Store, analyzer: Analyzer) -> None:
        self.store = store
        self.analyzer = analyzer

    def rank(
        self, pool: Pool, profile: Profile, query_text: str, boosts: Boosts, limit: int, wanted: int = 0
    ) -> tuple[list[Standing], dict[int, Item], dict[str, float]]:
        """The pool in order of value (ties by ref), its items, and the weights that were used.

        ``wanted`` is how many of the best are looked at: where no signal needs more, only theirs are loaded.
        """
        weights = self._weights(pool, profile)
        used = {profile.signals[label].signal for label, weight in weights.items() if weight}
        if {term.signal for term in profile.signals.values()} <= OF_THE_POOL:
            return *self._by_pool_alone(pool, profile, weights, max(wanted, limit)), weights
        if "graph" in used:
            distances = self._join_neighbours(pool)
        items = self.store.items.get_many(list(pool.members))
        context = Context(pool, items, boosts, datetime.now(UTC))
        self._measure(context, per_side=profile.per_side(limit))
        if "graph" in used:
            context.distances = distances
        if "tfidf" in used:
            context.tfidf = self._tfidf(pool, items, query_text)
        if "feedback" in used:
            context.priors = self.store.lessons.feedback_priors(list(pool.members))
        standings = [
            self._standing(context, profile, weights, n, member) for n, member in pool.members.items() if n in items
        ]
        standings.sort(key=lambda entry: (-entry.value, str(items[entry.n].ref)))
        return standings, items, weights

    def _by_pool_alone(
        self, pool: Pool, profile: Profile, weights: Mapping[str, float], wanted: int
    ) -> tuple[list[Standing], dict[int, Item]]:
        """The best by what the pool itself knows; items are loaded for those alone, and those that tie with them."""
        context = Context(pool, {}, Boosts(), datetime.now(UTC))
        parts = [(_SIGNALS[profile.signals[label].signal], weight) for label, weight in weights.items()]
        values = {
            n: sum(raw(context, n, member, NO_ITEM) * weight for raw, weight in parts)
            for n, member in pool.members.items()
        }
        best = sorted(values, key=lambda n: (-values[n], n))
        if len(best) > wanted:
            last = values[best[wanted - 1]]
            best = [n for n in best[: wanted + MOST_TIES] if values[n] >= last]
        items = self.store.items.get_many(best)
        standings = [self._standing(context, profile, weights, n, pool.members[n]) for n in best if n in items]
        standings.sort(key=lambda entry: (-entry.value, str(items[entry.n].ref)))
        return standings, items

    def _weights(self, pool: Pool, profile: Profile) -> dict[str, float]:
        weights = profile.weights(vectors=pool.has_vectors)
        if profile.fusion == "spread" and all(weights.get(side) for side in SIDES):
            weights = self._spread(pool, weights)  # a side that was given no weight gets none
        shift = self.store.lessons.learned_shift(profile.name) if profile.learns else 0.0
        return shifted(weights, profile.learns, shift) if profile.learns and shift else weights

    def _spread(self, pool: Pool, weights: Mapping[str, float]) -> dict[str, float]:
        """Share what the two sides have together by how well each tells this pool apart."""
        members = list(pool.members.values())
        lexical, vector = spread_weights(
            [member.lexical for member in members],
            [max(member.cosine, 0.0) for member in members],
            (weights.get("lexical", 0.0), weights.get("vector", 0.0)),
            pool.belief,
        )
        return {**weights, "lexical": lexical, "vector": vector}

    def _standing(
        self, context: Context, profile: Profile, weights: Mapping[str, float], n: int, member: Member
    ) -> Standing:
        shares = []
        for label, weight in weights.items():
            raw = _SIGNALS[profile.signals[label].signal](context, n, member, context.items.get(n, NO_ITEM))
            shares.append(SignalShare(label, raw, weight, raw * weight))
        return Standing(n, sum(share.contribution for share in shares), tuple(shares))

    def _measure(self, context: Context, per_side: int) -> None:
        """Ranks within each side's own best, and the extremes of the pool."""
        members = context.pool.members
        refs = {n: str(item.ref) for n, item in context.items.items()}
        found = [(-m.lexical, refs[n], n) for n, m in members.items() if m.lexical > 0 and n in refs]
        context.lexical_ranks = {n: rank for rank, (*_, n) in enumerate(sorted(found)[:per_side], start=1)}
        near = [(-m.cosine, refs[n], n) for n, m in members.items() if m.vector_chunk is not None and n in refs]
        context.vector_ranks = {n: rank for rank, (*_, n) in enumerate(sorted(near)[:per_side], start=1)}
        context.best_lexical = max((m.lexical for m in members.values()), default=0.0)
        context.farthest = max((1.0 + minus for minus, *_ in near), default=0.0)
        context.most_important = max((importance_of(item) for item in context.items.values()), default=0.0)

    def _join_neighbours(self, pool: Pool) -> dict[int, int]:
        """Distances from the best text matches; linked items outside the pool join it."""
        best = sorted(pool.members.items(), key=lambda entry: (-entry[1].lexical, -entry[1].cosine, entry[0]))
        seeds = [n for n, member in best[:GRAPH_SEEDS] if member.lexical > 0 or member.cosine > 0]
        distances = self.store.links.neighbours(seeds, depth=2) if seeds else {}
        if pool.join is not None:
            pool.join(distances)
        return distances

    def _tfidf(self, pool: Pool, items: Mapping[int, Item], query_text: str) -> dict[int, float]:
        """TF-IDF cosine of the query with each item's best chunk and its fields, stop words left out."""
        chunks = {n: m.lexical_chunk or m.vector_chunk for n, m in pool.members.items()}
        texts = self.store.index.chunk_texts([chunk for chunk in chunks.values() if chunk is not None])
        counts: dict[int, dict[str, int]] = {}
        for n, item in items.items():
            chunk = chunks.get(n)
            body = texts[chunk][2] if chunk in texts else ""
            fields = item.fields
            whole = "\n".join((fields.title, fields.description, fields.context, " ".join(fields.tags), body))
            counts[n] = self.analyzer.content_counts(whole)
        query = self.analyzer.content_counts(query_text)
        terms = {term for table in counts.values() for term in table} | set(query)
        total, frequencies = self.store.index.document_frequencies(terms)
        idf = {term: signals.tfidf_idf(total, frequencies.get(term, 0)) for term in terms}
        return {n: signals.tfidf_cosine(query, table, idf) for n, table in counts.items()}
