"""Verbs for single items: save, edit, move, link, tag; and what replaced an item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ricordo.engine.checks import check_choice, check_type, refuse_put_away, texts
from ricordo.engine.context import EngineContext, OpenEngine, with_settings_of_its_start
from ricordo.engine.tiers import follows, follows_each
from ricordo.errors import StaleVersion, UsageError, from_dict
from ricordo.permissions import refuse_freezing, refuse_record, refuse_secrets
from ricordo.plugin import ask, revise
from ricordo.steps import undoable
from ricordo.store.base import Store
from ricordo.store.values import PreparedItem
from ricordo.values.field_checks import check_validity
from ricordo.values.hits import Link, LinkReport
from ricordo.values.items import CITATIONS, Draft, Entry, Fields, Item, Saved, checked_fields
from ricordo.values.kinds import KINDS, ON_CONFLICT, kind_of_drive
from ricordo.values.reports import AddReport, Progress
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.ingest.add import Adding
    from ricordo.values.items import CitedNow
    from ricordo.values.kinds import OnConflict
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import (
        LONG_TEXT,
        MOST_VERSIONS,
        NAME_TEXT,
        AllowSecrets,
        FieldsToSet,
        IfTaken,
        ItemName,
        KindOfItem,
        NewRef,
        TextToKeep,
        Wait,
    )


def replacement(store: Store, n: int, item: Item) -> dict[str, Any]:
    """``{"corrected_by": ref}`` or ``{"superseded_by": ref}`` for an archived item that was replaced; else nothing."""
    later = store.links.replacement_of(n) if item.state == "archived" else None
    return later.as_field() if later is not None else {}


_ATTEMPTS = 20


def also_said(saved: Saved, *notes: str) -> Saved:
    """The answer with further reasons."""
    reason = "; ".join(filter(None, (saved.reason, *notes)))
    return replace(saved, reason=reason or None)


def cited_now(store: Store, item: Item) -> tuple[CitedNow, ...]:
    """What became of what an item cites."""
    if not item.fields.metadata.get(CITATIONS):
        return ()
    return tuple(cited for states in ask("cited_by", store, item) for cited in states)


class ItemVerbs(OpenEngine):
    """Writes items by their refs; every change is a new version."""

    @verb(
        "write",
        "remember",
        "Save a text of any kind, under a ref of your choice.",
        examples=(
            "ricordo save --kind note note:/plan 'Ship on Friday.'",
            "ricordo save keys 'Rotate the signing keys every quarter.'",
        ),
        creates=True,
    )
    @undoable
    @with_settings_of_its_start
    def save(
        self,
        ref: ItemName,
        content: TextToKeep,
        *,
        kind: KindOfItem | None = None,
        fields: FieldsToSet | None = None,
        on_conflict: Annotated[OnConflict, Say("What to do if the ref exists.")] = "error",
        structure: Annotated[
            str,
            Say("How the text is cut: text or markdown.", longest=40, not_on={"cli": "it takes plain text"}),
        ] = "text",
        allow_secrets: AllowSecrets = False,
        wait: Wait = True,
    ) -> Saved:
        """Write one text under a ref; an existing item is refused unless ``on_conflict`` says otherwise.

        With ``overwrite`` the item keeps the fields that are not given: its title, tags and the like.

        In what agents write (memories, notes, …) secrets are redacted unless they are allowed.
        """
        from ricordo.secrets.redaction import redact_item

        check_type("content", content, str)
        refuse_secrets(allowed=allow_secrets)
        if kind is not None:
            check_choice("kind", kind, KINDS)
        resolved = self._context.resolve_new(ref)
        before, items = None, self._context.store.items
        if on_conflict == "overwrite" and (n := items.numbers([resolved]).get(resolved)) is not None:
            before = items.get_many([n])[n]
            kind = kind or before.kind
            fields = {**_set_fields(before), **(fields or {})}
        kind = kind or kind_of_drive(resolved.drive)
        fields = _checked(fields)
        refuse_freezing(before, fields)
        content, fields, redacted = redact_item(kind, content, fields, allow_secrets=allow_secrets)
        entry = Entry(str(resolved), content, kind, fields, structure)
        saved = self._written([entry], on_conflict, durable=True, wait=wait, allow_secrets=True).items[0]
        if saved.error is not None:
            raise from_dict(saved.error)
        return replace(saved, redacted=redacted)

    @undoable
    def save_many(
        self,
        entries: Iterable[Entry],
        *,
        on_conflict: IfTaken = "overwrite",
        wait: Wait = True,
        durable: Annotated[bool, Say("Have them on the disk before it returns.")] = False,
        allow_secrets: AllowSecrets = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> AddReport:
        """Write many texts, in batches of one transaction each; secrets are redacted as in ``save``."""
        refuse_secrets(allowed=allow_secrets)
        return self._written(
            entries, on_conflict, durable=durable, wait=wait, allow_secrets=allow_secrets, progress=progress
        )

    def _written(
        self,
        entries: Iterable[Entry],
        on_conflict: str,
        *,
        durable: bool,
        wait: bool,
        allow_secrets: bool,
        progress: Callable[[Progress], None] | None = None,
    ) -> AddReport:
        check_choice("on_conflict", on_conflict, ON_CONFLICT)
        adding = adding_to(self._context, on_conflict, progress, allow_secrets=allow_secrets)
        report = adding.entries(((self._context.resolve_new(entry.ref), entry) for entry in entries), durable=durable)
        return self._context.embed_after(report, wait, progress)

    @verb(
        "write",
        "remember",
        "Change an item's text or fields; the old version is kept.",
        examples=(
            "ricordo edit memory:/login-bug --title 'The login bug' --set severity=warning",
            "ricordo edit note:/plan --content - < plan.md",
            "ricordo edit note:/plan",
        ),
    )
    @undoable
    @follows("ref")
    def edit(
        self,
        ref: ItemName,
        content: Annotated[
            str, Say("New text; - reads standard input.", longest=LONG_TEXT, shown="TEXT|-", argument=False)
        ]
        | None = None,
        fields: FieldsToSet | None = None,
        *,
        allow_secrets: AllowSecrets = False,
        base: Annotated[int, Say("Refuse if the item is no longer at version N.", 1, most=MOST_VERSIONS, shown="N")]
        | None = None,
        wait: Wait = True,
    ) -> Saved:
        """Change an item's content, its fields, or both: a new version. Secrets are redacted as in ``save``.

        ``base`` is the version that the change was made on. If there is a newer one, the change is refused
        (``StaleVersion``), so that a loop of reading, changing and writing loses nobody's change.
        """
        from ricordo.secrets.redaction import redact_item

        check_type("content", content, str, optional=True)
        refuse_secrets(allowed=allow_secrets)
        n = self._context.number(ref)
        item = self._context.store.items.get_many([n])[n]
        if content is not None:
            refuse_record(item.ref)
        fields = _checked(fields)
        refuse_freezing(item, fields)
        text, fields, redacted = redact_item(item.kind, content or "", fields, allow_secrets=allow_secrets)

        def changed(draft: Draft) -> PreparedItem:
            draft = replace(draft, fields=draft.fields.with_changes(fields))
            check_validity(draft.fields.valid_from, draft.fields.valid_until)
            if content is not None and "metadata" not in fields:
                metadata = self._metadata_of(text, draft.kind, draft.fields.metadata)
                draft = replace(draft, fields=draft.fields.with_changes({"metadata": metadata}))
            return (
                self._context.pipeline.prepare_draft(draft)
                if content is None
                else self._context.pipeline.prepare_text(draft, text)
            )

        saved = replace(self._change(n, changed, wait, base), redacted=redacted)
        return saved if content is None or saved.status != "updated" else self._with_notes(n, saved)

    def _metadata_of(
        self, text: str, kind: str, metadata: Mapping[str, Any], cites: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """The metadata of an item with a text; ``cites`` is what a new one cites besides."""
        store, ref_of = self._context.store, self._context.resolve
        return revise("metadata_of_text", dict(metadata), store, ref_of, kind=kind, text=text, cites=cites)

    def _with_notes(self, n: int, saved: Saved, prepared: PreparedItem | None = None) -> Saved:
        """What was saved, with what plugins note about its new text."""
        store = self._context.store
        if prepared is None:
            draft = store.items.draft(n, store.items.get_many([n])[n].version)
            prepared = self._context.pipeline.prepare_draft(draft)
        notes = [notes[n] for notes in ask("texts_changed", store, {n: prepared}) if n in notes]
        return replace(saved, reason="; ".join(filter(None, (saved.reason, *notes)))) if notes else saved

    @verb(
        "write",
        "remember",
        "Give an item another ref.",
        examples=("ricordo mv note:/plan note:/plans/2026", "ricordo mv old.md new.md"),
    )
    @undoable
    @follows("ref")
    def mv(self, ref: ItemName, new_ref: NewRef, *, wait: Wait = True) -> Saved:
        """Its history moves with it."""
        target = self._context.resolve_new(new_ref)

        def moved(draft: Draft) -> PreparedItem:
            return self._context.pipeline.prepare_draft(replace(draft, ref=target))

        return self._change(self._context.number(ref), moved, wait)

    def _change(self, n: int, changed: Callable[[Draft], PreparedItem], wait: bool, base: int | None = None) -> Saved:
        """Make an item's next version from its current one; if another process made one meanwhile, from that."""
        for attempt in range(_ATTEMPTS):
            item = self._context.store.items.get(n)
            refuse_put_away(item)
            if base is not None and item.version != base:
                raise StaleVersion(
                    f"{item.ref} is at version {item.version} by now, and the change was made on version {base}",
                    hint=f"Read it again and repeat the change; ‹:diff {item.ref}› shows the last one.",
                )
            prepared = changed(self._context.store.items.draft(n, item.version))
            try:
                saved = self._rewrite(n, prepared, base=item.version, wait=wait)
            except StaleVersion:
                if attempt == _ATTEMPTS - 1:
                    raise
                continue
            if saved.status == "updated" and attempt:
                return replace(saved, reason=f"it was changed meanwhile: that is kept as version {item.version}")
            return saved
        raise AssertionError("the last attempt returns or raises")

    def _rewrite(self, n: int, item: PreparedItem, base: int | None = None, *, wait: bool = True) -> Saved:
        saved = self._context.store.changes.rewrite(
            n, item, durable=True, backlog=self._context.models.backlog(), base=base
        )
        return self._with_vector(saved, wait=wait)

    def _with_vector(self, saved: Saved, *, wait: bool, seconds: float | None = None) -> Saved:
        """Make the vectors of what was just saved; if they could not be made now, the answer says so."""
        report = self._context.embed_after(AddReport((saved,)), wait, seconds=seconds, is_small=True)
        return also_said(saved, *report.notes) if saved.status != "skipped" else saved

    @verb(
        "write",
        "remember",
        "Link one item to another.",
        examples=("ricordo link memory:/keys note:/security", "ricordo link note:/a note:/b --type contradicts"),
    )
    @undoable
    @follows("source", "target")
    def link(
        self,
        source: ItemName,
        target: ItemName,
        type: Annotated[str, Say("What the link says.", longest=100, shown="TYPE", argument=False)] = "mentions",  # noqa: A002
    ) -> Link:
        """Linking again changes nothing."""
        from ricordo.memory.links import link

        return link(
            self._context.store, self._context.present_number(source), self._context.present_number(target), type
        )

    @verb(
        "write", "remember", "Remove a link.", answers="count", examples=("ricordo unlink memory:/keys note:/security",)
    )
    @undoable
    @follows("source", "target")
    def unlink(
        self,
        source: ItemName,
        target: ItemName,
        type: Annotated[str, Say("Only links of this type.", longest=100, shown="TYPE", argument=False)]  # noqa: A002
        | None = None,
    ) -> int:
        """Links made by ``link``, of one type or of all; returns how many there were."""
        from ricordo.memory.links import unlink

        return unlink(
            self._context.store, self._context.present_number(source), self._context.present_number(target), type
        )

    @verb(
        "read",
        "find",
        "Show what an item links to, and what links to it.",
        examples=("ricordo links note:/plan --depth 1",),
    )
    @follows("ref")
    def links(
        self, ref: ItemName, *, depth: Annotated[int, Say("How many steps to follow.", 1, most=5, shown="N")] = 2
    ) -> LinkReport:
        """Links by hand and from texts, both ways."""
        from ricordo.memory.links import around

        return around(self._context.store, self._context.present_number(ref), depth)

    @verb(
        "write",
        "remember",
        "Give tags to items, or take them away.",
        examples=("ricordo tag note:/a note:/b --add security", "ricordo tag memory:/office --remove draft"),
    )
    @undoable
    @follows_each
    def tag(
        self,
        *refs: ItemName,
        add: Annotated[Sequence[str], Say("Give this tag.", longest=NAME_TEXT, shown="TAG")] = (),
        remove: Annotated[Sequence[str], Say("Take this tag away.", longest=NAME_TEXT, shown="TAG")] = (),
    ) -> AddReport:
        """An item that has them already is left as it is. Every name is looked up before the first item is changed."""
        given, taken = _clean(texts("add", add)), {tag.casefold() for tag in _clean(texts("remove", remove))}
        if not refs or not (given or taken):
            raise UsageError("say which items, and which tags", hint="‹:tag note:/a --add security›")
        numbers = [self._context.present_number(ref) for ref in refs]
        items = self._context.store.items.get_many(numbers)
        return AddReport(tuple(self._retagged(items[n], given, taken) for n in dict.fromkeys(numbers)))

    def _retagged(self, item: Item, given: Sequence[str], taken: set[str]) -> Saved:
        before = item.fields.tags
        has = {tag.casefold() for tag in before}
        after = (
            *(tag for tag in before if tag.casefold() not in taken),
            *(t for t in given if t.casefold() not in has),
        )
        if after == before:
            return Saved(str(item.ref), "skipped", item.id, item.version, reason="it has these tags")
        return self.edit(item.ref, None, {"tags": list(after)}, wait=False)


