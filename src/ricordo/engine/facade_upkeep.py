"""The public verbs of ``Ricordo`` that maintain a store: health, knowledge files, vectors, models, and moving it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ricordo.engine.opening import OpenEngine

if TYPE_CHECKING:
    from ricordo.engine.foreign import Source
    from ricordo.engine.models import Decide
    from ricordo.search.profile import Profile
    from ricordo.values.items import Saved
    from ricordo.values.models import ModelState, ModelSwitch, ModelTest
    from ricordo.values.reports import (
        BackupReport,
        DoctorReport,
        EmbedReport,
        ExportReport,
        ImportReport,
        JobsReport,
        MigrateReport,
        Progress,
        RefreshReport,
        Root,
        SyncReport,
        VacuumReport,
    )


class UpkeepVerbs(OpenEngine):
    """Keeps a store sound and complete, and moves it elsewhere."""

    def status(self) -> dict[str, Any]:
        """What the store holds and how it is."""
        return self._health.status()

    def doctor(self, *, repair: bool = False) -> DoctorReport:
        """Check the store, and with ``repair`` rebuild what can be rebuilt."""
        return self._health.doctor(repair=repair)

    def profiles(self) -> dict[str, Profile]:
        """The ways to rank, by name: the built-in ones and those of the settings."""
        return self._health.profiles()

    def sync(
        self, *, write: bool = False, wait: bool = True, progress: Callable[[Progress], None] | None = None
    ) -> SyncReport:
        """Take in what was done to the knowledge files, and write those that are missing for items that never had one.

        A file that is gone takes its item to the bin; with ``write`` it is written again instead. What was changed
        both in its file and in the store is a conflict: both are kept as versions, the file's is the current one.
        """
        return self._knowledge.sync(write=write, wait=wait, progress=progress)

    def roots(self) -> tuple[Root, ...]:
        """The folders that were added, and how many items each has."""
        return self._roots.roots()

    def forget_root(self, path: str | Path) -> Root:
        """Leave a folder: ``refresh`` finds no more new files in it. Its items stay until they are removed."""
        return self._roots.forget_root(path)

    def relocate(self, old: str | Path, new: str | Path) -> RefreshReport:
        """Say that files are elsewhere now: what was added from ``old`` gets the refs of the same files in ``new``.

        History, fields and vectors stay. A project that is moved with its store is followed by ``refresh`` by itself.
        """
        return self._roots.relocate(old, new)

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
        """Make the vectors of texts that have none. Any number of processes may do so at once.

        With ``search_missing`` it looks through the store for them; without it, only texts in the backlog are embedded,
        also those in the stores of other tiers whose files were edited.
        """
        return self._vectors.embed(
            workers=workers,
            kinds=kinds,
            limit=limit,
            enqueue_only=enqueue_only,
            search_missing=search_missing,
            progress=progress,
        )

    def see_to_waiting(self, *, few: int = 64) -> int:
        """Make the vectors of texts that wait, if there are only a ``few``; returns how many still wait.

        Reads take in edits of knowledge files, and hooks leave sessions, without waiting for vectors. Commands call
        this at their end, so that such texts are found by meaning next time.
        """
        return self._vectors.see_to_waiting(few=few)

    def reembed(self, *, progress: Callable[[Progress], None] | None = None) -> EmbedReport:
        """Give every text a vector of the model in force; searches use the old ones until all are there."""
        return self._vectors.reembed(progress=progress)

    def jobs(self) -> JobsReport:
        """What waits for a vector, what failed, and how much is done."""
        return self._vectors.jobs()

    def retry_jobs(self) -> int:
        """Put failed jobs back; returns how many."""
        return self._vectors.retry_jobs()

    def models(self) -> tuple[ModelState, ...]:
        """The providers of embeddings and what each lacks, and the reranker if one is set."""
        return self._models.models()

    def test_model(self, provider: str = "", *, model: str = "", dimensions: int = 0) -> ModelTest:
        """Whether a model works: the one in use, another provider's, or ``cross-encoder``."""
        return self._models.test_model(provider, model=model, dimensions=dimensions)

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
        return self._models.use_model(
            provider,
            model=model,
            dimensions=dimensions,
            reembed=reembed,
            dry_run=dry_run,
            scope=scope,
            progress=progress,
        )

    def export(
        self, target: str | Path | BinaryIO, *, log: bool = True, force: bool = False, salvage: bool = False
    ) -> ExportReport:
        """Write everything the store holds as JSON lines: to a file of its own, or to an open one.

        ``log`` says whether the logs of queries and openings are included. With ``salvage``, rows of a damaged store
        that cannot be read are left out and named in the report, instead of ending the export.
        """
        return self._moving.export(target, log=log, force=force, salvage=salvage)

    def import_(
        self,
        source: Source,
        *,
        format: str = "ricordo",  # noqa: A002 - the word for it
        on_conflict: str = "skip",
        allow_secrets: bool = False,
        trust: bool = False,
        wait: bool = True,
        progress: Callable[[Progress], None] | None = None,
    ) -> ImportReport:
        """Take in what ``export`` wrote, or what another program keeps: an Obsidian vault, basic-memory, mem0.

        Secrets in what other programs remember are redacted unless they are allowed. Of an export, folders to refresh,
        the files that items came from, ``loading`` and "written by the user" are left out unless you ``trust`` it:
        otherwise the author of the file could make Ricordo read any file, and show any text to agents. The report says
        what was left out.
        """
        return self._moving.import_(
            source,
            format=format,
            on_conflict=on_conflict,
            allow_secrets=allow_secrets,
            trust=trust,
            wait=wait,
            progress=progress,
        )

    def backup(
        self, target: str | Path, *, force: bool = False, progress: Callable[[Progress], None] | None = None
    ) -> BackupReport:
        """Copy the store, as it is now, to a file; others may write meanwhile."""
        return self._moving.backup(target, force=force, progress=progress)

    def migrate(self, target: str | Path, *, progress: Callable[[Progress], None] | None = None) -> MigrateReport:
        """Copy this store into another one, a file or a workspace on a server, and compare the two.

        The target is empty, or holds what an earlier run of the same copied; then the rest is copied. This store is
        only read.
        """
        return self._migrating.migrate(target, progress)

    def promote(self, name: str | Path, tier: str, *, on_conflict: str = "error") -> Saved:
        """Copy an item with its history to the store of another tier."""
        return self._migrating.promote(name, tier, on_conflict)

    def vacuum(self, *, full: bool = False) -> VacuumReport:
        """Erase items that were in the bin for long enough and data that is not needed any more, and free the space."""
        return self._moving.vacuum(full=full)
