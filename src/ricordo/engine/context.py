"""What every verb of the engine is handed: the open store, the settings, models, names, tiers and knowledge files."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo import registry
from ricordo.config.files import data_home
from ricordo.config.loading import Config, StoreLocation
from ricordo.config.machine import this_machine
from ricordo.config.places import Located, comes_with_project, is_projects, is_shared, knowledge_place, places
from ricordo.engine.checks import check_new_name, check_type, is_bare, is_id, is_url, only_one, refuse_binned
from ricordo.engine.models_in_use import ModelsInUse
from ricordo.engine.project_stores import ProjectStores, is_trusted_whole, note_made_here
from ricordo.engine.tiers import Tiers
from ricordo.errors import Error, NotFound, StoreError, Unavailable, UsageError
from ricordo.keys.seal import holds_secrets
from ricordo.memory.use import Tracker
from ricordo.permissions import refuse_written_ref
from ricordo.sources.disk import disk_ref
from ricordo.steps import no_step
from ricordo.store.base import Store
from ricordo.store.sql.jobs import worker_name
from ricordo.values.file_refs import DISK, FileRefs, elsewhere, is_marked
from ricordo.values.items import Ref
from ricordo.values.reports import AddReport, Progress

if TYPE_CHECKING:
    from ricordo.backlog_thread import BacklogThread
    from ricordo.engine.program_notes import ProgramNotes
    from ricordo.ingest.files import FileReader
    from ricordo.ingest.pipeline import Pipeline
    from ricordo.memory.files.mirror import Knowledge
    from ricordo.values.reports import EmbedReport, SyncReport

CATCH_UP_SECONDS = 1.0
"""How long a search waits for the vectors of texts that were saved just before."""
MOST_AFTER_SMALL_WRITE = 100
"""If more passages wait for their vectors, saving or changing one item leaves them to the server, or to ``embed``."""


class EngineContext:
    """An open store with all that verbs need around it. It has no verbs of its own.

    Verbs get the store from ``store``, which takes in edits of knowledge files first. ``unsynced_store`` does not.
    """

    def __init__(self, opened: Store | Error, located: Located, provider: Callable[[], Config], start: Path) -> None:
        self._opened = opened
        self.located = located
        self.location = located.location.name
        self.start = start
        self.provider = provider
        self.models = ModelsInUse(provider, self.location)
        self.tracker = None if isinstance(opened, Error) else Tracker(opened)
        self._with_files: list[Knowledge] = []
        self.projects = ProjectStores()
        self.took_in_edits = False
        self.background: BacklogThread | None = None
        """What makes vectors while nobody waits for them, once a program asked for that."""
        self.synced_at = opened.changes_seen() if not isinstance(opened, Error) and opened.syncs else 0
        """How the store was when it last synced through its folders, or was opened."""
        self.next_sync = 0.0
        self.unreported: deque[SyncReport] | None = None
        """While files are watched: what verbs took in from knowledge files, which the watcher has yet to report."""
        if not isinstance(opened, Error):
            self.look_after(opened, located.location, located.location.origin)
        self.knowledge = None if isinstance(opened, Error) else self.knowledge_of(opened, located.location)
        self.tiers = Tiers(self)

    @property
    def config(self) -> Config:
        """The settings as they are now; settings files that changed are read again."""
        return self.provider()

    @property
    def store(self) -> Store:
        """The store, with the edits that people made to knowledge files taken in: the way for all verbs.

        The files are looked at once a second at most. Where the store could not be opened, this raises the reason.
        """
        self.take_in_file_edits()
        return self.unsynced_store

    @property
    def unsynced_store(self) -> Store:
        """The store without a look at the knowledge files.

        This is for what runs inside a look or a sync, for closing, and for hooks that have little time.
        """
        if isinstance(self._opened, Error):
            raise self._opened
        return self._opened

    @property
    def is_open(self) -> bool:
        """Whether the store itself could be opened; other tiers can answer when it could not."""
        return not isinstance(self._opened, Error)

    def take_in_file_edits(self) -> None:
        """Take in what people did to knowledge files. If a busy store prevents that now, the next call tries again."""
        self.projects.look()
        for knowledge in self._with_files:
            with suppress(StoreError, Unavailable), no_step():
                report = knowledge.catch_up()
                if report is not None:
                    self.took_in_edits = True
                    if self.unreported is not None and knowledge is self.knowledge:
                        self.unreported.append(report)

    def begin_anew(self) -> None:
        """Look at the knowledge files now, as for a store that was just opened."""
        self.took_in_edits = False
        for knowledge in self._with_files:
            knowledge.look_at_once()

    def unseen_edits(self) -> tuple[str, ...]:
        """Why the last look at the knowledge files failed, if it did; answers mention it."""
        problems = (knowledge.problem for knowledge in self._with_files)
        return tuple(f"knowledge files: edits were not taken in ({problem})" for problem in problems if problem)

    def look_after(self, store: Store, location: StoreLocation, origin: str) -> None:
        """Mark what is read from a store as foreign while it belongs to a project that the user does not trust."""
        if comes_with_project(origin) and not location.address:
            self.projects.add(store, location.path)

    def knowledge_of(self, store: Store, location: StoreLocation) -> Knowledge | None:
        """The knowledge files of a store, if it has a folder for them; they are looked at from now on."""
        config = self.config
        place = knowledge_place(location, config)
        if place is None or not store.usage.can_record():
            return None
        if config.knowledge.folder is None and holds_secrets(location.name):
            return None  # files would be readable; who wants them all the same names a folder
        from ricordo.memory.files.folder import KnowledgeFolder
        from ricordo.memory.files.format import Seals
        from ricordo.memory.files.mirror import Knowledge
        from ricordo.memory.upkeep import FileNoticing

        is_chosen = config.knowledge.folder is not None  # by the user, who may choose a link
        knowledge = Knowledge(
            store,
            KnowledgeFolder(place.resolve() if is_chosen else place),
            partial(self.pipeline_of, store),
            self.models.backlog,
            place=_relative_place(location.path, place),
            most_bytes=int(config.ingest.max_file_mb * 1_000_000),
            seals=Seals(data_home(os.environ), store.store_id, place, partial(is_trusted_whole, store, location.path))
            if is_shared(location, config)
            else None,
            noticing=partial(FileNoticing, store, self.resolve),
        )
        self._with_files.append(knowledge)
        return knowledge

    def knowledge_file(self, store: Store, n: int) -> Path | None:
        """The Markdown file of an item of one of the stores; None if it lives in the store alone."""
        for knowledge in self._with_files:
            if knowledge.store is store and (known := store.knowledge.files_of([n]).get(n)) is not None:
                return knowledge.folder.place(known.name)
        return None

    def close(self) -> None:
        """Write the use records that wait, then close the stores."""
        if self.background is not None:
            self.background.stop()
        self.tiers.wait_for_searches()
        self.tiers.close_trackers()
        if self.tracker is not None:
            self.tracker.close()
        if not isinstance(self._opened, Error):
            self._opened.close()
        self.tiers.close_stores()

    def flush_use(self) -> None:
        """Wait until the use records so far are written."""
        if self.tracker is not None:
            self.tracker.flush()
        self.tiers.flush_trackers()

    @cached_property
    def program_notes(self) -> ProgramNotes:
        """What reads the memories that agents' programs keep themselves."""
        from ricordo.engine.program_notes import ProgramNotes

        return ProgramNotes(self)

    @cached_property
    def pipeline(self) -> Pipeline:
        """What prepares texts for the store."""
        return self.pipeline_of(self.unsynced_store)

    def pipeline_of(self, store: Store) -> Pipeline:
        """What prepares texts for one store."""
        from ricordo.ingest.pipeline import Pipeline

        return Pipeline(store, self.provider, registry.token_counter(), self.models.llm_or_default)

    def files(self, *, follow_links: bool | None = None) -> FileReader:
        """What reads files from disk, within the limits of the settings."""
        from ricordo.ingest.files import FileReader

        return FileReader(self.config, self.location, follow_links=follow_links)

    def embed_waiting(self, progress: Callable[[Progress], None] | None = None, **options: Any) -> EmbedReport:
        """Make the vectors that wait in the backlog; the fallback embedder does it while the first is unavailable."""
        return self._embed_waiting_in(self.unsynced_store, progress, **options)

    def embed_taken_in(self, limit: int | None = None) -> EmbedReport:
        """Make the vectors that wait in this store, and in those of other tiers whose files are taken in here."""
        report = self._embed_waiting_in(self.unsynced_store, limit=limit)
        for store in self._stores_with_files():
            if not report.stopped:
                done = self._embed_waiting_in(store, limit=limit)
                report = replace(
                    report, embedded=report.embedded + done.embedded, cached=report.cached + done.cached,
                    failed=report.failed + done.failed, stopped=done.stopped,
                )  # fmt: skip
        return report

    def catch_up_with(self, store: Store, waiting: int) -> bool:
        """Before a search answers: make the vectors of the few texts that wait, if that is quick.

        ``waiting`` texts wait for the model in force; texts that wait for another model wait for this one from now on.
        Returns whether the search may answer otherwise now. A service is not asked, because that may take long.
        """
        from ricordo.ingest.embed import HASTY_BATCH, drain, wait_for_workers

        try:
            backlog, embedder = self.models.backlog(), self.models.embedder()
            if backlog is None or embedder is None or not store.usage.can_record():
                return False
            store.jobs.adopt(backlog)
            adopted = left = sum(store.jobs.waiting(name) for name in backlog.fingerprints)
            if 0 < adopted <= HASTY_BATCH and not getattr(embedder, "is_remote", False):
                drain(
                    store, self.models.embedder, lambda: None, worker_name(),
                    backlog=backlog, abroad=self.models.second, seconds=CATCH_UP_SECONDS,
                )  # fmt: skip
                wait_for_workers(store, CATCH_UP_SECONDS)  # the thread that was woken by the last write
                left = sum(store.jobs.waiting(name) for name in backlog.fingerprints)  # whoever made them
            return adopted != waiting or left != adopted
        except Error:
            return False  # the answer is whole without them, and says that they wait

    def use_whole_vectors(self) -> None:
        """After a change of model: let searches use the vectors of the model in force once every text has one."""
        backlog = self.models.backlog()
        vectors = self.unsynced_store.vectors
        if backlog is None or vectors.active_fingerprint() in (None, backlog.fingerprint):
            return
        counts = vectors.counts(backlog.fingerprint, backlog.languages)
        if counts["embedded"] == counts["chunks"] and not self.unsynced_store.jobs.waiting(backlog.fingerprint):
            vectors.activate(backlog.fingerprint, self.models.fallback_fingerprints())

    def waiting(self) -> int:
        """How many texts wait for a vector of the model in force, without those that failed before."""
        stores = (self.unsynced_store, *self._stores_with_files())
        if not any(_waits(store) for store in stores):
            return 0  # the usual case, in which the embedder need not be asked for its fingerprint
        backlog = self.models.backlog()
        waiting = [store for store in stores if _waits(store)]
        return sum(store.jobs.waiting(name) for name in backlog.fingerprints for store in waiting) if backlog else 0

    def _stores_with_files(self) -> list[Store]:
        return [one.store for one in self._with_files if one.store is not self._opened]

    def _embed_waiting_in(
        self, store: Store, progress: Callable[[Progress], None] | None = None, **options: Any
    ) -> EmbedReport:
        from ricordo.ingest.embed import drain

        models = self.models
        return drain(
            store, models.embedder, models.fallback, worker_name(), progress,
            backlog=models.backlog(), abroad=models.second, **options,
        )  # fmt: skip

    def embed_after(
        self, report: AddReport, wait: bool, progress: Callable[[Progress], None] | None = None,
        seconds: float | None = None, *, is_small: bool = False,
    ) -> AddReport:  # fmt: skip
        """Make the vectors of what was just written, or waits since before; a failure becomes a note, because the texts
        are kept. An embedder that takes longer than ``seconds`` for a few texts is not waited for. After a small write,
        nothing is made if many texts wait: whoever saves a sentence would wait for them.
        """
        is_written = report.count("created") or report.count("updated")
        is_wanted = wait and (is_written or _waits(self.unsynced_store))
        if not is_wanted or (is_small and self.waiting() > MOST_AFTER_SMALL_WRITE):
            return report
        done = self.embed_waiting(progress, seconds=seconds)
        return replace(report, notes=(*report.notes, f"vectors: {done.stopped}")) if done.stopped else report

    @property
    def file_refs(self) -> FileRefs:
        """How the refs of the store's files are to be read on this machine."""
        here = this_machine().id
        return FileRefs(here, here) if isinstance(self._opened, Error) else self._opened.machines.refs()

    def resolve(self, text: str | Path | Ref) -> Ref:
        """A ref from a ref, an item id, a URL or a file path."""
        if isinstance(text, Ref):
            return text
        if isinstance(text, Path):
            return self._file_ref(disk_ref(text))
        check_type("ref", text, str)
        if is_id(text):
            if (found := self.store.items.ref_by_id(text)) is not None:
                return found
            raise NotFound(f"there is no item with the id {text}", hint="‹:list› shows what is there.")
        if is_url(text):
            from ricordo.sources.drives import Drives

            return Drives(self.config.fetch).place(text).ref
        if Ref.looks_like(text):
            ref = Ref.parse(text)
            return ref if ref.drive != DISK else self._file_ref(ref, as_written=True)
        if not text.strip():
            raise UsageError("an empty name is not a ref", hint="Name a file, a ref such as note:/plan, or an item id.")
        return self._file_ref(disk_ref(Path(text)))

    def _file_ref(self, plain: Ref, *, as_written: bool = False) -> Ref:
        """The ref of a file in this store: a path means this machine's file, unless only another one of that path is
        there. A ref ``as_written`` means what it says, unless only this machine's file is there.
        """
        refs = self.file_refs
        said = refs.seen_from(refs, plain) if as_written else refs.ref(plain.path)
        if refs.home == refs.here or is_marked(plain.path):
            return said
        other = refs.ref(plain.path) if as_written else plain
        below = self.unsynced_store.items.refs_below
        return other if not below(DISK, said.path) and below(DISK, other.path) else said

    def resolve_new(self, text: str | Path | Ref) -> Ref:
        """The ref that is written to; some callers are refused one that names a file or a record."""
        ref = self.resolve(text)
        check_new_name(ref)
        refuse_written_ref(ref)
        self.refuse_elsewhere(ref)
        return ref

    def refuse_elsewhere(self, ref: Ref) -> None:
        """Refuse to change a file of another machine."""
        if ref.drive == DISK and (found := self.store.machines.elsewhere([str(ref)])):
            raise elsewhere(ref, found[str(ref)])

    def number(self, name: str | Path | Ref) -> int:
        """The number of the item with a name; an error if there is none."""
        ref, items = self.resolve(name), self.store.items
        n = items.number_by_id(name) if isinstance(name, str) and is_id(name) else None
        if is_bare(name) and items.number(ref) is None:
            ref = only_one(name, items.ending_with(str(name))) or ref
        return n or items.require(ref)

    def present_number(self, name: str | Ref) -> int:
        """The number of an item that is not in the bin."""
        n = self.number(name)
        refuse_binned(self.store.items.get_many([n])[n])
        return n


