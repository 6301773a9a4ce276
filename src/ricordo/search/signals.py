"""The signals of ranking that come from an item itself: pure functions with values in [0, 1].

A signal never decides alone: a profile names the ones it uses and weighs them. Nothing here reads a store.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

RANK_CONSTANT = 60
RECENCY_DAYS = 365.0
FRESHNESS_DAYS = 30.0
DECAY_ZONE = 0.25
"""The last part of a validity window, over which an item fades."""
OUT_OF_TIME = 0.3
"""The part of its value that counts for an item that is not valid at the time asked about, in every profile."""
UNMERGED = 0.8
"""The same for an item that was saved on a branch which is not merged, unless that branch is checked out."""
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
