"""An open engine: the store with all that verbs need around it, and how it is opened and closed."""

from __future__ import annotations

import os
import threading
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, wraps
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from ricordo import registry
from ricordo.config.files import PROJECT_FOLDER, current_folder, data_home
from ricordo.config.loading import CallSettings, Config, ConfigProvider, StoreLocation
from ricordo.config.machine import this_machine
from ricordo.config.places import Located, comes_with_project, is_projects, is_shared, knowledge_place, locate, places
from ricordo.config.trust_lists import (
    MADE,
    TRUSTED,
    how_trusted,
    list_stamp,
    note_place,
    places_file,
    recorded_id,
    withdraw_place,
)
from ricordo.engine.checks import check_new_name, check_type, is_bare, is_id, is_url, only_one, refuse_binned
from ricordo.engine.models_in_use import ModelsInUse
from ricordo.engine.tiers import Tiers
from ricordo.errors import CorruptStore, Error, NotFound, StoreError, Unavailable, UsageError
from ricordo.memory.use import Tracker
from ricordo.permissions import refuse_written_ref
from ricordo.plugin import ask
from ricordo.sources.disk import disk_ref
from ricordo.steps import no_step
from ricordo.store.backlog import worker_name
from ricordo.store.base import Store
from ricordo.values.items import DISK, FileRefs, Ref, elsewhere, is_marked
from ricordo.values.reports import AddReport, Progress, RefreshReport, SyncReport, TierState
from ricordo.vault import is_encrypted
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from ricordo.backlog_thread import BacklogThread
    from ricordo.engine.program_notes import ProgramNotes
    from ricordo.engine.ricordo import Ricordo
    from ricordo.ingest.files import FileReader
    from ricordo.ingest.pipeline import Pipeline
    from ricordo.memory.files.mirror import Knowledge
    from ricordo.models.base import Budget, Embedder
    from ricordo.values.reports import EmbedReport


NOT_TRUSTED = (
    "this project is not trusted: what its store holds is told as data, and nothing of it to every agent; the user can"
    " see what it brings, and trust it: ricordo trust"
)

LEFT_OUT = "the store of this project cannot be read and is left out: ricordo doctor"
TOO_SLOW = "the store of this project took too long to read and is left out: ricordo doctor"
UNREAD = "changes of knowledge files are not taken in yet: ricordo sync"
SETTINGS_LEFT_OUT = "settings of this project are wrong or not trusted, and are left out: ricordo config list"


class ProjectStores:
    """Marks the stores of projects as foreign while the user does not trust them; another process may change that."""

    def __init__(self) -> None:
        self._stores: list[tuple[Store, Path]] = []
        self._list = os.fspath(places_file())
        self._seen: tuple[int, int, int] | None = None

    def add(self, store: Store, path: Path) -> None:
        """Look after a store from now on. If it is another one than was trusted here, that trust is withdrawn."""
        recorded = recorded_id(path)
        if recorded and recorded != store.store_id:
            withdraw_place(path, path.parent.parent if path.parent.name == PROJECT_FOLDER else path.parent)
        self._stores.append((store, path))
        self._mark()

    def look(self) -> None:
        """Notice that the user gave or withdrew trust."""
        if self._stores and list_stamp(self._list) != self._seen:
            self._mark()

    def _mark(self) -> None:
        self._seen = list_stamp(self._list)
        for store, path in self._stores:
            store.foreign = not how_trusted(path, store.store_id)

    def untrusted(self) -> list[Path]:
        """The stores that are not trusted now."""
        self.look()
        return [path for store, path in self._stores if store.foreign]


