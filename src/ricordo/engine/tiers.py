"""The stores that are searched together, and the way of a verb to the one that holds the item it names."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from ricordo import registry
from ricordo.config.files import data_home
from ricordo.config.loading import locate_store
from ricordo.config.places import TierPlace, configured, places
from ricordo.engine.checks import is_bare, is_id, only_one
from ricordo.errors import Error, NotFound, UsageError
from ricordo.memory.use import Tracker
from ricordo.store.base import Store
from ricordo.values.hits import Answer, Filters
from ricordo.values.items import DISK, Ref
from ricordo.values.log import WAITING
from ricordo.values.reports import TierState

if TYPE_CHECKING:
    from ricordo.engine.context import EngineContext
    from ricordo.search.pipeline import Searcher
    from ricordo.search.tiers import Federation, SharedQueries, Tier


Function = TypeVar("Function", bound=Callable[..., Any])
Wanted = Literal["present", "put away"]


def follows(*names: str, wanted: Wanted = "present") -> Callable[[Function], Function]:
    """Let a verb run in the tier that holds the items which these parameters name.

    If several tiers hold an item, it is the one that search shows: the highest. ``wanted`` is the state in which the
    verb expects the item, which decides between tiers that hold it in different ones.
    """

    def decorate(function: Function) -> Function:
        places = [function.__code__.co_varnames.index(name) - 1 for name in names]

        @functools.wraps(function)
        def follow(self: Any, *args: Any, **options: Any) -> Any:
            tiers: Tiers = self._context.tiers
            if not tiers.is_alone:
                given = [
                    options.get(n, args[at] if at < len(args) else None) for n, at in zip(names, places, strict=True)
                ]
                other = tiers.holding([name for name in given if name is not None], wanted)
                if other is not None:
                    return getattr(tiers.engine_of(other), function.__name__)(*args, **options)
            return function(self, *args, **options)

        return cast("Function", follow)

    return decorate


def follows_each(function: Function) -> Function:
    """Let a verb of many names run in each tier that holds some of them; the reports are joined.

    Folders mean those of the store in use. It comes first, because it refuses a name that no tier knows.
    """

    @functools.wraps(function)
    def follow(self: Any, *refs: Any, **options: Any) -> Any:
        tiers: Tiers = self._context.tiers
        if tiers.is_alone or not refs:
            return function(self, *refs, **options)
        here: list[Any] = []
        parts: dict[str, list[Any]] = {}
        for ref in refs:
            is_folder = str(ref).endswith(("/", "/*"))
            other = None if is_folder else tiers.holding([ref], "present")
            (here if other is None else parts.setdefault(other, [])).append(ref)
        reports = [function(self, *here, **options)] if here else []
        reports += [getattr(tiers.engine_of(name), function.__name__)(*some, **options) for name, some in parts.items()]
        items = tuple(saved for report in reports for saved in report.items)
        return replace(reports[0], items=items, notes=tuple(note for report in reports for note in report.notes))

    return cast("Function", follow)


LATE_TIERS = "late-tiers.json"
"""Beside the user's own store: which tiers did not answer, and until when they are left alone."""
_PRESENT = ("live", "archived")
_PUT_AWAY = ("deleted", "archived")
_ANY = ("live", "archived", "deleted")


def any_item(stores: Mapping[str, Store], filters: Filters) -> bool:
    """Whether a search is worth it: most stores have no items of some kinds."""
    return any(store.items.listing(filters, 1, 0) for store in stores.values())


USERS_TIER = "agent"
"""The tier of the user's own store."""


def waiting_for_user(context: EngineContext) -> str:
    """That proposals wait for the user, here or in the user's own store, in one line; "" if none does."""
    stores = {context.location: context.unsynced_store} if context.is_open else {}
    for tier in context.tiers.federation.tiers:
        with suppress(Error, OSError):  # a store that cannot be opened now is named by ``tiers``
            if tier.name == USERS_TIER:
                stores.setdefault(tier.location, tier.store)
    count = sum(store.proposals.count(WAITING) for store in stores.values() if not store.foreign)
    which = "1 proposal from a session waits" if count == 1 else f"{count:,} proposals from sessions wait"
    return f"{which} for the user's decision: ricordo review" if count else ""


