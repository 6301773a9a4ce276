"""The models that the settings name, made when they are first needed and kept while the settings stay the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ricordo import registry
from ricordo.config.files import data_home
from ricordo.config.settings import Config
from ricordo.errors import Unavailable
from ricordo.models import multilingual
from ricordo.store.values import EVERY_LANGUAGE, Backlog, Languages
from ricordo.values.store_addresses import is_address

if TYPE_CHECKING:
    from ricordo.models.base import Embedder, Reranker
    from ricordo.models.llm import LLM, LlmUsage
    from ricordo.models.multilingual import MultilingualEmbedder

Model = TypeVar("Model")


class ModelsInUse:
    """Embedder, fallback embedder, reranker and language model of one engine."""

    def __init__(self, provider: Callable[[], Config], location: str) -> None:
        self._provider = provider
        self._location = location
        self._made: dict[str, tuple[Any, Any]] = {}
        self._second: MultilingualEmbedder | None = None

    def _model(self, what: str, settings: object, make: Callable[[], Model]) -> Model:
        """The model that was made from these settings, or a new one."""
        if what not in self._made or self._made[what][0] != settings:
            self._made[what] = (settings, make())
        return cast("Model", self._made[what][1])

    def use_embedder(self, embedder: Embedder) -> None:
        """Use an embedder that was already made from the settings."""
        config = self._provider()
        self._made["embedder"] = ((config.embedding, config.llm.api_keys), embedder)

    @property
    def in_use(self) -> Embedder | None:
        """The embedder that was made already; None if nothing asked for one yet."""
        return self._made["embedder"][1] if "embedder" in self._made else None

    def embedder(self) -> Embedder | None:
        """The embedder that is set; its model is loaded when it is first used."""
        config = self._provider()
        key = (config.embedding, config.llm.api_keys)
        return self._model("embedder", key, lambda: registry.embedder(self.with_folder(config)))

    def fallback(self) -> Embedder | None:
        """The embedder for when the first is unavailable; its vectors are never compared with the first's."""
        config = self._provider()
        return self._model("fallback", config.embedding, lambda: registry.fallback_embedder(self.with_folder(config)))

    def second(self) -> MultilingualEmbedder | None:
        """The embedder for other languages than English: None if it is not installed, or if the one that is set is not
        the shipped one, because others know many languages themselves.
        """
        config = self._provider()
        if config.embedding.provider != "local" or not multilingual.is_installed():
            return None
        if self._second is None:
            self._second = multilingual.MultilingualEmbedder()
        return self._second

    def offers_second(self) -> bool:
        """Whether installing the embedder for other languages would help."""
        return self._provider().embedding.provider == "local" and not multilingual.is_installed()

    def second_fingerprint(self) -> str:
        """The fingerprint that vectors for other languages have, whether the model is installed or not; "" where the
        model that is set embeds everything.
        """
        from ricordo.models.base import fingerprint_of

        config = self._provider()
        return fingerprint_of(multilingual.MultilingualEmbedder()) if config.embedding.provider == "local" else ""

    def spoken(self) -> Sequence[str]:
        """The languages that the user says to speak (``language.mine``)."""
        return self._provider().language.mine

    def reranker(self, kind: str) -> Reranker:
        """The reranker of a kind, as it is set."""
        config = self._provider()
        key = (kind, config.rerank, config.llm)
        return self._model(
            "reranker", key, lambda: registry.reranker(kind, self.with_folder(config), self.llm_or_default)
        )

    def llm(self, *, unset: str = "none") -> LLM:
        """The language model that is set; ``unset`` is the provider to use where the settings name none."""
        config = self._provider()
        key = (config.llm, unset if config.source("llm.provider") == "default" else "")
        return self._model("llm", key, lambda: registry.llm(config, unset=unset))

    def llm_or_default(self) -> LLM:
        """The language model for a setting that asks for one, such as ``rerank.kind = llm``: Anthropic's if unset."""
        return self.llm(unset="anthropic")

    @property
    def llm_usage(self) -> LlmUsage | None:
        """What was asked of a language model since the store was opened; None when nothing was."""
        usage: LlmUsage | None = self._made["llm"][1].usage if "llm" in self._made else None
        return usage if usage is not None and usage.calls else None

    def with_folder(self, config: Config) -> Config:
        """The settings with a folder for models, beside the store.

        Where embeddings and the language model come from the same provider, one set of keys is enough for both.
        """
        config = registry.with_keys_of_llm(config)
        beside = data_home(os.environ) if is_address(self._location) else Path(self._location).parent
        folder = str(beside / "models")
        return replace(config, embedding=replace(config.embedding, folder=folder))

    def backlog(self) -> Backlog | None:
        """Where new chunks wait for their vectors; None when vectors are off or the embedder is unavailable."""
        from ricordo.models.base import fingerprint_of

        try:
            embedder = self.embedder()
            if embedder is None:
                return None
            others: set[str] = {*getattr(embedder, "unread", ())}
            backlog = None
            if (second := self.second()) is not None:
                others |= {*second.languages}
                # Passages in other languages wait for it; all do, if the user speaks one of these languages.
                speaks = any(code in second.languages for code in self.spoken())
                languages = EVERY_LANGUAGE if speaks else Languages(only=tuple(sorted(second.languages)))
                backlog = Backlog(fingerprint_of(second), second.dimensions, languages)
            without = Languages(without=tuple(sorted(others)))
            return Backlog(fingerprint_of(embedder), embedder.dimensions, without, backlog)
        except Unavailable:
            return None  # embedding reports the reason, and finds the chunks without a vector again

    def fallback_fingerprints(self) -> list[str]:
        """The fingerprints whose vectors are kept when another model becomes the active one."""
        from ricordo.models.base import fingerprint_of

        try:
            kept = (self.fallback(), self.second())
            return [fingerprint_of(one) for one in kept if one is not None]
        except Unavailable:
            return []
