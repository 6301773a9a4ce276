"""Prepares an item for the store: everything that needs neither the store nor a language model.

The text is cut, its words and tokens are counted, links and secrets are looked for. This is three quarters of the work
of adding a text, so that helpers do it, too (``helpers``), in processes of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Any

from ricordo.errors import Error
from ricordo.frozen import frozen
from ricordo.ingest.chunk import chunk, line_ranges
from ricordo.ingest.prefix import prefix_texts
from ricordo.ingest.redact import secret_counts
from ricordo.models.base import TokenCounter
from ricordo.store.prepare import prepare
from ricordo.store.values import FileState, PreparedItem
from ricordo.text.mentions import mentioned
from ricordo.text.words import Analyzer
from ricordo.values.items import Draft, Fields, Parsed, Passage, Ref
from ricordo.values.kinds import DRIVES_WITHOUT_ORIGIN, MENTIONING_KINDS, REMEMBERED_KINDS


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

    @property
    def size(self) -> int:
        """How much memory its texts take, roughly."""
        return len(self.parsed.text) + len(self.blob or b"")


@frozen
class Stored:
    """What preparing items needs of the store: the keys of their chunks, and its entities."""

    keys: Mapping[Ref, set[bytes]]
    entities: Sequence[tuple[int, str]]


@frozen
class Unit:
    """Items that are prepared together."""

    items: Sequence[Incoming]
    stored: Stored

    @property
    def is_text(self) -> bool:
        """Whether it has texts alone, and no files that would travel to a helper and back."""
        return all(one.blob is None for one in self.items)


@frozen
class NotPrepared:
    """An item that cannot be prepared, and why."""

    ref: str
    error: dict[str, str]


CHUNKER = "chunker"
FELL_BACK = "cut by its structure, not by a model"
"""The item's metadata get this text under ``chunker``; it never varies, so that another failed try changes nothing."""


@frozen
class Cut:
    """The passages of a text; ``problem`` says why the language model did not choose them although it should have."""

    passages: tuple[Passage, ...]
    problem: str = ""

    def noted_in(self, fields: Fields) -> Fields:
        """The fields of the item, with a note if the language model did not cut the text."""
        kept = {key: value for key, value in fields.metadata.items() if (key, value) != (CHUNKER, FELL_BACK)}
        metadata = {**kept, CHUNKER: FELL_BACK} if self.problem else kept
        return fields if metadata == fields.metadata else fields.with_changes({"metadata": metadata})


class Preparer:
    """Prepares items with the words of one store."""

    def __init__(self, analyzer: Analyzer, counter: TokenCounter) -> None:
        self.analyzer = analyzer
        self.counter = counter

    def cut(self, text: str, structure: str, language: str, kind: str) -> Cut:
        """The passages of a text, by its structure."""
        if not text:
            return Cut(())
        single = kind in REMEMBERED_KINDS
        return Cut(chunk(text, structure=structure, language=language, counter=self.counter, single=single))

    def unit(self, unit: Unit) -> list[PreparedItem | NotPrepared]:
        """All items of a unit, cut by their structure."""
        found: list[PreparedItem | NotPrepared] = []
        for one in unit.items:
            parsed = one.parsed
            try:
                cut = self.cut(parsed.text, parsed.structure, parsed.language, one.kind)
                found.append(self.incoming(one, cut, unit.stored))
            except Error as error:
                found.append(NotPrepared(str(one.ref), error.to_dict()))
        return found

    def incoming(self, incoming: Incoming, cut: Cut, stored: Stored) -> PreparedItem:
        """An item that was cut into passages, ready to be written."""
        parsed = incoming.parsed
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
        item = self.draft(draft, incoming.file, stored)
        return replace(item, times=incoming.times, origin=incoming.origin, vouched=incoming.vouched)

    def draft(self, draft: Draft, file: FileState | None, stored: Stored) -> PreparedItem:
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
            self.analyzer,
            prefixes=prefixes,
            lines=line_ranges(draft.content, draft.passages, draft.first_line),
            known=stored.keys.get(draft.ref, set()),
            file=file,
        )
        entities = stored.entities if draft.kind in MENTIONING_KINDS else ()
        return replace(item, mentions=mentioned(draft.content, entities), secrets=secret_counts(draft.content))


def merged_fields(incoming: Incoming) -> Fields:
    """The fields of the file; those that the caller gave take precedence."""
    parsed = incoming.parsed
    found: dict[str, Any] = {"mime_type": parsed.mime_type, "is_textual": parsed.is_textual, "title": parsed.title}
    found |= {name: value for name, value in parsed.fields.items() if value is not None}
    if incoming.ref.drive not in DRIVES_WITHOUT_ORIGIN:
        found.pop("immutable", None)  # such an item is what its file or page says, now and later
    if parsed.title and not found.get("title"):
        found["title"] = parsed.title
    return Fields().with_changes(found | dict(incoming.fields))
