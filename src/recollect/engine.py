"""Recollect: the one object behind every face. Short methods that call the packages below.

It resolves names, opens the store, and composes ingest and search; it holds no SQL, no scoring, no parsing.
"""

from __future__ import annotations

import difflib
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from recollect import registry
from recollect.config import Config, ConfigProvider, locate_store
from recollect.errors import NotFound, UsageError, from_dict
from recollect.ingest.adding import Adding, kind_of
from recollect.ingest.embed import EmbedReport, JobsReport, Worker, fingerprint_of
from recollect.ingest.pipeline import Pipeline
from recollect.ingest.refreshing import Refresher, RefreshReport
from recollect.ingest.watching import Watcher, WatchEvent
from recollect.insight import FeedbackReport, StatsReport
from recollect.look_after import check_store, store_status
from recollect.memory import links
from recollect.memory.feedback import Learner, Learning
from recollect.memory.tracking import Tracker
from recollect.models.base import Embedder, Reranker
from recollect.search.pipeline import Request, Searcher
from recollect.search.profile import profiles
from recollect.search.ranking import Boosts
from recollect.search.reasons import explain_item
from recollect.search.scan import grep_texts, tree_of
from recollect.store.base import Backlog, PreparedItem, Store
from recollect.values import (
    KINDS,
    AddReport,
    Answer,
    DoctorReport,
    Entry,
    Explanation,
    Filters,
    GrepMatch,
    Item,
    Link,
    LinkReport,
    Progress,
    Ref,
    Saved,
    TreeNode,
    Version,
    parse_time,
)

_ID = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$", re.IGNORECASE)
_URL = re.compile(r"^https?://", re.IGNORECASE)
ON_CONFLICT = ("skip", "overwrite", "error")
STATS_BY = ("query", "tool", "day")