Function = TypeVar("Function", bound=Callable[..., Any])
Report = TypeVar("Report", AddReport, RefreshReport, SyncReport)
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
        self.provider = CallSettings(provider)
        self.models = ModelsInUse(self.provider, self.location)
        self.trackers = {} if isinstance(opened, Error) else {self.location: Tracker(opened)}
        """What records the use of items, by the store that they are in."""
        self._with_files: list[Knowledge] = []
        self.projects = ProjectStores()
        self.took_in_edits = False
        self.background: BacklogThread | None = None
        """What makes vectors while nobody waits for them, once a program asked for that."""
        self.of_plugins: dict[str, Any] = {}
        """What plugins keep while the store is open, by their names."""
        self.unreported: deque[SyncReport] | None = None
        """While files are watched: what verbs took in from knowledge files, which the watcher has yet to report."""
        if not isinstance(opened, Error):
            self.look_after(opened, located.location, located.location.origin)
        self.knowledge = None if isinstance(opened, Error) else self.knowledge_of(opened, located.location)
        self.tiers = Tiers(self)
        ask("opened", self)

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
    def tracker(self) -> Tracker | None:
        return self.trackers.get(self.location)

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
        if config.knowledge.folder is None and is_encrypted(location.name):
            return None  # files would be readable; who wants them all the same names a folder
        from ricordo.memory.files.folder import KnowledgeFolder
        from ricordo.memory.files.format import Seals
        from ricordo.memory.files.mirror import Knowledge
        from ricordo.memory.files.sync import Sync

        is_chosen = config.knowledge.folder is not None  # by the user, who may choose a link
        seals = Seals(
            data_home(os.environ), store.store_id, place, lambda: how_trusted(location.path, store.store_id) == TRUSTED
        )
        shared = seals if is_shared(location, config) else None
        folder = KnowledgeFolder(place.resolve() if is_chosen else place)
        most_bytes = int(config.ingest.max_file_mb * 1_000_000)

        def sync() -> Sync:
            return Sync(
                store, folder, self.pipeline_of(store), self.models.backlog(),
                ref_of=self.resolve, most_bytes=most_bytes, seals=shared,
            )  # fmt: skip

        knowledge = Knowledge(store, folder, sync, place=_relative_place(location.path, place), seals=shared)
        self._with_files.append(knowledge)
        return knowledge

    def knowledge_file(self, store: Store, n: int) -> Path | None:
        """The Markdown file of an item of one of the stores; None if it lives in the store alone."""
        for knowledge in self._with_files:
            if knowledge.store is store and (file := store.knowledge.files_of([n]).get(n)) is not None:
                return knowledge.folder.place(file.name)
        return None

    def close(self) -> None:
        """Write the use records that wait, then close the stores."""
        if self.background is not None:
            self.background.stop()
        self.tiers.wait_for_searches()
        for tracker in tuple(self.trackers.values()):
            tracker.close()
        if not isinstance(self._opened, Error):
            self._opened.close()
        self.tiers.close_stores()

    def flush_use(self) -> None:
        """Wait until the use records so far are written."""
        for tracker in tuple(self.trackers.values()):
            tracker.flush()

    @cached_property
    def program_notes(self) -> ProgramNotes:
        from ricordo.engine.program_notes import ProgramNotes

        return ProgramNotes(self)

    @cached_property
    def pipeline(self) -> Pipeline:
        """What prepares texts for the store."""
        return self.pipeline_of(self.unsynced_store)

    def pipeline_of(self, store: Store) -> Pipeline:
        from ricordo.ingest.pipeline import Pipeline

        def namers(title: str) -> tuple[int, ...]:
            from ricordo.memory.links import naming_items

            return naming_items(self.tiers.searcher_of(store), title)

        return Pipeline(store, self.provider, registry.token_counter(), chunker=self.models.chunker, namers=namers)

    def files(self, *, follow_links: bool | None = None) -> FileReader:
        """What reads files from disk, within the limits of the settings."""
        from ricordo.ingest.files import FileReader

        return FileReader(self.config, self.location, follow_links=follow_links)

    def embed_waiting(
        self, progress: Callable[[Progress], None] | None = None, store: Store | None = None, **options: Any
    ) -> EmbedReport:
        """Make the vectors that wait in the backlog; the fallback embedder does it while the first is unavailable."""
        from ricordo.ingest.embed import drain

        models = self.models
        return drain(
            store or self.unsynced_store, models.embedder, models.fallback, worker_name(), progress=progress,
            backlog=models.backlog(), abroad=models.second.embedder, **options,
        )  # fmt: skip

    def embed_taken_in(self, limit: int | None = None) -> EmbedReport:
        """Make the vectors that wait in this store, and in those of other tiers whose files are taken in here."""
        report = self.embed_waiting(limit=limit)
        for store in self._stores_with_files():
            if not report.stopped:
                done = self.embed_waiting(store=store, limit=limit)
                report = replace(
                    report, embedded=report.embedded + done.embedded, cached=report.cached + done.cached,
                    failed=report.failed + done.failed, stopped=done.stopped,
                )  # fmt: skip
        return report

    def catch_up_with(self, store: Store, waiting: int, budget: Budget) -> bool:
        """Before a search answers: make the vectors of the few texts that wait, as far as they fit the budget.

        ``waiting`` texts wait for the model in force; texts that wait for another model wait for this one from now on.
        Returns whether the search may answer otherwise now. A service is not asked, because that may take long.
        """
        from ricordo.ingest.embed import HASTY_BATCH, drain, wait_for_workers

        try:
            backlog, embedder = self.models.backlog(), self.models.embedder()
            if backlog is None or embedder is None or not store.usage.can_record():
                return False
            store.jobs.adopt(backlog)
            adopted = left = store.jobs.waiting(*backlog.fingerprints)
            if 0 < adopted <= HASTY_BATCH and not embedder.is_remote:
                drain(
                    store, self.models.embedder, lambda: None, worker_name(),
                    backlog=backlog, abroad=self.models.second.embedder, budget=budget,
                )  # fmt: skip
                wait_for_workers(store, max(0.0, budget.left))  # the thread that was woken by the last write
                left = store.jobs.waiting(*backlog.fingerprints)  # whoever made them
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
        untried = Counter[str]()
        for store in (self.unsynced_store, *self._stores_with_files()):
            untried.update(store.jobs.untried())
        # Usually there are none, and then the embedder need not be asked for its fingerprint.
        backlog = self.models.backlog() if untried else None
        return sum(untried[name] for name in backlog.fingerprints) if backlog is not None else 0

    def _stores_with_files(self) -> list[Store]:
        return [knowledge.store for knowledge in self._with_files if knowledge.store is not self._opened]

    def embed_after(
        self, report: Report, wait: bool, progress: Callable[[Progress], None] | None = None,
        seconds: float | None = None, *, is_small: bool = False,
    ) -> Report:  # fmt: skip
        """Make the vectors of what was just written, or waits since before; a failure becomes a note, because the texts
        are kept. An embedder that takes longer than ``seconds`` for a few texts is not waited for. After a small write,
        nothing is made if many texts wait: whoever saves a sentence would wait for them.
        """
        untried = self.unsynced_store.jobs.untried() if wait else {}
        if not untried or (is_small and sum(untried.values()) > MOST_AFTER_SMALL_WRITE):
            return report
        done = self.embed_waiting(progress, seconds=seconds)
        if isinstance(report, RefreshReport):
            report = replace(report, reembedded=done.embedded)
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
            if (existing := self.store.items.ref_by_id(text)) is not None:
                return existing
            raise NotFound(f"there is no item with the id {text}", hint="‹:list› shows what is there.")
        if is_url(text):
            refs: list[Ref] = ask("ref_of_address", self.config, text)
            if not refs:
                hint = f"Install the plugin 'web', or give the ref: url:/{text}"
                raise Unavailable(f"no plugin reads {text}", hint=hint)
            return refs[0]
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
        meant = refs.seen_from(refs, plain) if as_written else refs.ref(plain.path)
        if refs.home == refs.here or is_marked(plain.path):
            return meant
        other = refs.ref(plain.path) if as_written else plain
        below = self.unsynced_store.items.refs_below
        return other if not below(DISK, meant.path) and below(DISK, other.path) else meant

    def resolve_new(self, text: str | Path | Ref) -> Ref:
        """The ref that is written to; some callers are refused one that names a file or a record."""
        from ricordo.secrets.redaction import refuse_secret_name

        ref = self.resolve(text)
        check_new_name(ref)
        refuse_secret_name(ref)
        refuse_written_ref(ref)
        self.refuse_elsewhere(ref)
        return ref

    def refuse_elsewhere(self, ref: Ref) -> None:
        """Refuse to change a file of another machine."""
        if ref.drive == DISK and (machines := self.store.machines.elsewhere([str(ref)])):
            raise elsewhere(ref, machines[str(ref)])

    def number(self, name: str | Path | Ref) -> int:
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


