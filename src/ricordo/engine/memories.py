"""Verbs for what agents learn: remember, correct, supersede."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from ricordo.engine.checks import check_choice, check_type, is_id
from ricordo.engine.context import EngineContext
from ricordo.engine.items import ItemVerbs
from ricordo.errors import UsageError
from ricordo.values.choices import ON_DUPLICATE, OnDuplicate, Writer
from ricordo.values.items import Ref, Saved
from ricordo.values.kinds import KINDS
from ricordo.values.reports import AddReport

if TYPE_CHECKING:
    from ricordo.memory.remember import Keeper

WRITERS = ("user", "agent")


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


class RememberOptions(MemoryFields, total=False):
    """What ``remember`` and similar verbs take besides the text and its kind."""

    ref: str | Ref | None
    links: Sequence[tuple[str, str | Ref]]
    source: Writer
    on_duplicate: OnDuplicate | None
    allow_secrets: bool
    wait: bool


class MemoryVerbs:
    """Keeps what agents learn true: without duplicates, without secrets, and with what it replaced."""

    def __init__(self, context: EngineContext, items: ItemVerbs) -> None:
        self._context = context
        self._items = items

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
        from ricordo.memory.links import checked_type
        from ricordo.memory.remember import memory_of

        check_type("text", text, str)
        check_choice("kind", kind, KINDS)
        check_choice("source", source, WRITERS)
        if on_duplicate is not None:
            check_choice("on_duplicate", on_duplicate, ON_DUPLICATE)
        targets = [(checked_type(type_), self._context.present_number(target)) for type_, target in links]
        given = {**fields, "source": source}
        memory = memory_of(text, kind, self._memory_ref(ref, kind), given, allow_secrets=allow_secrets)
        keeper = self._keeper()
        saved = keeper.keep(memory, on_duplicate)
        if saved.status in ("created", "updated"):
            n = self._context.store.items.require(Ref.parse(saved.ref))
            for type_, target in targets:
                if target != n:
                    self._context.store.links.add(n, target, type_)
            if kind == "entity" and saved.status == "created":
                self._items.find_mentions(n)
        self._context.embed_after(AddReport((saved,)), wait and not keeper.embedder_is_late)
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
        from ricordo.memory.remember import memory_of

        check_type("text", text, str)
        check_choice("source", source, WRITERS)
        n = self._context.present_number(ref)
        old = self._context.store.items.get(n)
        if old.content.strip() == text.strip():
            return Saved(str(old.ref), "skipped", old.id, old.version, reason="that is what it says")
        kept = {name: value for name, value in old.fields.to_dict().items() if name not in ("mime_type", "is_textual")}
        given = {**kept, **fields, "source": source}
        memory = memory_of(text, old.kind, None, given, allow_secrets=allow_secrets)
        saved = replace(self._keeper().succeed(n, memory, "corrects"), reason=f"corrects {old.ref}")
        self._context.embed_after(AddReport((saved,)), wait)
        return saved

    def supersede(self, old: str | Ref, new: str | Ref) -> Saved:
        before, after = self._context.present_number(old), self._context.present_number(new)
        if before == after:
            raise UsageError("an item cannot supersede itself", hint="Name the old item, then the new one.")
        successor = self._context.store.items.get_many([after])[after]
        if successor.state == "archived":
            raise UsageError(f"{successor.ref} is archived itself", hint=f"First: ricordo restore {successor.ref}")
        saved = self._context.store.changes.archive([before], successor=after)[0]
        return replace(saved, reason=f"superseded by {successor.ref}") if saved.status == "archived" else saved

    def _keeper(self) -> Keeper:
        from ricordo.memory.remember import Keeper

        return Keeper(
            self._context.store, self._context.pipeline, self._context.models.backlog(), self._context.models.embedder
        )

    def _memory_ref(self, ref: str | Ref | None, kind: str) -> Ref | None:
        """The ref that was asked for; a bare name is on the drive of its kind."""
        from ricordo.memory.remember import drive_of

        if isinstance(ref, str) and not (Ref.looks_like(ref) or is_id(ref) or "://" in ref):
            if not (name := ref.strip().strip("/")):
                raise UsageError("an empty name is not a ref", hint="Leave it out to get one made of the first words.")
            return Ref(drive_of(kind), f"/{name}")
        return self._context.resolve(ref) if ref is not None else None
