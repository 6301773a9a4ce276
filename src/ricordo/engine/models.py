"""Verbs for models: models, test_model, use_model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ricordo import registry
from ricordo.engine.context import EngineContext

if TYPE_CHECKING:
    from ricordo.engine.model_choice import Models
    from ricordo.models.base import Embedder
    from ricordo.values.models import ModelState, ModelSwitch, ModelTest
    from ricordo.values.reports import EmbedReport, Progress

    Decide = Callable[[ModelSwitch], bool]


class ModelVerbs:
    """Lists and tests models, and changes which one is used."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    def models(self) -> tuple[ModelState, ...]:
        return self._models().states()

    def test_model(self, provider: str = "", *, model: str = "", dimensions: int = 0) -> ModelTest:
        return self._models().test(provider, model=model, dimensions=dimensions)

    def use_model(
        self,
        provider: str,
        *,
        model: str = "",
        dimensions: int = 0,
        reembed: bool | Decide = False,
        dry_run: bool = False,
        scope: str = "user",
        progress: Callable[[Progress], None] | None = None,
    ) -> ModelSwitch:
        models = self._models()
        switch, embedder = models.plan(provider, model=model, dimensions=dimensions)
        if dry_run:
            return switch
        wanted = reembed(switch) if callable(reembed) else reembed
        if embedder is None or not wanted:
            return models.write(switch, scope)
        report = self._embed_all(switch, embedder, progress)
        if report.stopped or report.failed:
            why = report.stopped or f"{report.failed} passages failed; 'ricordo jobs' says why"
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
        return Worker(self._context.store, embedder, registry.worker_name(), progress).drain()

    def _models(self) -> Models:
        from ricordo.engine.model_choice import Models

        config = self._context.models.with_folder(self._context.config)
        return Models(config, registry.models_folder(config), self._context.start, self._context.store)
