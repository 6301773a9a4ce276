"""The verb for knowledge files: sync. The other verbs take in edits when they ask the context for the store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ricordo.engine.context import EngineContext
from ricordo.errors import Unavailable
from ricordo.values.reports import Progress

if TYPE_CHECKING:
    from ricordo.values.reports import SyncReport


class KnowledgeVerbs:
    """Syncs the store with the files of its memories, notes and articles."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    def sync(
        self, *, write: bool = False, wait: bool = True, progress: Callable[[Progress], None] | None = None
    ) -> SyncReport:
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
