"""Opens and closes an engine, and says what is known about it while it is open: the base of ``Ricordo``."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ricordo.config.files import current_folder
from ricordo.config.loading import Config, ConfigProvider
from ricordo.config.places import locate
from ricordo.engine.context import EngineContext, open_or_error
from ricordo.errors import CorruptStore, Error
from ricordo.store.base import Store
from ricordo.values.items import Ref
from ricordo.values.reports import TierState
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from ricordo.models.base import Embedder, LlmUsage


class OpenEngine:
    """An open engine. The classes of this folder inherit from it and add their verbs; ``Ricordo`` is all of them."""

    def __init__(self, context: EngineContext) -> None:
        if not isinstance(context, EngineContext):
            raise TypeError("a store is opened with Ricordo.open(PATH), not with Ricordo(PATH)")
        self._context = context
        self._engines: dict[str, Self] = {}
        self._last: Callable[[], None] | None = None
        self._lock = threading.Lock()
        context.tiers.engine_of = self.tier

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
        opened = open_or_error(located, settings, create=create)
        try:
            context = EngineContext(opened, located, provider, folder)
        except CorruptStore:  # its head can be read, but not all that the engine looks at first
            if not isinstance(opened, Error):
                opened.close()
            raise
        if embedder is not None:
            context.models.use_embedder(embedder)
        return cls(context)

    def close(self) -> None:
        """Close all stores; use records that wait are written first."""
        last, self._last = self._last, None
        if last is not None:
            last()
        if "tools" in self.__dict__:
            self.__dict__["tools"].close()
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

    def resolve(self, text: str | Path | Ref) -> Ref:
        """A ref from a ref, an item id, a URL or a file path."""
        return self._context.resolve(text)

    @verb(
        "read",
        "look after",
        "Show the stores that are searched together.",
        answers="tiers",
        examples=("ricordo tiers", "ricordo config set tiers.team /srv/team/ricordo.db"),
    )
    def tiers(self) -> tuple[TierState, ...]:
        """The highest comes first. Scores of a tier are multiplied by its weight; new items go to the one marked."""
        return self._context.tiers.states()

    def tier(self, name: str) -> Self:
        """An engine on one tier's store alone, to write to it or look into it; it is closed with this one."""
        with self._lock:
            if name not in self._engines:
                context = self._context
                where = None if context.located.location.origin in ("default", "project") else self.location
                self._engines[name] = self.open(
                    where, config=context.provider, start=context.start, tier=name, embedder=context.models.in_use
                )
            return self._engines[name]
