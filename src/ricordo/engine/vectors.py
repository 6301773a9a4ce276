"""The verb embed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ricordo.engine.abroad import settle
from ricordo.engine.checks import kinds_of
from ricordo.engine.opening import OpenEngine
from ricordo.values.reports import Progress
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.values.reports import EmbedReport
    from ricordo.verbs.declare import BY_FACE, Say
    from ricordo.verbs.parameters import KindsToTake


class VectorVerbs(OpenEngine):
    """Makes the vectors that are missing."""

    @verb(
        "write",
        "look after",
        "Make the vectors that are still missing.",
        is_long=True,
        examples=("ricordo embed", "ricordo embed --workers 4 --kind document", "ricordo embed --status"),
    )
    def embed(
        self,
        *,
        workers: Annotated[int, Say("Use N threads.", 1, most=64, shown="N")] = 1,
        kinds: KindsToTake = (),
        limit: Annotated[int, Say("Stop after N passages.", 1, most=2**31, short="-n", shown="N")] | None = None,
        enqueue_only: Annotated[bool, Say("Only put passages without vectors into the backlog.")] = False,
        retry: Annotated[bool, Say("Also try those again that failed.")] = False,
        status: Annotated[bool, Say("Only show what waits for a vector, and what failed.")] = False,
        search_missing: Annotated[bool, Say("Look for passages without vectors first.", not_on=BY_FACE)] = True,
        progress: Callable[[Progress], None] | None = None,
    ) -> EmbedReport:
        """Any number of processes may do so at once. After a change of the model, searches use the old vectors until
        all new ones are made.

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
        team = self._context.store.team
        if team is not None and backlog is not None:
            team.allow_model(backlog.fingerprint)
        if search_missing and backlog is not None:
            for kind in kinds or (None,):
                for one in (backlog, backlog.second) if backlog.second is not None else (backlog,):
                    found += self._context.store.jobs.enqueue_missing(
                        one.fingerprint, one.dimensions, kind, one.languages
                    )
        if enqueue_only and backlog is not None:
            return EmbedReport(enqueued=found)
        report = self._context.embed_waiting(progress, kinds=kinds, limit=limit, workers=workers, whole=search_missing)
        if not report.stopped and not report.failed:
            self._context.use_whole_vectors()
            settle(self._context.store, backlog)
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
            " the next try. 'ricordo embed --retry' tries them now."
        )
