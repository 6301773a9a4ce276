"""How an item becomes searchable: text is chunked, hashed and analysed without a lock, then written in short batches.

The steps for a file: look up the ref and apply on-conflict, read and parse, chunk, prepare, and hand batches to the
store, one transaction each. Vectors follow from the backlog; what a file is and how it is cut is decided elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ricordo.config.settings import Config
from ricordo.errors import Error
from ricordo.ingest.chunk import chunk_at
from ricordo.ingest.parse.detect import formats
from ricordo.ingest.preparing import CHUNKER, FELL_BACK, Cut, Incoming, NotPrepared, Preparer, Stored, Unit
from ricordo.models.base import LLM, TokenCounter
from ricordo.store.base import Store
from ricordo.store.values import Backlog, FileState, PreparedItem
from ricordo.values.items import Draft, Passage, Ref, Saved
from ricordo.values.kinds import MENTIONING_KINDS

if TYPE_CHECKING:
    from ricordo.ingest.chunk_llm import LlmChunker
    from ricordo.ingest.helpers import Helpers

BATCH_CHUNKS = 1_000
BATCH_ITEMS = 500
BATCH_BYTES = 32_000_000
BATCH_SECONDS = 10.0
"""Prepared items are written after this time at the latest, because a model that cuts texts may take long."""
AHEAD_ITEMS, AHEAD_BYTES, AHEAD_SECONDS = 100, 150_000, 0.2
"""The store is asked about so many items or so much text at once, as far as they come within this time."""


class Pipeline:
    """Prepares items for one store and writes them in batches."""

    def __init__(
        self,
        store: Store,
        config: Callable[[], Config],
        counter: TokenCounter,
        llm: Callable[[], LLM],
        helpers: Callable[[], Helpers] | None = None,
    ) -> None:
        self.store = store
        self.config = config
        self.counter = counter
        self.llm = llm
        self.helpers = helpers

    @property
    def preparer(self) -> Preparer:
        """What prepares an item as soon as it is known how to cut it."""
        return Preparer(self.store.analyzer, self.counter)

    def prepare(self, incoming: Incoming) -> PreparedItem:
        """Do everything for an item that can be done before a transaction."""
        return self._prepared(incoming, self._stored([(incoming.ref, incoming.kind)]))[0]

    def _prepared(self, incoming: Incoming, stored: Stored) -> tuple[PreparedItem, str]:
        """The prepared item, and why no model cut its text although one should have."""
        parsed = incoming.parsed
        cut = self._cut(incoming.ref, parsed.text, parsed.structure, parsed.language, incoming.kind)
        return self.preparer.incoming(incoming, cut, stored), cut.problem

    def prepare_text(self, draft: Draft, content: str) -> PreparedItem:
        """The draft with another text, cut into passages again as its type requires."""
        structure = structure_of(draft.fields.mime_type)
        cut = self._cut(draft.ref, content, structure, "", draft.kind)
        fields = cut.noted_in(draft.fields)
        return self.prepare_draft(
            replace(draft, content=content, fields=fields, passages=cut.passages, first_line=1, marks=(), blob=None)
        )

    def _cut(self, ref: Ref, text: str, structure: str, language: str, kind: str) -> Cut:
        """The passages of a text: by its structure, or where a model says if that is set."""
        plain = self.preparer.cut(text, structure, language, kind)
        if not self._asks_a_model or len(plain.passages) < 2 or kind == "session":
            return plain  # a session has thousands of turns, so no model is asked about them
        if before := self._cut_before(ref, text):
            return Cut(before)
        try:
            places = self._chunker.places(text)
        except Error as error:
            return Cut(plain.passages, error.message)
        return Cut(chunk_at(text, places, structure=structure, language=language, counter=self.counter))

    @property
    def _asks_a_model(self) -> bool:
        return self.config().ingest.chunker == "llm"

    @cached_property
    def _chunker(self) -> LlmChunker:
        from ricordo.ingest.chunk_llm import LlmChunker

        return LlmChunker(self.llm, lambda: self.config().ingest.chunker_seconds)

    def _cut_before(self, ref: Ref, text: str) -> tuple[Passage, ...]:
        """The passages of an item whose text is unchanged, so that the model is not asked again."""
        n = self.store.items.number(ref)
        item = self.store.items.get(n) if n is not None else None
        if n is None or item is None or item.content != text or item.fields.metadata.get(CHUNKER) == FELL_BACK:
            return ()
        return self.store.items.draft(n, item.version).passages

    def _stored(self, items: Sequence[tuple[Ref, str]]) -> Stored:
        """What preparing some items of some kinds needs of the store."""
        mentions = any(kind in MENTIONING_KINDS for _, kind in items)
        entities = self.store.items.entity_titles() if mentions else ()
        return Stored(self.store.items.live_keys(ref for ref, _ in items), entities)

    def prepare_draft(self, draft: Draft, file: FileState | None = None) -> PreparedItem:
        """Hash and analyse a draft whose passages are known."""
        return self.preparer.draft(draft, file, self._stored([(draft.ref, draft.kind)]))

    def _units(self, incoming: Iterable[Incoming]) -> Iterator[Unit]:
        """The items in groups, each with what preparing it needs of the store, which is asked for together."""
        ahead: list[Incoming] = []

        def unit() -> Unit:
            return Unit(ahead, self._stored([(one.ref, one.kind) for one in ahead]))

        size, due = 0, time.monotonic() + AHEAD_SECONDS
        for one in incoming:
            ahead.append(one)
            size += one.size
            if len(ahead) >= AHEAD_ITEMS or size >= AHEAD_BYTES or time.monotonic() >= due:
                yield unit()
                ahead, size, due = [], 0, time.monotonic() + AHEAD_SECONDS
        if ahead:
            yield unit()

    def _prepared_all(self, incoming: Iterable[Incoming]) -> Iterator[tuple[PreparedItem | NotPrepared, str]]:
        """All items in their order; where no model cuts texts and there are many, helpers prepare some of them."""
        units = self._units(incoming)
        if self.helpers is not None and not self._asks_a_model:
            for item in self.helpers().prepared(units, lambda: self.preparer):
                yield item, ""
            return
        for unit in units:
            for one in unit.items:
                try:
                    yield self._prepared(one, unit.stored)
                except Error as error:
                    yield NotPrepared(str(one.ref), error.to_dict()), ""

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
        due = time.monotonic() + BATCH_SECONDS
        for item, problem in self._prepared_all(incoming):
            if isinstance(item, NotPrepared):
                yield Saved(item.ref, "failed", error=item.error)
                continue
            if problem:
                problems[str(item.draft.ref)] = problem
            batch.append(item)
            chunks += len(item.chunks)
            size += len(item.draft.content) + len(item.draft.blob or b"")
            full = chunks >= BATCH_CHUNKS or len(batch) >= BATCH_ITEMS or size >= BATCH_BYTES
            if full or time.monotonic() >= due:
                yield from written()
                batch, chunks, size, due = [], 0, 0, time.monotonic() + BATCH_SECONDS
        if batch:
            yield from written()


def structure_of(mime_type: str | None) -> str:
    """The structure by which text of a MIME type is cut."""
    for known in formats().values():
        if known.type.mime == mime_type:
            return known.type.structure
    return "code" if mime_type and mime_type.startswith("text/x-") else "text"
