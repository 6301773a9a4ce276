"""Opens and closes an engine, and says what is known about it while it is open: the base of ``Ricordo``."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ricordo.config.files import current_folder
from ricordo.config.loading import Config, ConfigProvider
from ricordo.config.places import locate
from ricordo.engine.adding import AddVerbs
from ricordo.engine.agents import AgentVerbs
from ricordo.engine.capturing import Capturer
from ricordo.engine.context import EngineContext, open_or_error
from ricordo.engine.finding import FindVerbs
from ricordo.engine.gathering import GatherVerbs
from ricordo.engine.health import HealthVerbs
from ricordo.engine.indexing import IndexVerbs
from ricordo.engine.items import ItemVerbs
from ricordo.engine.knowledge import KnowledgeVerbs
from ricordo.engine.links import LinkVerbs
from ricordo.engine.memories import MemoryVerbs
from ricordo.engine.migrating import MigrateVerbs
from ricordo.engine.models import ModelVerbs
from ricordo.engine.moving import MoveVerbs
from ricordo.engine.overview import OverviewVerbs
from ricordo.engine.proposals import ProposalDesk
from ricordo.engine.reading import ReadVerbs
from ricordo.engine.removing import RemoveVerbs
from ricordo.engine.reviewing import ReviewVerbs
from ricordo.engine.roots import RootVerbs
from ricordo.engine.selecting import SelectVerbs
from ricordo.engine.sessions import SessionVerbs
from ricordo.engine.skills import SkillVerbs
from ricordo.engine.syncing import SyncVerbs
from ricordo.engine.team import TeamVerbs
from ricordo.engine.tidying import TidyVerbs
from ricordo.engine.trusting import TrustVerbs
from ricordo.engine.undoing import UndoVerbs
from ricordo.engine.use import UseVerbs
from ricordo.engine.vectors import VectorVerbs
from ricordo.errors import CorruptStore, Error
from ricordo.store.base import Store
from ricordo.values.items import Ref
from ricordo.values.reports import RefreshReport, TierState
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from ricordo.engine.tools import Tools
    from ricordo.memory.feedback import Learning
    from ricordo.models.base import Embedder, LlmUsage


PARTS: tuple[type, ...] = (
    FindVerbs, ReadVerbs, ItemVerbs, RootVerbs, RemoveVerbs, SessionVerbs, MemoryVerbs, AddVerbs, KnowledgeVerbs,
    LinkVerbs, UseVerbs, AgentVerbs, GatherVerbs, SkillVerbs, VectorVerbs, HealthVerbs, ModelVerbs, MoveVerbs,
    MigrateVerbs, ReviewVerbs, TrustVerbs, OverviewVerbs, SelectVerbs, UndoVerbs, TidyVerbs, SyncVerbs,
    TeamVerbs, IndexVerbs,
)  # fmt: skip
"""The classes whose methods are the verbs of an engine."""


class OpenEngine:
    """An open engine: a context, and the objects that do the work of its verbs."""

    def __init__(self, context: EngineContext) -> None:
        if not isinstance(context, EngineContext):
            raise TypeError("a store is opened with Ricordo.open(PATH), not with Ricordo(PATH)")
        self._context = context
        self._engines: dict[str, Self] = {}
        self._last: Callable[[], None] | None = None
        self._lock = threading.Lock()
        context.tiers.engine_of = self.tier
        finding, reading, items, roots = FindVerbs(context), ReadVerbs(context), ItemVerbs(context), RootVerbs(context)
        memories = MemoryVerbs(context, items)
        desk = ProposalDesk(context, memories)
        removing, sessions = RemoveVerbs(context, items), SessionVerbs(context, finding, Capturer(context, desk))
        skills = SkillVerbs(context, finding, reading)
        gathering = GatherVerbs(context, finding, skills)
        adding = AddVerbs(context, roots, self._ask_tools_again)
        parts = (
            finding, reading, items, roots, removing, sessions, skills, gathering, memories,
            adding,
            KnowledgeVerbs(context),
            LinkVerbs(context),
            UseVerbs(context),
            AgentVerbs(context, finding, sessions, skills, gathering),
            VectorVerbs(context),
            HealthVerbs(context, removing.restore_here),
            ModelVerbs(context),
            MoveVerbs(context, items),
            MigrateVerbs(context),
            ReviewVerbs(context, desk),
            TrustVerbs(context),
            OverviewVerbs(context, finding),
            SelectVerbs(context, items, reading),
            SyncVerbs(context),
            UndoVerbs(context),
            TidyVerbs(context, items, desk),
            TeamVerbs(context),
            IndexVerbs(context),
        )  # fmt: skip
        self._parts: dict[type, object] = {type(part): part for part in parts}
        self._for_tools = (finding, reading, items, removing)

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
        """Tools of other MCP servers: find, show and call them.

        In a project they are those of the user's own store, so that every folder has the same.
        """
        if self._context.located.location.origin == "project":
            return self.tier("agent").tools
        from ricordo.engine.tools import Tools

        return Tools(self._context, *self._for_tools)

    def _ask_tools_again(self, report: RefreshReport) -> RefreshReport:
        has_tools = any(one.ref.startswith("tool:/") for one in report.items)
        return self.tools.asked_again(report) if has_tools else report

    @property
    def learn(self) -> Learning:
        """What profiles learned from feedback: ``learn.status()``, ``freeze()``, ``rollback()``, ``history()``."""
        use = self._parts[UseVerbs]
        assert isinstance(use, UseVerbs)
        return use.learn

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
