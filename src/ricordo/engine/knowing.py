"""The engine's verb for knowledge folders: sync. Looking at them before other verbs is in ``core``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ricordo.engine.taking_in import TakingIn
from ricordo.errors import Unavailable
from ricordo.values.reports import Progress

if TYPE_CHECKING:
    from ricordo.values.reports import SyncReport


class Knowing(TakingIn):
    """Keeps the store and the files of its memories, notes and articles together."""

    def sync(
        self, *, write: bool = False, wait: bool = True, progress: Callable[[Progress], None] | None = None
    ) -> SyncReport:
        """Take in what was done to the knowledge files, and write those that are missing for items that never had one.

        A file that is gone takes its item to the bin; with ``write`` it is written again instead. What was changed
        both in its file and in the store is a conflict: both are kept as versions, the file's is the current one.
        """
        knowledge = self._knowledge
        if knowledge is None:
            raise Unavailable(
                f"the store {self.location} keeps no knowledge files",
                hint="Set knowledge.folder to where they are to be; knowledge.enabled must be true.",
            )
        report = knowledge.sync(write=write)
        if not wait or not report.count("created", "updated", "moved", "conflict"):
            return report
        done = self._drain(progress)
        return replace(report, notes=(*report.notes, f"vectors: {done.stopped}")) if done.stopped else report
