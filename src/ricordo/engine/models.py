"""Verbs for models and vectors: models, use_model, embed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo import registry
from ricordo.bounded import call_plugin
from ricordo.config.loading import load_config, set_value, unset_value
from ricordo.config.settings import Config, EmbeddingSettings
from ricordo.engine.checks import kinds_of
from ricordo.engine.context import OpenEngine
from ricordo.errors import Unavailable, UsageError
from ricordo.plugin import brought_as, names_of
from ricordo.store.backlog import worker_name
from ricordo.values.reports import ModelState, ModelSwitch, Progress
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.models.base import Embedder
    from ricordo.store.base import Store
    from ricordo.store.values import Backlog
    from ricordo.values.reports import EmbedReport
    from ricordo.verbs.declare import BY_FACE, Say
    from ricordo.verbs.parameters import NAME_TEXT, DryRun, KindsToTake

    Decide = Callable[[ModelSwitch], bool]

SENTENCE = "The quick brown fox jumps over the lazy dog."
SAMPLE = 16
"""How many passages of the store are embedded to measure how fast a model is."""
CHARACTERS_PER_TOKEN = 4
ABOUT = {"local": "inside the package; no network, no key", "none": "words alone"}
OWN_TO_A_PROVIDER = ("model", "api_keys", "base_url", "batch_size", "input_type", "dimensions")
"""Settings that belong to one provider; above all, a key is never sent to another provider."""


class Models:
    """The models that the settings name; ``folder`` is where models from a hub are kept."""

    def __init__(self, config: Config, folder: Path, start: Path, store: Store | None = None) -> None:
        self.config = replace(config, embedding=replace(config.embedding, folder=str(folder)))
        self.folder = folder
        self.start = start
        self.store = store

    def states(self) -> tuple[ModelState, ...]:
        states = [self._state(name) for name in registry.embedder_names()]
        for kind in names_of("rerankers") if self.config.rerank.model else ():
            describe = getattr(brought_as("rerankers", kind), "describe", None)
            if describe is not None:
                state = ModelState(kind, self.config.rerank.model, None, None, "", None, "rerank")
                states.append(describe(state, self.config, self.folder))
        return tuple(states)

    def plan(self, provider: str, *, model: str = "", dimensions: int = 0) -> tuple[ModelSwitch, Embedder | None]:
        """What switching to a model would take. The model is tried first; if it does not work, that is an error."""
        reranker = brought_as("rerankers", provider)
        if hasattr(reranker, "complete"):  # nothing is switched, but its files are fetched
            reranker.complete(self.config, self.folder)
            return ModelSwitch(provider, self.config.rerank.model, None, "", {}), None
        settings = self._settings(provider, model, dimensions)
        changes = self._changes(settings)
        if provider == "none":
            return ModelSwitch("none", "", None, "", changes), None
        embedder = self._embedder(settings)
        shown = settings.model or self._state(provider).model
        length = int(embedder.embed_documents([SENTENCE]).shape[1])
        embedder.embed_query(SENTENCE)
        if getattr(embedder, "known_dimensions", length) is None:
            # The length of its vectors was not known; from now on, the settings name it.
            settings = replace(settings, dimensions=length)
            changes["embedding.dimensions"] = str(length)
            embedder = self._embedder(settings)
        from ricordo.models.base import fingerprint_of

        fingerprint = fingerprint_of(embedder)
        note = f"embedding.api_keys were for {self.config.embedding.provider} and are removed"
        notes = (note,) if "embedding.api_keys" in changes else ()
        switch = ModelSwitch(provider, shown, length, fingerprint, changes, notes=notes)
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

    def _state(self, name: str) -> ModelState:
        """A provider as the settings have it; what is not set is as the provider says itself."""
        settings = self._settings(name)
        fallback = self.config.embedding.fallback.partition(":")[0]
        state = ModelState(
            name,
            settings.model,
            settings.dimensions or None,
            settings.batch_size or None,
            "",
            None,
            "in use" if name == self.config.embedding.provider else "fallback" if name == fallback else "",
            about=ABOUT.get(name, "a plugin"),
        )
        if name == "local" and not settings.model:
            return replace(state, model="all-MiniLM-L6-v2", dimensions=settings.dimensions or 384)
        describe = getattr(brought_as("embedders", name), "describe", None)
        return state if describe is None else describe(state, settings, self.folder)

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

    def _embedder(self, settings: EmbeddingSettings) -> Embedder:
        made = registry.embedder(replace(self.config, embedding=settings))
        if made is None:
            raise UsageError("vectors are switched off", hint="Name a provider: ‹:models list› shows them.")
        return made


class ModelVerbs(OpenEngine):
    """Lists models, changes which one is used, and makes the vectors that are missing."""

    @verb(
        "read",
        "look after",
        "List the providers of embeddings, and what each lacks.",
        path="models list",
        answers="models",
        examples=("ricordo models list",),
        storeless=True,
    )
    def models(self) -> tuple[ModelState, ...]:
        """The provider in use is marked *, the fallback +. The reranker is listed, too, if one is set."""
        return self._models().states()

    @verb(
        "admin",
        "look after",
        "Use another model from now on.",
        path="models use",
        is_long=True,
        examples=("ricordo models use local", "ricordo models use openai --reembed"),
        storeless=True,
    )
    def use_model(
        self,
        provider: Annotated[str, Say("Whose model.", longest=100, shown="PROVIDER")],
        *,
        model: Annotated[str, Say("Its name.", longest=NAME_TEXT, shown="NAME")] = "",
        dimensions: Annotated[int, Say("The length of its vectors.", 0, most=100_000, shown="N")] = 0,
        reembed: Annotated[
            bool | Decide, Say("Make all vectors again first, or not; on a terminal you are asked.", asks=True)
        ] = False,
        dry_run: DryRun = False,
        scope: Annotated[
            str,
            Say("Whose settings are changed.", choices=("user", "project"), not_on={"cli": "--project says it"}),
        ] = "user",
        progress: Callable[[Progress], None] | None = None,
    ) -> ModelSwitch:
        """The model is tried before anything is changed. Keys and addresses of the old provider are removed from the
        settings. With ``reembed``, searches use the old model until all new vectors are made.
        """
        is_there = self._context.located.location.is_there
        models = self._models(self._context.store if is_there else None)
        switch, embedder = models.plan(provider, model=model, dimensions=dimensions)
        if dry_run:
            return switch
        wanted = reembed(switch) if callable(reembed) else reembed
        if embedder is None or not wanted or not is_there:
            return models.write(switch, scope)
        report = self._embed_all(switch, embedder, progress)
        if report.stopped or report.failed:
            why = report.stopped or f"{report.failed} passages failed; 'ricordo embed --status' says why"
            note = f"not switched: {why} What is done is kept; the same command goes on from there."
            return replace(switch, embedding=report, notes=(*switch.notes, note))
        switch = models.write(switch, scope)
        # What others added meanwhile has only a vector of the old model.
        self._embed_all(switch, embedder, progress)
        self._context.store.vectors.activate(switch.fingerprint, self._context.models.fallback_fingerprints())
        return replace(switch, embedding=report)

    def _embed_all(
        self, switch: ModelSwitch, embedder: Embedder, progress: Callable[[Progress], None] | None
    ) -> EmbedReport:
        from ricordo.ingest.embed import Worker

        self._context.store.jobs.enqueue_missing(switch.fingerprint, embedder.dimensions)
        return Worker(self._context.store, embedder, worker_name(), progress).drain()

    def _models(self, store: Store | None = None) -> Models:
        config = self._context.models.with_folder(self._context.config)
        return Models(config, registry.models_folder(config), self._context.start, store)

    @verb(
        "write",
        "look after",
        "Make the vectors that are still missing.",
        is_long=True,
        examples=("ricordo embed", "ricordo embed --workers 4 --kind document", "ricordo embed --again"),
    )
    def embed(
        self,
        *,
        workers: Annotated[int, Say("Use N threads.", 1, most=64, shown="N")] = 1,
        kinds: KindsToTake = (),
        limit: Annotated[int, Say("Stop after N passages.", 1, most=2**31, short="-n", shown="N")] | None = None,
        enqueue_only: Annotated[bool, Say("Only put passages without vectors into the backlog.")] = False,
        retry: Annotated[bool, Say("Also try those again that failed.")] = False,
        again: Annotated[bool, Say("Make those again, too, that are there.")] = False,
        status: Annotated[bool, Say("Only show what waits for a vector, and what failed.")] = False,
        search_missing: Annotated[bool, Say("Look for passages without vectors first.", not_on=BY_FACE)] = True,
        progress: Callable[[Progress], None] | None = None,
    ) -> EmbedReport:
        """Any number of processes may do so at once. After a change of the model, searches use the old vectors until
        all new ones are made. With ``again``, those of the model that is set are dropped once it has answered; until
        they are made again, searches find by words.

        With ``search_missing`` it looks through the store for texts without vectors; without it, only texts in the
        backlog are embedded, also those in the stores of other tiers whose files were edited.
        """
        from ricordo.values.reports import EmbedReport

        kinds = kinds_of(kinds)
        if status:
            return EmbedReport(backlog=self._context.store.jobs.summary())
        if self._context.config.embedding.provider == "none":
            return EmbedReport(stopped="vectors are switched off (embedding.provider = none)")
        if not search_missing and not kinds and not enqueue_only:
            return self._context.embed_taken_in(limit)
        found = self._context.store.jobs.retry() if retry else 0
        backlog = self._context.models.backlog()
        if again and backlog is not None:
            try:
                self._try_models(backlog)
            except Unavailable as error:
                return EmbedReport(stopped=f"{error.message}. Nothing was changed. {error.hint}".strip())
            for kind in kinds or (None,):
                for one in filter(None, (backlog, backlog.second)):
                    found += self._context.store.jobs.enqueue_again(one.fingerprint, one.dimensions, kind)
        if backlog is not None:
            self._context.store.allow_model(backlog.fingerprint)
        if search_missing and backlog is not None:
            for kind in kinds or (None,):
                for one in filter(None, (backlog, backlog.second)):
                    found += self._context.store.jobs.enqueue_missing(
                        one.fingerprint, one.dimensions, kind, one.languages
                    )
        if enqueue_only and backlog is not None:
            return EmbedReport(enqueued=found)
        report = self._context.embed_waiting(progress, kinds=kinds, limit=limit, workers=workers, whole=search_missing)
        if not report.stopped and not report.failed:
            self._context.use_whole_vectors()
            self._context.store.vectors.settle(backlog)
        if search_missing and limit is None and not report.stopped:
            return replace(report, stopped=self._still_waiting(kinds))
        return report

    def _try_models(self, backlog: Backlog) -> None:
        """See that the models answer, before vectors are dropped that only they can make."""
        models = self._context.models
        for embedder in (models.embedder(), models.second.embedder() if backlog.second is not None else None):
            if embedder is not None:
                call_plugin(partial(embedder.embed_query, SENTENCE), f"{embedder.fingerprint} failed", hint="")

    def _still_waiting(self, kinds: Sequence[str]) -> str:
        """A note about texts that failed before and were left out, with the command that tries them again."""
        left = [
            row
            for row in self._context.store.jobs.summary()["kinds"]
            if row["error"] and row["state"] != "running" and (not kinds or row["kind"] in kinds)
        ]
        if not left:
            return ""
        count = sum(row["count"] for row in left)
        return (
            f"{count} passage{'' if count == 1 else 's'} failed before ({left[0]['error'].rstrip('.')}) and wait for"
            " the next try. 'ricordo embed --retry' tries them now."
        )
