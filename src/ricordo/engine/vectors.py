"""Verbs for vectors: embed, reembed, jobs, retry_jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ricordo.engine.context import EngineContext
from ricordo.values.reports import Progress

if TYPE_CHECKING:
    from ricordo.values.reports import EmbedReport, JobsReport


FEW = 64
"""How many waiting texts a command embeds if it was not asked to embed."""


class VectorVerbs:
    """Makes the vectors that are missing."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    def embed(
        self,
        *,
        workers: int = 1,
        kinds: Sequence[str] = (),
        limit: int | None = None,
        enqueue_only: bool = False,
        search_missing: bool = True,
        progress: Callable[[Progress], None] | None = None,
    ) -> EmbedReport:
        from ricordo.values.reports import EmbedReport

        if self._context.config.embedding.provider == "none":
            return EmbedReport(stopped="vectors are switched off (embedding.provider = none)")
        if not search_missing and not kinds and not enqueue_only:
            return self._context.embed_taken_in(limit)
        found = 0
        backlog = self._context.models.backlog()
        if search_missing and backlog is not None:
            for kind in kinds or (None,):
                found += self._context.store.jobs.enqueue_missing(backlog.fingerprint, backlog.dimensions, kind)
        if enqueue_only and backlog is not None:
            return EmbedReport(enqueued=found)
        report = self._context.embed_waiting(progress, kinds=kinds, limit=limit, workers=workers, whole=search_missing)
        if not report.stopped and not report.failed:
            self._context.use_whole_vectors()
        if search_missing and limit is None and not report.stopped:
            return replace(report, stopped=self._still_waiting(kinds))
        return report

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
            " the next try. 'ricordo jobs retry', then 'ricordo embed' tries them now."
        )

    def see_to_waiting(self, *, few: int = FEW) -> int:
        if self._context.config.embedding.provider == "none" or not self._context.is_open:
            return 0
        waiting = self._context.waiting()
        if 0 < waiting <= few:
            self._context.embed_taken_in()
            waiting = self._context.waiting()
        return waiting

    def jobs(self) -> JobsReport:
        from ricordo.values.reports import JobsReport

        return JobsReport(self._context.store.jobs.summary())

    def retry_jobs(self) -> int:
        return self._context.store.jobs.retry()

    def reembed(self, *, progress: Callable[[Progress], None] | None = None) -> EmbedReport:
        return self.embed(progress=progress)