def project_notes(engine: OpenEngine) -> list[str]:
    """What of the project here is left out or not believed, a line each; nothing in them was chosen by its author."""
    context = engine._context
    is_lost = not context.is_open and context.located.location.is_there
    notes = ((NOT_TRUSTED, context.projects.untrusted()), (LEFT_OUT, is_lost), (UNREAD, context.unseen_edits()))
    return [
        note
        for note, holds in (*notes, (SETTINGS_LEFT_OUT, context.config.problems or context.config.untrusted))
        if holds
    ]


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
                # It continues the one that was trusted here before, so that the seals of its knowledge files hold.
                if before := recorded_id(located.location.path):
                    store.adopt_id(before)
                else:
                    note_place(located.location.path, MADE, store.store_id)
        return store
    except (StoreError, Unavailable) as error:
        if all(place.store == located.location.name for place in places(located, config)):
            raise
        return error


def _relative_place(store: Path, place: Path) -> str:
    """Where a folder is, relative to the store, so that both can be moved together."""
    try:
        return os.path.relpath(place, store.parent)
    except ValueError:  # on another drive
        return str(place)


def with_settings_of_its_start(function: Function) -> Function:
    """Let the settings stay the same throughout a call of a verb, so that their files are looked at once."""

    @wraps(function)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        with self._context.provider.resolved_once():
            return function(self, *args, **options)

    return cast("Function", call)


