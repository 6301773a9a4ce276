"""The verb for knowledge files: sync. The other verbs take in edits when they ask the context for the store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ricordo.engine.opening import OpenEngine
from ricordo.errors import Unavailable
from ricordo.values.reports import Progress
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.values.reports import SyncReport
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import Wait


class KnowledgeVerbs(OpenEngine):
    """Syncs the store with the files of its memories, notes and articles."""

    @verb(
        "write",
        "add",
        "Read knowledge files that were changed by hand.",
        is_long=True,
        examples=("ricordo sync", "ricordo sync --write"),
        creates=True,
    )
    def sync(
        self,
        *,
        write: Annotated[bool, Say("Write files that are gone again, instead of removing their items.")] = False,
        wait: Wait = True,
        progress: Callable[[Progress], None] | None = None,
    ) -> SyncReport:
        """Take in what was done to the knowledge files, and write those that are missing for items that never had one.

        A file that is gone takes its item to the bin; with ``write`` it is written again instead. What was changed
        both in its file and in the store is a conflict: both are kept as versions, the file's is the current one.
        """
        knowledge = self._context.knowledge
        if knowledge is None:
            raise Unavailable(
                f"the store {self._context.location} keeps no knowledge files",
                hint="Set knowledge.folder to where they are to be; knowledge.enabled must be true.",
            )
        report = knowledge.sync(write=write)
        if not wait or not (report.count("created", "updated", "moved", "conflict") or self._context.waiting()):
            return (
                report  # texts that an earlier read took in may still wait for vectors, which the report does not show
            )
        done = self._context.embed_waiting(progress)
        return replace(report, notes=(*report.notes, f"vectors: {done.stopped}")) if done.stopped else report
