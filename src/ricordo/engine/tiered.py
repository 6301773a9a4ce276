"""Several stores behind one engine: which tiers there are, and which of them holds an item."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ricordo import registry
from ricordo.config.loading import Config, locate_store
from ricordo.config.places import Located, TierPlace, configured, places
from ricordo.engine.core import Core, is_id
from ricordo.errors import NotFound
from ricordo.memory.tracking import Tracker
from ricordo.store.base import Store
from ricordo.values.hits import Answer
from ricordo.values.items import Ref
from ricordo.values.reports import TierState

if TYPE_CHECKING:
    from ricordo.search.pipeline import Searcher
    from ricordo.search.tiers import Federation, SharedQueries, Tier


class Tiered(Core):
    """An engine that searches the stores of all tiers, and writes to its own."""

    def __init__(self, store: Store, located: Located, config: Callable[[], Config], start: Path) -> None:
        super().__init__(store, located, config, start)
        self._joined: tuple[Any, Federation] | None = None
        self._others: dict[str, Store] = {}
        self._trackers: dict[str, Tracker] = {}
        self._engines: dict[str, Self] = {}
        self._shared: SharedQueries | None = None

    def tiers(self) -> tuple[TierState, ...]:
        """The stores that are searched together, the highest first."""
        states = [tier.state() for tier in self._federation.tiers]
        return tuple(replace(state, is_written=state.location == self.location) for state in states)

    def tier(self, name: str) -> Self:
        """An engine on one tier's store alone, to write to it or look into it; it is closed with this one."""
        if name not in self._engines:
            where = None if self.located.location.origin in ("default", "project") else self.location
            self._engines[name] = self.open(where, config=self._config, start=self._start, tier=name)
        return self._engines[name]

    def close(self) -> None:
        """Close all stores; what is still to be remembered is written first."""
        for engine in self._engines.values():
            engine.close()
        for tracker in self._trackers.values():
            tracker.close()
        super().close()
        for store in self._others.values():
            store.close()

    @property
    def _federation(self) -> Federation:
        """The tiers as they are set now."""
        from ricordo.search.tiers import Federation

        self._look_at_files()
        config = self.config
        if self._joined is None or self._joined[0] != config.tiers:
            tiers = [self._tier_at(place) for place in places(self.located, config)]
            weighted = bool(configured(config))
            self._joined = config.tiers, Federation(tiers, weighted=weighted, seconds=config.tiers.seconds)
        return self._joined[1]

    def _tier_at(self, place: TierPlace) -> Tier:
        from ricordo.search.tiers import Tier

        def opens() -> Store:
            if place.store == self.location:
                return self.store
            if place.store not in self._others:
                config = self.config
                patience = min(config.store.busy_seconds, config.tiers.seconds)
                brief = replace(config, store=replace(config.store, busy_seconds=patience))
                where = locate_store(place.store, config, self._start)
                self._others[place.store] = other = registry.open_store(where, brief, create=False)
                self._in_files(other, where)
                self._look_at_files()
            return self._others[place.store]

        return Tier(place.name, place.store, place.weight, opens, self._searcher_of)

    def _searcher_of(self, store: Store) -> Searcher:
        from ricordo.search.pipeline import Searcher
        from ricordo.search.tiers import SharedQueries

        if store is self.store and not configured(self.config):
            return self._searcher

        def embedder() -> SharedQueries | None:
            own = self._embedder()
            if own is None:
                return None
            if self._shared is None or self._shared.embedder is not own:
                self._shared = SharedQueries(own)
            return self._shared

        return Searcher(store, self._config, embedder, self._reranker, self._fallback)

    def _holder(self, name: str | Path | Ref) -> tuple[Tier, int]:
        """The highest tier that holds an item, and the item's number there; its own store answers when none does."""
        federation = self._federation
        own = next((tier for tier in federation.tiers if tier.location == self.location), None)
        if own is None or len(federation.tiers) > 1:

            def find(store: Store) -> int | None:
                known = store.items.ref_by_id(name) if isinstance(name, str) and is_id(name) else self.resolve(name)
                n = store.items.number(known) if known is not None else None
                return n if n is not None and store.items.get_many([n])[n].state != "deleted" else None

            found = federation.first(find)
            if found is not None:
                return found
        if own is None:
            raise NotFound(f"there is no item {name} in any tier", hint="'ricordo tiers' shows what is searched.")
        return own, self._number(name)

    def _tracker_of(self, tier: Tier) -> Tracker:
        if tier.location == self.location:
            return self._tracker
        if tier.name not in self._trackers:
            self._trackers[tier.name] = Tracker(tier.store)
        return self._trackers[tier.name]

    def _used_elsewhere(self, answer: Answer, **options: Any) -> None:
        """Let other tiers remember which of their items were found; the query is logged here alone."""
        config = self.config
        for tier in self._federation.tiers:
            hits = tuple(hit for hit in answer.hits if hit.tier == tier.name)
            if hits and tier.is_open and tier.location != self.location:
                settings = replace(config.usage, log=False)
                self._tracker_of(tier).searched(replace(answer, hits=hits), settings=settings, **options)
