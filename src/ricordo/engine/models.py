"""Verbs for models: models, use_model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ricordo import registry
from ricordo.engine.opening import OpenEngine
from ricordo.store.sql.jobs import worker_name
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.engine.model_choice import Models
    from ricordo.models.base import Embedder
    from ricordo.values.reports import EmbedReport, ModelState, ModelSwitch, Progress
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import NAME_TEXT, DryRun

    Decide = Callable[[ModelSwitch], bool]


class ModelVerbs(OpenEngine):
    """Lists models, and changes which one is used."""

    @verb(
        "read",
        "look after",
        "List the providers of embeddings, and what each lacks.",
        path="models list",
        answers="models",
        examples=("ricordo models list",),
    )
    def models(self) -> tuple[ModelState, ...]:
        """The reranker is listed, too, if one is set."""
        return self._models().states()

    @verb(
        "admin",
        "look after",
        "Use another model from now on.",
        path="models use",
        is_long=True,
        examples=("ricordo models use local", "ricordo models use openai --reembed"),
    )
    def use_model(
        self,
        provider: Annotated[str, Say("Whose model.", longest=100, shown="PROVIDER")],
        *,
        model: Annotated[str, Say("Its name.", longest=NAME_TEXT, shown="NAME")] = "",
        dimensions: Annotated[int, Say("The length of its vectors.", 0, most=100_000, shown="N")] = 0,
        reembed: Annotated[bool | Decide, Say("Make its vectors first.")] = False,
        dry_run: DryRun = False,
        scope: Annotated[
            str,
            Say("Whose settings are changed.", choices=("user", "project"), not_on={"cli": "--project says it"}),
        ] = "user",
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

    def _models(self) -> Models:
        from ricordo.engine.model_choice import Models

        config = self._context.models.with_folder(self._context.config)
        return Models(config, registry.models_folder(config), self._context.start, self._context.store)
