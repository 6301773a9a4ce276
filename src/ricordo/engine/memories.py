"""The engine's verbs for what agents learn: remember, correct, supersede, forget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from ricordo.engine.core import check_choice, is_id, refuse_binned
from ricordo.engine.taking_in import TakingIn
from ricordo.errors import UsageError
from ricordo.values.choices import ON_DUPLICATE
from ricordo.values.items import Item, Ref, Saved
from ricordo.values.kinds import KINDS
from ricordo.values.reports import AddReport

if TYPE_CHECKING:
    from ricordo.memory.forgetting import Criteria
    from ricordo.memory.remember import Keeper

WRITERS = ("user", "agent")
ARCHIVED_AT_ONCE = 500


class MemoryFields(TypedDict, total=False):
    """What may be said about a text that is remembered; see ``Fields``."""

    title: str | None
    description: str | None
    tags: Sequence[str]
    category: str | None
    domain: str | None
    severity: str | None
    importance: int | None
    context: str | None
    valid_from: str | None
    valid_until: str | None
    loading: str | None
    immutable: bool
    decay_protected: bool
    source_adapter: str | None
    source_url: str | None
    thread: str | None
    seq: int | None
    metadata: dict[str, Any]


class Memories(TakingIn):
    """Keeps what is learned true: no duplicates, nothing lost, secrets left out."""

    def remember(
        self,
        text: str,
        *,
        kind: str = "memory",
        ref: str | Ref | None = None,
        links: Sequence[tuple[str, str | Ref]] = (),
        source: str = "user",
        on_duplicate: str | None = None,
        allow_secrets: bool = False,
        wait: bool = True,
        **fields: Unpack[MemoryFields],
    ) -> Saved:
        """Save a text that is worth knowing; ``links`` are pairs of type and target.

        The same text is skipped. What is nearly the same needs a decision, and nothing is written until
        ``on_duplicate`` says save, skip, merge or supersede.
        """
        from ricordo.memory.links import checked_type
        from ricordo.memory.remember import memory_of

        self._look_at_files()
        check_choice("kind", kind, KINDS)
        check_choice("source", source, WRITERS)
        if on_duplicate is not None:
            check_choice("on_duplicate", on_duplicate, ON_DUPLICATE)
        targets = [(checked_type(type_), self._item_number(target)) for type_, target in links]
        given = {**fields, "source": source}
        memory = memory_of(text, kind, self._memory_ref(ref, kind), given, allow_secrets=allow_secrets)
        saved = self._keeper().keep(memory, on_duplicate)
        if saved.status in ("created", "updated"):
            n = self.store.items.require(Ref.parse(saved.ref))
            for type_, target in targets:
                if target != n:
                    self.store.links.add(n, target, type_)
            if kind == "entity" and saved.status == "created":
                self._find_mentions(n)
        self._embedded(AddReport((saved,)), wait)
        return saved

    def correct(
        self,
        ref: str | Ref,
        text: str,
        *,
        source: str = "user",
        allow_secrets: bool = False,
        wait: bool = True,
        **fields: Unpack[MemoryFields],
    ) -> Saved:
        """Save what is right in the place of an item, which is archived and linked (``corrects``).

        The new item takes over the old one's fields, but for those given here.
        """
        from ricordo.memory.remember import memory_of

        check_choice("source", source, WRITERS)
        n = self._item_number(ref)
        old = self.store.items.get(n)
        if old.content.strip() == text.strip():
            return Saved(str(old.ref), "skipped", old.id, old.version, reason="that is what it says")
        kept = {name: value for name, value in old.fields.to_dict().items() if name not in ("mime_type", "is_textual")}
        given = {**kept, **fields, "source": source}
        memory = memory_of(text, old.kind, None, given, allow_secrets=allow_secrets)
        saved = replace(self._keeper().succeed(n, memory, "corrects"), reason=f"corrects {old.ref}")
        self._embedded(AddReport((saved,)), wait)
        return saved

    def supersede(self, old: str | Ref, new: str | Ref) -> Saved:
        """Let one item take another's place: the old one is archived and linked (``supersedes``)."""
        before, after = self._item_number(old), self._item_number(new)
        if before == after:
            raise UsageError("an item cannot supersede itself", hint="Name the old item, then the new one.")
        successor = self.store.items.get_many([after])[after]
        if successor.state == "archived":
            raise UsageError(f"{successor.ref} is archived itself", hint=f"First: ricordo restore {successor.ref}")
        saved = self.store.changes.archive([before], successor=after)[0]
        return replace(saved, reason=f"superseded by {successor.ref}") if saved.status == "archived" else saved

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
        from ricordo.memory.forgetting import Criteria

        criteria = Criteria.of(older_than, unused_since, tuple(kinds), tuple(tags))
        chosen, notes = self._chosen(refs, criteria)
        if dry_run:
            return AddReport(tuple(Saved(str(item.ref), "would be archived") for item in chosen.values()), notes)
        numbers = list(chosen)
        # What was named goes together or not at all; what was swept up goes in steps that hold no lock for long.
        step = len(numbers) if criteria.is_empty() else ARCHIVED_AT_ONCE
        parts = [self.store.changes.archive(numbers[at : at + step]) for at in range(0, len(numbers), step or 1)]
        return AddReport(tuple(saved for part in parts for saved in part), notes)

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
        from ricordo.memory.forgetting import Criteria, refuse_nothing

        criteria = Criteria.of(older_than, unused_since, tuple(kinds), tuple(tags))
        refuse_nothing(refs, criteria)
        if criteria.is_empty():
            return self._rm(refs, purge=purge, dry_run=dry_run)
        chosen, notes = self._chosen(refs, criteria)
        report = self._rm([item.ref for item in chosen.values()], purge=purge, dry_run=dry_run)
        return replace(report, notes=(*report.notes, *notes))

    def _chosen(self, refs: Sequence[str | Ref], criteria: Criteria) -> tuple[dict[int, Item], tuple[str, ...]]:
        """The items that are meant, by number: those named, of these (or of all) those that meet the criteria."""
        from ricordo.memory.forgetting import is_protected, refuse_nothing

        refuse_nothing(tuple(refs), criteria)
        self._look_at_files()
        named = dict(self._named(refs, in_bin=False))
        if criteria.is_empty():
            return self.store.items.get_many(list(named)), ()
        self._tracker.flush()
        now = datetime.now(UTC)
        found = {
            n: item
            for n, item in self.store.items.listing(criteria.filters(now), 1 << 30, 0)
            if (not refs or n in named) and criteria.meets(item, now)
        }
        chosen = {n: item for n, item in found.items() if not is_protected(item)}
        spared = len(found) - len(chosen)
        notes = (f"{spared} protected item{'' if spared == 1 else 's'} left alone",) if spared else ()
        return chosen, notes

    def _keeper(self) -> Keeper:
        from ricordo.memory.remember import Keeper

        return Keeper(self.store, self._pipeline, self._backlog(), self._embedder)

    def _memory_ref(self, ref: str | Ref | None, kind: str) -> Ref | None:
        """The ref that was asked for; a bare name stands on the kind's own drive."""
        from ricordo.memory.remember import drive_of

        if isinstance(ref, str) and not (Ref.looks_like(ref) or is_id(ref) or "://" in ref):
            if not (name := ref.strip().strip("/")):
                raise UsageError("an empty name is not a ref", hint="Leave it out to get one made of the first words.")
            return Ref(drive_of(kind), f"/{name}")
        return self.resolve(ref) if ref is not None else None

    def _item_number(self, name: str | Ref) -> int:
        n = self._number(name)
        refuse_binned(self.store.items.get_many([n])[n])
        return n
