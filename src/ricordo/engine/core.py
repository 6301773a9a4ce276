"""What every part of the engine stands on: the open store, the settings, names, and the parts made when needed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from ricordo import registry
from ricordo.config.loading import Config, ConfigProvider, StoreLocation
from ricordo.config.places import Located, knowledge_place, locate, places
from ricordo.errors import Conflict, NotFound, StoreError, Unavailable, UsageError
from ricordo.memory.tracking import Tracker
from ricordo.store.base import Backlog, Store
from ricordo.values.items import Item, Ref
from ricordo.values.reports import Progress

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.engine.tools import Tools
    from ricordo.ingest.pipeline import Pipeline
    from ricordo.memory.knowledge import Knowledge
    from ricordo.models.base import LLM, Embedder, LlmUsage, Reranker
    from ricordo.search.pipeline import Searcher
    from ricordo.values.reports import EmbedReport

_ID = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$", re.IGNORECASE)
_URL = re.compile(r"^https?://", re.IGNORECASE)


class Core:
    """An open store with its settings; holds no verb of its own."""

    def __init__(self, store: Store, located: Located, config: Callable[[], Config], start: Path) -> None:
        self.store = store
        self.located = located
        self.location = str(located.location.path)
        self._start = start
        self._config = config
        self._made: tuple[Any, Embedder | None] | None = None
        self._second: tuple[Any, Embedder | None] | None = None
        self._judge: tuple[Any, Reranker] | None = None
        self._talker: tuple[Any, LLM] | None = None
        self._tracker = Tracker(store)
        self._with_files: list[Knowledge] = []
        self._knowledge: Knowledge | None = None

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
        folder = start or Path.cwd()
        located = locate(str(store) if store is not None else None, settings, folder, tier)
        opened = cls(_opened(located, settings, create=create), located, provider, folder)
        if embedder is not None:
            opened._made = (settings.embedding, embedder)
        opened._knowledge = opened._in_files(opened.store, located.location)
        return opened

    def close(self) -> None:
        """Close the store; open searches end first."""
        if "tools" in self.__dict__:
            self.tools.close()
        self._tracker.close()
        self.store.close()

    @cached_property
    def tools(self) -> Tools:
        """Tools of other MCP servers: find, show and call them."""
        from ricordo.engine.tools import Tools

        return Tools(cast("Ricordo", self), self._start)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _in_files(self, store: Store, location: StoreLocation) -> Knowledge | None:
        """The files of a store's memories, notes and articles, where they are kept in files."""
        config = self.config
        place = knowledge_place(location, config)
        if place is None or not store.usage.can_record():
            return None
        from ricordo.memory.knowledge import Knowledge
        from ricordo.memory.knowledge_folder import KnowledgeFolder

        most = int(config.ingest.max_file_mb * 1_000_000)
        pipeline = partial(self._pipeline_of, store)
        kept = Knowledge(
            store, KnowledgeFolder(place), pipeline, self._backlog, place=_beside(location.path, place), most_bytes=most
        )
        self._with_files.append(kept)
        return kept

    def _look_at_files(self) -> None:
        """Take in what people did to knowledge files; what stands in the way now is seen to at the next look."""
        for kept in self._with_files:
            with suppress(StoreError, Unavailable):
                kept.catch_up()

    @property
    def config(self) -> Config:
        """The settings as they are now; files are looked at again when they changed."""
        return self._config()

    @cached_property
    def _searcher(self) -> Searcher:
        from ricordo.search.pipeline import Searcher

        return Searcher(self.store, self._config, self._embedder, self._reranker, self._fallback)

    def _reranker(self, kind: str) -> Reranker:
        """The reranker in force; kept while its settings stay the same."""
        key = (kind, self.config.rerank, self.config.llm)
        if self._judge is None or self._judge[0] != key:
            self._judge = (key, registry.reranker(kind, self._placed(self.config), self._llm_wished_for))
        return self._judge[1]

    def _llm_wished_for(self) -> LLM:
        """The language model, for what is itself a wish for one: there, one is meant even where none is set."""
        return self._llm(unset="anthropic")

    def _llm(self, *, unset: str = "none") -> LLM:
        """The language model in force; kept while its settings stay the same."""
        config = self.config
        key = (config.llm, unset if config.source("llm.provider") == "default" else "")
        if self._talker is None or self._talker[0] != key:
            self._talker = (key, registry.llm(config, unset=unset))
        return self._talker[1]

    @property
    def llm_usage(self) -> LlmUsage | None:
        """What was asked of a language model since the store was opened; None when nothing was."""
        usage = self._talker[1].usage if self._talker is not None else None
        return usage if usage is not None and usage.calls else None

    def _embedder(self) -> Embedder | None:
        """The embedder in force; made anew only when its settings change, loaded only when it is used."""
        settings = self.config.embedding
        if self._made is None or self._made[0] != settings:
            self._made = (settings, registry.embedder(self._placed(self.config)))
        return self._made[1]

    def _fallback(self) -> Embedder | None:
        """The embedder for when the first is gone; its vectors are never compared with the first's."""
        settings = self.config.embedding
        if self._second is None or self._second[0] != settings:
            self._second = (settings, registry.fallback_embedder(self._placed(self.config)))
        return self._second[1]

    def _placed(self, config: Config) -> Config:
        """The settings with the folder of models filled in: beside the store, if nobody said where."""
        if config.embedding.folder:
            return config
        folder = str(Path(self.location).parent / "models")
        return replace(config, embedding=replace(config.embedding, folder=folder))

    def _backlog(self) -> Backlog | None:
        """Where new chunks wait for their vectors; None when there are none to be made."""
        from ricordo.models.fingerprint import fingerprint_of

        try:
            embedder = self._embedder()
            return Backlog(fingerprint_of(embedder), embedder.dimensions) if embedder is not None else None
        except Unavailable:
            return None  # whoever embeds says why; what has no vector is found again by then

    def _drain(self, progress: Callable[[Progress], None] | None = None, **options: Any) -> EmbedReport:
        """Work off the backlog; the fallback stands in while the embedder is gone."""
        from ricordo.ingest.embed import drain

        return drain(self.store, self._embedder, self._fallback, registry.worker_name(), progress, **options)

    def _kept_fingerprints(self) -> list[str]:
        """Vectors of the fallback stay when others go."""
        from ricordo.models.fingerprint import fingerprint_of

        try:
            second = self._fallback()
            return [fingerprint_of(second)] if second is not None else []
        except Unavailable:
            return []

    @cached_property
    def _pipeline(self) -> Pipeline:
        return self._pipeline_of(self.store)

    def _pipeline_of(self, store: Store) -> Pipeline:
        from ricordo.ingest.pipeline import Pipeline

        return Pipeline(store, self._config, registry.token_counter(), self._llm_wished_for)

    def resolve(self, text: str | Path | Ref) -> Ref:
        """A ref from a ref, an item id, a URL or a file path."""
        self._look_at_files()
        if isinstance(text, Ref):
            return text
        if isinstance(text, Path):
            return registry.disk_ref(text)
        if is_id(text):
            found = self.store.items.ref_by_id(text)
            if found is None:
                raise NotFound(f"there is no item with the id {text}", hint="'ricordo list' shows what is there.")
            return found
        if _URL.match(text):
            return registry.url_ref(text, self.config)
        if Ref.looks_like(text):
            return Ref.parse(text)
        if not text.strip():
            raise UsageError("an empty name is not a ref", hint="Name a file, a ref such as note:/plan, or an item id.")
        return registry.disk_ref(Path(text))

    def _number(self, name: str | Path | Ref) -> int:
        return self.store.items.require(self.resolve(name))


