"""How an item becomes searchable: its text is cut, hashed and analysed without a lock, then written in short batches.

Vectors follow from the backlog (``embed``). What a file is and what it says is decided before (``files``, ``formats``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Any

from ricordo.config.settings import Config
from ricordo.errors import Error
from ricordo.frozen import frozen
from ricordo.ingest.cut.chunk import chunk, chunk_at, line_ranges
from ricordo.ingest.cut.prefix import PREFIX_TOKENS, prefix_room, prefix_texts
from ricordo.ingest.formats.detect import formats
from ricordo.models.base import TokenCounter
from ricordo.secrets.find import secret_counts
from ricordo.store.base import Store
from ricordo.store.prepare import prepare
from ricordo.store.values import Backlog, FileState, PreparedItem
from ricordo.text.links import mentioned
from ricordo.values.items import Draft, Fields, Parsed, Passage, Ref, Saved
from ricordo.values.kinds import DRIVES_WITHOUT_ORIGIN, MENTIONING_KINDS, REMEMBERED_KINDS

BATCH_CHUNKS = 1_000
BATCH_ITEMS = 500
BATCH_BYTES = 32_000_000
FIRST_BATCH_SECONDS = 1.0
"""The first batch is soon written, because it says how long the rest will take."""
BATCH_SECONDS = 10.0
"""Prepared items are written after this time at the latest, because a model that cuts texts may take long."""
AHEAD_ITEMS, AHEAD_BYTES, AHEAD_SECONDS = 100, 150_000, 0.2
"""The store is asked about so many items or so much text at once, as far as they come within this time."""
CHUNKER = "chunker"
FELL_BACK = "cut by its structure, not by a model"
"""The item's metadata get this text under ``chunker``; it never varies, so that another failed try changes nothing."""


@frozen
class Incoming:
    """Something to save: its ref, its parsed text, and the state of its file."""

    ref: Ref
    parsed: Parsed
    kind: str = "document"
    fields: Mapping[str, Any] = field(default_factory=dict)
    blob: bytes | None = None
    file: FileState | None = None
    times: tuple[datetime, datetime] | None = None
    origin: str = ""
    """Where a loader read it; empty for a text that somebody gave."""
    vouched: bool = False
    """Whether its file is in a folder that the user trusts."""
    is_clean: bool = False
    """Whether its text was searched for secrets already and holds none."""
    own: Fields | None = None
    """The fields that the text gives itself, if whoever made this has them already."""

    @property
    def size(self) -> int:
        """How much memory its texts take, roughly."""
        return len(self.parsed.text) + len(self.blob or b"")


@frozen
class _Stored:
    """What preparing items needs of the store: the keys of their chunks, and its entities."""

    keys: Mapping[Ref, set[bytes]]
    entities: Sequence[tuple[int, str]]


@frozen
class _Cut:
    """The passages of a text; ``problem`` says why the language model did not choose them although it should have."""

    passages: tuple[Passage, ...]
    problem: str = ""

    def noted_in(self, fields: Fields) -> Fields:
        """The fields of the item, with a note if the language model did not cut the text."""
        kept = {key: value for key, value in fields.metadata.items() if (key, value) != (CHUNKER, FELL_BACK)}
        metadata = {**kept, CHUNKER: FELL_BACK} if self.problem else kept
        return fields if metadata == fields.metadata else fields.with_changes({"metadata": metadata})