class Recollect:
    """A store, open. Use it as a context manager, or call ``close``.

    >>> with Recollect.open("/tmp/doc-example.db") as memory:                    # doctest: +SKIP
    ...     memory.save("note:/keys", "Rotate the signing keys every quarter.")
    ...     memory.search("when are keys rotated").hits[0].ref
    'note:/keys'
    """

    def __init__(self, store: Store, location: str, config: Callable[[], Config]) -> None:
        self.store = store
        self.location = location
        self._config = config
        self._made: tuple[Any, Embedder | None] | None = None
        self._judge: tuple[Any, Reranker] | None = None
        self._tracker = Tracker(store)

    @classmethod
    def open(
        cls,
        store: str | Path | None = None,
        *,
        config: ConfigProvider | Config | None = None,
        create: bool = True,
        start: Path | None = None,
    ) -> Self:
        """Open a store: the one named, else RECOLLECT_STORE, the nearest project's, or the user's own."""
        provider: Callable[[], Config]
        if config is None:
            provider = ConfigProvider()
        elif isinstance(config, Config):
            fixed = config
            provider = lambda: fixed  # noqa: E731 - a constant provider
        else:
            provider = config
        settings = provider()
        location = locate_store(str(store) if store is not None else None, settings, start or Path.cwd())
        opened = registry.open_store(location, settings, create=create)
        return cls(opened, str(location.path), provider)

    def close(self) -> None:
        """Close the store; open searches end first."""
        self._tracker.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def config(self) -> Config:
        """The settings as they are now; files are looked at again when they changed."""
        return self._config()

    @cached_property
    def _searcher(self) -> Searcher:
        return Searcher(self.store, self._config, self._embedder, self._reranker)

    def _reranker(self, kind: str) -> Reranker:
        """The reranker in force; kept while its settings stay the same."""
        key = (kind, self.config.rerank.model)
        if self._judge is None or self._judge[0] != key:
            self._judge = (key, registry.reranker(kind, self.config))
        return self._judge[1]

    def _embedder(self) -> Embedder | None:
        """The embedder in force; made anew only when its settings change, loaded only when it is used."""
        settings = self.config.embedding
        if self._made is None or self._made[0] != settings:
            self._made = (settings, registry.embedder(self.config))
        return self._made[1]

    def _backlog(self) -> Backlog | None:
        """Where new chunks wait for their vectors; None when there are none to be made."""
        embedder = self._embedder()
        return Backlog(fingerprint_of(embedder), embedder.dimensions) if embedder is not None else None

    @cached_property
    def _pipeline(self) -> Pipeline:
        return Pipeline(self.store, self._config, registry.token_counter())

    # -- names --------------------------------------------------------------------------------------------------

    def resolve(self, text: str | Path | Ref) -> Ref:
        """A ref from a ref, an item id, a URL or a file path."""
        if isinstance(text, Ref):
            return text
        if isinstance(text, Path):
            return registry.disk_ref(text)
        if _ID.match(text):
            found = self.store.ref_by_id(text)
            if found is None:
                raise NotFound(f"there is no item with the id {text}", hint="'recollect list' shows what is there.")
            return found
        if _URL.match(text):
            return registry.url_ref(text)
        if Ref.looks_like(text):
            return Ref.parse(text)
        if not text.strip():
            raise UsageError("an empty name is not a ref", hint="Name a file, a ref such as note:/plan, or an item id.")
        return registry.disk_ref(Path(text))

    def _number(self, name: str | Path | Ref) -> int:
        return self.store.require(self.resolve(name))

    # -- taking in ----------------------------------------------------------------------------------------------

    def add(
        self,
        *sources: str | Path,
        kind: str | None = None,
        fields: Mapping[str, Any] | None = None,
        on_conflict: str = "skip",
        as_ref: str | None = None,
        text: str | bytes | None = None,
        globs: Sequence[str] = (),
        wait: bool = True,
        progress: Callable[[Progress], None] | None = None,
    ) -> AddReport:
        """Take in files and folders, or ``text`` under the ref ``as_ref``. One bad file never stops the rest."""
        _check_choice("on_conflict", on_conflict, ON_CONFLICT)
        if kind is not None:
            _check_choice("kind", kind, KINDS)
        adding = self._adding(on_conflict, progress, kind=kind, fields=fields or {})
        if text is not None:
            if as_ref is None:
                raise UsageError("text from standard input needs a name", hint="Say where it goes: --as note:/my-note")
            return self._embedded(adding.text(self.resolve(as_ref), text), wait, progress)
        if as_ref is not None and len(sources) != 1:
            raise UsageError("--as names one item, so it goes with one file", hint="Leave out --as, or add one file.")
        report = adding.sources(sources, globs=globs, as_ref=self.resolve(as_ref) if as_ref else None)
        return self._embedded(report, wait, progress)

    def _embedded(self, report: AddReport, wait: bool, progress: Callable[[Progress], None] | None = None) -> AddReport:
        """Let the vectors follow; whatever stops them is a note, for what was written stays written."""
        if not wait or not (report.count("created") or report.count("updated")):
            return report
        embedder = self._embedder()
        if embedder is None:
            return report
        done = Worker(self.store, embedder, registry.worker_name(), progress).drain()
        if not done.stopped:
            return report
        return replace(report, notes=(*report.notes, f"vectors: {done.stopped}"))

    def refresh(
        self,
        *refs: str | Path | Ref,
        all: bool = False,  # noqa: A002 - the word users know from the command line
        prune: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> RefreshReport:
        """Read items again from where they came from, and take in what is new below added folders."""
        refresher = self._refresher(progress)
        work = refresher.everything() if all else refresher.named([self.resolve(ref) for ref in refs])
        return self._reembedded(refresher.run(work, prune=prune), progress)

    def _refresher(self, progress: Callable[[Progress], None] | None = None) -> Refresher:
        return Refresher(self.store, self._pipeline, self.config, self._backlog(), progress)

    def _reembedded(self, report: RefreshReport, progress: Callable[[Progress], None] | None) -> RefreshReport:
        embedder = self._embedder()
        if embedder is None or not report.count("updated", "created", "moved"):
            return report
        done = Worker(self.store, embedder, registry.worker_name(), progress).drain()
        notes = (*report.notes, f"vectors: {done.stopped}") if done.stopped else report.notes
        return replace(report, reembedded=done.embedded, notes=notes)

    def watch(
        self,
        *paths: str | Path,
        on_event: Callable[[WatchEvent], None] | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        """Follow folders and keep their items current, until ``stop`` is set or the process is interrupted."""
        folders = [Path(path).expanduser().resolve() for path in paths]
        for folder in folders:
            if not folder.exists():
                raise NotFound(f"there is no file or folder {folder}", hint="Check the spelling.")
            if folder.is_dir() and str(folder) not in dict(self.store.roots()):
                self.store.remember_root(str(folder), ())

        def on_batch(event: WatchEvent) -> None:
            self._reembedded(event.report, None)
            if on_event is not None:
                on_event(event)

        limit = int(self.config.ingest.max_file_mb * 1_000_000)
        Watcher(self.store, self._refresher, limit).run(folders, stop or threading.Event(), on_batch)

    def save(
        self,
        ref: str | Ref,
        content: str,
        *,
        kind: str | None = None,
        fields: Mapping[str, Any] | None = None,
        on_conflict: str = "error",
        structure: str = "text",
        wait: bool = True,
    ) -> Saved:
        """Write one text under a ref; an existing item is refused unless ``on_conflict`` says otherwise."""
        resolved = self.resolve(ref)
        entry = Entry(str(resolved), content, kind or kind_of(resolved), fields or {}, structure)
        saved = self.save_many([entry], on_conflict=on_conflict, durable=True, wait=wait).items[0]
        if saved.error is not None:
            raise from_dict(saved.error)
        return saved

    def save_many(
        self,
        entries: Iterable[Entry],
        *,
        on_conflict: str = "overwrite",
        wait: bool = True,
        durable: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> AddReport:
        """Write many texts, in batches of one transaction each."""
        _check_choice("on_conflict", on_conflict, ON_CONFLICT)
        adding = self._adding(on_conflict, progress)
        report = adding.entries(((self.resolve(entry.ref), entry) for entry in entries), durable=durable)
        return self._embedded(report, wait, progress)

    def _adding(
        self,
        on_conflict: str,
        progress: Callable[[Progress], None] | None,
        *,
        kind: str | None = None,
        fields: Mapping[str, Any] | None = None,
    ) -> Adding:
        return Adding(
            self.store,
            self._pipeline,
            self.config,
            kind=kind,
            fields=fields or {},
            on_conflict=on_conflict,
            backlog=self._backlog(),
            progress=progress,
        )

    def edit(self, ref: str | Ref, content: str | None = None, fields: Mapping[str, Any] | None = None) -> Saved:
        """Change an item's content, its fields, or both: a new version."""
        n = self._number(ref)
        item = self.store.item(n)
        _refuse_binned(item)
        draft = self.store.draft(n, item.version)
        changed = replace(draft, fields=draft.fields.with_changes(fields or {}))
        if content is not None:
            return self._rewrite(n, self._pipeline.prepare_text(changed, content))
        return self._rewrite(n, self._pipeline.prepare_draft(changed))

    def _rewrite(self, n: int, item: PreparedItem) -> Saved:
        saved = self.store.rewrite(n, item, durable=True, backlog=self._backlog())
        self._embedded(AddReport((saved,)), wait=True)
        return saved

    def mv(self, ref: str | Ref, new_ref: str | Ref) -> Saved:
        """Give an item another ref; its history moves with it."""
        n = self._number(ref)
        item = self.store.item(n)
        _refuse_binned(item)
        draft = replace(self.store.draft(n, item.version), ref=self.resolve(new_ref))
        return self._rewrite(n, self._pipeline.prepare_draft(draft))

    def rm(self, *refs: str | Ref, purge: bool = False, dry_run: bool = False) -> AddReport:
        """Remove items: to the bin, or with ``purge`` out of the file. A name ending in / or * means all below it."""
        removed = []
        for number, ref in self._named(refs, in_bin=purge):
            if not dry_run:
                self.store.remove(number, purge=purge)
            status = "would be removed" if dry_run else "purged" if purge else "removed"
            removed.append(Saved(str(ref), status))
        if not dry_run:
            self.store.empty_bin(self.config.store.bin_days)
        return AddReport(tuple(removed))

    def _named(self, names: Sequence[str | Ref], *, in_bin: bool) -> list[tuple[int, Ref]]:
        """Numbers and refs for names, subtrees included; nothing is touched before all are found."""
        found: dict[int, Ref] = {}
        for name in names:
            text = str(name)
            if text.endswith(("/", "/*")):
                ref = self.resolve(text.removesuffix("*").rstrip("/") or "/")
                below = self.store.refs_below(ref.drive, ref.path)
                if not below:
                    raise NotFound(f"there is nothing below {ref}", hint="'recollect tree' shows what is in the store.")
                found |= {number: below_ref for number, below_ref, _ in below}
                continue
            number = self._number(name)
            item = self.store.item(number)
            if not in_bin:
                _refuse_binned(item)
            found[number] = item.ref
        return list(found.items())

    def restore(self, ref: str | Ref, version: int | None = None) -> Saved:
        """Bring an item back from the bin, or an earlier version to the front (as a newer version)."""
        n = self._number(ref)
        item = self.store.item(n)
        if version is None and item.state == "live":
            raise UsageError(
                f"{item.ref} is not in the bin", hint="Name the version to go back to: --version N (see history)."
            )
        draft = self.store.draft(n, version or item.version)
        return self._rewrite(n, self._pipeline.prepare_draft(replace(draft, ref=item.ref)))

    # -- finding ------------------------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        offset: int = 0,
        mode: str = "scan",
        filters: Filters | None = None,
        min_score: float | None = None,
        lexical: bool = True,
        vectors: bool = True,
        profile: str | None = None,
        weights: Mapping[str, float] | None = None,
        as_of: datetime | str | None = None,
        explain: bool = False,
        track: bool | None = None,
        literal: bool = False,
        backend: str | None = None,
        boost_tags: Sequence[str] = (),
        boost_domain: str | None = None,
        diverse: bool = False,
        rerank: str | None = None,
        tool: str = "search",
    ) -> Answer:
        """Ranked items for a query. ``literal`` takes the text as plain words, without operators."""
        settings = self.config.search
        request = Request(
            query,
            limit=settings.limit if limit is None else limit,
            offset=offset,
            mode=mode,
            filters=filters or Filters(),
            min_score=settings.min_score if min_score is None else min_score,
            lexical=lexical,
            vectors=vectors,
            profile=profile or settings.profile,
            weights=weights or {},
            as_of=parse_time(as_of) if isinstance(as_of, str) else as_of,
            explain=explain,
            literal=literal,
            backend=backend or settings.backend,
            boosts=Boosts(tuple(boost_tags), boost_domain),
            diverse=diverse,
            rerank=rerank,
        )
        return self._tracked(self._searcher.search(request), query, tool, track)

    def _tracked(self, answer: Answer, text: str, tool: str, track: bool | None) -> Answer:
        """Remember, once it is there, what an answer held; the setting decides when the call does not say."""
        config = self.config
        if config.search.track if track is None else track:
            profile = profiles(config).get(answer.meta.profile)
            opened = profile is not None and profile.counts_as_opening
            self._tracker.searched(answer, text=text, tool=tool, settings=config.usage, opened=opened)
        return answer

    def explain(self, query: str, ref: str | Ref, **options: Any) -> Explanation:
        """Why an item is where it is in the answer to a query, or why it is not there."""
        found = self.resolve(ref)
        n = self.store.require(found)
        settings = self.config.search
        profile = options.pop("profile", None) or settings.profile
        request = Request(query, limit=settings.limit, profile=profile, **options)
        return explain_item(self._searcher, self.store, request, n)

    def grep(
        self,
        pattern: str,
        *,
        context: int = 0,
        globs: Sequence[str] = (),
        drives: Sequence[str] = (),
        ignore_case: bool = False,
        fixed: bool = False,
        limit: int = 100,
    ) -> list[GrepMatch]:
        """Lines of stored texts that match a regular expression, newest items first."""
        filters = Filters(drives=tuple(drives), paths=tuple(globs))
        return grep_texts(
            self.store, pattern, filters, context=context, ignore_case=ignore_case, fixed=fixed, limit=limit
        )

    def get(
        self,
        ref: str | Ref,
        *,
        version: int | None = None,
        as_of: datetime | str | None = None,
        track: bool | None = None,
    ) -> Item:
        """An item with its content: now, in one version, or as it was at a time. This counts as opening it."""
        n = self._number(ref)
        if as_of is not None:
            when = parse_time(as_of) if isinstance(as_of, str) else as_of
            version = self.store.version_at(n, when)
            if version is None:
                raise NotFound(f"{ref} did not exist at {when.isoformat()}", hint="See its history for since when.")
        item = self.store.item(n, version=version)
        if version is None:
            _refuse_binned(item)
        config = self.config
        if config.search.track if track is None else track:
            self._tracker.opened(item, settings=config.usage)
        return item

    def list(self, *, filters: Filters | None = None, limit: int = 50, offset: int = 0) -> list[Item]:
        """Items without their content, newest first."""
        return [item for _, item in self.store.listing(filters or Filters(), limit, offset)]

    def count(self, filters: Filters | None = None) -> int:
        """How many items pass the filters."""
        return self.store.count(filters or Filters())

    def tree(self, prefix: str | None = None, *, depth: int | None = None) -> TreeNode:
        """Refs as folders, from all drives or below one ref."""
        return tree_of(self.store, prefix, depth)

    def history(self, ref: str | Ref) -> Sequence[Version]:
        """An item's versions, the newest first."""
        return self.store.history(self._number(ref))

    def diff(self, ref: str | Ref, old: int | None = None, new: int | None = None) -> str:
        """What changed between two versions, as a unified diff; by default the last change."""
        n = self._number(ref)
        numbers = [version.number for version in self.store.history(n)]
        new = numbers[0] if new is None else new
        earlier = [number for number in numbers if number < new]
        old = (earlier[0] if earlier else new) if old is None else old
        before, after = self.store.item(n, version=old), self.store.item(n, version=new)
        return "".join(
            difflib.unified_diff(
                _lines_for_diff(before), _lines_for_diff(after), f"{before.ref}@{old}", f"{after.ref}@{new}"
            )
        )

    def semantic(self, query: str, **options: Any) -> Answer:
        """Ranked items by meaning alone."""
        return self.search(query, profile="vector", literal=True, **{"tool": "semantic", **options})

    def similar(
        self, ref: str | Ref, *, limit: int = 10, filters: Filters | None = None, track: bool | None = None
    ) -> Answer:
        """The items whose passages are nearest in meaning to those of one item."""
        found = self.resolve(ref)
        n = self.store.require(found)
        answer = self._searcher.similar(n, limit=limit, filters=filters or Filters())
        return self._tracked(answer, str(found), "similar", track)

    # -- learning from use --------------------------------------------------------------------------------------

    @cached_property
    def learn(self) -> Learning:
        """What profiles learned from feedback: ``learn.status()``, ``freeze()``, ``rollback()``, ``history()``."""
        return Learning(self.store, self._config, self._learners)

    def _learners(self) -> dict[str, Learner]:
        config = self.config
        vectors = config.embedding.provider != "none"
        known = profiles(config).items()
        return {name: Learner(one.learns, one.weights(vectors=vectors)) for name, one in known if one.learns}

    def feedback(self, query: str, ref: str | Ref, verdict: str) -> FeedbackReport:
        """Say what became of an item that a query found: accepted, modified, dismissed or failed."""
        found = self.resolve(ref)
        return self.learn.take(query, self.store.require(found), str(found), verdict)

    def stats(self, *, days: float = 30, by: str = "query", limit: int = 10) -> StatsReport:
        """What was asked and found in the last days, by query, tool or day."""
        _check_choice("by", by, STATS_BY)
        if not 0 < days <= 36500 or limit < 1:
            raise UsageError("the limit is at least 1, and days are more than 0", hint="At most 36500 days.")
        self._tracker.flush()
        return self.store.stats(days=days, by=by, limit=limit)

    def clear_log(self) -> int:
        """Erase the log of queries and of what they found; answers how many queries it held."""
        self._tracker.flush()
        return self.store.clear_log()

    # -- links --------------------------------------------------------------------------------------------------

    def link(self, source: str | Ref, target: str | Ref, type: str = "mentions") -> Link:  # noqa: A002 - the domain's word
        """Link one item to another; doing so again changes nothing."""
        return links.link(self.store, self._present(source), self._present(target), type)

    def unlink(self, source: str | Ref, target: str | Ref, type: str | None = None) -> int:  # noqa: A002
        """Take a link made by ``link`` away, of one type or of all; how many there were."""
        return links.unlink(self.store, self._present(source), self._present(target), type)

    def links(self, ref: str | Ref, *, depth: int = 2) -> LinkReport:
        """The links around an item, both ways, by hand and from texts."""
        return links.around(self.store, self._present(ref), depth)

    def suggest_links(self, ref: str | Ref, *, limit: int = 10) -> Answer:
        """Items that are like one but not linked with it: by meaning or, without vectors, by the words of its title."""
        n = self._present(ref)
        deep = limit + len(self.store.neighbours([n], 1))
        answer = self._searcher.similar(n, limit=deep, filters=Filters())
        if not answer.hits:
            title = self.store.items_by_number([n])[n].title
            answer = self._searcher.search(Request(title, limit=deep, vectors=False, literal=True))
        return links.without_linked(self.store, n, answer, limit)

    def relink(self) -> int:
        """Find the links in all texts anew; how many items were looked at."""
        return self.store.relink()

    def _present(self, name: str | Ref) -> int:
        n = self._number(name)
        _refuse_binned(self.store.items_by_number([n])[n])
        return n

    # -- vectors ------------------------------------------------------------------------------------------------

    def embed(
        self,
        *,
        workers: int = 1,
        kinds: Sequence[str] = (),
        limit: int | None = None,
        enqueue_only: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> EmbedReport:
        """Work off the backlog of texts without a vector. Any number of processes may do so at once."""
        embedder = self._embedder()
        if embedder is None:
            return EmbedReport(stopped="vectors are switched off (embedding.provider = none)")
        found = 0
        for kind in kinds or (None,):
            found += self.store.enqueue_missing(fingerprint_of(embedder), embedder.dimensions, kind)
        if enqueue_only:
            return EmbedReport(enqueued=found)
        worker = Worker(self.store, embedder, registry.worker_name(), progress)
        return worker.drain(kinds=kinds, limit=limit, workers=workers)

    def jobs(self) -> JobsReport:
        """What waits for a vector, what failed, and how much is done."""
        return JobsReport(self.store.job_summary())

    def retry_jobs(self) -> int:
        """Put failed jobs back; answers how many."""
        return self.store.retry_jobs()

    def reembed(self, *, progress: Callable[[Progress], None] | None = None) -> EmbedReport:
        """Give every text a vector of the model in force; searches use the old ones until all are there."""
        report = self.embed(progress=progress)
        embedder = self._embedder()
        if embedder is not None and not report.stopped and not report.failed:
            fingerprint = fingerprint_of(embedder)
            if not self.store.waiting_jobs(fingerprint) and self.store.active_fingerprint() != fingerprint:
                self.store.activate(fingerprint)
        return report

    # -- looking after ------------------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """What the store holds and how it is."""
        return store_status(self.store, self.location, self.config)

    def doctor(self, *, repair: bool = False) -> DoctorReport:
        """Check the store, and with ``repair`` mend what can be rebuilt."""
        return check_store(self.store, self.location, repair=repair)


def _check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise UsageError(f"{name} cannot be '{value}'", hint=f"One of: {', '.join(allowed)}.")


def _refuse_binned(item: Item) -> None:
    if item.state == "deleted":
        raise NotFound(f"{item.ref} is in the bin", hint=f"'recollect restore {item.ref}' brings it back.")


def _lines_for_diff(item: Item) -> list[str]:
    """Fields that are set, then the content, so that a title edit shows up too."""
    plain = item.fields.to_dict()
    head = [f"{name}: {plain[name]}\n" for name in plain if plain[name] not in (None, "", [], {}, False)]
    head.insert(0, f"ref: {item.ref}\n")
    body = [line if line.endswith("\n") else f"{line}\n" for line in item.content.splitlines(keepends=True)]
    return [*head, "\n", *body]
