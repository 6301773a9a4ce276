"""The public verbs of ``Ricordo`` that change what is kept; each calls the class that does the work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from ricordo.engine.opening import OpenEngine

if TYPE_CHECKING:
    from ricordo.engine.memories import MemoryFields, RememberOptions
    from ricordo.memory.feedback import Learning
    from ricordo.values.choices import OnConflict, OnDuplicate, Verdict, Writer
    from ricordo.values.items import Entry, Ref, Saved
    from ricordo.values.links import Link
    from ricordo.values.reports import (
        AddReport,
        Progress,
        RefreshReport,
        WatchEvent,
    )
    from ricordo.values.use import FeedbackReport


class WritingVerbs(OpenEngine):
    """What callers can change in a store; every change of an item is a new version."""

    def add(
        self,
        *sources: str | Path,
        kind: str | None = None,
        fields: Mapping[str, Any] | None = None,
        on_conflict: OnConflict = "skip",
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
        """Take in files, folders and URLs, or ``text`` under the ref ``as_ref``. One bad one never stops the rest.

        Links in a folder that lead out of it are left out and named, unless ``follow_links`` or the setting
        ``ingest.follow_symlinks`` says otherwise. From a URL, ``depth`` follows the links of its site so many steps,
        ``sitemap`` takes what the site's sitemap names, both up to ``max_pages``. ``prompt_addition`` goes to a model
        that loads pages, and ``transcript`` is called with what that model does. Under the ref of a memory or note,
        secrets are redacted unless allowed. With ``dry_run`` nothing is read or written; the report says what would be
        added.
        """
        return self._adding.add(
            *sources,
            kind=kind,
            fields=fields,
            on_conflict=on_conflict,
            as_ref=as_ref,
            text=text,
            globs=globs,
            follow_links=follow_links,
            depth=depth,
            sitemap=sitemap,
            max_pages=max_pages,
            prompt_addition=prompt_addition,
            transcript=transcript,
            allow_secrets=allow_secrets,
            dry_run=dry_run,
            wait=wait,
            progress=progress,
        )

    def refresh(
        self,
        *refs: str | Path | Ref,
        all: bool = False,  # noqa: A002 - the word users know from the command line
        prune: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> RefreshReport:
        """Read items again from where they came from, and take in what is new below added folders.

        Tools of MCP servers that the user took in are asked for again, which starts those servers.
        """
        report = self._adding.refresh(*refs, all=all, prune=prune, progress=progress)
        return self.tools.asked_again(report) if any(one.ref.startswith("tool:/") for one in report.items) else report

    def watch(
        self,
        *paths: str | Path,
        on_event: Callable[[WatchEvent], None] | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        """Follow folders and keep their items current, until ``stop`` is set or the process is interrupted.

        The knowledge folder is followed in any case.
        """
        self._adding.watch(*paths, on_event=on_event, stop=stop)

    def save(
        self,
        ref: str | Ref,
        content: str,
        *,
        kind: str | None = None,
        fields: Mapping[str, Any] | None = None,
        on_conflict: OnConflict = "error",
        structure: str = "text",
        allow_secrets: bool = False,
        wait: bool = True,
    ) -> Saved:
        """Write one text under a ref; an existing item is refused unless ``on_conflict`` says otherwise.

        With ``overwrite`` the item keeps the fields that are not given: its title, tags and the like.

        In what agents write (memories, notes, …) secrets are redacted unless they are allowed.
        """
        return self._items.save(
            ref,
            content,
            kind=kind,
            fields=fields,
            on_conflict=on_conflict,
            structure=structure,
            allow_secrets=allow_secrets,
            wait=wait,
        )

    def save_many(
        self,
        entries: Iterable[Entry],
        *,
        on_conflict: OnConflict = "overwrite",
        wait: bool = True,
        durable: bool = False,
        allow_secrets: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> AddReport:
        """Write many texts, in batches of one transaction each; secrets are redacted as in ``save``."""
        return self._items.save_many(
            entries, on_conflict=on_conflict, wait=wait, durable=durable, allow_secrets=allow_secrets, progress=progress
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

        ``base`` is the version that the change was made on. If there is a newer one, the change is refused
        (``StaleVersion``), so that a loop of reading, changing and writing loses nobody's change.
        """
        return self._items.edit(ref, content, fields, allow_secrets=allow_secrets, base=base, wait=wait)

    def mv(self, ref: str | Ref, new_ref: str | Ref, *, wait: bool = True) -> Saved:
        """Give an item another ref; its history moves with it."""
        return self._items.mv(ref, new_ref, wait=wait)

    def forget(
        self,
        *refs: str | Ref,
        older_than: str | timedelta | None = None,
        unused_since: str | timedelta | None = None,
        kinds: Sequence[str] = (),
        tags: Sequence[str] = (),
        dry_run: bool = False,
    ) -> AddReport:
        """Archive items: out of normal search, kept in history. By name, or all that are old or unused enough.

        Protected items (``decay_protected``, ``immutable``) are only forgotten by name, immutable ones never.
        """
        return self._removing.forget(
            *refs, older_than=older_than, unused_since=unused_since, kinds=kinds, tags=tags, dry_run=dry_run
        )

    def rm(
        self,
        *refs: str | Ref,
        purge: bool = False,
        dry_run: bool = False,
        older_than: str | timedelta | None = None,
        unused_since: str | timedelta | None = None,
        kinds: Sequence[str] = (),
        tags: Sequence[str] = (),
    ) -> AddReport:
        """Remove items: to the bin, or with ``purge`` out of the file. A name ending in / or * means all below it.

        Which ones can be said as for ``forget``; protected items are then left alone.
        """
        return self._removing.rm(
            *refs,
            purge=purge,
            dry_run=dry_run,
            older_than=older_than,
            unused_since=unused_since,
            kinds=kinds,
            tags=tags,
        )

    def restore(self, ref: str | Ref, version: int | None = None) -> Saved:
        """Bring an item back from the bin or the archive, or an earlier version to the front (as a newer version)."""
        return self._removing.restore(ref, version)

    def remember(
        self,
        text: str,
        *,
        kind: str = "memory",
        ref: str | Ref | None = None,
        links: Sequence[tuple[str, str | Ref]] = (),
        source: Writer = "user",
        on_duplicate: OnDuplicate | None = None,
        allow_secrets: bool = False,
        wait: bool = True,
        **fields: Unpack[MemoryFields],
    ) -> Saved:
        """Save a text that is worth knowing; ``links`` are pairs of type and target.

        The same text is skipped. What is nearly the same needs a decision, and nothing is written until
        ``on_duplicate`` says save, skip, merge or supersede.
        """
        return self._memories.remember(
            text,
            kind=kind,
            ref=ref,
            links=links,
            source=source,
            on_duplicate=on_duplicate,
            allow_secrets=allow_secrets,
            wait=wait,
            **fields,
        )

    def note(self, text: str, **options: Unpack[RememberOptions]) -> Saved:
        """Save a note: like ``remember``, for longer or unfinished texts."""
        return self.remember(text, kind="note", **options)

    def entity(self, text: str, **options: Unpack[RememberOptions]) -> Saved:
        """Save a person, place, project or thing; texts that contain its title are linked to it."""
        return self.remember(text, kind="entity", **options)

    def resource(self, text: str, **options: Unpack[RememberOptions]) -> Saved:
        """Save a pointer to a page, tool or document elsewhere (``source_url``)."""
        return self.remember(text, kind="resource", **options)

    def entry(self, text: str, **options: Unpack[RememberOptions]) -> Saved:
        """Save an entry of a log or journal; ``thread`` and ``seq`` say which, and where in it."""
        return self.remember(text, kind="entry", **options)

    def correct(
        self,
        ref: str | Ref,
        text: str,
        *,
        source: Writer = "user",
        allow_secrets: bool = False,
        wait: bool = True,
        **fields: Unpack[MemoryFields],
    ) -> Saved:
        """Save a correct text in place of an item, which is archived and linked (``corrects``).

        The new item takes over the old one's fields, but for those given here.
        """
        return self._memories.correct(ref, text, source=source, allow_secrets=allow_secrets, wait=wait, **fields)

    def supersede(self, old: str | Ref, new: str | Ref) -> Saved:
        """Let one item take another's place: the old one is archived and linked (``supersedes``)."""
        return self._memories.supersede(old, new)

    def link(self, source: str | Ref, target: str | Ref, type: str = "mentions") -> Link:  # noqa: A002 - the domain's word
        """Link one item to another; doing so again changes nothing."""
        return self._links.link(source, target, type)

    def unlink(self, source: str | Ref, target: str | Ref, type: str | None = None) -> int:  # noqa: A002
        """Remove links made by ``link``, of one type or of all; returns how many there were."""
        return self._links.unlink(source, target, type)

    def relink(self) -> int:
        """Find the links in all texts again; returns how many items were looked at."""
        return self._links.relink()

    @property
    def learn(self) -> Learning:
        """What profiles learned from feedback: ``learn.status()``, ``freeze()``, ``rollback()``, ``history()``."""
        return self._use.learn

    def feedback(self, query: str, ref: str | Ref, verdict: Verdict) -> FeedbackReport:
        """Give a verdict on an item that a query found: accepted, modified, dismissed or failed."""
        return self._use.feedback(query, ref, verdict)

    def clear_log(self) -> int:
        """Erase the log of queries and of what they found; returns how many queries it held."""
        return self._use.clear_log()

    def sessions_add(
        self,
        *paths: str | Path,
        wait: bool = True,
        allow_secrets: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> AddReport:
        """Take in what is new in transcripts: files, folders, or where agents' programs keep them.

        Each event is taken in once, however often this is called. Without ``wait`` vectors are left to the backlog.
        """
        return self._sessions.sessions_add(*paths, wait=wait, allow_secrets=allow_secrets, progress=progress)

    def skills_add(
        self,
        *roots: str | Path,
        prune: bool = False,
        wait: bool = True,
        progress: Callable[[Progress], None] | None = None,
    ) -> AddReport:
        """Take in every SKILL.md below the roots; without any, below the usual folders and from ``skills.command``.

        The first of a name wins, the workspace's before the user's before the machine's. Run again, it takes in what
        changed and reports what is gone; ``prune`` removes that.
        """
        return self._agents.skills_add(*roots, prune=prune, wait=wait, progress=progress)
