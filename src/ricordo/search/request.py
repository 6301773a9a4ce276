"""A search as it was asked for: plain values, cheap to import; and what a plugin can do in a step of one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING

from ricordo.errors import UsageError
from ricordo.frozen import frozen
from ricordo.values.hits import Filters
from ricordo.values.kinds import By

if TYPE_CHECKING:
    from ricordo.search.candidates import Pool
    from ricordo.search.pipeline import Search
    from ricordo.search.profiles import Profile
    from ricordo.search.ranking import Ranked
    from ricordo.store.base import Store
    from ricordo.store.query import Ask
    from ricordo.values.hits import Hit

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
    catch_up: bool = True
    """Off where the store stays as it is: texts that wait for their vectors go on waiting."""
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


@frozen
class CoreStep:
    """A step from the order of the candidates to the page."""

    is_needed: Callable[[Search], bool]
    """Whether it is done; if not, it costs nothing."""
    order: Callable[[Search, Iterable[Ranked]], Iterable[Ranked]]
    """The order after it, given the one before it."""


class PluginStep:
    """What a plugin does in a search with the items of its drives; without changes, nothing.

    One is made for each search, and for the merged answer of several tiers, if items of its drives are in it, or if
    its drives are apart (``values.kinds``) and the store has items that are.
    """

    def __init__(self, store: Store, request: Request, profile: Profile, *, filters: Filters, text: str) -> None:
        """``filters`` and ``text`` are those of the request and its query together."""
        self.request = request
        self.profile = profile
        self.filters = filters
        self.text = text
        self.store = store

    def apart(self, pool: Pool, ask: Ask, again: Callable[[Ask], Pool]) -> tuple[Pool, Pool | None]:
        """The candidates, and those that are ranked apart from them, by the same weights; ``again`` asks the store
        again.
        """
        return pool, None

    def order(self, search: Search, entries: Iterable[Ranked]) -> Iterable[Ranked]:
        """The order of all hits, with its own in their places."""
        return entries

    def merged(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        """The hits of several tiers in the same order, with the scores by which they will be sorted."""
        return hits

    def why_missing(self, ref: str, hits: Sequence[Hit]) -> str:
        """Why an item is not among these hits, if it is for this step; else empty."""
        return ""
