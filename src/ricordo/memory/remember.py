"""Remembers a text: removes secrets, names it, checks whether it is known, and writes it durably.

1. Check the fields and remove secrets (``memory_of``).
2. Give it a ref that is free, or take the one that was asked for.
3. Look for the same text, then for nearly the same and for the contrary; do what the caller asked for in that case.
4. Write it durably, in one transaction with its links and what it replaces. If another process took the ref, saved
   nearly the same or changed what is replaced meanwhile, begin again at 2.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import Any, NamedTuple

from ricordo.bounded import call_within
from ricordo.errors import Conflict, ContractError, PathConflict, StaleVersion, Unavailable, UsageError, from_dict
from ricordo.frozen import frozen
from ricordo.ingest.pipeline import Incoming, Pipeline
from ricordo.memory.duplicates import MERGED, DuplicateFinder, merged_fields, merged_text
from ricordo.models.base import Embedder, fingerprint_of
from ricordo.secrets.private import PRIVATE_MARK
from ricordo.secrets.redaction import redact_item
from ricordo.speaking import is_person
from ricordo.store.backlog import check_vector
from ricordo.store.base import Store
from ricordo.store.prepare import embedded_text, text_hash
from ricordo.store.values import Backlog, MadeVector, PreparedItem
from ricordo.text.alike import plain_text
from ricordo.trust.level import is_outside
from ricordo.values.field_checks import check_validity
from ricordo.values.items import Duplicate, Item, Parsed, Ref, Saved, checked_fields

LONGEST = 60
_READ = 1_000
"""Characters of the first line that are looked at: a text of megabytes may be one line."""
_MARKUP = re.compile(r"^[\s#>*+\-]+")
_WORD = re.compile(r"[^\W_]+")
_PLAIN = str.maketrans({"æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ł": "l", "ı": "i", "’": "'"})


def slug(text: str) -> str:
    """The first words of a text as a name: small letters and digits, joined by dashes; empty when it has none.

    Accents are folded away. A text in another script keeps its own letters.

    >>> slug("# Où est l'Œuvre?"), slug("Größe: 5 m²"), slug("東京のオフィス")
    ('ou-est-loeuvre', 'grosse-5-m2', '東京のオフィス')
    """
    lines = (_MARKUP.sub("", part).strip()[:_READ] for part in text.splitlines())
    line = next(filter(None, lines), "")
    decomposed = unicodedata.normalize("NFKD", line.casefold().translate(_PLAIN)).casefold()
    own = "".join(c for c in decomposed if not unicodedata.combining(c)).replace("'", "")
    plain = own.encode("ascii", "ignore").decode()
    letters = sum(c.isalnum() for c in own)
    if 2 * sum(c.isalnum() for c in plain) < letters:
        plain = unicodedata.normalize("NFC", line.casefold())
    words = _WORD.findall(plain)
    name = words[0][:LONGEST] if words else ""
    for word in words[1:]:
        if len(name) + 1 + len(word) > LONGEST:
            break
        name = f"{name}-{word}"
    return name


def free_name(name: str, taken: Collection[str]) -> str:
    """The name itself, or with the lowest number that makes it new: ``name-2``, ``name-3``, …

    >>> free_name("a", {"a", "a-2", "a-4"})
    'a-3'
    """
    if name not in taken:
        return name
    return next(numbered for number in count(2) if (numbered := f"{name}-{number}") not in taken)


LONGEST_NAME = 60
"""A line this short can be the name of an entity."""

VECTOR_SECONDS = 5.0
"""How long a save waits for a service's vector to compare with; after that, only words are compared, and it says so."""

BESIDE = "beside"
"""The type of a link between two items that say the same or the contrary, and that a person wants both kept."""

_ATTEMPTS = 100


@frozen
class Memory:
    """A text about to be remembered: its fields are checked, and its secrets removed."""

    text: str
    kind: str
    fields: Mapping[str, Any]
    ref: Ref | None = None
    redacted: tuple[str, ...] = ()
    relations: tuple[tuple[str, int], ...] = ()
    """Links that are made with it: their types, and the items to which they lead."""

    @property
    def name(self) -> str:
        """The text from which its ref is made if none was given."""
        return slug(str(self.fields.get("title") or "")) or slug(self.text) or self.kind


