"""A search as it was asked for: plain values, cheap to import."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import field
from datetime import datetime

from ricordo.errors import UsageError
from ricordo.frozen import frozen
from ricordo.values.hits import Filters
from ricordo.values.kinds import By

SHOWS_ALL = "the store is small: everything that contains a word of the query is shown, beyond the limit"
"""The beginning of the note of an answer that a profile's guard made longer."""


@frozen
class Boosts:
    """What should rank higher, without filtering by it."""

    tags: tuple[str, ...] = ()
    domain: str | None = None


@frozen
class Request:
    """A search as the engine was asked for it."""

    query: str
    limit: int = 10
    offset: int = 0
    mode: str = "scan"
    filters: Filters = field(default_factory=Filters)
    min_score: float = 0.0
    by: By = "both"
    """What is compared: words and meaning, one of them, or the text as a substring, newest first."""
    profile: str = "default"
    weights: Mapping[str, float] = field(default_factory=dict)
    as_of: datetime | None = None
    explain: bool = False
    literal: bool = False
    boosts: Boosts = field(default_factory=Boosts)
    diverse: bool = False
    rerank: str | None = None
    memories: bool = False
    sessions: bool = False
    """Whether sessions are ranked with everything else, and not after the sources that fit."""
    turns: bool = False
    """Whether each turn of a session is a hit of its own, ranked with everything else."""
    snippets: bool = True
    """Off where the passages are read anyway: choosing the words to show takes as long as finding them."""
    evidence: bool = True
    """Off where it only counts what is found: which passages of each hit matched is not looked up."""
    respell: bool = True
    """Whether a similar word is looked for in place of one that is nowhere."""
    tier: str = ""
    """The name of the tier that is asked; its hits carry it."""
    page: int = 0
    """The limit that a person asked for, where ``limit`` is larger because tiers are merged; 0 is ``limit`` itself."""

    def check(self) -> None:
        if self.limit < 1 or self.offset < 0:
            raise UsageError("the limit is at least 1 and the offset at least 0")
        if self.mode not in ("scan", "full"):
            raise UsageError(f"there is no mode '{self.mode}'", hint="One of: scan, full.")

    @property
    def by_meaning(self) -> bool:
        return self.by in ("both", "meaning")


def since(started: float) -> float:
    """The milliseconds since ``time.perf_counter`` gave a value."""
    return round((time.perf_counter() - started) * 1000, 3)
