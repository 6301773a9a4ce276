"""The models that the settings name, made when they are first needed and kept while the settings stay the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


class ModelsInUse:
    """Embedder, fallback embedder, reranker and language model of one engine."""

    def __init__(self, provider: Callable[[], Config], location: str) -> None:
        self._provider = provider
        self._location = location
        self._embedder: tuple[Any, Embedder | None] | None = None
        self._fallback: tuple[Any, Embedder | None] | None = None
        self._second: MultilingualEmbedder | None = None
        self._reranker: tuple[Any, Reranker] | None = None
        self._llm: tuple[Any, LLM] | None = None

    def use_embedder(self, embedder: Embedder) -> None:
        """Use an embedder that was already made from the settings."""
        config = self._provider()
        self._embedder = ((config.embedding, config.llm.api_keys), embedder)

    @property
    def in_use(self) -> Embedder | None:
        """The embedder that was made already; None if nothing asked for one yet."""
        return self._embedder[1] if self._embedder is not None else None

    def embedder(self) -> Embedder | None:
        """The embedder that is set; its model is loaded when it is first used."""
        config = self._provider()
        key = (config.embedding, config.llm.api_keys)
        if self._embedder is None or self._embedder[0] != key:
            self._embedder = (key, registry.embedder(self.with_folder(config)))
        return self._embedder[1]

    def fallback(self) -> Embedder | None:
        """The embedder for when the first is unavailable; its vectors are never compared with the first's."""
        config = self._provider()
        if self._fallback is None or self._fallback[0] != config.embedding:
            self._fallback = (config.embedding, registry.fallback_embedder(self.with_folder(config)))
        return self._fallback[1]

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
        if self._reranker is None or self._reranker[0] != key:
            self._reranker = (key, registry.reranker(kind, self.with_folder(config), self.llm_or_default))
        return self._reranker[1]

    def llm(self, *, unset: str = "none") -> LLM:
        """The language model that is set; ``unset`` is the provider to use where the settings name none."""
        config = self._provider()
        key = (config.llm, unset if config.source("llm.provider") == "default" else "")
        if self._llm is None or self._llm[0] != key:
            self._llm = (key, registry.llm(config, unset=unset))
        return self._llm[1]

    def llm_or_default(self) -> LLM:
        """The language model for a setting that asks for one, such as ``rerank.kind = llm``: Anthropic's if unset."""
        return self.llm(unset="anthropic")

    @property
    def llm_usage(self) -> LlmUsage | None:
        """What was asked of a language model since the store was opened; None when nothing was."""
        usage = self._llm[1].usage if self._llm is not None else None
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
            unread: Any = getattr(embedder, "unread", ())
            second = self._second_backlog()
            others = {*unread, *(self._second.languages if second is not None and self._second is not None else ())}
            languages = Languages(without=tuple(sorted(others)))
            return Backlog(fingerprint_of(embedder), embedder.dimensions, languages, second)
        except Unavailable:
            return None  # embedding reports the reason, and finds the chunks without a vector again

    def _second_backlog(self) -> Backlog | None:
        """Where passages in other languages wait; all passages do, if the user speaks one of these languages."""
        from ricordo.models.base import fingerprint_of

        embedder = self.second()
        if embedder is None:
            return None
        speaks = any(code in embedder.languages for code in self.spoken())
        languages = EVERY_LANGUAGE if speaks else Languages(only=tuple(sorted(embedder.languages)))
        return Backlog(fingerprint_of(embedder), embedder.dimensions, languages)

    def fallback_fingerprints(self) -> list[str]:
        """The fingerprints whose vectors are kept when another model becomes the active one."""
        from ricordo.models.base import fingerprint_of

        try:
            kept = (self.fallback(), self.second())
            return [fingerprint_of(one) for one in kept if one is not None]
        except Unavailable:
            return []