def memory_of(text: str, kind: str, ref: Ref | None, fields: Mapping[str, Any], *, allow_secrets: bool) -> Memory:
    """Check the fields, and remove secrets unless they are allowed or agents do not write items of this kind."""
    if not text.strip():
        raise UsageError("there is nothing to remember", hint="Give the text that is to be kept.")
    given = checked_fields({name: value for name, value in fields.items() if value is not None})
    check_validity(given.get("valid_from"), given.get("valid_until"))
    text, given, redacted = redact_item(kind, text, given, allow_secrets=allow_secrets)
    if text.strip() == PRIVATE_MARK:
        raise UsageError("there is nothing to remember: all of it is private", hint="Nothing was saved.")
    if kind == "entity" and not given.get("title"):
        given["title"] = " ".join(text.split())
        if len(given["title"]) > LONGEST_NAME:
            raise UsageError("an entity needs a name", hint="Say what it is called: ‹title› 'Ada Lovelace'.")
    return Memory(text, kind, given, ref=ref, redacted=redacted)


def drive_of(kind: str) -> str:
    """The drive for a kind of item; documents go to the drive of agents."""
    return "agent" if kind == "document" else kind


_NAMING_FIELDS = frozenset({"title", "source", "source_adapter", "metadata", "mime_type", "is_textual"})
"""Fields that name a text or its origin; for a text that is stored already, they say nothing new."""


def _new_fields(existing: Item, memory: Memory) -> dict[str, Any]:
    """The given fields that differ from those of the stored text; tags are added to the stored ones.

    Of a text that was merged into a longer one, only tags are added: other fields would be about a part of it.
    """
    if existing.fields.immutable:
        return {}
    is_part = plain_text(existing.content) != plain_text(memory.text)
    changes: dict[str, Any] = {}
    for name, value in memory.fields.items():
        before = getattr(existing.fields, name, None)
        wanted = tuple(dict.fromkeys((*existing.fields.tags, *value))) if name == "tags" else value
        if name in _NAMING_FIELDS or (is_part and name != "tags"):
            continue
        if wanted not in (before, None, "", ()):
            changes[name] = wanted
    return changes


def _is_anothers(existing: Item, memory: Memory) -> bool:
    """Whether somebody else than the user said the whole text first, and what is said now is told as the user's."""
    is_whole = plain_text(existing.content) == plain_text(memory.text)
    return is_whole and is_outside(existing) and memory.fields.get("source") == "user" and not existing.fields.immutable


def _with_contradictions(saved: Saved, near: Sequence[Duplicate]) -> Saved:
    """The answer, which names what the text contradicts."""
    if not (against := [candidate.ref for candidate in near if candidate.contradiction]):
        return saved
    told = f"contradicts {', '.join(against)}"
    return replace(saved, reason=f"{saved.reason}; {told}" if saved.reason else told)


class _Look(NamedTuple):
    """What the store says about a text that is to be remembered."""

    item: PreparedItem
    seen: int
    """``Store.changes_seen`` at that moment."""
    existing: Item | None
    """The item that says the same already."""
    near: tuple[Duplicate, ...] = ()