def open_or_error(located: Located, config: Config, *, create: bool) -> Store | Error:
    """The store; where other tiers can answer without it, the error that kept it from opening."""
    is_named_file = located.location.origin == "flag" and not located.location.address
    named = located.location.path if is_named_file else None
    if create and named is not None and not named.parent.exists():
        # A misspelt name must not create folders; a place in the settings was written on purpose.
        hint = f"Check the spelling, or make it: mkdir -p {named.parent}"
        raise StoreError(f"there is no folder {named.parent}", hint=hint)
    is_new = create and not located.location.is_there
    try:
        store = registry.open_store(located.location, config, create=create)
        if is_new and is_projects(located.location):
            with suppress(Unavailable):  # the list cannot be written: the store counts as one that came from elsewhere
                note_made_here(store, located.location)
        return store
    except (StoreError, Unavailable) as error:
        if all(place.store == located.location.name for place in places(located, config)):
            raise
        return error


def _waits(store: Store) -> bool:
    """Whether texts wait for vectors, of whatever model; those that failed before are left to ``embed --retry``."""
    return any(row["state"] == "pending" and not row["error"] for row in store.jobs.summary()["kinds"])


def _relative_place(store: Path, place: Path) -> str:
    """Where a folder is, relative to the store, so that both can be moved together."""
    try:
        return os.path.relpath(place, store.parent)
    except ValueError:  # on another drive
        return str(place)
