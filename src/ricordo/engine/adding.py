"""Verbs that bring in files, folders and pages, and keep their items current: add, refresh, watch."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo import registry
from ricordo.engine.checks import check_choice, check_type, texts
from ricordo.engine.finding import FindVerbs
from ricordo.engine.items import adding_to
from ricordo.engine.reading import ReadVerbs
from ricordo.engine.removing import RemoveVerbs
from ricordo.engine.roots import RootVerbs
from ricordo.errors import UsageError
from ricordo.permissions import refuse_files, refuse_secrets
from ricordo.values.items import Ref
from ricordo.values.kinds import KINDS, ON_CONFLICT
from ricordo.values.reports import AddReport, Progress
from ricordo.verbs.declare import WATCHED, verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.engine.tools import Tools
    from ricordo.ingest.add import Adding, AddingPages
    from ricordo.ingest.pages import PageReader
    from ricordo.ingest.refresh import Refresher
    from ricordo.sources.base import Loader
    from ricordo.values.reports import RefreshReport, WatchEvent
    from ricordo.verbs.declare import ADDED_TEXT, Say
    from ricordo.verbs.parameters import (
        NAME_TEXT,
        REF_TEXT,
        AllowSecrets,
        DryRun,
        FieldsToSet,
        IfTaken,
        KindOfItem,
        PathName,
        Prune,
        Wait,
    )


MOST_PAGES = 200
"""How many pages one add takes from links or a sitemap, unless the caller says another number."""


class AddVerbs(RootVerbs, FindVerbs, ReadVerbs, RemoveVerbs):
    """Brings in files, folders and pages, and keeps their items current."""

    @cached_property
    def tools(self) -> Tools:
        """Tools of other MCP servers: find, show and call them.

        In a project they are those of the user's own store, so that every folder has the same.
        """
        if self._context.located.location.origin == "project":
            return self.tier("agent").tools
        from ricordo.engine.tools import Tools

        return Tools(self._context, self, self, self, self)

    @verb(
        "write",
        "add",
        "Add files, folders, globs, URLs or standard input.",
        is_long=True,
        examples=(
            "ricordo add notes/ report.pdf",
            "ricordo add src/ --glob '*.py' --tag code",
            "ricordo add . --history",
            "ricordo add https://example.org/guide --depth 2",
            "git log | ricordo add - --as note:/log",
        ),
        creates=True,
    )
    def add(
        self,
        *sources: Annotated[
            str | Path,
            Say(
                "A file, a folder, a glob or a URL.",
                low=1,
                longest=REF_TEXT,
                shown="PATH|GLOB|URL|-",
                example="https://example.org/page",
            ),
        ],
        kind: KindOfItem | None = None,
        fields: FieldsToSet | None = None,
        on_conflict: IfTaken = "skip",
        as_ref: Annotated[str, Say("Store the one item under this ref.", name="as", longest=REF_TEXT, shown="REF")]
        | None = None,
        text: Annotated[str | bytes, Say("The text itself, instead of a source.", not_on=ADDED_TEXT)] | None = None,
        globs: Annotated[
            Sequence[str],
            Say(
                "Of a folder, only files that match (repeatable).",
                name="glob",
                http="globs",
                shown="PATTERN",
                longest=NAME_TEXT,
            ),
        ] = (),
        follow_links: Annotated[bool, Say("Also follow links that lead out of a folder.")] | None = None,
        depth: Annotated[
            int, Say("Also add the pages that a page of the site links to, N steps far.", 0, 20, most=10, shown="N")
        ] = 0,
        sitemap: Annotated[bool, Say("Add the pages that the sitemap of the site lists.")] = False,
        max_pages: Annotated[int, Say("Add at most N pages of a site.", 1, most=10_000, shown="N")] | None = None,
        history: Annotated[bool, Say("Also add the commits of the git repository.")] = False,
        prompt_addition: Annotated[
            str, Say("A note to the language model that loads pages.", longest=10_000, shown="TEXT")
        ] = "",
        transcript: Callable[[str], None] | None = None,
        allow_secrets: AllowSecrets = False,
        dry_run: DryRun = False,
        wait: Wait = True,
        progress: Callable[[Progress], None] | None = None,
    ) -> AddReport:
        """Take in files, folders and URLs, or ``text`` under the ref ``as_ref``. One bad one never stops the rest.

        Links in a folder that lead out of it are left out and named, unless ``follow_links`` or the setting
        ``ingest.follow_symlinks`` says otherwise. From a URL, ``depth`` follows the links of its site step by step,
        and ``sitemap`` takes what the site's sitemap names, both up to ``max_pages``. ``prompt_addition`` goes to a
        model that loads pages, and ``transcript`` is called with what that model does. ``history`` also adds each
        commit of the repository as an item, and ``refresh`` adds the new ones later. Under the ref of a memory or note,
        secrets are redacted unless allowed. With ``dry_run`` nothing is read or written; the report says what would be
        added.
        """
        check_choice("on_conflict", on_conflict, ON_CONFLICT)
        refuse_files(sources)
        refuse_secrets(allowed=allow_secrets)
        for source in sources:
            check_type("what is added", source if not isinstance(source, Path) else str(source), str)
            if not str(source).strip():
                raise UsageError("what is added has no name", hint="Name a file, a folder or a URL; . is this folder.")
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
                raise UsageError("a dry run needs files, folders or URLs", hint="Leave out ‹dry_run› for a text.")
            if as_ref is None:
                raise UsageError(
                    "text from standard input needs a name", hint="Say where it goes: ‹as_ref=note:/my-note›"
                )
            return self._context.embed_after(adding.text(self._context.resolve_new(as_ref), text), wait, progress)
        if as_ref is not None and len(sources) != 1:
            raise UsageError(
                "‹as_ref› names one item, so it goes with one file", hint="Leave out ‹as_ref›, or add one file."
            )
        if as_ref is not None and (depth or sitemap):
            raise UsageError(
                "‹as_ref› names one item, and a site has many", hint="Leave out ‹as_ref›, ‹depth› or ‹sitemap›."
            )

        def pages(adding: Adding) -> AddingPages:
            from ricordo.ingest.add import AddingPages

            most = max_pages or MOST_PAGES
            read = self._pages(prompt_addition, transcript)
            return AddingPages(adding, read, depth=depth, sitemap=sitemap, most=most)

        ref = self._context.resolve_new(as_ref) if as_ref else None
        report = adding.sources(sources, globs=texts("globs", globs), as_ref=ref, pages=pages)
        if history and not dry_run:
            report = adding.history(sources)
        return report if dry_run else self._context.embed_after(report, wait, progress)

    def _pages(self, prompt_addition: str = "", transcript: Callable[[str], None] | None = None) -> PageReader:
        from ricordo.ingest.pages import PageReader
        from ricordo.sources.web import OpenWeb

        return PageReader(
            OpenWeb(self._context.config.fetch), self._context.files().limits, self._loader(transcript), prompt_addition
        )

    def _loader(self, transcript: Callable[[str], None] | None) -> Loader | None:
        """What loads pages by other ways than plain HTTP, if a language model is set."""
        if self._context.config.llm.provider == "none":
            return None
        return registry.loader(self._context.config, self._context.models.llm, self._context.start, transcript)

    @verb(
        "write",
        "add",
        "Read items again from where they came from.",
        is_long=True,
        examples=(
            "ricordo refresh --all",
            "ricordo refresh notes/ url:/https://example.org/page",
            "ricordo refresh tool:/git",
        ),
    )
    def refresh(
        self,
        *refs: Annotated[str | Path | Ref, Say("What to read again.", longest=REF_TEXT, shown="REF")],
        all: Annotated[bool, Say("Everything that came from a file or page.", short="-a")] = False,  # noqa: A002
        prune: Prune = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> RefreshReport:
        """Read items again from where they came from, and take in what is new below added folders.

        Tools of MCP servers that the user took in are asked for again, which starts those servers.
        """
        moved = self._follow_project()
        self._context.program_notes.take_in(now=True)
        refresher = self._refresher(progress)
        work = refresher.everything() if all else refresher.named([self._context.resolve(ref) for ref in refs])
        report = self._reembedded(refresher.run(work, prune=prune), progress)
        if moved is not None:
            report = replace(report, items=(*moved.items, *report.items), notes=(*moved.notes, *report.notes))
        return self.tools.asked_again(report) if any(one.ref.startswith("tool:/") for one in report.items) else report

    def _refresher(self, progress: Callable[[Progress], None] | None = None) -> Refresher:
        from ricordo.ingest.refresh import Refresher

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

    @verb(
        "files",
        "add",
        "Keep folders up to date while they change.",
        not_on=WATCHED,
        examples=("ricordo watch notes/", "ricordo watch . --quiet", "ricordo watch"),
        creates=True,
    )
    def watch(
        self,
        *paths: PathName,
        on_event: Callable[[WatchEvent], None] | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        """Follow folders and keep their items current, until ``stop`` is set or the process is interrupted.

        The knowledge folder is followed in any case.
        """
        from ricordo.ingest.watch import Watcher

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
        """Make at most ``limit`` vectors of the backlog; returns how many were made."""
        done = self._context.embed_waiting(limit=limit)
        return 0 if done.stopped else done.embedded + done.cached
