"""The engine's verbs that change what is kept: add, refresh, watch, save, edit, move, remove, restore."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo import registry
from ricordo.engine.core import Core, check_choice, refuse_binned, refuse_put_away
from ricordo.errors import NotFound, StaleVersion, UsageError, from_dict
from ricordo.store.base import PreparedItem
from ricordo.values.choices import ON_CONFLICT
from ricordo.values.hits import Filters
from ricordo.values.items import Draft, Entry, Ref, Saved
from ricordo.values.kinds import KINDS
from ricordo.values.reports import AddReport, Progress

if TYPE_CHECKING:
    from ricordo.ingest.adding import Adding
    from ricordo.ingest.adding_pages import AddingPages
    from ricordo.ingest.files import Files
    from ricordo.ingest.pages import PageReader
    from ricordo.ingest.refreshing import Refresher
    from ricordo.sources.base import Loader
    from ricordo.values.reports import RefreshReport, WatchEvent

MOST_MENTIONING = 10_000
"""So many texts that name a new entity are linked to it."""
_ATTEMPTS = 20


class TakingIn(Core):
    """Brings content in and changes it; every change is a version."""

    def add(
        self,
        *sources: str | Path,
        kind: str | None = None,
        fields: Mapping[str, Any] | None = None,
        on_conflict: str = "skip",
        as_ref: str | None = None,
        text: str | bytes | None = None,
        globs: Sequence[str] = (),
        depth: int = 0,
        sitemap: bool = False,
        max_pages: int | None = None,
        prompt_addition: str = "",
        transcript: Callable[[str], None] | None = None,
        allow_secrets: bool = False,
        wait: bool = True,
        progress: Callable[[Progress], None] | None = None,
    ) -> AddReport:
        """Take in files, folders and URLs, or ``text`` under the ref ``as_ref``. One bad one never stops the rest.

        From a URL, ``depth`` follows the links of its site so many steps, ``sitemap`` takes what the site's sitemap
        names, both up to ``max_pages``. ``prompt_addition`` is told to a model that loads pages, and ``transcript`` is
        told what that model does. Under the ref of a memory or note, secrets are redacted unless they are allowed.
        """
        check_choice("on_conflict", on_conflict, ON_CONFLICT)
        if kind is not None:
            check_choice("kind", kind, KINDS)
        adding = self._adding(on_conflict, progress, kind=kind, fields=fields or {}, allow_secrets=allow_secrets)
        if text is not None:
            if as_ref is None:
                raise UsageError("text from standard input needs a name", hint="Say where it goes: --as note:/my-note")
            return self._embedded(adding.text(self.resolve(as_ref), text), wait, progress)
        if as_ref is not None and len(sources) != 1:
            raise UsageError("--as names one item, so it goes with one file", hint="Leave out --as, or add one file.")
        if as_ref is not None and (depth or sitemap):
            raise UsageError("--as names one item, and a site has many", hint="Leave out --as, --depth or --sitemap.")

        def pages(adding: Adding) -> AddingPages:
            from ricordo.ingest.adding_pages import AddingPages

            most = max_pages or self.config.fetch.max_pages
            read = self._pages(prompt_addition, transcript)
            return AddingPages(adding, read, depth=depth, sitemap=sitemap, most=most)

        ref = self.resolve(as_ref) if as_ref else None
        report = adding.sources(sources, globs=globs, as_ref=ref, pages=pages)
        return self._embedded(report, wait, progress)

    def _pages(self, prompt_addition: str = "", transcript: Callable[[str], None] | None = None) -> PageReader:
        from ricordo.ingest.pages import PageReader

        return PageReader(registry.web(self.config), self._files().limits, self._loader(transcript), prompt_addition)

    def _loader(self, transcript: Callable[[str], None] | None) -> Loader | None:
        """What brings pages by other ways than plain HTTP, where a language model is set."""
        if self.config.llm.provider == "none":
            return None
        return registry.loader(self.config, self._llm, self._start, transcript)

    def _embedded(self, report: AddReport, wait: bool, progress: Callable[[Progress], None] | None = None) -> AddReport:
        """Let the vectors follow; whatever stops them is a note, for what was written stays written."""
        if not wait or not (report.count("created") or report.count("updated")):
            return report
        done = self._drain(progress)
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
        from ricordo.ingest.refreshing import Refresher

        return Refresher(self.store, self._pipeline, self._files(), self._backlog(), progress, pages=self._pages)

    def _files(self) -> Files:
        from ricordo.ingest.files import Files

        return Files(self.config, self.location)

    def _reembedded(self, report: RefreshReport, progress: Callable[[Progress], None] | None) -> RefreshReport:
        if not report.count("updated", "created", "moved"):
            return report
        done = self._drain(progress)
        notes = (*report.notes, f"vectors: {done.stopped}") if done.stopped else report.notes
        return replace(report, reembedded=done.embedded, notes=notes)

    def watch(
        self,
        *paths: str | Path,
        on_event: Callable[[WatchEvent], None] | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        """Follow folders and keep their items current, until ``stop`` is set or the process is interrupted.

        The knowledge folder is followed in any case.
        """
        from ricordo.ingest.watching import Watcher

        knowledge = self._knowledge.folder.path if self._knowledge is not None else None
        if knowledge is None and not paths:
            raise UsageError("watch what?", hint="Name files or folders; this store has no knowledge folder.")
        if knowledge is not None:
            knowledge.mkdir(parents=True, exist_ok=True, mode=0o700)
        watcher = Watcher(self.store, self._refresher, self._embed_some, knowledge, self._take_in_files)
        watcher.run(paths, stop or threading.Event(), on_event or (lambda event: None))

    def _take_in_files(self) -> RefreshReport:
        """Take in what was done to knowledge files, now."""
        from ricordo.values.reports import Refreshed, RefreshReport

        done = self._knowledge.catch_up(at_once=True) if self._knowledge is not None else None
        if done is None:
            return RefreshReport(())
        items = tuple(Refreshed(one.ref, one.status, one.error) for one in done.items)
        return RefreshReport(items, notes=done.notes)

    def _embed_some(self, limit: int) -> int:
        """Make up to so many vectors of the backlog; how many were made."""
        done = self._drain(limit=limit)
        return 0 if done.stopped else done.embedded + done.cached

    def save(
        self,
        ref: str | Ref,
        content: str,
        *,
        kind: str | None = None,
        fields: Mapping[str, Any] | None = None,
        on_conflict: str = "error",
        structure: str = "text",
        allow_secrets: bool = False,
        wait: bool = True,
    ) -> Saved:
        """Write one text under a ref; an existing item is refused unless ``on_conflict`` says otherwise.

        In what agents write (memories, notes, …) secrets are redacted unless they are allowed.
        """
        from ricordo.ingest.incoming_secrets import kind_of
        from ricordo.ingest.redact import redact_item

        resolved = self.resolve(ref)
        kind = kind or kind_of(resolved)
        content, fields, redacted = redact_item(kind, content, fields or {}, allow_secrets=allow_secrets)
        entry = Entry(str(resolved), content, kind, fields, structure)
        saved = self.save_many([entry], on_conflict=on_conflict, durable=True, wait=wait, allow_secrets=True).items[0]
        if saved.error is not None:
            raise from_dict(saved.error)
        if kind == "entity" and saved.status != "skipped":
            self._find_mentions(self.store.items.require(resolved))
        return replace(saved, redacted=redacted)

    def save_many(
        self,
        entries: Iterable[Entry],
        *,
        on_conflict: str = "overwrite",
        wait: bool = True,
        durable: bool = False,
        allow_secrets: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> AddReport:
        """Write many texts, in batches of one transaction each; secrets are redacted as in ``save``."""
        check_choice("on_conflict", on_conflict, ON_CONFLICT)
        adding = self._adding(on_conflict, progress, allow_secrets=allow_secrets)
        report = adding.entries(((self.resolve(entry.ref), entry) for entry in entries), durable=durable)
        return self._embedded(report, wait, progress)

    def _adding(
        self,
        on_conflict: str,
        progress: Callable[[Progress], None] | None,
        *,
        kind: str | None = None,
        fields: Mapping[str, Any] | None = None,
        allow_secrets: bool = False,
    ) -> Adding:
        from ricordo.ingest.adding import Adding

        return Adding(
            self.store,
            self._pipeline,
            self._files(),
            kind=kind,
            fields=fields or {},
            on_conflict=on_conflict,
            backlog=self._backlog(),
            progress=progress,
            allow_secrets=allow_secrets,
        )

    def edit(
        self,
        ref: str | Ref,
        content: str | None = None,
        fields: Mapping[str, Any] | None = None,
        *,
        allow_secrets: bool = False,
        base: int | None = None,
        wait: bool = True,
    ) -> Saved:
        """Change an item's content, its fields, or both: a new version. Secrets are redacted as in ``save``.

        ``base`` is the version that the change was made on; if there is a newer one, the answer says so.
        """
        from ricordo.ingest.redact import redact_item

        n = self._number(ref)
        kind = self.store.items.get_many([n])[n].kind
        text, fields, redacted = redact_item(kind, content or "", fields or {}, allow_secrets=allow_secrets)

        def changed(draft: Draft) -> PreparedItem:
            draft = replace(draft, fields=draft.fields.with_changes(fields))
            return self._pipeline.prepare_draft(draft) if content is None else self._pipeline.prepare_text(draft, text)

        return replace(self._change(n, changed, wait, base), redacted=redacted)

    def _change(self, n: int, changed: Callable[[Draft], PreparedItem], wait: bool, base: int | None = None) -> Saved:
        """Make an item's next version of its current one; of that made meanwhile elsewhere, if there is one."""
        for attempt in range(_ATTEMPTS):
            item = self.store.items.get(n)
            refuse_put_away(item)
            prepared = changed(self.store.items.draft(n, item.version))
            try:
                saved = self._rewrite(n, prepared, base=item.version, wait=wait)
            except StaleVersion:
                if attempt == _ATTEMPTS - 1:
                    raise
                continue
            if saved.status == "updated" and (attempt or base not in (None, item.version)):
                return replace(saved, reason=f"it was changed meanwhile: that is kept as version {item.version}")
            return saved
        raise AssertionError("the last attempt returns or raises")

    def _rewrite(self, n: int, item: PreparedItem, base: int | None = None, *, wait: bool = True) -> Saved:
        saved = self.store.changes.rewrite(n, item, durable=True, backlog=self._backlog(), base=base)
        if item.draft.kind == "entity" and saved.status != "skipped":
            self._find_mentions(n)
        self._embedded(AddReport((saved,)), wait)
        return saved

    def _find_mentions(self, entity: int) -> None:
        """Link the texts that name an entity, and no others: they may be older than it, or than its title."""
        from ricordo.search.request import Request
        from ricordo.text.mentions import mentioned
        from ricordo.values.kinds import MENTIONING_KINDS

        title = self.store.items.get_many([entity])[entity].fields.title
        phrase = title.replace('"', " ").strip()
        naming: list[int] = []
        if phrase:
            filters = Filters(kinds=tuple(sorted(MENTIONING_KINDS)))
            request = Request(f'"{phrase}"', limit=MOST_MENTIONING, filters=filters, vectors=False)
            for hit in self._searcher.search(request).hits:
                n = self.store.items.require(Ref.parse(hit.ref))
                if mentioned(self.store.items.get(n).content, [(entity, title)]):
                    naming.append(n)
        self.store.links.set_mentions(entity, naming)

    def mv(self, ref: str | Ref, new_ref: str | Ref, *, wait: bool = True) -> Saved:
        """Give an item another ref; its history moves with it."""
        target = self.resolve(new_ref)

        def moved(draft: Draft) -> PreparedItem:
            return self._pipeline.prepare_draft(replace(draft, ref=target))

        return self._change(self._number(ref), moved, wait)

    def _rm(self, refs: Sequence[str | Ref], *, purge: bool, dry_run: bool) -> AddReport:
        """Remove items by name: to the bin, or with ``purge`` out of the file."""
        removed = []
        for number, ref in self._named(refs, in_bin=purge):
            if not dry_run:
                self.store.changes.remove(number, purge=purge)
            status = "would be removed" if dry_run else "purged" if purge else "removed"
            removed.append(Saved(str(ref), status))
        if not dry_run:
            self.store.transfer.empty_bin(self.config.store.bin_days)
        return AddReport(tuple(removed))

    def _named(self, names: Sequence[str | Ref], *, in_bin: bool) -> list[tuple[int, Ref]]:
        """Numbers and refs for names, subtrees included; nothing is touched before all are found."""
        found: dict[int, Ref] = {}
        for name in names:
            text = str(name)
            if text.endswith(("/", "/*")) and not self._is_page(text):
                base = text.removesuffix("*").rstrip("/")
                ref = self.resolve(f"{base}/" if not base or base.endswith(":") else base)
                below = self.store.items.refs_below(ref.drive, ref.path)
                if not below:
                    raise NotFound(f"there is nothing below {ref}", hint="'ricordo tree' shows what is in the store.")
                found |= {number: below_ref for number, below_ref, _ in below}
                continue
            number = self._number(name)
            item = self.store.items.get(number)
            if not in_bin:
                refuse_binned(item)
            found[number] = item.ref
        return list(found.items())

    def _is_page(self, name: str) -> bool:
        """Whether a name is that of a page: its address may end like that of a folder."""
        if not name.startswith(("http://", "https://", "url:/")) or name.endswith("*"):
            return False
        return self.store.items.number(self.resolve(name)) is not None

    def restore(self, ref: str | Ref, version: int | None = None) -> Saved:
        """Bring an item back from the bin or the archive, or an earlier version to the front (as a newer version)."""
        n = self._number(ref)
        item = self.store.items.get(n)
        if version is None and item.state == "live":
            raise UsageError(
                f"{item.ref} is not in the bin", hint="Name the version to go back to: --version N (see history)."
            )
        draft = self.store.items.draft(n, version or item.version)
        return self._rewrite(n, self._pipeline.prepare_draft(replace(draft, ref=item.ref)))