class OpenEngine:
    """An open engine. The classes of this folder inherit from it and add their verbs; ``Ricordo`` is all of them."""

    def __init__(self, context: EngineContext) -> None:
        if not isinstance(context, EngineContext):
            raise TypeError("a store is opened with Ricordo.open(PATH), not with Ricordo(PATH)")
        self._context = context
        self._engines: dict[str, Self] = {}
        self._last: Callable[[], None] | None = None
        self._lock = threading.Lock()
        context.tiers.engine_of = self.tier

    @classmethod
    def open(
        cls,
        store: str | Path | None = None,
        *,
        config: Callable[[], Config] | Config | None = None,
        create: bool = True,
        start: Path | None = None,
        tier: str | None = None,
        embedder: Embedder | None = None,
        storeless: bool = False,
    ) -> Self:
        """Open a store: the one named, else RICORDO_STORE, the nearest project's, or the user's own.

        Where the settings name tiers, their stores are searched together with it; ``tier`` opens one of them alone.
        ``embedder`` is the one that is set, where the caller made it already. With ``storeless``, no store is opened,
        for verbs that look at the settings alone.
        """
        provider: Callable[[], Config]
        if config is None:
            provider = ConfigProvider()
        elif isinstance(config, Config):
            fixed = config
            provider = lambda: fixed  # noqa: E731 - a constant provider
        else:
            provider = config
        settings = provider()
        folder = start or current_folder()
        located = locate(str(store) if store is not None else None, settings, folder, tier)
        none = StoreError("no store is open", hint="Open one, without ‹storeless›.")
        opened = none if storeless else open_or_error(located, settings, create=create)
        try:
            context = EngineContext(opened, located, provider, folder)
        except CorruptStore:  # its head can be read, but not all that the engine looks at first
            if not isinstance(opened, Error):
                opened.close()
            raise
        if embedder is not None:
            context.models.use_embedder(embedder)
        return cls(context)

    def close(self) -> None:
        """Close all stores; use records that wait are written first."""
        last, self._last = self._last, None
        if last is not None:
            last()
        for engine in self._engines.values():
            engine.close()
        self._context.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._last = None
        self.close()

    @property
    def store(self) -> Store:
        """The store itself, with the edits of knowledge files taken in."""
        return self._context.store

    @property
    def location(self) -> str:
        """The path of the store."""
        return self._context.location

    @property
    def config(self) -> Config:
        """The settings as they are now; settings files that changed are read again."""
        return self._context.config

    def resolve(self, text: str | Path | Ref) -> Ref:
        """A ref from a ref, an item id, a URL or a file path."""
        return self._context.resolve(text)

    @verb(
        "read",
        "look after",
        "Show the stores that are searched together.",
        answers="tiers",
        examples=("ricordo tiers", "ricordo config set tiers.team /srv/team/ricordo.db"),
    )
    def tiers(self) -> tuple[TierState, ...]:
        """The highest comes first. Scores of a tier are multiplied by its weight; new items go to the one marked."""
        return self._context.tiers.states()

    def tier(self, name: str) -> Self:
        """An engine on one tier's store alone, to write to it or look into it; it is closed with this one."""
        with self._lock:
            if name not in self._engines:
                context = self._context
                where = None if context.located.location.origin in ("default", "project") else self.location
                self._engines[name] = self.open(
                    where,
                    config=context.provider,
                    start=context.start,
                    tier=name,
                    embedder=context.models.made("embedder"),
                )
            return self._engines[name]


