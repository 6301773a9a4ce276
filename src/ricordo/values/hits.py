"""What a search is asked and what it answers: filters, hits, their passages and their explanation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from ricordo.frozen import frozen
from ricordo.values.items import Item


@frozen
class Filters:
    """Conditions on items, applied before the best are picked. Empty means no condition."""

    kinds: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    tags_all: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    severities: tuple[str, ...] = ()
    drives: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    loadings: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    importance_min: int | None = None
    after: datetime | None = None
    before: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    states: tuple[str, ...] = ("live",)

    def is_empty(self) -> bool:
        return self == Filters()


@frozen
class TermShare:
    """What one query word gave to a hit: in which fields it stands, how rare it is, what it added."""

    term: str
    frequencies: Mapping[str, int]
    idf: float
    contribution: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "term": self.term,
            "frequencies": dict(self.frequencies),
            "idf": self.idf,
            "contribution": self.contribution,
        }


@frozen
class SignalShare:
    """One signal's raw value, its weight, and their product: what it added to the ranking value."""

    name: str
    value: float
    weight: float
    contribution: float

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "value": self.value, "weight": self.weight, "contribution": self.contribution}


@frozen
class Explain:
    """Why a hit stands where it does. ``signals`` add up exactly to ``value``; ``steps`` lead from it to the score."""

    value: float
    signals: tuple[SignalShare, ...] = ()
    terms: tuple[TermShare, ...] = ()
    steps: tuple[tuple[str, float], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "value": self.value,
            "signals": [share.to_dict() for share in self.signals],
            "terms": [share.to_dict() for share in self.terms],
            "steps": [{"step": name, "value": value} for name, value in self.steps],
        }


@frozen
class Evidence:
    """A passage of a hit that matched: its lines in the original, and the place's label (a page, say)."""

    chunk: int
    lines: tuple[int, int]
    text: str
    heading: str = ""
    place: str = ""
    score: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        return {
            "lines": list(self.lines),
            "heading": self.heading,
            "place": self.place,
            "text": self.text,
            "score": self.score,
        }


@frozen
class Hit:
    """One ranked item with the passage that earned its place."""

    ref: str
    id: str
    title: str
    description: str
    kind: str
    score: float
    snippet: str
    lines: tuple[int, int]
    domain: str | None = None
    severity: str | None = None
    tags: tuple[str, ...] = ()
    tier: str = ""
    place: str = ""
    token_estimate: int = 0
    version: int = 0
    evidence: tuple[Evidence, ...] = ()
    item: Item | None = None
    explain: Explain | None = None

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = {
            name: getattr(self, name)
            for name in (
                "ref", "id", "title", "description", "kind", "domain", "severity", "tier", "score",
                "snippet", "place", "token_estimate",
            )
        }  # fmt: skip
        plain["tags"] = list(self.tags)
        plain["lines"] = list(self.lines)
        plain["evidence"] = [part.to_dict() for part in self.evidence]
        if self.item is not None:
            plain["item"] = self.item.to_dict()
        if self.explain is not None:
            plain["explain"] = self.explain.to_dict()
        return plain


@frozen
class SearchMeta:
    """How an answer came about: counts, time, profile, tiers, and what could not be used."""

    candidates: int
    returned: int
    milliseconds: float
    profile: str
    weights: Mapping[str, float] = field(default_factory=dict)
    tiers: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "candidates": self.candidates,
            "returned": self.returned,
            "milliseconds": self.milliseconds,
            "profile": self.profile,
            "weights": dict(self.weights),
            "tiers": list(self.tiers),
            "degraded": list(self.degraded),
            "notes": list(self.notes),
        }


@frozen
class Answer:
    """The answer to a search."""

    hits: tuple[Hit, ...]
    meta: SearchMeta

    def to_dict(self) -> dict[str, Any]:
        return {"hits": [hit.to_dict() for hit in self.hits], "meta": self.meta.to_dict()}


@frozen
class GrepMatch:
    """A line of a stored text that a pattern matches, with its neighbours."""

    ref: str
    line: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "ref": self.ref,
            "line": self.line,
            "text": self.text,
            "before": list(self.before),
            "after": list(self.after),
        }


@frozen
class Explanation:
    """The answer to "why is this item where it is, or why is it not found?"."""

    query: str
    ref: str
    found: bool
    reason: str
    rank: int | None = None
    hit: Hit | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "query": self.query,
            "ref": self.ref,
            "found": self.found,
            "rank": self.rank,
            "reason": self.reason,
            "hit": self.hit.to_dict() if self.hit else None,
        }
