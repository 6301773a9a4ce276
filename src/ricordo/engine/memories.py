"""Verbs for what agents learn: remember, correct."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from ricordo.engine.checks import check_choice, check_new_name, check_type, is_id, refuse_binned
from ricordo.engine.context import with_settings_of_its_start
from ricordo.engine.items import ItemVerbs, also_said
from ricordo.engine.items import replacement as replaced_by
from ricordo.engine.tiers import follows
from ricordo.errors import Conflict, UsageError
from ricordo.permissions import refuse_secrets
from ricordo.plugin import ask, names_of
from ricordo.speaking import as_agent, speaker
from ricordo.steps import undoable
from ricordo.values.items import Ref, Saved, checked_fields
from ricordo.values.kinds import KINDS, ON_DUPLICATE, Writer, kind_of_drive
from ricordo.values.provenance import PERSON
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.memory.remember import Keeper
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import (
        REF_TEXT,
        AllowSecrets,
        Cites,
        FieldsToSet,
        IfDuplicate,
        ItemName,
        KeepAs,
        KindOfItem,
        Links,
        TellAgainAfter,
        TellTimes,
        TellWhen,
        TextToKeep,
        Wait,
        WhoSays,
    )

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


class MemoryVerbs(ItemVerbs):
    """Keeps what agents learn true: without duplicates, without secrets, and with what it replaced."""

    @verb(
        "write",
        "remember",
        "Save a fact, unless it is stored already.",
        examples=(
            "ricordo remember 'The signing keys rotate every quarter.' --tag ops",
            "ricordo remember - --title 'Release checklist' --importance 4 < checklist.md",
            "ricordo remember 'The keys rotate monthly now.' --on-duplicate supersede",
        ),
        creates=True,
    )
    @undoable
    @with_settings_of_its_start
    def remember(
        self,
        text: TextToKeep,
        *,
        kind: KindOfItem | None = None,
        ref: KeepAs | None = None,
        links: Links = (),
        cites: Cites = (),
        source: WhoSays = "user",
        on_duplicate: IfDuplicate | None = None,
        allow_secrets: AllowSecrets = False,
        wait: Wait = True,
        when: TellWhen = "",
        pause: TellAgainAfter = "",
        times: TellTimes = 0,
        fields: FieldsToSet | None = None,
        **named: Unpack[MemoryFields],
    ) -> Saved:
        """A text that is stored already is skipped. What is nearly the same, or contradicts a memory, needs a
        decision: nothing is written until ``on_duplicate`` says save, skip, merge or supersede. Secrets are redacted.
        Without a kind, it is what the drive of its ref says (``note:/plan`` is a note, ``agent:/plan`` a document), and
        a memory without a ref. With ``when``, it is told when a prompt is about that, until ``valid_until``.
        """
        from ricordo.memory.links import checked_type
        from ricordo.memory.remember import VECTOR_SECONDS, memory_of

        check_type("text", text, str)
        refuse_secrets(allowed=allow_secrets)
        fields = _with_reminder({**(fields or {}), **named}, when, pause, times)
        if kind is None:
            has_drive = ref is not None and Ref.looks_like(str(ref))
            kind = kind_of_drive(str(ref).partition(":")[0]) if has_drive else "memory"
        check_choice("kind", kind, KINDS)
        check_choice("source", source, WRITERS)
        if on_duplicate is not None:
            check_choice("on_duplicate", on_duplicate, ON_DUPLICATE)
        targets = [(checked_type(type_), self._context.present_number(target)) for type_, target in links]
        checked_fields({name: value for name, value in fields.items() if value is not None})
        given = {**fields, "source": _writer(source)}
        if cites and "metadata_of_text" not in names_of("on"):
            raise UsageError("no plugin here notes what memories cite", hint="Link it to an item instead.")
        if metadata := self._metadata_of(text, kind, fields.get("metadata") or {}, cites):
            given["metadata"] = metadata
        memory = memory_of(text, kind, self._memory_ref(ref, kind), given, allow_secrets=allow_secrets)
        keeper = self._keeper()
        with _said_by(source):
            saved = keeper.keep(replace(memory, relations=tuple(targets)), on_duplicate, wait=wait)
        if saved.status == "skipped" and (cites or fields.get("metadata")):
            saved = replace(saved, reason=f"{saved.reason}; its metadata and citations stay as they are")
        waits = wait and not (keeper.is_embedded or keeper.embedder_is_late)
        saved = self._with_vector(saved, wait=waits, seconds=VECTOR_SECONDS)
        if keeper.problem and saved.status in ("created", "updated", "needs_decision"):
            return also_said(saved, f"only words were compared, no vector could be made: {keeper.problem}")
        return saved

    @verb(
        "write",
        "remember",
        "Replace a wrong item by a right text.",
        examples=(
            "ricordo correct memory:/office 'The office moved to Porto.'",
            "ricordo correct memory:/office - < office.md",
            "ricordo correct memory:/keys-quarterly --with memory:/keys-monthly",
        ),
    )
    @undoable
    @follows("ref", "replacement")
    def correct(
        self,
        ref: ItemName,
        text: TextToKeep = "",
        *,
        replacement: Annotated[
            str | Ref, Say("Replace it by this item, instead of a text.", name="with", shown="NEW", longest=REF_TEXT)
        ]
        | None = None,
        source: WhoSays = "user",
        allow_secrets: AllowSecrets = False,
        wait: Wait = True,
        fields: FieldsToSet | None = None,
        **named: Unpack[MemoryFields],
    ) -> Saved:
        """The old item is archived and linked (``corrects``): search no longer finds it, except as of an earlier time.
        The new one takes over the fields that are not given. An item that exists can take its place, too, instead of a
        text (``supersedes``).
        """
        from ricordo.memory.remember import VECTOR_SECONDS, memory_of

        check_type("text", text, str)
        if bool(text.strip()) == (replacement is not None):
            raise UsageError("say the right text, or name the item that has it", hint="One of both.")
        if replacement is not None:
            return self._supersede(ref, replacement)
        refuse_secrets(allowed=allow_secrets)
        check_choice("source", source, WRITERS)
        fields = {**(fields or {}), **named}
        checked_fields(fields)
        n = self._context.number(ref)
        old = self._context.store.items.get(n)
        refuse_binned(old)
        if newest := next(iter(replaced_by(self._context.store, n, old).values()), ""):
            raise Conflict(f"{old.ref} was replaced before, by {newest}", hint=f"Correct that one: ‹:correct {newest}›")
        if old.content.strip() == text.strip():
            return Saved(str(old.ref), "skipped", old.id, old.version, reason="that is what it says")
        own = {name: value for name, value in old.fields.to_dict().items() if name not in ("mime_type", "is_textual")}
        given = {**own, **fields, "source": _writer(source)}
        given["metadata"] = self._metadata_of(text, old.kind, given.get("metadata") or {})
        memory = memory_of(text, old.kind, None, given, allow_secrets=allow_secrets)
        keeper = self._keeper()
        with _said_by(source):
            saved, prepared = keeper.succeed(n, memory, "corrects", base=(old.version, old.state), wait=wait)
            saved = replace(saved, reason=f"corrects {old.ref}")
            saved = self._with_notes(self._saved_number(saved), saved, prepared)
        waits = wait and not (keeper.is_embedded or keeper.embedder_is_late)
        return self._with_vector(saved, wait=waits, seconds=VECTOR_SECONDS)

    def _supersede(self, old: ItemName, new: ItemName) -> Saved:
        """Archive the old item and link the new one to it (``supersedes``)."""
        before, after = self._context.present_number(old), self._context.present_number(new)
        if before == after:
            raise UsageError("an item cannot replace itself", hint="Name the old item, then the new one.")
        successor = self._context.store.items.get_many([after])[after]
        if successor.state == "archived":
            raise UsageError(
                f"{successor.ref} is archived itself", hint=f"‹:restore {successor.ref}› brings it back first."
            )
        saved = self._context.store.changes.archive([before], successor=after)[0]
        return replace(saved, reason=f"superseded by {successor.ref}") if saved.status == "archived" else saved

    def _saved_number(self, saved: Saved) -> int:
        return self._context.store.items.require(Ref.parse(saved.ref))

    def _keeper(self) -> Keeper:
        from ricordo.memory.remember import Keeper

        models = self._context.models
        return Keeper(self._context.store, self._context.pipeline, models.backlog(), models.embedder)

    def _memory_ref(self, ref: str | Ref | None, kind: str) -> Ref | None:
        """The ref that was asked for; a bare name is on the drive of its kind."""
        from ricordo.memory.remember import drive_of

        if isinstance(ref, str) and not (Ref.looks_like(ref) or is_id(ref) or "://" in ref):
            if not (name := ref.strip().strip("/")):
                raise UsageError("an empty name is not a ref", hint="Leave it out to get one made of the first words.")
            check_new_name(named := Ref(drive_of(kind), f"/{name}"))
            return named
        return self._context.resolve_new(ref) if ref is not None else None


def _with_reminder(fields: dict[str, Any], when: str, pause: str, times: int) -> dict[str, Any]:
    """The fields of a text that is told when a prompt is about something; the same ones if nothing is said of that."""
    if not when:
        if pause or times:
            raise UsageError("a pause and a number of times need what the prompt is about", hint="Add ‹when›.")
        return fields
    answers: list[dict[str, Any]] = ask("reminder_fields", fields, when, pause, times)
    if not answers:
        raise UsageError("no plugin here tells when a prompt is about something", hint="Leave out ‹when›.")
    return answers[0]


def _said_by(source: Writer) -> AbstractContextManager[None]:
    """A caller may say that an agent wrote the text, which lowers trust, but nothing that would raise it."""
    return as_agent() if source == "agent" else nullcontext()


def _writer(source: Writer) -> Writer:
    """Who says it: what comes through an agent's door is the agent's, whatever it claims."""
    return source if speaker().author == PERSON else "agent"