WAITING_TEXTS = 64
"""How many waiting texts a command embeds if it was not asked to embed."""

EMBEDDED_AT_ONCE = 16
"""How many texts a thread in the background embeds before it looks whether it should stop."""


def before_closing(engine: Ricordo, work: Callable[[], None]) -> None:
    """Call something when the engine is closed, unless an error ended its ``with`` block."""
    engine._last = work


def sealing_store(engine: Ricordo) -> str:
    """The store whose key seals what is kept of an answer outside of it: the first of those searched together that is
    encrypted. Empty if none is.
    """
    context = engine._context
    stores = (context.location, *(place.store for place in places(context.located, context.config)))
    return next((store for store in stores if is_encrypted(store)), "")


def store_notice(engine: Ricordo) -> str:
    """What was found wrong when the store was opened, in a line that is told once; "" if nothing was."""
    return engine._context.unsynced_store.notice if engine._context.is_open else ""


def took_in_edits(engine: Ricordo) -> bool:
    """Whether edits of knowledge files were taken in since the store was opened."""
    return engine._context.took_in_edits


def located(engine: Ricordo) -> Located:
    """Where the store is, and how it was found."""
    return engine._context.located


def embed_soon(engine: Ricordo) -> None:
    """Make the vectors of what was just written in the background; what is left when the engine closes waits."""
    from ricordo.backlog_thread import BacklogThread

    context = engine._context
    if context.background is None:
        context.background = BacklogThread(lambda: embed_some(engine))
    context.background.wake()


def embed_some(engine: Ricordo) -> bool:
    """Make some of the vectors that wait; returns whether there may be more to make."""
    if engine.config.embedding.provider == "none" or not embed_waiting_texts(engine, at_most=0):
        return False
    done = engine.embed(limit=EMBEDDED_AT_ONCE, search_missing=False)
    return not done.stopped and bool(done.embedded + done.cached)


def embed_waiting_texts(engine: Ricordo, *, at_most: int = WAITING_TEXTS) -> int:
    """Make the vectors of texts that wait, if there are few; returns how many still wait.

    Reads take in edits of knowledge files, and hooks leave sessions, without waiting for vectors. Commands call this at
    their end, so that such texts are found by meaning next time. A service is not asked: it may hang or refuse, and
    nobody waits for a command that has answered.
    """
    context = engine._context
    if context.config.embedding.provider == "none" or not context.is_open:
        return 0
    waiting = context.waiting()
    embedder = context.models.embedder() if 0 < waiting <= at_most else None
    if embedder is not None and not embedder.is_remote:
        context.embed_taken_in()
        waiting = context.waiting()
    return waiting