def _beside(store: Path, place: Path) -> str:
    """Where a folder is, seen from the store: the same after both were moved."""
    try:
        return os.path.relpath(place, store.parent)
    except ValueError:  # on another drive
        return str(place)


def is_id(text: str) -> bool:
    """Whether a text has the form of an item's id."""
    return _ID.match(text) is not None


def _opened(located: Located, config: Config, *, create: bool) -> Store:
    """The store itself; where other tiers can answer, one that cannot be opened says why when it is used."""
    try:
        return registry.open_store(located.location, config, create=create)
    except (StoreError, Unavailable) as error:
        if all(place.store == str(located.location.path) for place in places(located, config)):
            raise
        return registry.unopened_store(error)


def check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    """Refuse a value that is not among the allowed ones."""
    if value not in allowed:
        raise UsageError(f"{name} cannot be '{value}'", hint=f"One of: {', '.join(allowed)}.")


def refuse_binned(item: Item) -> None:
    """An item in the bin counts as not there."""
    if item.state == "deleted":
        raise NotFound(f"{item.ref} is in the bin", hint=f"'ricordo restore {item.ref}' brings it back.")


def refuse_put_away(item: Item) -> None:
    """An item in the bin or the archive is not changed: it would come back unasked."""
    refuse_binned(item)
    if item.state == "archived":
        raise Conflict(f"{item.ref} is archived", hint=f"'ricordo restore {item.ref}' brings it back first.")
