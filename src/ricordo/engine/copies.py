"""Verbs that copy: a store into a backup, an item with its history to another tier."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo import registry
from ricordo.config.places import locate
from ricordo.engine.checks import check_choice
from ricordo.engine.items import ItemVerbs
from ricordo.engine.tiers import follows
from ricordo.errors import Error, Forbidden, PathConflict, UsageError, from_dict
from ricordo.permissions import is_agent, refuse_replacing
from ricordo.sources.disk import absolute
from ricordo.store.base import Store
from ricordo.values.hits import Filters
from ricordo.values.items import Saved, first_words
from ricordo.values.kinds import ON_CONFLICT
from ricordo.values.reports import Progress
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.exchange.records import ItemRecord
    from ricordo.search.pipeline import Searcher
    from ricordo.values.items import Ref
    from ricordo.values.kinds import By, OnConflict
    from ricordo.values.reports import BackupReport
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import REF_TEXT, Force


def tried(store: Store, searcher: Searcher) -> tuple[int, list[str]]:
    """Do what a user does: list all, get each, search some words of what is stored, and by meaning if there are
    vectors. How many items there are, and what failed.
    """
    from ricordo.search.request import Request

    failing: list[str] = []
    words = ""
    items = store.items.listing(Filters(states=("live", "archived", "deleted")), 1 << 30, 0)
    for n, _ in items:
        try:
            text = store.items.get(n).content
            words = words or " ".join(first_words(text).split()[:3])
        except Error as error:
            failing.append(error.message)
    by: tuple[By, ...] = ("words", "meaning") if store.vectors.active_fingerprint() else ("words",)
    for way in by if words else ():
        try:
            searcher.search(Request(words, limit=1, by=way, catch_up=False))
        except Error as error:
            failing.append(f"a search by {way}: {error.message}")
    return len(items), failing


class CopyVerbs(ItemVerbs):
    """Copies what is stored to another place of the user's."""

    @verb(
        "admin",
        "look after",
        "Copy the store while it is in use.",
        is_long=True,
        examples=("ricordo backup ~/backups/today.db", "ricordo backup /mnt/usb/ricordo.db --force"),
    )
    def backup(
        self,
        target: Annotated[
            str | Path,
            Say("The file to write.", longest=REF_TEXT, shown="FILE", http="file", example="/backups/ricordo.db"),
        ],
        *,
        force: Force = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> BackupReport:
        """Copy the store, as it is now, to a file; others may write meanwhile."""
        from ricordo.values.reports import BackupReport

        path = Path(absolute(Path(target).expanduser()))
        refuse_replacing(path, force=force)
        self._context.flush_use()
        started = time.monotonic()

        def tell(done: int, total: int) -> None:
            if progress is not None:
                progress(Progress(done, total, str(path), "copying pages"))

        items, damaged = self._context.store.transfer.backup(path, force=force, progress=tell)
        damage = [f"{one.ref} version {one.number}: {one.problem}" for one in damaged]
        if not damage:
            damage = tried(self._context.unsynced_store, self._context.tiers.own_searcher)[1]
        return BackupReport(str(path), path.stat().st_size, time.monotonic() - started, items, tuple(damage))

    @verb(
        "write",
        "remember",
        "Copy an item with its history to another tier.",
        examples=("ricordo promote memory:/deploys-on-tuesday --to team",),
    )
    @follows("name")
    def promote(
        self,
        name: Annotated[
            str | Path | Ref, Say("A ref, an item's id, a URL or a path.", http="ref", longest=REF_TEXT, shown="REF")
        ],
        tier: Annotated[
            str,
            Say("The tier to copy to: agent, project or team.", name="to", longest=100, shown="TIER", argument=False),
        ],
        *,
        on_conflict: Annotated[OnConflict, Say("If its ref is taken there.")] = "error",
    ) -> Saved:
        """The item stays where it is. Promoting it again adds what changed since. If its ref was written to there, too,
        nothing is copied unless ``on_conflict`` says overwrite: then it becomes the newest version there, and the
        others stay in the history.
        """
        check_choice("on_conflict", on_conflict, ON_CONFLICT)
        context = self._context
        n = context.present_number(str(name))
        place = locate(None, context.config, context.start, tier).location
        if place.name == context.location:
            raise UsageError(f"the item is in the tier {tier} already", hint="Name another tier with ‹tier›.")
        other = registry.open_store(place, context.config, create=True)
        try:
            return self._copy_up(n, other, tier, on_conflict)
        finally:
            other.close()

    def _copy_up(self, n: int, other: Store, tier: str, on_conflict: str) -> Saved:
        """Copy an item into another store, in which nothing is lost: neither a version nor another item of its ref."""
        context = self._context
        record = self._record_to_copy(n)
        backlog = context.models.backlog()
        there = other.items.number(record.placed_in(other.machines.refs()).ref)
        copy = other.transfer.item(there) if there is not None else None
        if there is not None and copy is not None and copy.state != "deleted":
            ours, theirs = _version_hashes(record), _version_hashes(copy)
            if copy.id == record.id and theirs[: len(ours)] == ours:
                reason = "unchanged" if theirs == ours else f"version {copy.version} in {tier} is newer"
                return Saved(str(record.ref), "skipped", copy.id, copy.version, reason=reason)
            is_older = copy.id == record.id and ours[: len(theirs)] == theirs
            if not is_older and on_conflict == "error":
                raise PathConflict(
                    f"{record.ref} was written to in the tier {tier}, too",
                    hint="‹on_conflict=overwrite› makes yours the newest version there; theirs stays in the history.",
                )
            if not is_older and on_conflict == "overwrite":
                draft = context.store.items.draft(n, record.version)
                draft = replace(draft, fields=record.head().known_fields())
                draft = replace(draft, ref=context.file_refs.seen_from(other.machines.refs(), draft.ref))
                prepared = context.pipeline_of(other).prepare_draft(draft)
                return other.changes.rewrite(there, prepared, durable=True, backlog=backlog, base=copy.version)
            on_conflict = "overwrite" if is_older else on_conflict
        (saved,) = other.transfer.importer(on_conflict, backlog).items([record])
        if saved.error is not None:
            raise from_dict(saved.error)
        return saved

    def _record_to_copy(self, n: int) -> ItemRecord:
        """The item with its history. If an agent copies it, or it comes from a project that the user does not trust, it
        is copied like an import: as somebody's claim, and told to nobody by itself.
        """
        record = self._context.store.transfer.item(n)
        if not (is_agent() or self._context.store.foreign):
            return record
        from ricordo.exchange.records import ItemClaims

        harmless = ItemClaims(self._context.location).harmless(record)
        if harmless is None:
            raise Forbidden(
                f"{record.ref} is a {record.head().kind}, which only the user may copy, from a project that is trusted",
                hint="‹:trust› says that the user trusts a project.",
            )
        return harmless


def _version_hashes(record: ItemRecord) -> list[tuple[int, str]]:
    """The versions of an item, the oldest first, in a form that can be compared between stores."""
    return sorted((version.number, version.hash) for version in record.versions)