class Tiers:
    """The stores that are searched together with the engine's own; new items go to the own one."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._federation: tuple[Any, Federation] | None = None
        self._others: dict[str, Store] = {}
        self._closed = False
        self.engine_of: Callable[[str], Any] = lambda name: None
        """The engine on one tier's store alone, which changes what is in it; whoever makes the engine says how."""

    def states(self) -> tuple[TierState, ...]:
        states = [tier.state() for tier in self.federation.tiers]
        return tuple(replace(state, is_written=state.location == self._context.location) for state in states)

    def reachable(self, warnings: list[str] | None = None) -> dict[str, Store]:
        """The stores that can be reached, by tier, the highest first; for each of the others a warning is added."""
        stores: dict[str, Store] = {}
        for tier in self.federation.tiers:
            try:
                stores[tier.name] = tier.store
            except (Error, OSError) as error:
                if warnings is not None:
                    warnings.append(f"tier {tier.name}: {getattr(error, 'message', error)}")
        return stores

    def wait_for_searches(self) -> None:
        """Wait a moment for tiers that still search, before their stores are closed."""
        if self._federation is not None:
            from ricordo.search.tiers import wait_for_all

            wait_for_all([tier.threads for tier in self._federation[1].tiers])

    def close_stores(self) -> None:
        """Close the stores of the other tiers, also one that a thread opens only now because its tier was slow."""
        self._closed = True
        while self._others:
            _, store = self._others.popitem()
            store.close()

    @property
    def federation(self) -> Federation:
        """The tiers as they are set now; edits of their knowledge files are taken in first."""
        from ricordo.search.tiers import TIER_SECONDS, Federation, Pauses

        self._context.take_in_file_edits()
        config = self._context.config
        set_before = self._federation[0] if self._federation is not None else None
        if self._federation is None or (set_before is not config.tiers and set_before != config.tiers):
            tiers = [self._tier_at(place) for place in places(self._context.located, config)]
            weighted = bool(configured(config)) or len(tiers) > 1
            pauses = Pauses(data_home(os.environ) / LATE_TIERS)
            self._federation = (
                config.tiers, Federation(tiers, weighted=weighted, seconds=TIER_SECONDS, pauses=pauses)
            )  # fmt: skip
        return self._federation[1]

    def _tier_at(self, place: TierPlace) -> Tier:
        from ricordo.search.tiers import TIER_SECONDS, Tier

        def opens() -> Store:
            if place.store == self._context.location:
                return self._context.unsynced_store
            other = self._others.get(place.store)
            if other is None:
                config = self._context.config
                where = locate_store(place.address or place.store, config, self._context.start)
                self._others[place.store] = other = registry.open_store(
                    where, config, create=False, busy_seconds=TIER_SECONDS
                )
                if self._closed:
                    self.close_stores()  # its first use says that the store is closed
                self._context.look_after(other, where, place.origin)
                self._context.knowledge_of(other, where)
                self._context.take_in_file_edits()
            return other

        is_own = place.store == self._context.location
        return Tier(place.name, place.store, place.weight, opens=opens, searches=self.searcher_of, is_own=is_own)

    @property
    def own_searcher(self) -> Searcher:
        """What searches the engine's own store alone; edits of its knowledge files are taken in first."""
        self._context.take_in_file_edits()
        return self.unsynced_searcher

    @cached_property
    def unsynced_searcher(self) -> Searcher:
        """The same without a look at the knowledge files."""
        return self._new_searcher(self._context.unsynced_store)

    def searcher_of(self, store: Store) -> Searcher:
        context = self._context
        is_alone = len(places(context.located, context.config)) == 1
        if is_alone and context.is_open and store is context.unsynced_store:
            return self.unsynced_searcher
        return self._new_searcher(store)

    def _new_searcher(self, store: Store) -> Searcher:
        """What searches a store. Tiers share the vector of a question, and so do questions that are asked again."""
        from ricordo.search.meaning import QueryVectors
        from ricordo.search.pipeline import Searcher

        context, models = self._context, self._context.models
        vectors = QueryVectors(
            store,
            embedder=models.embedder,
            fallback=models.fallback,
            second=models.second,
            embed=self._queries.embed,
        )
        return Searcher(store, context.provider, vectors, models.reranker, catch_up=context.catch_up_with)

    @cached_property
    def _queries(self) -> SharedQueries:
        from ricordo.search.tiers import SharedQueries

        return SharedQueries()

    @property
    def is_alone(self) -> bool:
        """Whether the engine's own store is the only tier."""
        tier_places = places(self._context.located, self._context.config)
        return len(tier_places) == 1 and tier_places[0].store == self._context.location

    def holding(self, names: Sequence[str | Path | Ref], wanted: Wanted) -> str | None:
        """The highest tier that holds all these items; None if that is the own store, or no tier holds them.

        Where no tier holds them in the state that is wanted, one that holds them in another state counts.
        """
        names = [self._meant(name) for name in names]
        states = _PRESENT if wanted == "present" else _PUT_AWAY
        refs = [self._read_name(name) for name in names]
        for allowed in (states, _ANY) if names else ():
            tier = self._first_with(refs, allowed)
            if tier is not None:
                return None if tier.location == self._context.location else tier.name
        apart = [tier.name for name in refs if (tier := self._first_with([name], _ANY)) is not None]
        if len(names) == len(apart) > 1:
            where = " and ".join(f"{name} in the tier {tier}" for name, tier in zip(names, apart, strict=True))
            raise UsageError(f"they are in two stores: {where}", hint="‹:promote› copies an item to another tier.")
        return None

    def _read_name(self, name: str | Path | Ref) -> str | Ref:
        """An id as it is, any other name as a ref: this thread knows the folder that paths are meant from."""
        return name if isinstance(name, str) and is_id(name) else self._context.resolve(name)

    def _first_with(self, names: Sequence[str | Ref], states: Sequence[str]) -> Tier | None:
        """The highest tier that holds all these items in one of the states."""
        holder = self.federation.first(
            lambda store: True if all(self._look_up(store, name)[1] in states for name in names) else None
        )
        return holder[0] if holder is not None else None

    def _look_up(self, store: Store, name: str | Ref) -> tuple[int, str]:
        """The number of an item in a store, and its state; "" if it is not there."""
        if isinstance(name, str):
            n = store.items.number_by_id(name)
        else:
            here = self._context.file_refs
            n = store.items.number(here.seen_from(store.machines.refs(), name) if name.drive == DISK else name)
        return (n, store.items.get_many([n])[n].state) if n is not None else (0, "")

    def _meant(self, name: str | Path | Ref) -> str | Path | Ref:
        """The ref of the one item that a bare name means, in whichever tier it is; any other name as it is."""
        if not is_bare(name):
            return name
        ref, matches = self._context.resolve(name), set[Ref]()
        if self.federation.first(lambda store: store.items.number(ref)) is None:
            self.federation.first(lambda store: matches.update(store.items.ending_with(str(name))))
        return only_one(name, matches) or ref

    def store_of(self, filters: Filters) -> Store:
        """The store that a listing looks in: that of the tier which the filters name, or the store in use."""
        if not filters.tiers:
            return self._context.store
        (name, *others), by_name = filters.tiers, {tier.name: tier for tier in self.federation.tiers}
        if others:
            raise UsageError("a listing looks in one tier", hint="Name one with ‹tier›.")
        if name not in by_name:
            hint = f"There are: {', '.join(by_name)}." if by_name else "‹:tiers› shows what is searched."
            raise UsageError(f"the tier '{name}' has no store here", hint=hint)
        return by_name[name].store

    def holder(self, name: str | Path | Ref) -> tuple[Tier, int]:
        """The highest tier that holds an item, with the item's number there; the own store if no tier holds it."""
        context = self._context
        name = self._meant(name)
        federation = self.federation
        own = next((tier for tier in federation.tiers if tier.location == context.location), None)
        if own is None or len(federation.tiers) > 1:
            ref = self._read_name(name)
            if (tier := self._first_with([ref], _PRESENT)) is not None:
                return tier, self._look_up(tier.store, ref)[0]
        if own is None:
            raise NotFound(f"there is no item {name} in any tier", hint="‹:tiers› shows what is searched.")
        return own, context.number(name)

    def tracker_of(self, tier: Tier) -> Tracker | None:
        """What records the use of a tier's items; None for an own store that could not be opened."""
        trackers = self._context.trackers
        if tier.location not in trackers and tier.location != self._context.location:
            trackers[tier.location] = Tracker(tier.store)
        return trackers.get(tier.location)

    def record_use_elsewhere(self, answer: Answer, **options: Any) -> None:
        """Record in the other tiers which of their items were found; the query is logged in the own store alone."""
        settings = replace(self._context.config.usage, log=False)
        for tier in self.federation.tiers:
            hits = tuple(hit for hit in answer.hits if hit.tier == tier.name)
            if hits and tier.is_open and tier.location != self._context.location and (tracker := self.tracker_of(tier)):
                tracker.searched(replace(answer, hits=hits), settings=settings, **options)
