"""Opens and closes an engine, and says what is known about it while it is open: the base of ``Ricordo``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ricordo.config.files import current_folder
from ricordo.config.loading import Config, ConfigProvider
from ricordo.config.places import Located, locate
from ricordo.engine.adding import AddVerbs
from ricordo.engine.agents import AgentVerbs
from ricordo.engine.context import EngineContext, open_or_error
from ricordo.engine.finding import FindVerbs
from ricordo.engine.health import HealthVerbs
from ricordo.engine.items import ItemVerbs
from ricordo.engine.knowledge import KnowledgeVerbs
from ricordo.engine.links import LinkVerbs
from ricordo.engine.memories import MemoryVerbs
from ricordo.engine.migrating import MigrateVerbs
from ricordo.engine.models import ModelVerbs
from ricordo.engine.moving import MoveVerbs
from ricordo.engine.removing import RemoveVerbs
from ricordo.engine.roots import RootVerbs
from ricordo.engine.sessions import SessionVerbs
from ricordo.engine.use import UseVerbs
from ricordo.engine.vectors import VectorVerbs
from ricordo.store.base import Store
from ricordo.values.items import Ref
from ricordo.values.reports import TierState

if TYPE_CHECKING:
    from ricordo.engine.tools import Tools
    from ricordo.models.base import Embedder, LlmUsage


class OpenEngine:
    """An open engine: a context, and the classes that do the work of its verbs."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._engines: dict[str, Self] = {}
        self._last: Callable[[], None] | None = None
        self._finding = FindVerbs(context)
        self._items = ItemVerbs(context)
        self._removing = RemoveVerbs(context, self._items)
        self._memories = MemoryVerbs(context, self._items)
        self._roots = RootVerbs(context)
        self._adding = AddVerbs(context, self._roots)
        self._knowledge = KnowledgeVerbs(context)
        self._links = LinkVerbs(context)
        self._use = UseVerbs(context)
        self._sessions = SessionVerbs(context, self._finding)
        self._agents = AgentVerbs(context, self._finding, self._sessions)
        self._vectors = VectorVerbs(context)
        self._health = HealthVerbs(context, self._removing.restore)
        self._models = ModelVerbs(context)
        self._moving = MoveVerbs(context, self._items)
        self._migrating = MigrateVerbs(context)

    @classmethod
    def open(
        cls,
        store: str | Path | None = None,
        *,
        config: Callable[[], Config] | Config | None = None,
        create: bool = True,
        start: Path | None = None,
        tier: str | None = None,
        embedder: Embedder | None = None,
    ) -> Self:
        """Open a store: the one named, else RICORDO_STORE, the nearest project's, or the user's own.

        Where the settings name tiers, their stores are searched together with it; ``tier`` opens one of them alone.
        ``embedder`` is the one that is set, where the caller made it already.
        """
        provider: Callable[[], Config]
        if config is None:
            provider = ConfigProvider()
        elif isinstance(config, Config):
            fixed = config
            provider = lambda: fixed  # noqa: E731 - a constant provider
        else:
            provider = config
        settings = provider()
        folder = start or current_folder()
        located = locate(str(store) if store is not None else None, settings, folder, tier)
        context = EngineContext(open_or_error(located, settings, create=create), located, provider, folder)
        if embedder is not None:
            context.models.use_embedder(embedder)
        return cls(context)

    def before_closing(self, work: Callable[[], None]) -> None:
        """Call something with the engine when it is closed, unless an error ended its ``with`` block."""
        self._last = work

    @contextmanager
    def lent(self) -> Iterator[Self]:
        """The open engine for one piece of work, as if the store had been opened for it, and left open.

        Edits of knowledge files are seen however short ago the last look at them was, and use is written at the end.
        """
        self._context.begin_anew()
        try:
            yield self
        finally:
            self._context.flush_use()

    @property
    def took_in_edits(self) -> bool:
        """Whether edits of knowledge files were taken in since the store was opened."""
        return self._context.took_in_edits

    def close(self) -> None:
        """Close all stores; use records that wait are written first."""
        last, self._last = self._last, None
        if last is not None:
            last()
        if "tools" in self.__dict__:
            self.tools.close()
        for engine in self._engines.values():
            engine.close()
        self._context.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._last = None
        self.close()

    @property
    def store(self) -> Store:
        """The store itself, with the edits of knowledge files taken in."""
        return self._context.store

    @property
    def located(self) -> Located:
        """Where the store is, and how it was found."""
        return self._context.located

    @property
    def location(self) -> str:
        """The path of the store."""
        return self._context.location

    @property
    def config(self) -> Config:
        """The settings as they are now; settings files that changed are read again."""
        return self._context.config

    @property
    def llm_usage(self) -> LlmUsage | None:
        """What was asked of a language model since the store was opened; None when nothing was."""
        return self._context.models.llm_usage

    @cached_property
    def tools(self) -> Tools:
        """Tools of other MCP servers: find, show and call them."""
        from ricordo.engine.tools import Tools

        return Tools(self._context, self._finding, self._items, self._removing)

    def resolve(self, text: str | Path | Ref) -> Ref:
        """A ref from a ref, an item id, a URL or a file path."""
        return self._context.resolve(text)

    def tiers(self) -> tuple[TierState, ...]:
        """The stores that are searched together, the highest first."""
        return self._context.tiers.states()

    def tier(self, name: str) -> Self:
        """An engine on one tier's store alone, to write to it or look into it; it is closed with this one."""
        if name not in self._engines:
            origin = self.located.location.origin
            where = None if origin in ("default", "project") else self.location
            self._engines[name] = self.open(where, config=self._context.provider, start=self._context.start, tier=name)
        return self._engines[name]
