"""The models that the settings name: which there are, whether one works, and what switching to another would cost.

``Models`` needs the settings alone; with a store it also counts what a switch would embed there.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ricordo import registry
from ricordo.config.loading import load_config, set_value, unset_value
from ricordo.config.settings import Config, EmbeddingSettings
from ricordo.errors import Error, UsageError
from ricordo.values.reports import ModelState, ModelSwitch, ModelTest

if TYPE_CHECKING:
    from ricordo.models.base import Embedder
    from ricordo.models.providers import EmbeddingProvider
    from ricordo.store.base import Store

SENTENCE = "The quick brown fox jumps over the lazy dog."
SAMPLE = 16
"""How many passages of the store are embedded to measure how fast a model is."""
CHARACTERS_PER_TOKEN = 4
CROSS_ENCODER = "cross-encoder"
OWN_TO_A_PROVIDER = ("model", "api_keys", "base_url", "batch_size", "input_type", "dimensions")
"""Settings that belong to one provider; above all, a key is never sent to another provider."""


class Models:
    """The models that the settings name; ``kept_in`` is the folder for models from a hub."""

    def __init__(self, config: Config, kept_in: Path, start: Path, store: Store | None = None) -> None:
        self.config = replace(config, embedding=replace(config.embedding, folder=str(kept_in)))
        self.start = start
        self.store = store

    def states(self) -> tuple[ModelState, ...]:
        """Every provider, with what is set for it or its defaults."""
        found = [self._state(one) for one in registry.embedding_providers().values()]
        if self.config.rerank.model:
            found.append(self._rerank_state())
        return tuple(found)

    def plan(self, provider: str, *, model: str = "", dimensions: int = 0) -> tuple[ModelSwitch, Embedder | None]:
        """What switching to a model would take. The model is tried first; if it does not work, that is an error."""
        if provider == CROSS_ENCODER:  # the reranker; nothing is switched, but its files are fetched
            registry.rerank_files(self.config).complete()
            return ModelSwitch(CROSS_ENCODER, self.config.rerank.model, None, "", {}), None
        settings = self._settings(provider, model, dimensions)
        changes = self._changes(settings)
        if provider == "none":
            return ModelSwitch("none", "", None, "", changes), None
        embedder = self._embedder(settings)
        shown = settings.model or self._default(provider)
        tested = self._tested(embedder, provider, shown)
        if getattr(getattr(embedder, "shape", None), "dimensions", tested.dimensions) is None:
            # The length of its vectors was not known; from now on, the settings name it.
            settings = replace(settings, dimensions=tested.dimensions)
            changes["embedding.dimensions"] = str(tested.dimensions)
            embedder = self._embedder(settings)
        from ricordo.models.vectors import fingerprint_of

        fingerprint = fingerprint_of(embedder)
        switch = ModelSwitch(provider, shown, tested.dimensions, fingerprint, changes, notes=self._notes(changes))
        return (self._counted(switch, embedder) if self.store is not None else switch), embedder

    def write(self, switch: ModelSwitch, scope: str) -> ModelSwitch:
        """Write the switch to a settings file; if another source overrides it, that is noted."""
        notes = list(switch.notes)
        for name, value in switch.settings.items():
            if value is None:
                unset_value(name, scope=scope, start=self.start)
            else:
                set_value(name, value, scope=scope, start=self.start)
        after = load_config(start=self.start)
        for name, value in switch.settings.items():
            source = after.source(name)
            if value is not None and not source.startswith(f"{scope}:"):
                notes.append(f"{name} is written, but {source} wins over it")
            elif value is None and source != "default":
                notes.append(f"{name} is removed, but {source} still sets it")
        return replace(switch, is_written=True, notes=tuple(notes))

    def _state(self, provider: EmbeddingProvider) -> ModelState:
        settings = self._settings(provider.name)
        is_used = provider.name == self.config.embedding.provider
        fallback = self.config.embedding.fallback.partition(":")[0]
        needs_key = bool(provider.key_variable) and not (provider.name == "openai" and settings.base_url)
        has_key = bool(settings.api_keys or os.environ.get(provider.key_variable)) if provider.key_variable else None
        lacks = f"the key {provider.key_variable}" if needs_key and not has_key else ""
        if provider.extra and not _is_installed(provider.extra):
            lacks = f"the extra: pip install 'ricordo[{provider.extra}]'"
        state = ModelState(
            provider.name,
            settings.model or provider.model,
            settings.dimensions or (None if settings.model else provider.dimensions),
            settings.batch_size or provider.batch,
            provider.key_variable,
            has_key,
            "in use" if is_used else "fallback" if provider.name == fallback else "",
            lacks,
            provider.about,
        )
        return self._hub_state(state, settings) if provider.name == "hub" else state

    def _hub_state(self, state: ModelState, settings: EmbeddingSettings) -> ModelState:
        try:
            model: Any = self._embedder(settings)
            if model.files.is_complete:
                return replace(state, dimensions=model.dimensions)
        except Error as error:
            return replace(state, lacks=error.message)
        return replace(state, lacks=state.lacks or "a download (ricordo models test hub)")

    def _rerank_state(self) -> ModelState:
        state = ModelState(CROSS_ENCODER, self.config.rerank.model, None, None, "", None, "rerank")
        try:
            files = registry.rerank_files(self.config)
        except Error as error:
            return replace(state, lacks=error.message)
        missing = "" if files.is_complete else "a download (ricordo models test cross-encoder)"
        return replace(state, lacks=missing)

    def _tested(self, embedder: Embedder, provider: str, model: str) -> ModelTest:
        started = time.perf_counter()
        length = int(embedder.embed_documents([SENTENCE]).shape[1])
        first = time.perf_counter()
        embedder.embed_query(SENTENCE)
        return ModelTest(provider, model, length, (first - started) * 1e3, (time.perf_counter() - first) * 1e3)

    def _counted(self, switch: ModelSwitch, embedder: Embedder) -> ModelSwitch:
        """The switch with the number of passages to embed, and the speed measured with some of them."""
        assert self.store is not None
        counts = self.store.vectors.counts(switch.fingerprint)
        chunks = max(0, counts["chunks"] - counts["embedded"])
        if not chunks:
            return switch
        sample: list[str] = []
        characters = 0
        step = max(1, counts["chunks"] // SAMPLE)
        for at, text in enumerate(self.store.items.passage_texts()):
            characters += len(text)
            if at % step == 0 and len(sample) < SAMPLE:
                sample.append(text)
        started = time.perf_counter()
        embedder.embed_documents(sample)
        rate = len(sample) / max(time.perf_counter() - started, 1e-6)
        tokens = characters * chunks // (CHARACTERS_PER_TOKEN * max(1, counts["chunks"]))
        return replace(switch, chunks=chunks, tokens=tokens, rate=rate)

    def _settings(self, provider: str, model: str = "", dimensions: int = 0) -> EmbeddingSettings:
        """The settings of a provider: those in force if it is the one in use, its defaults if not."""
        now = self.config.embedding
        if provider != now.provider:
            now = replace(EmbeddingSettings(provider=provider), folder=now.folder)
        if model and model != now.model:
            now = replace(now, model=model, dimensions=0)
        return replace(now, dimensions=dimensions or now.dimensions)

    def _changes(self, settings: EmbeddingSettings) -> dict[str, str | None]:
        """The settings that have to be written; None removes a setting."""
        now, plain = self.config.embedding, EmbeddingSettings()
        changes: dict[str, str | None] = {}
        for key in ("provider", *OWN_TO_A_PROVIDER):
            value = getattr(settings, key)
            if value != getattr(now, key):
                changes[f"embedding.{key}"] = None if value == getattr(plain, key) and key != "provider" else str(value)
        return changes

    def _notes(self, changes: dict[str, str | None]) -> tuple[str, ...]:
        if "embedding.api_keys" not in changes:
            return ()
        return (f"embedding.api_keys were for {self.config.embedding.provider} and are removed",)

    def _embedder(self, settings: EmbeddingSettings) -> Embedder:
        made = registry.embedder(replace(self.config, embedding=settings))
        if made is None:
            raise UsageError("vectors are switched off", hint="Name a provider: ‹:models list› shows them.")
        return made

    def _default(self, provider: str) -> str:
        known = registry.embedding_providers().get(provider)
        return known.model if known is not None else ""


def _is_installed(extra: str) -> bool:
    from importlib.util import find_spec

    return find_spec({"hub": "huggingface_hub"}.get(extra, extra)) is not None


def _no_language_model() -> NoReturn:
    raise UsageError("a cross-encoder needs no language model")
