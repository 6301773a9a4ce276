"""The signals that a profile may weigh, one row each: what it is, and its value for a candidate, from 0 to 1."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from ricordo.frozen import frozen

if TYPE_CHECKING:
    from ricordo.search.candidates import Member
    from ricordo.search.request import Boosts
    from ricordo.values.items import Item

RANK_CONSTANT = 60
RECENCY_DAYS = 365.0
FRESHNESS_DAYS = 30.0
DECAY_ZONE = 0.25
"""The last part of a validity window, over which an item fades."""
SEVERITY = {"critical": 1.0, "warning": 0.7, "suggestion": 0.4}
GRAPH = {0: 1.0, 1: 0.5, 2: 0.33}
MOST_MENTIONS = 1e12
"""The largest number of mentions that is believed; metadata may hold anything, so other values are ignored."""
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
    first, second = {tag.lower() for tag in wanted}, {tag.lower() for tag in tags}
    return len(first & second) / len(first | second) if first and second else 0.0


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


def mentions_of(item: Item) -> float:
    """How often an item was mentioned, by our count and by what its metadata says."""
    given = item.fields.metadata.get("mention_count")
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 < given <= MOST_MENTIONS:
        return float(item.mention_count)
    return float(given) + item.mention_count


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


def _temporal(c: Context, n: int, m: Member, i: Item) -> float:
    start, end = (datetime.fromisoformat(day) if day else None for day in (i.fields.valid_from, i.fields.valid_until))
    return temporal(start, end, i.updated_at, c.now)


def _importance(c: Context, n: int, m: Member, i: Item) -> float:
    """Importance over the largest found; for an entity without one, its mentions over the most found."""
    if i.fields.importance:
        return relative(float(i.fields.importance), c.most_important)
    return relative(mentions_of(i), c.most_mentioned)


WORDS, VECTORS, ITEM, POOL = "words", "vectors", "item", "pool"


@frozen
class Signal:
    """A signal: what it is, what it looks at, and its value for a candidate, given its number, member and item."""

    meaning: str
    of: str
    """The side without which it has no value (words, vectors), the item itself, or what is known of the pool."""
    value: Callable[[Context, int, Member, Item], float]


SIGNALS: Mapping[str, Signal] = {
    name: Signal(meaning, of, value)
    for name, meaning, of, value in (
        ("lexical", "keyword score over the highest this query allows", WORDS,
         lambda c, n, m, i: m.lexical),
        ("vector", "cosine of query and passage, 0 when negative", VECTORS,
         lambda c, n, m, i: max(m.cosine, 0.0)),
        ("lexical_rank", "61 / (60 + rank by words)", WORDS,
         lambda c, n, m, i: rank_score(c.lexical_ranks.get(n))),
        ("vector_rank", "61 / (60 + rank by meaning)", VECTORS,
         lambda c, n, m, i: rank_score(c.vector_ranks.get(n))),
        ("lexical_relative", "keyword score over the best found", WORDS,
         lambda c, n, m, i: relative(m.lexical, c.best_lexical)),
        ("lexical_reciprocal", "1 / rank by words", WORDS,
         lambda c, n, m, i: reciprocal(c.lexical_ranks.get(n))),
        ("vector_nearness", "1 - distance / the largest distance found", VECTORS,
         lambda c, n, m, i: nearness(m.cosine if m.vector_chunk is not None else None, c.farthest)),
        ("tfidf", "cosine of the TF-IDF vectors of query and item", POOL,
         lambda c, n, m, i: c.tfidf.get(n, 0.0)),
        ("severity", "critical 1, warning .7, suggestion .4", ITEM,
         lambda c, n, m, i: severity(i.fields.severity)),
        ("temporal", "the validity window where there is one, else recency", ITEM, _temporal),
        ("recency", "halves every 365 days since the content changed", ITEM,
         lambda c, n, m, i: recency(i.updated_at, c.now)),
        ("decayed_recency", "recency times decay", ITEM,
         lambda c, n, m, i: i.decay_score * recency(i.updated_at, c.now)),
        ("decay", "the decay score: halves every 30 days unopened", ITEM,
         lambda c, n, m, i: i.decay_score),
        ("importance", "importance, or mentions, over the most found", ITEM, _importance),
        ("tags", "tags shared with --boost-tags, over all of both", ITEM,
         lambda c, n, m, i: overlap(c.boosts.tags, i.fields.tags)),
        ("domain", "1 when the domain is that of --boost-domain", ITEM,
         lambda c, n, m, i: domain_match(c.boosts.domain, i.fields.domain)),
        ("graph", "1, .5, .33 for 0, 1, 2 links from the best 5 by words", POOL,
         lambda c, n, m, i: graph_proximity(c.distances.get(n))),
        ("freshness", "halves every 30 days since the content changed", ITEM,
         lambda c, n, m, i: freshness(i.updated_at, c.now)),
        ("feedback", "what verdicts on the item say, .5 without any", POOL,
         lambda c, n, m, i: c.priors.get(n, 0.5)),
    )
}  # fmt: skip
"""Every signal a profile may use."""
