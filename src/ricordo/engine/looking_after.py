"""The engine's verbs that look after a store: vectors, the backlog, profiles, status, doctor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ricordo import registry
from ricordo.engine.core import Core
from ricordo.values.reports import DoctorReport, Progress

if TYPE_CHECKING:
    from ricordo.search.profile import Profile
    from ricordo.values.reports import EmbedReport, JobsReport


class LookingAfter(Core):
    """Keeps a store whole and its vectors complete."""

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
        """Work off the backlog of texts without a vector. Any number of processes may do so at once.

        Without ``search_missing`` only what was put on the backlog when it was written: a store is not looked through.
        """
        from ricordo.values.reports import EmbedReport

        if self.config.embedding.provider == "none":
            return EmbedReport(stopped="vectors are switched off (embedding.provider = none)")
        found = 0
        backlog = self._backlog()
        if search_missing and backlog is not None:
            for kind in kinds or (None,):
                found += self.store.jobs.enqueue_missing(backlog.fingerprint, backlog.dimensions, kind)
        if enqueue_only and backlog is not None:
            return EmbedReport(enqueued=found)
        report = self._drain(progress, kinds=kinds, limit=limit, workers=workers, whole=search_missing)
        if search_missing and limit is None and not report.stopped:
            return replace(report, stopped=self._still_waiting(kinds))
        return report

    def _still_waiting(self, kinds: Sequence[str]) -> str:
        """What was left alone because it failed before; whoever mended the cause wants to know how to go on."""
        left = [
            row
            for row in self.store.jobs.summary()["kinds"]
            if row["error"] and row["state"] != "running" and (not kinds or row["kind"] in kinds)
        ]
        if not left:
            return ""
        count = sum(row["count"] for row in left)
        return (
            f"{count} passage{'' if count == 1 else 's'} failed before ({left[0]['error'].rstrip('.')}) and wait for"
            " the next try. 'ricordo jobs retry', then 'ricordo embed' tries them now."
        )

    def jobs(self) -> JobsReport:
        """What waits for a vector, what failed, and how much is done."""
        from ricordo.values.reports import JobsReport

        return JobsReport(self.store.jobs.summary())

    def retry_jobs(self) -> int:
        """Put failed jobs back; answers how many."""
        return self.store.jobs.retry()

    def reembed(self, *, progress: Callable[[Progress], None] | None = None) -> EmbedReport:
        """Give every text a vector of the model in force; searches use the old ones until all are there."""
        from ricordo.models.fingerprint import fingerprint_of

        report = self.embed(progress=progress)
        embedder = self._embedder()
        if embedder is not None and not report.stopped and not report.failed:
            fingerprint = fingerprint_of(embedder)
            if not self.store.jobs.waiting(fingerprint) and self.store.vectors.active_fingerprint() != fingerprint:
                self.store.vectors.activate(fingerprint, self._kept_fingerprints())
        return report

    def profiles(self) -> dict[str, Profile]:
        """The ways to rank, by name: the built-in ones and those of the settings."""
        return registry.profiles(self.config)

    def status(self) -> dict[str, Any]:
        """What the store holds and how it is."""
        from ricordo.engine.health import store_status

        self._look_at_files()
        knowledge = self._knowledge.status() if self._knowledge is not None else None
        return store_status(self.store, self.location, self.config) | {"knowledge": knowledge}

    def doctor(self, *, repair: bool = False) -> DoctorReport:
        """Check the store, and with ``repair`` mend what can be rebuilt."""
        from ricordo.engine.health import check_store

        report = check_store(self.store, self.location, repair=repair)
        return DoctorReport((*report.checks, self._knowledge.check(repair=repair))) if self._knowledge else report