class Pipeline:
    """Prepares items for one store and writes them in batches."""

    def __init__(
        self,
        store: Store,
        config: Callable[[], Config],
        counter: TokenCounter,
        *,
        chunker: Callable[[], Callable[[str], Sequence[int]] | None],
        namers: Callable[[str], tuple[int, ...]],
    ) -> None:
        """``namers`` finds the items that name an entity with a title."""
        self.store = store
        self.config = config
        self.counter = counter
        self.chunker = chunker
        self.namers = namers

    def save_all(
        self, incoming: Iterable[Incoming], *, on_conflict: str, durable: bool, backlog: Backlog | None
    ) -> Iterator[Saved]:
        """Prepare and save items, one batch per transaction; results come when their batch is committed."""
        batch: list[PreparedItem] = []
        problems: dict[str, str] = {}

        def written() -> Iterator[Saved]:
            for saved in self.store.changes.save(batch, on_conflict=on_conflict, durable=durable, backlog=backlog):
                problem = problems.get(saved.ref) if saved.status in ("created", "updated") else None
                yield replace(saved, reason=f"{FELL_BACK}: {problem}") if problem else saved

        chunks = size = 0
        due = time.monotonic() + FIRST_BATCH_SECONDS
        for one, stored in self._with_stored(incoming):
            try:
                item, problem = self._prepared(one, stored)
            except Error as error:
                yield Saved(str(one.ref), "failed", error=error.to_dict())
                continue
            if problem:
                problems[str(one.ref)] = problem
            batch.append(item)
            chunks += len(item.chunks)
            size += one.size
            full = chunks >= BATCH_CHUNKS or len(batch) >= BATCH_ITEMS or size >= BATCH_BYTES
            if full or time.monotonic() >= due:
                yield from written()
                batch, chunks, size, due = [], 0, 0, time.monotonic() + BATCH_SECONDS
        if batch:
            yield from written()

    def _with_stored(self, incoming: Iterable[Incoming]) -> Iterator[tuple[Incoming, _Stored]]:
        """The items, each with what preparing it needs of the store, which is asked for many of them together."""
        ahead: list[Incoming] = []
        size, due = 0, time.monotonic() + AHEAD_SECONDS
        for one in incoming:
            ahead.append(one)
            size += one.size
            if len(ahead) >= AHEAD_ITEMS or size >= AHEAD_BYTES or time.monotonic() >= due:
                stored = self._stored(ahead)
                yield from ((one, stored) for one in ahead)
                ahead, size, due = [], 0, time.monotonic() + AHEAD_SECONDS
        if ahead:
            stored = self._stored(ahead)
            yield from ((one, stored) for one in ahead)

    def _stored(self, items: Sequence[Incoming | Draft]) -> _Stored:
        mentions = any(one.kind in MENTIONING_KINDS for one in items)
        return _Stored(*self.store.items.before_preparing((one.ref for one in items), entities=mentions))

    def prepare(self, incoming: Incoming) -> PreparedItem:
        """Do everything for an item that can be done before a transaction."""
        return self._prepared(incoming, self._stored([incoming]))[0]

    def _prepared(self, incoming: Incoming, stored: _Stored) -> tuple[PreparedItem, str]:
        """The prepared item, and why no model cut its text although one should have."""
        parsed = incoming.parsed
        cut = self._cut(incoming.ref, parsed.text, parsed.structure, parsed.language, kind=incoming.kind)
        draft = Draft(
            incoming.ref,
            incoming.kind,
            parsed.text,
            cut.noted_in(merged_fields(incoming)),
            cut.passages,
            parsed.first_line,
            parsed.marks,
            incoming.blob,
        )
        item = self._analysed(draft, incoming.file, stored, is_clean=incoming.is_clean)
        return replace(item, times=incoming.times, origin=incoming.origin, vouched=incoming.vouched), cut.problem

    def prepare_text(self, draft: Draft, content: str) -> PreparedItem:
        """The draft with another text, cut into passages again as its type requires."""
        cut = self._cut(draft.ref, content, structure_of(draft.fields.mime_type), "", kind=draft.kind)
        fields = cut.noted_in(draft.fields)
        return self.prepare_draft(
            replace(draft, content=content, fields=fields, passages=cut.passages, first_line=1, marks=(), blob=None)
        )

    def prepare_draft(self, draft: Draft, file: FileState | None = None) -> PreparedItem:
        """Hash and analyse a draft whose passages are known."""
        return self._analysed(draft, file, self._stored([draft]))

    def _analysed(
        self, draft: Draft, file: FileState | None, stored: _Stored, *, is_clean: bool = False
    ) -> PreparedItem:
        fields, headings = draft.fields, [passage.heading for passage in draft.passages]
        is_whole = draft.kind in REMEMBERED_KINDS and len(headings) == 1
        room = prefix_room(draft.content, self.counter) if is_whole else PREFIX_TOKENS
        item = prepare(
            draft,
            self.store.analyzer,
            prefixes=prefix_texts(
                fields.title, fields.description, fields.context, headings, counter=self.counter, room=room
            ),
            lines=line_ranges(draft.content, draft.passages, draft.first_line),
            stored_keys=stored.keys.get(draft.ref, set()),
            file=file,
        )
        entities = stored.entities if draft.kind in MENTIONING_KINDS else ()
        secrets = {} if is_clean else secret_counts(draft.content)
        mentions = mentioned(draft.content, entities) if entities else ()
        # They may be older than the entity, or than its title.
        named_by = self.namers(fields.title) if draft.kind == "entity" else None
        return replace(item, mentions=mentions, secrets=secrets, named_by=named_by)

    def _cut(self, ref: Ref, text: str, structure: str, language: str, *, kind: str) -> _Cut:
        """The passages of a text: by its structure, or where a model says if that is set."""
        if not text:
            return _Cut(())
        single = kind in REMEMBERED_KINDS
        plain = chunk(text, structure=structure, language=language, counter=self.counter, single=single)
        positions = self.chunker()
        if positions is None or len(plain) < 2 or kind == "session":
            return _Cut(plain)  # a session has thousands of turns, so no model is asked about them
        if before := self._cut_before(ref, text):
            return _Cut(before)
        try:
            starts = positions(text)
        except Error as error:
            return _Cut(plain, error.message)
        return _Cut(chunk_at(text, starts, structure=structure, language=language, counter=self.counter))

    def _cut_before(self, ref: Ref, text: str) -> tuple[Passage, ...]:
        """The passages of an item whose text is unchanged, so that the model is not asked again."""
        n = self.store.items.number(ref)
        item = self.store.items.get(n) if n is not None else None
        if n is None or item is None or item.content != text or item.fields.metadata.get(CHUNKER) == FELL_BACK:
            return ()
        return self.store.items.draft(n, item.version).passages


def merged_fields(incoming: Incoming) -> Fields:
    """The fields of the file; those that the caller gave take precedence."""
    if incoming.own is not None:
        return incoming.own.with_changes(incoming.fields)
    return Fields().with_changes(_given_by_text(incoming.ref, incoming.parsed) | dict(incoming.fields))


def own_fields(ref: Ref, parsed: Parsed) -> Fields:
    """The fields that a text gives itself."""
    return Fields().with_changes(_given_by_text(ref, parsed))


def _given_by_text(ref: Ref, parsed: Parsed) -> dict[str, Any]:
    fields: dict[str, Any] = {"mime_type": parsed.mime_type, "is_textual": parsed.is_textual, "title": parsed.title}
    fields |= {name: value for name, value in parsed.fields.items() if value is not None}
    if ref.drive not in DRIVES_WITHOUT_ORIGIN:
        fields.pop("immutable", None)  # such an item is what its file or page says, now and later
    if parsed.title and not fields.get("title"):
        fields["title"] = parsed.title
    return fields


def structure_of(mime_type: str | None) -> str:
    """The structure by which text of a MIME type is cut."""
    for known in formats().values():
        if known.type.mime == mime_type:
            return known.type.structure
    return "code" if mime_type and mime_type.startswith("text/x-") else "text"
