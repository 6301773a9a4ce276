"""What a step of a search is, and what a plugin can do in one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ricordo.search.candidates import Pool
    from ricordo.search.pipeline import Search
    from ricordo.search.profiles import Profile
    from ricordo.search.ranking import Ranked
    from ricordo.search.request import Request
    from ricordo.store.query import Ask
    from ricordo.values.hits import Filters, Hit


class CoreStep(NamedTuple):
    """A step from the order of the candidates to the page."""

    is_needed: Callable[[Search], bool]
    """Whether it is done; if not, it costs nothing."""
    order: Callable[[Search, Iterable[Ranked]], Iterable[Ranked]]
    """The order after it, given the one before it."""


class PluginStep:
    """What a plugin does in a search with the items of its drives; without changes, nothing.

    One is made for each search, and for the merged answer of several tiers, if items of its drives are in it.
    """

    def __init__(self, request: Request, profile: Profile, filters: Filters, text: str) -> None:
        """``filters`` and ``text`` are those of the request and its query together."""
        self.request = request
        self.profile = profile
        self.filters = filters
        self.text = text

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
