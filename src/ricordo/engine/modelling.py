"""The engine's verbs about models: which there are, whether one works, and using another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ricordo import registry
from ricordo.engine.core import Core

if TYPE_CHECKING:
    from ricordo.engine.model_choice import Models
    from ricordo.models.base import Embedder
    from ricordo.values.models import ModelState, ModelSwitch, ModelTest
    from ricordo.values.reports import EmbedReport, Progress

    Decide = Callable[[ModelSwitch], bool]


class Modelling(Core):
    """Looks at models and changes which one is used."""

    def models(self) -> tuple[ModelState, ...]:
        """The providers of embeddings and what each lacks, and the reranker if one is set."""
        return self._models().states()

    def test_model(self, provider: str = "", *, model: str = "", dimensions: int = 0) -> ModelTest:
        """Whether a model works: the one in use, another provider's, or ``cross-encoder``."""
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
        """Use another model from now on, if it works; ``reembed`` makes its vectors first, or decides that.

        With it, searches of all processes keep the old model until the new vectors are whole.
        """
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
        self.store.vectors.activate(switch.fingerprint, self._kept_fingerprints())
        return replace(switch, embedding=report)

    def _embed_all(
        self, switch: ModelSwitch, embedder: Embedder, progress: Callable[[Progress], None] | None
    ) -> EmbedReport:
        from ricordo.ingest.embed import Worker

        self.store.jobs.enqueue_missing(switch.fingerprint, embedder.dimensions)
        return Worker(self.store, embedder, registry.worker_name(), progress).drain()

    def _models(self) -> Models:
        from ricordo.engine.model_choice import Models

        config = self._placed(self.config)
        return Models(config, registry.models_folder(config), self._start, self.store)
