"""The models that the settings name, made when they are first needed and kept while the settings stay the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ricordo import registry
from ricordo.config.files import data_home
from ricordo.config.settings import Config
from ricordo.errors import Unavailable
from ricordo.models.base import SecondModel, fingerprint_of, unread_by
from ricordo.plugin import ask, brought_as, installed
from ricordo.store.values import Backlog, Languages
from ricordo.values.store_addresses import is_address

if TYPE_CHECKING:
    from ricordo.models.base import Embedder, Reranker

Model = TypeVar("Model")


class ModelsInUse:
    """Embedder, fallback embedder, reranker and chunker of one engine, and the models that plugins make."""

    def __init__(self, provider: Callable[[], Config], location: str) -> None:
        self._provider = provider
        self._location = location
        self._made: dict[str, tuple[Any, Any]] = {}
        self._completed: tuple[Config, Config] | None = None
        """Settings, and the same with a folder for models."""

    def model(self, name: str, settings: object, make: Callable[[], Model]) -> Model:
        """The model that was made from these settings under this name, or a new one."""
        made = self._made.get(name)
        if made is None or (made[0] is not settings and made[0] != settings):
            made = self._made[name] = (settings, make())
        return cast("Model", made[1])

    def made(self, name: str) -> Any:
        """The model that was made already; None if nothing asked for it yet."""
        return self._made[name][1] if name in self._made else None

    def use_embedder(self, embedder: Embedder) -> None:
        """Use an embedder that was already made from the settings."""
        self._made["embedder"] = (self.with_folder(self._provider()).embedding, embedder)

    def embedder(self) -> Embedder | None:
        """The embedder that is set; its model is loaded when it is first used."""
        config = self.with_folder(self._provider())
        return self.model("embedder", config.embedding, lambda: registry.embedder(config))

    def fallback(self) -> Embedder | None:
        """The embedder for when the first is unavailable; its vectors are never compared with the first's."""
        config = self._provider()
        return self.model("fallback", config.embedding, lambda: registry.fallback_embedder(self.with_folder(config)))

    @property
    def config(self) -> Config:
        return self._provider()

    @cached_property
    def second(self) -> SecondModel:
        """The model for languages that the embedder does not read, if a plugin brings one."""
        plugins = (plugin for plugin in installed().values() if plugin.second_model)
        made: SecondModel = next((plugin.load(plugin.second_model)(self) for plugin in plugins), SecondModel())
        return made

    def reranker(self, kind: str) -> Reranker:
        config = self._provider()
        settings = (kind, config.rerank, config.of_plugins)
        return self.model("reranker", settings, lambda: registry.reranker(kind, self.with_folder(config), self))

    def chunker(self) -> Callable[[str], Sequence[int]] | None:
        """What says where to cut a text; None if it is cut by its structure."""
        name = self._provider().ingest.chunker
        if name == "structure":
            return None
        positions = brought_as("chunkers", name)
        return lambda text: positions(self, text)

    def with_folder(self, config: Config) -> Config:
        """The settings with a folder for models, beside the store, and with what plugins add to those of embeddings."""
        if self._completed is None or self._completed[0] is not config:
            settings = next(filter(None, ask("embedding_settings", config)), config.embedding)
            beside = data_home(os.environ) if is_address(self._location) else Path(self._location).parent
            folder = str(beside / "models")
            self._completed = config, replace(config, embedding=replace(settings, folder=folder))
        return self._completed[1]

    def backlog(self) -> Backlog | None:
        """Where new chunks wait for their vectors; None when vectors are off or the embedder is unavailable."""
        try:
            embedder = self.embedder()
            if embedder is None:
                return None
            others = {*unread_by(embedder), *getattr(self.second.embedder(), "languages", ())}
            without = Languages(without=tuple(sorted(others)))
            return Backlog(fingerprint_of(embedder), embedder.dimensions, without, self.second.backlog())
        except Unavailable:
            return None  # embedding reports the reason, and finds the chunks without a vector again

    def fallback_fingerprints(self) -> list[str]:
        """The fingerprints whose vectors are kept when another model becomes the active one."""
        try:
            others = (self.fallback(), self.second.embedder())
            return [fingerprint_of(embedder) for embedder in others if embedder is not None]
        except Unavailable:
            return []