class Keeper:
    """Keeps memories in one store."""

    def __init__(
        self, store: Store, pipeline: Pipeline, backlog: Backlog | None, embedder: Callable[[], Embedder | None]
    ) -> None:
        self.store = store
        self.pipeline = pipeline
        self.backlog = backlog
        self.embedder = embedder
        self.finder = DuplicateFinder(store)
        self.embedder_is_late = False
        """Whether the embedder did not answer in time; then the caller should not wait for it after the save either."""
        self.is_embedded = False
        """Whether what was written has its vector already."""
        self.problem = ""
        """Why no vector could be made to compare with, so that only words were compared."""

    def keep(self, memory: Memory, on_duplicate: str | None, *, wait: bool) -> Saved:
        """Save a memory, or say why not; the caller chose what happens if nearly the same is stored. Without ``wait`` a
        text that is saved in any case is not embedded.
        """
        return self._write(memory, lambda: self._decide(memory, on_duplicate, wait=wait))

    def succeed(
        self, old: int, memory: Memory, link: str, *, base: tuple[int, str], wait: bool
    ) -> tuple[Saved, PreparedItem]:
        """Save a memory that replaces an item, which has this version and state; it is archived, and the two are
        linked. Without ``wait`` no vector is made.
        """
        prepared: list[PreparedItem] = []

        def write() -> Saved:
            with self.store.index.snapshot():
                item, vector = self._prepared(memory)
                if vector is None and wait:
                    vector = self._made(item)
            prepared[:] = [replace(item, vector=vector)]
            saved = self.store.changes.succeed(old, prepared[0], link, backlog=self.backlog, base=base)
            self.is_embedded = vector is not None
            return saved

        return self._write(memory, write), prepared[0]

    def _write(self, memory: Memory, write: Callable[[], Saved]) -> Saved:
        """Write the memory under a free ref; begin again if another process changed what was found."""
        for attempt in range(_ATTEMPTS):
            try:
                saved = write()
            except (PathConflict, StaleVersion) as gone:
                is_taken = isinstance(gone, PathConflict) and memory.ref is not None
                if is_taken or attempt == _ATTEMPTS - 1:
                    raise
                continue
            return replace(saved, redacted=memory.redacted)
        raise AssertionError("the last attempt returns or raises")

    def _prepared(self, memory: Memory) -> tuple[PreparedItem, MadeVector | None]:
        """The memory under a free ref, and its vector if that is known."""
        active = self.store.vectors.active_fingerprint
        item, _ = self.store.index.together(lambda: self._prepare(memory), active)
        return item, self._known(item)

    def _prepare(self, memory: Memory) -> PreparedItem:
        ref = memory.ref
        if ref is None:
            drive, path = drive_of(memory.kind), f"/{memory.name}"
            ref = Ref(drive, free_name(path, self.store.items.paths_like(drive, path)))
        parsed = Parsed(memory.text, mime_type="text/markdown", structure="markdown")
        item = self.pipeline.prepare(Incoming(ref, parsed, memory.kind, memory.fields))
        return replace(item, relations=memory.relations)

    def _look(self, memory: Memory, *, is_any: bool, wait: bool) -> _Look:
        """What the decision needs to know, as the store is at one moment."""
        items, finder = self.store.items, self.finder
        with self.store.index.snapshot():
            (item, vector), alike, same, seen, _ = self.store.index.together(
                lambda: self._prepared(memory),
                lambda: finder.alike(memory.text, memory.kind),
                lambda: items.same_text(text_hash(memory.text, None), memory.kind),
                self.store.changes_seen,
                self._load_vectors,
            )
            existing = finder.identical(item, [*same, *alike])
            if existing is not None:
                return _Look(item, seen, existing)
            if memory.ref is not None:
                self._refuse_taken(memory.ref)
            if vector is None and not is_any:
                vector = self._made(item)
            near = finder.near(item, alike, vector)
            if vector is None and wait:
                vector = self._made(item)
            return _Look(replace(item, vector=vector), seen, None, near)

    def _decide(self, memory: Memory, on_duplicate: str | None, *, wait: bool) -> Saved:
        is_series = memory.kind == "entry" and (memory.fields.get("thread") or memory.fields.get("seq") is not None)
        is_any = on_duplicate == "save" or bool(is_series)  # in a series, the same may be said again
        item, seen, existing, near = self._look(memory, is_any=is_any, wait=wait)
        if existing is not None:
            return self._keep_existing(existing, memory, item)
        same = [candidate for candidate in near if not candidate.contradiction and candidate.same >= MERGED]
        if not near or is_any or (on_duplicate == "merge" and (near[0].contradiction or not same)):
            is_asked = on_duplicate == "save" and is_person() and "proposal" not in item.draft.fields.metadata
            item = self._related(item, near, beside=is_asked)
            saved = self._create(item, lambda now: self._refuse_latecomer(item, now == seen, is_any=is_any))
            return saved if is_asked else _with_contradictions(saved, near)
        best = near[0]
        if on_duplicate == "merge":
            return self._merge(memory, item, same[0])
        old = self.finder.number(best)
        before = self.finder.seen(best)
        if on_duplicate == "supersede":
            item = self._related(item, near[1:])
            try:
                saved = self.store.changes.succeed(
                    old, item, "supersedes", backlog=self.backlog, base=(before.version, before.state)
                )
            except PathConflict:
                raise
            except Conflict as changed:  # what is replaced is not what was compared any more
                raise StaleVersion(changed.message, hint=changed.hint) from None
            self.is_embedded = item.vector is not None
            return _with_contradictions(replace(saved, reason=f"supersedes {best.ref}"), near[1:])
        reason = f"nearly the same is saved as {best.ref}"
        if best.contradiction:
            reason = f"this contradicts {best.ref} (of {before.updated_at:%B %Y}: {best.contradiction})"
        if on_duplicate == "skip":
            return Saved(best.ref, "skipped", reason=reason, candidates=near)
        self._keep_vector(item.vector)
        return Saved(str(item.draft.ref), "needs_decision", reason=reason, candidates=near)

    def _keep_existing(self, existing: Item, memory: Memory, item: PreparedItem) -> Saved:
        """What becomes of a text that is stored already: it gets the fields and links that are new."""
        if is_person() and _is_anothers(existing, memory):
            return self._make_users(existing, memory, item)
        if changes := _new_fields(existing, memory):
            return self._update_fields(existing, memory, changes)
        reason = f"the same text is saved as {existing.ref}"
        # Of a text that was merged into a longer one, the links would be about a part of it.
        is_whole = plain_text(existing.content) == plain_text(memory.text)
        if memory.relations and is_whole:
            n = self.store.items.require(existing.ref)
            reason += "; its links were added" if self.store.links.add_many(n, memory.relations) else ""
        digest = existing.content_hash
        return Saved(str(existing.ref), "skipped", existing.id, existing.version, content_hash=digest, reason=reason)

    def _related(self, item: PreparedItem, near: Sequence[Duplicate], *, beside: bool = False) -> PreparedItem:
        """The item with what it seems to contradict or, where a person wants to keep all of it, with links that say so:
        then nobody asks again.
        """
        if beside:
            kept = [(BESIDE, self.finder.number(candidate)) for candidate in near]
            return replace(item, relations=(*item.relations, *kept))
        against = tuple(self.finder.number(candidate) for candidate in near if candidate.contradiction)
        return replace(item, contradicts=against)

    def _update_fields(self, existing: Item, memory: Memory, changes: Mapping[str, Any]) -> Saved:
        """Update the fields of a text that is stored already; the history keeps the old ones."""
        n = self.store.items.require(existing.ref)
        draft = self.store.items.draft(n, existing.version)
        changed = self.pipeline.prepare_draft(replace(draft, fields=draft.fields.with_changes(changes)))
        changed = replace(changed, relations=memory.relations)
        saved = self.store.changes.rewrite(n, changed, durable=True, backlog=self.backlog, base=existing.version)
        return replace(saved, reason=f"the same text was saved; changed: {', '.join(changes)}")

    def _make_users(self, existing: Item, memory: Memory, item: PreparedItem) -> Saved:
        """The user says what somebody else said first: the next version is the user's. Of what the other one set beside
        the text, such as title and ref, nothing stays.
        """
        n = self.store.items.require(existing.ref)
        if existing.vouched is not None:
            users = self.store.items.draft(n, existing.vouched)
            fields = users.fields.with_changes(_new_fields(self.store.items.get(n, version=existing.vouched), memory))
            item = self.pipeline.prepare_text(replace(users, ref=existing.ref, fields=fields), memory.text)
        elif existing.ref.path == f"/{memory.name}":  # the name that the text has by itself
            item = self.pipeline.prepare_draft(replace(item.draft, ref=existing.ref))
        saved = self.store.changes.rewrite(
            n,
            replace(item, vouched=True, relations=memory.relations),
            durable=True,
            backlog=self.backlog,
            base=existing.version,
        )
        if saved.status == "skipped":  # all of it is the same
            self.store.audit.decide(n, "accepted")
            self.store.links.add_many(n, memory.relations)
        return replace(saved, status="updated", reason="somebody else said the same before; now it is told as yours")

    def _refuse_taken(self, ref: Ref) -> None:
        n = self.store.items.number(ref)
        if n is not None and self.store.items.get_many([n])[n].state != "deleted":
            raise PathConflict(
                f"{ref} already exists", hint=f"‹:edit {ref}› changes it; without a ref, a free one is made."
            )

    def _refuse_latecomer(self, item: PreparedItem, is_unchanged: bool, *, is_any: bool) -> None:
        """Check, while nobody else can write, that no other process has saved the same since the last look."""
        if is_unchanged:
            return
        alike = self.finder.alike(item.draft.content, item.draft.kind)
        same = self.store.items.same_text(item.text_hash, item.draft.kind)
        if self.finder.identical(item, [*same, *alike]) or (not is_any and self.finder.near(item, alike, item.vector)):
            raise StaleVersion("nearly the same was saved at this moment", hint="Look again.")

    def _create(self, item: PreparedItem, still_new: Callable[[int], None] | None = None) -> Saved:
        saved = self.store.changes.save(
            [item], on_conflict="error", durable=True, backlog=self.backlog, still_wanted=still_new
        )[0]
        if saved.error is not None:
            raise from_dict(saved.error)
        self.is_embedded = item.vector is not None
        return saved

    def vector(self, item: PreparedItem) -> MadeVector | None:
        """A text's vector, which is stored if it is new."""
        vector = self._known(item)
        if vector is None:
            vector = self._made(item)
            self._keep_vector(vector)
        return vector

    def _load_vectors(self) -> None:
        """Let the vectors to compare with be read together with what else is read."""
        with suppress(Unavailable, ContractError):  # whoever needs the model next notes why it cannot be used
            if (embedder := self.embedder()) is not None:
                self.store.index.load_vectors(fingerprint_of(embedder), embedder.dimensions)

    def _known(self, item: PreparedItem) -> MadeVector | None:
        """The text's vector, if the store has it."""

        def known() -> MadeVector | None:
            if (embedder := self._to_embed(item)) is None:
                return None
            fingerprint, digest = fingerprint_of(embedder), item.chunks[0].embed_hash
            vectors = self.store.jobs.stored_vectors(fingerprint, [digest])
            return MadeVector(fingerprint, digest, vectors[digest]) if digest in vectors else None

        return self._if_possible(known)

    def _made(self, item: PreparedItem) -> MadeVector | None:
        """The text's vector, made now; None means that only words are compared."""

        def made() -> MadeVector | None:
            if (embedder := self._to_embed(item)) is None:
                return None
            chunk = item.chunks[0]
            text = embedded_text(chunk.prefix, chunk.text)
            if embedder.is_remote:
                vector = call_within(VECTOR_SECONDS, lambda: embedder.embed_documents([text])[0], "ricordo-vector")
            else:
                vector = embedder.embed_documents([text])[0]
            check_vector(vector, embedder.dimensions, embedder.fingerprint)
            return MadeVector(fingerprint_of(embedder), chunk.embed_hash, vector)

        return None if self.problem else self._if_possible(made)

    def _to_embed(self, item: PreparedItem) -> Embedder | None:
        """The model in force, if the store has vectors of it to compare with, and the text is one passage for it."""
        embedder = self.embedder()
        if embedder is None or self.backlog is None or len(item.chunks) != 1:
            return None
        is_active = self.store.vectors.active_fingerprint() == fingerprint_of(embedder)
        return embedder if is_active and item.chunks[0].language in self.backlog.languages else None

    def _if_possible(self, vector: Callable[[], MadeVector | None]) -> MadeVector | None:
        """A vector, or a note why there is none."""
        try:
            return vector()
        except TimeoutError:
            self.embedder_is_late = True
            self.problem = f"the embedding model did not answer within {VECTOR_SECONDS:g} s"
        except (Unavailable, ContractError) as error:
            self.problem = error.message
        return None

    def _keep_vector(self, vector: MadeVector | None) -> None:
        """Store the vector of a text that is not saved now, so that it need not be made again when it is."""
        if vector is not None:
            self.store.jobs.finish(vector.fingerprint, [], {vector.hash: vector.values})

    def _merge(self, memory: Memory, item: PreparedItem, best: Duplicate) -> Saved:
        """Add what is new to the item that is nearly the same, as its next version; the history keeps the old one."""
        n = self.store.items.require(Ref.parse(best.ref))
        old = self.store.items.get(n)
        if old.state != "live":
            return self._create(item)
        text = merged_text(old.content, memory.text)
        origin = {
            "ref": str(item.draft.ref),
            "version": old.version,
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "source": memory.fields.get("source"),
            "text_hash": item.text_hash,
        }
        draft = self.store.items.draft(n, old.version)
        fields = merged_fields(draft.fields, memory.fields, origin)
        names = memory.fields.keys() - _NAMING_FIELDS
        if text == old.content and all(getattr(fields, name) == getattr(draft.fields, name) for name in names):
            reason = f"all of it is in {best.ref}"
            return Saved(best.ref, "skipped", old.id, old.version, content_hash=old.content_hash, reason=reason)
        merged = replace(self.pipeline.prepare_text(replace(draft, fields=fields), text), relations=memory.relations)
        saved = self.store.changes.rewrite(n, merged, durable=True, backlog=self.backlog, base=old.version)
        return replace(saved, reason=f"merged into {best.ref}")