def _clean(tags: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(tag.strip().removeprefix("#").strip() for tag in tags if tag.strip()))


def _set_fields(item: Item) -> dict[str, Any]:
    """The fields that people set on an item; a new text keeps them, because they did not come from the old text."""
    empty = Fields().to_dict()
    fields = item.fields.to_dict()
    return {
        name: value for name, value in fields.items() if value != empty[name] and name not in ("mime_type", "source")
    }


def adding_to(
    context: EngineContext,
    on_conflict: str,
    progress: Callable[[Progress], None] | None,
    *,
    kind: str | None = None,
    fields: Mapping[str, Any] | None = None,
    allow_secrets: bool = False,
    follow_links: bool | None = None,
    dry_run: bool = False,
) -> Adding:
    """What writes texts, files and pages into the store of a context."""
    from ricordo.ingest.add import Adding

    return Adding(
        context.store,
        context.pipeline,
        context.files(follow_links=follow_links),
        kind=kind,
        fields=fields or {},
        on_conflict=on_conflict,
        backlog=context.models.backlog(),
        progress=progress,
        allow_secrets=allow_secrets,
        dry_run=dry_run,
    )


def _checked(fields: Mapping[str, Any] | None) -> dict[str, Any]:
    if fields is not None and not isinstance(fields, Mapping):
        raise UsageError(f"fields cannot be {type(fields).__name__}", hint="Give names and values.")
    given = checked_fields(fields or {})
    check_validity(given.get("valid_from"), given.get("valid_until"))
    return given
