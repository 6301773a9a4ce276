"""How an item becomes searchable: text is chunked, hashed and analysed without a lock, then written in short batches.

The steps for a file: look up the ref and apply on-conflict, read and parse, chunk, prepare, and hand batches to the
store, one transaction each. Vectors follow from the backlog; what a file is and how it is cut is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from recollect.errors import Error
from recollect.ingest.chunk import chunk, line_ranges
from recollect.ingest.parse.detect import TYPES
from recollect.ingest.prefix import prefix_texts
from recollect.ingest.redact import secret_counts
from recollect.mentions import MENTIONING_KINDS, mentioned
from recollect.models.base import TokenCounter
from recollect.settings import Config
from recollect.store.base import Backlog, FileState, PreparedItem, Store, prepare
from recollect.values import Draft, Fields, Parsed, Passage, Ref, Saved

BATCH_CHUNKS = 1_000
BATCH_ITEMS = 500
BATCH_BYTES = 32_000_000
ONE_CHUNK_KINDS = frozenset({"memory", "note", "entity", "resource", "entry"})


@dataclass(frozen=True, slots=True)
class Incoming:
    """Something to take in: where it goes, what it says, and what the file looked like."""

    ref: Ref
    parsed: Parsed
    kind: str = "document"
    fields: Mapping[str, Any] = field(default_factory=dict)
    blob: bytes | None = None
    file: FileState | None = None
    times: tuple[datetime, datetime] | None = None


class Pipeline:
    """Prepares items for one store and writes them in batches."""

    def __init__(self, store: Store, config: Callable[[], Config], counter: TokenCounter) -> None:
        self.store = store
        self.config = config
        self.counter = counter

    def prepare(self, incoming: Incoming) -> PreparedItem:
        """All that can be done for an item before a transaction."""
        fields = merged_fields(incoming)
        parsed = incoming.parsed
        draft = Draft(
            incoming.ref,
            incoming.kind,
            parsed.text,
            fields,
            self._passages(parsed.text, parsed.structure, parsed.language, incoming.kind),
            parsed.first_line,
            parsed.marks,
            incoming.blob,
        )
        return replace(self.prepare_draft(draft, incoming.file), times=incoming.times)

    def prepare_text(self, draft: Draft, content: str) -> PreparedItem:
        """The draft with another text, chunked anew the way its type asks for."""
        structure = structure_of(draft.fields.mime_type)
        passages = self._passages(content, structure, "", draft.kind)
        return self.prepare_draft(replace(draft, content=content, passages=passages, first_line=1, marks=(), blob=None))

    def _passages(self, text: str, structure: str, language: str, kind: str) -> tuple[Passage, ...]:
        if not text:
            return ()
        single = kind in ONE_CHUNK_KINDS
        return chunk(text, structure=structure, language=language, counter=self.counter, single=single)

    def prepare_draft(self, draft: Draft, file: FileState | None = None) -> PreparedItem:
        """Hash and analyse a draft whose passages are known."""
        fields = draft.fields
        prefixes = prefix_texts(
            fields.title,
            fields.description,
            fields.context,
            [passage.heading for passage in draft.passages],
            counter=self.counter,
        )
        item = prepare(
            draft,
            self.store.analyzer,
            prefixes=prefixes,
            lines=line_ranges(draft.content, draft.passages, draft.first_line),
            known=self.store.live_keys(draft.ref),
            file=file,
        )
        entities = self.store.entity_titles() if draft.kind in MENTIONING_KINDS else ()
        return replace(item, mentions=mentioned(draft.content, entities), secrets=secret_counts(draft.content))

    def save_all(
        self, incoming: Iterable[Incoming], *, on_conflict: str, durable: bool, backlog: Backlog | None
    ) -> Iterator[Saved]:
        """Prepare and write, a batch per transaction; answers come as their batch commits."""
        batch: list[PreparedItem] = []
        chunks = size = 0
        for one in incoming:
            try:
                item = self.prepare(one)
            except Error as error:
                yield Saved(str(one.ref), "failed", error=error.to_dict())
                continue
            batch.append(item)
            chunks += len(item.chunks)
            size += len(item.draft.content) + len(item.draft.blob or b"")
            if chunks >= BATCH_CHUNKS or len(batch) >= BATCH_ITEMS or size >= BATCH_BYTES:
                yield from self.store.save(batch, on_conflict=on_conflict, durable=durable, backlog=backlog)
                batch, chunks, size = [], 0, 0
        if batch:
            yield from self.store.save(batch, on_conflict=on_conflict, durable=durable, backlog=backlog)


def merged_fields(incoming: Incoming) -> Fields:
    """Fields from the file, overruled by those the caller gave."""
    parsed = incoming.parsed
    found: dict[str, Any] = {"mime_type": parsed.mime_type, "is_textual": parsed.is_textual, "title": parsed.title}
    found |= {name: value for name, value in parsed.fields.items() if value is not None}
    if parsed.title and not found.get("title"):
        found["title"] = parsed.title
    return Fields().with_changes(found | dict(incoming.fields))


def structure_of(mime_type: str | None) -> str:
    """How text of a type is cut."""
    for known in TYPES.values():
        if known.mime == mime_type:
            return known.structure
    return "code" if mime_type and mime_type.startswith("text/x-") else "text"
