"""Verbs that put items away and bring them back: forget, rm, restore, undo."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ricordo.engine.checks import check_number, check_type, kinds_of, refuse_binned, texts
from ricordo.engine.items import ItemVerbs
from ricordo.engine.tiers import follows, follows_each
from ricordo.errors import Conflict, Error, NotFound, Unavailable, UsageError
from ricordo.frozen import frozen
from ricordo.permissions import refuse_erasing
from ricordo.plugin import ask
from ricordo.sources.disk import disk_ref
from ricordo.speaking import known_as, speaker
from ricordo.steps import no_step, undoable
from ricordo.store.values import PreparedItem
from ricordo.values.hits import Filters
from ricordo.values.items import Item, Ref, Saved
from ricordo.values.kinds import CHECKPOINT, DRIVES_APART, SESSION
from ricordo.values.log import UNDO, Step, StepItem, UndoReport
from ricordo.values.reports import AddReport, RemovalReport
from ricordo.values.times import parse_duration
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import (
        MOST_VERSIONS,
        NAME_TEXT,
        DryRun,
        ItemName,
        KindsToTake,
        ManyLimit,
        OlderThan,
        TagsToTake,
        UnusedSince,
    )


_LOOKED_AT = 200
"""Among how many steps the last one of the caller is looked for."""
ARCHIVED_AT_ONCE = 500
EVERY = 1 << 30
ANYWHERE = ("live", "archived")
CHECKPOINTS = "checkpoints"
_COPIES = {"mcp": "the user goes back to a copy", "http": "the user goes back to a copy"}
"""The folder below a session that holds its checkpoints."""


@frozen
class Criteria:
    """The conditions under which an item is forgotten."""

    older_than: timedelta | None = None
    unused_since: timedelta | None = None
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def is_empty(self) -> bool:
        return self == Criteria()

    def filters(self, now: datetime) -> Filters:
        """The conditions that the store can check."""
        oldest = max(self.older_than or timedelta(0), self.unused_since or timedelta(0))
        return Filters(kinds=self.kinds, tags_any=self.tags, before=now - oldest)

    def meets(self, item: Item, now: datetime) -> bool:
        """Whether an item that passed the filters was also unused for long enough."""
        return self.unused_since is None or last_use(item) <= now - self.unused_since


def last_use(item: Item) -> datetime:
    """When an item was last found, opened or changed."""
    moments = (item.created_at, item.updated_at, item.last_retrieved_at, item.last_accessed_at)
    return max(moment for moment in moments if moment is not None)


def is_protected(item: Item) -> bool:
    """Whether an item is selected only if it is named."""
    return item.fields.immutable or item.fields.decay_protected


def check_selection(names: Sequence[object], criteria: Criteria) -> None:
    """Refuse a call with neither names nor criteria, because it must not mean all items."""
    if not names and criteria.is_empty():
        raise UsageError(
            "nothing was named", hint="Name refs, or say which: ‹older_than=90d›, ‹unused_since=30d›, ‹kind›, ‹tag›."
        )


def age(value: str | timedelta | None) -> timedelta | None:
    """An age from a value, or from a text as people write it."""
    span = parse_duration(value) if isinstance(value, str) else value
    if span is not None and not isinstance(span, timedelta):
        raise UsageError(f"an age cannot be {type(span).__name__} ({span})", hint="Give 90d, 2w or a timedelta.")
    if span is not None and span < timedelta(0):
        raise UsageError("an age cannot be negative", hint="Nothing would be spared; give 90d, 2w or a timedelta.")
    return span


class RemoveVerbs(ItemVerbs):
    """Archives items, moves them to the bin, restores them, and undoes what verbs did."""

    @verb(
        "write",
        "remember",
        "Archive items, so that search no longer finds them.",
        examples=(
            "ricordo forget memory:/old-office",
            "ricordo forget --unused-since 6m --kind memory --dry-run",
            "ricordo forget note:/ --older-than 1y --tag scratch",
        ),
        asks="people",
    )
    @undoable
    @follows_each
    def forget(
        self,
        *refs: ItemName,
        older_than: OlderThan | None = None,
        unused_since: UnusedSince | None = None,
        kinds: KindsToTake = (),
        tags: TagsToTake = (),
        dry_run: DryRun = False,
    ) -> RemovalReport:
        """Forgotten items are archived: search no longer finds them, except as of an earlier time; restore brings them
        back. With an age, a kind or a tag, only items that meet all of these are archived, and never those that are
        immutable or protected from decay.
        """
        criteria = Criteria(age(older_than), age(unused_since), kinds_of(kinds), texts("tags", tags))
        chosen, notes = self._chosen(refs, criteria)
        if dry_run:
            would = tuple(Saved(str(item.ref), "would be archived") for item in chosen.values())
            return RemovalReport(would, notes, "archived", dry_run=True)
        numbers = list(chosen)
        changes = self._context.store.changes
        # Named items are archived in one transaction. Others are archived in steps, so that no step locks for long.
        step = len(numbers) if criteria.is_empty() else ARCHIVED_AT_ONCE
        parts = [changes.archive(numbers[at : at + step]) for at in range(0, len(numbers), step or 1)]
        return RemovalReport(tuple(saved for part in parts for saved in part), notes, "archived")

    @verb(
        "write",
        "remember",
        "Remove items; they can be restored for a while.",
        examples=(
            "ricordo rm notes/old.md",
            "ricordo rm disk:/home/me/old/ --dry-run",
            "ricordo rm note:/x --purge",
            "ricordo rm --kind note --older-than 1y --dry-run",
        ),
        asks="people",
    )
    @undoable
    @follows_each
    def rm(
        self,
        *refs: ItemName,
        purge: Annotated[bool, Say("Erase the text at once, with the store's copies; it cannot be restored.")] = False,
        dry_run: DryRun = False,
        older_than: OlderThan | None = None,
        unused_since: UnusedSince | None = None,
        kinds: KindsToTake = (),
        tags: TagsToTake = (),
    ) -> RemovalReport:
        """A ref that ends in / or * means everything below it. Removed items go to the bin, and files on disk are not
        deleted. Items can also be chosen by age, use, kind and tag, as for forget; those that are protected stay then.
        """
        criteria = Criteria(age(older_than), age(unused_since), kinds_of(kinds), texts("tags", tags))
        check_selection(refs, criteria)
        if criteria.is_empty():
            return self._rm(refs, purge=purge, dry_run=dry_run)
        chosen, notes = self._chosen(refs, criteria)
        report = self._rm([item.ref for item in chosen.values()], purge=purge, dry_run=dry_run)
        return replace(report, notes=(*report.notes, *notes))

    def _chosen(self, refs: Sequence[str | Ref], criteria: Criteria) -> tuple[dict[int, Item], tuple[str, ...]]:
        """The items to put away, by number: those named, or those of them (or of all) that meet the criteria."""
        check_selection(refs, criteria)
        named = dict(self._named(refs, in_bin=False))
        if criteria.is_empty():
            return self._context.store.items.get_many(list(named)), ()
        self._context.flush_use()
        now = datetime.now(UTC)
        matches = {
            n: item
            for n, item in self._context.store.items.listing(criteria.filters(now), EVERY, 0)
            if (not refs or n in named) and criteria.meets(item, now)
        }
        own = self._of_this_machine({n: item.ref for n, item in matches.items()})
        chosen = {n: matches[n] for n in own if not is_protected(matches[n])}
        notes = []
        if spared := len(own) - len(chosen):
            notes.append(f"{spared} protected item{'' if spared == 1 else 's'} left alone")
        if others := len(matches) - len(own):
            notes.append(f"{others} file{'' if others == 1 else 's'} of other machines left alone")
        return chosen, tuple(notes)

    def _rm(self, refs: Sequence[str | Ref], *, purge: bool, dry_run: bool) -> RemovalReport:
        """Remove items by name: to the bin, or with ``purge`` out of the file."""
        named, how = self._named(refs, in_bin=purge), "purged" if purge else "removed"
        store = self._context.store
        numbers = [number for number, _ in named]
        store.changes.check_removal(numbers)
        if purge:
            for item in store.items.get_many(numbers).values():
                refuse_erasing(item)
        names = [str(ref) for _, ref in named if f"/{CHECKPOINTS}/" not in ref.path or ref.drive != SESSION]
        if dry_run:
            return RemovalReport(tuple(Saved(ref, "would be removed") for ref in names), (), how, dry_run=True)
        if purge:
            self._context.flush_use()  # a search that is written down later would name what is erased
        for number, _ in named:
            store.changes.remove(number, purge=purge)
        if purge:
            ask("erased", store)
        with no_step():
            store.transfer.empty_bin(self._context.config.store.bin_days)
        self._leave_roots(refs)
        return RemovalReport(tuple(Saved(ref, how) for ref in names), (), how)

    def _leave_roots(self, names: Sequence[str | Ref]) -> None:
        """Forget folders of which everything was removed, so that the next refresh does not bring the files back."""
        files = self._context.store.files
        for text in [str(name) for name in names if str(name).endswith(("/", "/*")) and not self._is_page(str(name))]:
            folder = self._folder(text)
            if folder.drive == "disk":
                below, refs = f"{folder.path.rstrip('/')}/", self._context.file_refs
                for root, _ in files.roots():
                    if f"{disk_ref(Path(root), refs).path}/".startswith(below):
                        files.forget_root(root)

    def _folder(self, text: str) -> Ref:
        base = text.removesuffix("*").rstrip("/")
        return self._context.resolve(f"{base}/" if not base or base.endswith(":") else base)

    def _named(self, names: Sequence[str | Ref], *, in_bin: bool) -> list[tuple[int, Ref]]:
        """Numbers and refs of the items with these names, with all below a folder and all turns of a session.

        A name that means nothing is an error, before anything is changed.
        """
        store = self._context.store
        refs: dict[int, Ref] = {}
        for name in names:
            text = str(name)
            if text.endswith(("/", "/*")) and not self._is_page(text):
                ref = self._folder(text)
                states = ("live", "archived") if ref.drive in DRIVES_APART else ("live",)
                below = self._below(ref, (*ANYWHERE, "deleted") if in_bin else states)
                if not below:
                    raise NotFound(f"there is nothing below {ref}", hint="‹:tree› shows what is in the store.")
                own = self._of_this_machine(below)
                if not own:
                    self._context.refuse_elsewhere(next(iter(below.values())))
                refs |= own
                continue
            number = self._context.number(name)
            item = store.items.get(number)
            self._context.refuse_elsewhere(item.ref)
            if not in_bin:
                refuse_binned(item)
            refs[number] = item.ref
        for ref in list(filter(_is_session, refs.values())):
            refs |= self._below(ref, (*ANYWHERE, "deleted") if in_bin else ANYWHERE)
        return list(refs.items())

    def _below(self, folder: Ref, states: tuple[str, ...]) -> dict[int, Ref]:
        """The items at and below a ref that are in one of some states."""
        return {n: ref for n, ref, _ in self._context.store.items.refs_below(folder.drive, folder.path, states)}

    def _of_this_machine(self, refs: dict[int, Ref]) -> dict[int, Ref]:
        """Those that are no files of other machines: what another machine added is not put away from here."""
        others = self._context.store.machines.elsewhere(map(str, refs.values()))
        return {number: ref for number, ref in refs.items() if str(ref) not in others}

    def _is_page(self, name: str) -> bool:
        """Whether a name is that of a page: its address may end like that of a folder."""
        if not name.startswith(("http://", "https://", "url:/")) or name.endswith("*"):
            return False
        return self._context.store.items.number(self._context.resolve(name)) is not None

    @verb(
        "write",
        "remember",
        "Bring back a removed or archived item, or an earlier version.",
        examples=(
            "ricordo restore notes/old.md",
            "ricordo restore note:/plan --version 2",
            "ricordo restore note:/plan --from 2026-11-18",
        ),
    )
    @undoable
    @follows("ref", wanted="put away")
    def restore(
        self,
        ref: ItemName,
        version: Annotated[int, Say("The version to bring back.", 1, most=MOST_VERSIONS, shown="N", argument=False)]
        | None = None,
        *,
        copy: Annotated[
            str,
            Say(
                "Take it from the store's copy of that day; status lists them.",
                name="from", longest=20, shown="DAY", plugin="backups", not_on=_COPIES,
            ),
        ]
        | None = None,
    ) -> Saved:  # fmt: skip
        """An earlier version comes to the front as a newer one. A ref that ends in / brings back all that was removed
        below it. What is gone from the store comes back from a copy with its history.
        """
        check_number("version", version, 1, optional=True)
        if copy is not None:
            for saved in ask("restore_from_copy", self, str(ref), version, copy):
                return cast("Saved", saved)
            raise Unavailable("nothing makes copies of the store", hint="Install the plugin 'backups'.")
        if str(ref).endswith("/") and version is None and not self._is_page(str(ref)):
            return self._restore_below(self._folder(str(ref)))
        return self._restore_here(ref, version)

    def _restore_here(self, ref: str | Ref, version: int | None = None) -> Saved:
        """Bring back an item of the store in use, whichever tiers have it, too."""
        n = self._context.number(ref)
        # Without its text, which may be damaged and the reason to restore it.
        item = self._context.store.items.get_many([n])[n]
        saved = self._restore_one(n, version)
        if _is_session(item.ref) and item.state != "live":
            self._restore_parts(item)
        return saved

    def _restore_below(self, folder: Ref) -> Saved:
        items = self._context.store.items
        binned = set(self._of_this_machine(self._below(folder, ("deleted",))).values())
        taken = set(items.numbers(list(binned)))  # by other items, or by the same that came back
        refs = sorted(binned - taken)
        if not refs:
            raise NotFound(f"nothing below {folder} is in the bin", hint="‹:list state:deleted› shows what is.")
        for ref in refs:
            self._restore_one(items.require(ref))  # of several with the same ref, the one that was removed last
        count = f"{len(refs):,} item{'' if len(refs) == 1 else 's'}"
        return Saved(f"{folder}/" if not str(folder).endswith("/") else str(folder), "restored", reason=count)

    def _restore_one(self, n: int, version: int | None = None) -> Saved:
        store = self._context.store
        item = store.items.get_many([n])[n]
        if version is None and item.state == "live":
            raise UsageError(f"{item.ref} is not in the bin", hint=self._instead_of(item.ref))
        draft = store.items.draft(n, version or item.version)
        return self._rewrite(n, self._context.pipeline.prepare_draft(replace(draft, ref=item.ref)), base=item.version)

    def _instead_of(self, ref: Ref) -> str:
        """What can be restored in the place of an item that is there: others that had its name, or its own versions."""
        place = Filters(drives=(ref.drive,), paths=(ref.path,), states=("deleted",))
        binned = [item for _, item in self._context.store.items.listing(place, EVERY, 0) if item.ref == ref]
        ids = ", ".join(item.id for item in binned[:3])
        if ids:
            return f"In the bin of that name: {ids}. Give this one another name (‹:mv {ref} NEW›), then ‹:restore ID›."
        return "Name the version to go back to: ‹version› N (see history)."

    def _restore_parts(self, session: Item) -> None:
        """Bring back the turns and checkpoints that were put away together with a session."""
        store = self._context.store
        put_away = Filters(drives=(SESSION,), paths=(f"{session.ref.path}/*",), states=(session.state,))
        for n, part in store.items.listing(put_away, EVERY, 0):
            if part.fields.category != CHECKPOINT:
                self._restore_one(n)
            elif session.state != "archived":  # checkpoints always stay in the archive
                draft = self._context.pipeline.prepare_draft(store.items.draft(n, part.version))
                store.changes.save_archived([draft], backlog=self._context.models.backlog())

    @verb(
        "write",
        "remember",
        "Undo the last change, or an earlier one.",
        examples=("ricordo undo", "ricordo undo --list", "ricordo undo 5f0c2a91"),
        looking={"list": True, "step": None},
    )
    @undoable
    def undo(
        self,
        step: Annotated[
            str, Say("The id of a step, as the list shows it; without one, your last.", longest=NAME_TEXT, shown="STEP")
        ]
        | None = None,
        *,
        list: Annotated[bool, Say("Only list the steps, newest first.")] = False,  # noqa: A002 - the word for it
        limit: ManyLimit = 20,
    ) -> UndoReport:
        """All that one call changed is taken back together: new items go to the bin, others get back their text,
        fields, name and state, and links are as they were. Nothing is lost: what was undone stays in the history, and
        undoing the undo brings it back. Items that were changed since stay as they are, with a word. Steps are kept for
        30 days. What was erased (``rm --purge``) cannot be brought back. What came from files, pages, imports and
        sessions is no step: rm takes it out.
        """
        if list:
            return UndoReport(steps=tuple(self._steps(limit)))
        chosen = self._step_named(step) if step is not None else self._last_step()
        items: tuple[Saved, ...] = self._undo_here(chosen) if self._context.store.steps.get(chosen.id) else ()
        for engine in self._others():
            if any(other.id == chosen.id for other in _steps_of(engine, _LOOKED_AT)):
                undone = engine.undo(chosen.id).items
                items += undone
                if chosen.verb == "review" and self._context.is_open:
                    gone = [item.ref for item in undone if item.status == "removed"]
                    self._context.store.proposals.ask_about_me_again(gone)
        skipped = sum(item.status == "skipped" for item in items)
        if items and skipped == len(items) == chosen.changes:
            raise Conflict(f"nothing was undone: {items[0].ref}: {items[0].reason}", hint="‹:history REF› shows more.")
        notes = (f"{skipped} of {len(items)} items stay as they are",) if skipped else ()
        return UndoReport(replace(chosen, is_undone=True), items, notes=notes)

    def _others(self) -> Iterator[Any]:
        """Engines on the other tiers' stores, as far as they can be opened now."""
        tiers = self._context.tiers
        if tiers.is_alone:
            return
        for tier in tiers.federation.tiers:
            if not tier.is_own:
                with suppress(Error):
                    yield tiers.engine_of(tier.name)

    def _steps(self, limit: int) -> list[Step]:
        """The newest steps of all stores; one that changed several of them comes once."""
        by_id: dict[str, Step] = {}
        others = [_steps_of(engine, limit) for engine in self._others()]
        for step in chain(self._context.store.steps.newest(limit), *others):
            same = by_id.get(step.id)
            by_id[step.id] = step if same is None else replace(same, changes=same.changes + step.changes)
        return sorted(by_id.values(), key=lambda step: step.at, reverse=True)[:limit]

    def _step_named(self, identity: str) -> Step:
        check_type("step", identity, str)
        step = self._context.store.steps.get(identity)
        step = step or next((other for other in self._steps(_LOOKED_AT) if other.id == identity), None)
        if step is None:
            raise NotFound(f"there is no step {identity}", hint="‹:undo --list› shows the steps that can be undone.")
        return self._checked(step)

    def _last_step(self) -> Step:
        """The last step of the caller that is not undone."""
        me, names = speaker(), self._names()
        for step in self._steps(_LOOKED_AT):
            by = step.provenance
            is_mine = by.name in names and (by.author, by.session, by.token) == (me.author, me.session, me.token)
            if is_mine and not step.is_undone and step.verb != UNDO and (step.changes or step.erased):
                return self._checked(step)
        raise NotFound("there is nothing of yours to undo", hint="‹:undo --list› shows the steps of everybody.")

    def _names(self) -> set[str]:
        """The names of the caller: in a team's store, the one by which its server knows them."""
        persons = [self._context.store.person]
        for engine in self._others():
            with suppress(Error):  # one that does not answer has no steps either
                persons.append(engine.store.person)
        names = set()
        for person in persons:
            with known_as(person):
                names.add(speaker().name)
        return names

    def _checked(self, step: Step) -> Step:
        if step.is_undone:
            raise Conflict(
                f"that step is undone already: it {step.words}",
                hint="‹:undo --list› shows the step that undid it; undoing that one brings it back.",
            )
        if not step.can_be_undone:
            if step.erased:
                raise Conflict(
                    f"that step {step.words}, and nothing brings that back",
                    hint="‹:undo --list› shows earlier steps; ‹:undo STEP› undoes one of them.",
                )
            raise NotFound("all that this step changed was erased since", hint="‹:undo --list› shows the others.")
        return step

    def _undo_here(self, step: Step) -> tuple[Saved, ...]:
        context = self._context
        items = context.store.steps.items(step.id)
        backlog = context.models.backlog()
        saved = context.store.steps.put_back(step.id, items, self._earlier(items), backlog=backlog)
        context.embed_after(AddReport((Saved("", "updated"),)), wait=True, is_small=True)
        return tuple(saved)

    def _earlier(self, items: list[StepItem]) -> dict[int, PreparedItem]:
        """The versions that items had before, ready to be written again; without those that are no longer kept."""
        versions: dict[int, PreparedItem] = {}
        for item in items:
            if item.version and item.state != "deleted":
                with suppress(NotFound):
                    draft = self._context.store.items.draft(item.n, item.version)
                    versions[item.n] = self._context.pipeline.prepare_draft(draft)
        return versions


def _is_session(ref: Ref) -> bool:
    """Whether a ref is that of a whole session, and not of one of its turns."""
    return ref.drive == SESSION and ref.path.count("/") == 1


def _steps_of(engine: Any, limit: int) -> list[Step]:
    """The steps of another tier; none if it does not answer."""
    with suppress(Error):
        return [*engine.undo(list=True, limit=limit).steps]
    return []
