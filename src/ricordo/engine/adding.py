"""The engine's verbs that change what is kept: add, refresh, watch, save, edit, move, remove, restore."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo import registry
from ricordo.engine.checks import check_choice, check_type
from ricordo.engine.context import EngineContext
from ricordo.engine.items import adding_to
from ricordo.engine.roots import RootVerbs
from ricordo.errors import UsageError
from ricordo.values.choices import ON_CONFLICT
from ricordo.values.items import Ref
from ricordo.values.kinds import KINDS
from ricordo.values.reports import AddReport, Progress

if TYPE_CHECKING:
    from ricordo.ingest.adding import Adding
    from ricordo.ingest.adding_pages import AddingPages
    from ricordo.ingest.pages import PageReader
    from ricordo.ingest.refreshing import Refresher
    from ricordo.sources.base import Loader
    from ricordo.values.reports import RefreshReport, WatchEvent


class AddVerbs:
    """Brings in files, folders and pages, and keeps their items current."""

    def __init__(self, context: EngineContext, roots: RootVerbs) -> None:
        self._context = context
        self._roots = roots

    def add(
        self,
        *sources: str | Path,
        kind: str | None = None,
        fields: Mapping[str, Any] | None = None,
        on_conflict: str = "skip",
        as_ref: str | None = None,
        text: str | bytes | None = None,
        globs: Sequence[str] = (),
        follow_links: bool | None = None,
        depth: int = 0,
        sitemap: bool = False,
        max_pages: int | None = None,
        prompt_addition: str = "",
        transcript: Callable[[str], None] | None = None,
        allow_secrets: bool = False,
        dry_run: bool = False,
        wait: bool = True,
        progress: Callable[[Progress], None] | None = None,
    ) -> AddReport:
        check_choice("on_conflict", on_conflict, ON_CONFLICT)
        for source in sources:
            check_type("what is added", source if not isinstance(source, Path) else str(source), str)
        if kind is not None:
            check_choice("kind", kind, KINDS)
        adding = adding_to(
            self._context,
            on_conflict,
            progress,
            kind=kind,
            fields=fields or {},
            allow_secrets=allow_secrets,
            follow_links=follow_links,
            dry_run=dry_run,
        )
        if text is not None:
            if dry_run:
                raise UsageError("a dry run needs files, folders or URLs", hint="Leave out --dry-run for a text.")
            if as_ref is None:
                raise UsageError("text from standard input needs a name", hint="Say where it goes: --as note:/my-note")
            return self._context.embed_after(adding.text(self._context.resolve(as_ref), text), wait, progress)
        if as_ref is not None and len(sources) != 1:
            raise UsageError("--as names one item, so it goes with one file", hint="Leave out --as, or add one file.")
        if as_ref is not None and (depth or sitemap):
            raise UsageError("--as names one item, and a site has many", hint="Leave out --as, --depth or --sitemap.")

        def pages(adding: Adding) -> AddingPages:
            from ricordo.ingest.adding_pages import AddingPages

            most = max_pages or self._context.config.fetch.max_pages
            read = self._pages(prompt_addition, transcript)
            return AddingPages(adding, read, depth=depth, sitemap=sitemap, most=most)

        ref = self._context.resolve(as_ref) if as_ref else None
        report = adding.sources(sources, globs=globs, as_ref=ref, pages=pages)
        return report if dry_run else self._context.embed_after(report, wait, progress)

    def _pages(self, prompt_addition: str = "", transcript: Callable[[str], None] | None = None) -> PageReader:
        from ricordo.ingest.pages import PageReader

        return PageReader(
            registry.web(self._context.config), self._context.files().limits, self._loader(transcript), prompt_addition
        )

    def _loader(self, transcript: Callable[[str], None] | None) -> Loader | None:
        """What loads pages by other ways than plain HTTP, if a language model is set."""
        if self._context.config.llm.provider == "none":
            return None
        return registry.loader(self._context.config, self._context.models.llm, self._context.start, transcript)

    def refresh(
        self,
        *refs: str | Path | Ref,
        all: bool = False,  # noqa: A002 - the word users know from the command line
        prune: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> RefreshReport:
        moved = self._roots.follow_project()
        refresher = self._refresher(progress)
        work = refresher.everything() if all else refresher.named([self._context.resolve(ref) for ref in refs])
        report = self._reembedded(refresher.run(work, prune=prune), progress)
        if moved is None:
            return report
        return replace(report, items=(*moved.items, *report.items), notes=(*moved.notes, *report.notes))

    def _refresher(self, progress: Callable[[Progress], None] | None = None) -> Refresher:
        from ricordo.ingest.refreshing import Refresher

        return Refresher(
            self._context.store,
            self._context.pipeline,
            self._context.files(),
            self._context.models.backlog(),
            progress,
            pages=self._pages,
        )

    def _reembedded(self, report: RefreshReport, progress: Callable[[Progress], None] | None) -> RefreshReport:
        if not (report.count("updated", "created", "moved") or self._context.waiting()):
            return report
        done = self._context.embed_waiting(progress)
        notes = (*report.notes, f"vectors: {done.stopped}") if done.stopped else report.notes
        return replace(report, reembedded=done.embedded, notes=notes)

    def watch(
        self,
        *paths: str | Path,
        on_event: Callable[[WatchEvent], None] | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        from ricordo.ingest.watching import Watcher

        knowledge = self._context.knowledge.folder.path if self._context.knowledge is not None else None
        if knowledge is None and not paths:
            raise UsageError(
                "there is nothing to watch", hint="Name files or folders; this store has no knowledge folder."
            )
        if knowledge is not None:
            knowledge.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._context.unreported = deque()
        try:
            watcher = Watcher(self._context.store, self._refresher, self._embed_some, knowledge, self._take_in_files)
            watcher.run(paths, stop or threading.Event(), on_event or (lambda event: None))
        finally:
            self._context.unreported = None

    def _take_in_files(self, look: bool) -> RefreshReport:
        """What was taken in from knowledge files since the last call; with ``look``, what changed by now as well.

        Any verb of this process may take in an edit before the watcher does, and that is reported all the same.
        """
        from ricordo.values.reports import Refreshed, RefreshReport

        context = self._context
        found = context.knowledge.catch_up(at_once=True) if look and context.knowledge is not None else None
        unreported = context.unreported or deque()
        done = [unreported.popleft() for _ in range(len(unreported))]
        if found is not None:
            done.append(found)
        items = tuple(Refreshed(one.ref, one.status, one.error) for report in done for one in report.items)
        return RefreshReport(items, notes=tuple(note for report in done for note in report.notes))

    def _embed_some(self, limit: int) -> int:
        """Make up to so many vectors of the backlog; returns how many were made."""
        done = self._context.embed_waiting(limit=limit)
        return 0 if done.stopped else done.embedded + done.cached
