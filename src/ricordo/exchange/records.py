"""The records of an export and the file that holds them: one record a line, JSON in UTF-8, equal for equal stores.

First comes a header, then items, then records that refer to items. A record names an item by its id. A version's text
is the texts of its chunks, one after another, so that a passage that twenty versions share is in the file once. Vectors
and the keyword index are left out, because they can be made again. When a file is read, each record is checked, and at
the end that none is missing. The store decides what to do with the records.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from datetime import datetime
from functools import cache
from typing import Any, BinaryIO, NoReturn

from ricordo.errors import Unreadable
from ricordo.exchange.codec import BadRecord, check_field, decode, encode, object_decoder
from ricordo.frozen import frozen
from ricordo.values.file_refs import DISK, FileRefs
from ricordo.values.items import FIELD_NAMES, Draft, Fields, Passage, Ref, version_hash
from ricordo.values.kinds import KINDS

FORMAT = "ricordo-export"
FORMAT_VERSION = 2

STATES = ("live", "archived", "deleted")
CHUNK_STATES = ("live", "superseded", "deleted")


@frozen
class Header:
    """The first line. ``counts`` says how many records of each type follow, ``changed_at`` how current they are."""

    format: str
    version: int
    language: str
    changed_at: datetime | None
    counts: Mapping[str, Any]


@frozen
class FileRecord:
    """What an item's file looked like when it was read."""

    mtime: int
    size: int
    hash: str
    fields: Mapping[str, Any]


@frozen
class UsageRecord:
    """How often and when an item was found and opened."""

    retrieval_count: int
    last_retrieved_at: datetime | None
    access_count: int
    last_accessed_at: datetime | None
    decay_score: float
    decay_at: datetime | None


@frozen
class ChunkRecord:
    """A passage: when it was part of the item, and what is embedded in front of its text."""

    text: str
    heading: str
    prefix: str
    state: str
    live_from: datetime
    live_until: datetime | None


@frozen
class BlobRecord:
    """The bytes of a file that holds no text."""

    hash: str
    data: bytes


@frozen
class VersionRecord:
    """One version. ``layout`` has, for each passage: its place in ``chunks``, its first character, its lines."""

    number: int
    previous: int | None
    hash: str
    text_hash: str
    ref: Ref
    kind: str
    state: str
    created_at: datetime
    fields: Mapping[str, Any]
    first_line: int
    marks: tuple[tuple[int, str], ...]
    layout: tuple[tuple[int, int, int, int], ...]
    blob: str | None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Who wrote it, as the exporting store knew it; empty for unknown."""

    def known_fields(self) -> Fields:
        """The fields as a value; names that this version does not know are left out."""
        plain = {name: value for name, value in self.fields.items() if name in FIELD_NAMES}
        return Fields(**{**plain, "tags": tuple(plain.get("tags", ()))})


@frozen
class TextLinkRecord:
    """A link in an item's text; the item it leads to is looked up again on import."""

    text: str
    name: str
    type: str
    created_at: datetime


@frozen
class ItemRecord:
    """An item with everything that belongs to it alone."""

    id: str
    ref: Ref
    kind: str
    state: str
    version: int
    created_at: datetime
    updated_at: datetime
    indexed_at: datetime | None
    deleted_at: datetime | None
    file: FileRecord | None
    usage: UsageRecord | None
    versions: tuple[VersionRecord, ...]
    chunks: tuple[ChunkRecord, ...]
    blobs: tuple[BlobRecord, ...]
    links: tuple[TextLinkRecord, ...]
    secrets: Mapping[str, Any]
    """How many secrets of each kind were found in the text; never the secrets themselves."""
    vouched: int | None = None
    """The newest version that the user of the exporting store wrote or agreed to."""
    machine: str = ""
    """The id of the machine that has the file, whose ref is plain in an export; empty for unknown."""

    def placed_in(self, refs: FileRefs) -> ItemRecord:
        """The same item with the refs that it has in a store; a file of an unknown machine gets a plain ref."""
        if self.ref.drive != DISK:
            return self
        versions = tuple(
            replace(one, ref=refs.ref(one.ref.path, self.machine)) if one.ref.drive == DISK else one
            for one in self.versions
        )
        return replace(self, ref=refs.ref(self.ref.path, self.machine), versions=versions)

    def head(self) -> VersionRecord:
        return next(version for version in self.versions if version.number == self.version)

    def content(self, version: VersionRecord) -> str:
        return "".join(self.chunks[chunk].text for chunk, *_ in version.layout)

    def passages(self, version: VersionRecord) -> tuple[Passage, ...]:
        """The version's text as it was cut."""
        held = [self.chunks[chunk] for chunk, *_ in version.layout]
        starts = [start for _, start, *_ in version.layout]
        return tuple(
            Passage(start, start + len(chunk.text), chunk.heading) for start, chunk in zip(starts, held, strict=True)
        )


@frozen
class FoundRecord:
    """An item in the answer to a query."""

    item: str
    ref: str
    version: int
    score: float | None
    at: datetime


@frozen
class Row:
    """A record that is no item: a row of a table, in which ids stand for the numbers of items."""

    type: str
    values: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


@frozen
class Rows:
    """How the records of one type are rows of a table."""

    table: str
    columns: Mapping[str, Any]
    """The values of a record, in the order of the file, with their types."""
    order: str = "t.id"
    where: str = ""
    items: tuple[str, ...] = ()
    """Columns with the numbers of items."""
    known_by: tuple[str, ...] = ()
    """Of a log: the columns that tell an entry from another, the first a time. What is there is not written again."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Values that an earlier Ricordo did not write."""
    from_column: Mapping[str, str] = field(default_factory=dict)
    """Expressions for values that are not simply columns, of the row ``t``."""
    is_log: bool = False
    """Whether an export may leave them out."""

    @property
    def select(self) -> str:
        values = [
            self.from_column.get(name)
            or (f"(SELECT i.id FROM items i WHERE i.n = t.{name})" if name in self.items else f"t.{name}")
            for name in self.columns
        ]
        where = f" WHERE {self.where}" if self.where else ""
        return f"SELECT {', '.join(values)} FROM {self.table} t{where} ORDER BY {self.order}"


_WHO = Mapping[str, Any]
"""Who asked or acted; empty for unknown."""
ROWS: Mapping[str, Rows] = {
    "link": Rows(  # that is not written in a text; ``text`` is empty, or the words of a mention
        "links",
        {"source": str, "target": str, "type": str, "origin": str, "text": str, "created_at": datetime},
        "1, 2, 3, 4, 5",
        "t.origin <> 'text' AND t.target IS NOT NULL",
        ("source", "target"),
    ),
    "feedback": Rows(  # ``ref`` is the name of the item, which may be gone; empty once that was erased
        "feedback",
        {"query": str, "item": str | None, "ref": str, "verdict": str, "counted": bool, "at": datetime},
        items=("item",),
        known_by=("at", "query", "ref", "verdict"),
    ),
    "learned": Rows(  # the first ``since`` verdicts of the file no longer count for the profile
        "learned",
        {"profile": str, "shift": float, "since": int},
        "t.profile",
        from_column={"since": "(SELECT count(*) FROM feedback f WHERE f.id <= t.since)"},
    ),
    "weights": Rows(
        "weight_log",
        {
            "profile": str, "at": datetime, "reason": str, "before": Mapping[str, Any], "after": Mapping[str, Any],
            "shift_before": float, "shift_after": float, "counted": int,
        },
        known_by=("at", "profile"),
    ),
    "query": Rows(  # ``fit`` says how well the best hit fitted
        "query_log",
        {
            "text": str, "tool": str, "profile": str, "results": int, "refs": tuple[str, ...], "ms": float,
            "at": datetime, "found": tuple[FoundRecord, ...], "asker": _WHO, "fit": float | None,
        },
        known_by=("at", "text", "tool"),
        defaults={"asker": {}, "fit": None},
        from_column={"found": "t.id"},
        is_log=True,
    ),
    "opening": Rows(  # an item that was opened by its name: no query in the log found it
        "retrieval_log",
        {"item": str, "ref": str, "version": int, "score": float | None, "at": datetime, "asker": _WHO},
        where="t.query IS NULL OR NOT EXISTS (SELECT 1 FROM query_log q WHERE q.id = t.query)",
        items=("item",),
        known_by=("at", "item", "query"),
        defaults={"asker": {}},
        is_log=True,
    ),
    "root": Rows(  # a folder that was added; the name of its machine, ``#``, and its id
        "roots",
        {"path": str, "globs": tuple[str, ...], "added_at": datetime, "machine": str},
        "t.path, t.machine",
        defaults={"machine": ""},
    ),
    "freeze": Rows(
        "meta", {"frozen": bool}, "t.name", "t.name = 'learning_frozen'", from_column={"frozen": "t.value"}
    ),
    "audit": Rows(  # a change that made no version; here an item is known by its id
        "audit",
        {"at": datetime, "what": str, "item": str, "ref": str, "version": int, "provenance": _WHO},
        known_by=("at", "item", "what"),
        is_log=True,
    ),
    "proposal": Rows(  # with what was decided about it, so that it is not proposed again
        "proposals",
        {
            "text": str, "kind": str, "scope": str, "quote": str, "session": str, "turn": int, "at": datetime,
            "way": str, "file": str, "branch": str, "state": str, "became": str,
        },
    ),
    "proposal_rule": Rows("", {"name": str, "rule": str}),  # what was decided about a whole kind of proposals
}  # fmt: skip
"""Everything but the items, in the order of a file."""

Record = Header | ItemRecord | Row
TYPES = ("header", "item", *ROWS)
"""The types of records, in the order of a file."""


def type_of(record: Record) -> str:
    """The type of a record, as a file names it."""
    return record.type if isinstance(record, Row) else "item" if isinstance(record, ItemRecord) else "header"


@cache
def _row_decoder(name: str) -> Callable[[Any, str], Any]:
    return object_decoder(ROWS[name].columns, ROWS[name].defaults)


def check_item(item: ItemRecord) -> None:
    """Refuse an item whose parts do not fit together, because it could not be found or would be another text."""
    _among("state", item.state, STATES)
    _among("kind", item.kind, KINDS)
    numbers = [version.number for version in item.versions]
    if numbers != sorted(set(numbers)) or item.version not in numbers or numbers[0] < 1:
        raise BadRecord(f"the versions {numbers} do not lead to version {item.version}")
    held: set[int] = set()
    blobs = {blob.hash: blob.data for blob in item.blobs}
    for digest, data in blobs.items():
        if hashlib.sha256(data).hexdigest() != digest:
            raise BadRecord(f"the bytes {digest[:12]} are not what their hash says")
    for version in item.versions:
        _check_version(item, version, blobs)
        held.update(chunk for chunk, *_ in version.layout)
    if held != set(range(len(item.chunks))):
        raise BadRecord("some chunks belong to no version")
    for chunk in item.chunks:
        _among("the state of a chunk", chunk.state, CHUNK_STATES)
    if not all(isinstance(count, int) for count in item.secrets.values()):
        raise BadRecord("the counts of secrets are not whole numbers")
    if item.usage is not None and not 0 <= item.usage.decay_score <= 1:
        raise BadRecord("the decay score is not between 0 and 1")


def _check_version(item: ItemRecord, version: VersionRecord, blobs: Mapping[str, bytes]) -> None:
    name = f"version {version.number}"
    _among(f"{name}: kind", version.kind, KINDS)
    for field_name in version.fields.keys() & set(FIELD_NAMES):
        try:
            check_field(Fields, field_name, version.fields[field_name])
        except BadRecord:
            raise BadRecord(f"{name}: the field {field_name} has a value it cannot hold") from None
    reached = 0
    for chunk, start, *_ in version.layout:
        if not 0 <= chunk < len(item.chunks) or start != reached:
            raise BadRecord(f"{name}: the passages do not cover its text")
        reached += len(item.chunks[chunk].text)
    if version.blob is not None and version.blob not in blobs:
        raise BadRecord(f"{name}: its bytes are missing")
    whole = blobs[version.blob] if version.blob is not None else item.content(version).encode()
    if hashlib.sha256(whole).hexdigest() != version.text_hash:
        raise BadRecord(f"{name}: the text is not what its hash says")


def _among(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise BadRecord(f"{name} is '{value}', which is none of {', '.join(allowed)}")


MOST_LEVELS = 100
"""Metadata nested more deeply is refused: nobody writes such metadata, and code that walks through it would fail."""


def write(records: Iterable[Record], out: BinaryIO) -> tuple[int, dict[str, int]]:
    """Write records as lines; returns the number of bytes, and of records of each type."""
    written: Counter[str] = Counter()
    size = 0
    for record in records:
        name = type_of(record)
        plain = (
            {key: encode(value) for key, value in record.values.items()} if isinstance(record, Row) else encode(record)
        )
        line = json.dumps({"record": name, **plain}, ensure_ascii=False, separators=(",", ":")).encode()
        out.write(line + b"\n")
        written[name] += 1
        size += len(line) + 1
    del written["header"]
    return size, dict(written)


def read(source: BinaryIO, name: str) -> Iterator[Record]:
    """The records of a file, the header first; ``name`` is what the file is called in errors."""
    lines = _Lines(source, name)
    header = lines.header()
    yield header
    yield from lines.records()
    for kind, count in header.counts.items():
        if lines.seen[kind] != count:
            lines.fail(f"the file is cut off: {lines.seen[kind]} of {count} records of type {kind}", _CUT_OFF)


def _is_too_deep(plain: object) -> bool:
    """Whether values are nested more deeply than is allowed."""
    level = [plain]
    for _ in range(MOST_LEVELS):
        level = [
            inner
            for one in level
            if isinstance(one, (dict, list))
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return True


class _Lines:
    """The lines of one file, counted."""

    def __init__(self, source: BinaryIO, name: str) -> None:
        self.source = source
        self.name = name
        self.number = 0
        self.seen: Counter[str] = Counter()

    def next(self) -> bytes:
        self.number += 1
        return self.source.readline()

    def fail(self, problem: str, hint: str) -> NoReturn:
        raise Unreadable(f"{self.name}, line {self.number}: {problem}", hint=hint)

    def plain(self, line: bytes) -> dict[str, Any]:
        try:
            if not line.endswith(b"\n"):
                self.fail("the line does not end: the file is cut off", _CUT_OFF)
            plain = json.loads(line.decode("utf-8-sig"))  # strictly: given bytes, it would let half characters pass
            if _is_too_deep(plain):
                self.fail(f"it is nested more than {MOST_LEVELS} levels deep", _DAMAGED)
            if b"\\ud" in line or b"\\uD" in line:
                json.dumps(plain, ensure_ascii=False).encode()
        except UnicodeError:
            self.fail("a text in it is not valid Unicode", _DAMAGED)
        except (ValueError, RecursionError) as error:
            self.fail(f"not JSON ({error})", _DAMAGED)
        if not isinstance(plain, dict):
            self.fail("not a record", _DAMAGED)
        return plain

    def records(self) -> Iterator[Record]:
        last = 0
        while line := self.next():
            plain = self.plain(line)
            name = plain.pop("record", None)
            if not isinstance(name, str) or name not in TYPES or name == "header":
                self.fail(f"'{name}' is not a type of record", _DAMAGED)
            if TYPES.index(name) < last:
                self.fail(f"a record of type {name} comes after records that may refer to it", _DAMAGED)
            last = TYPES.index(name)
            try:
                record: Record
                if name == "item":
                    record = decode(ItemRecord, plain)
                    check_item(record)
                    _check_hashes(record)
                else:
                    record = Row(name, {**ROWS[name].defaults, **_row_decoder(name)(plain, "")})
            except BadRecord as problem:
                what = f"item {plain.get('ref')}" if name == "item" else name
                self.fail(f"{what}: {problem}", _DAMAGED)
            self.seen[name] += 1
            yield record

    def header(self) -> Header:
        line = self.next()
        if not line:
            raise Unreadable(f"{self.name} is empty", hint="An export starts with a header line.")
        try:
            plain = json.loads(line)
        except (ValueError, RecursionError):
            plain = None
        if not isinstance(plain, dict) or plain.get("format") != FORMAT:
            raise Unreadable(f"{self.name} is not an export of Ricordo", hint=_OTHERS)
        version = plain.get("version")
        if isinstance(version, int) and version > FORMAT_VERSION:
            raise Unreadable(
                f"{self.name} has format {version}, this Ricordo knows up to {FORMAT_VERSION}",
                hint="Upgrade Ricordo (pip install -U ricordo).",
            )
        plain.pop("record", None)
        try:
            return decode(Header, plain)
        except BadRecord as problem:
            self.fail(f"the header: {problem}", _DAMAGED)


_DAMAGED = (
    "The file was damaged or changed by hand; export again, or remove the line and lower its count in the header."
)
_CUT_OFF = "Copy the file again, or export again."
_OTHERS = "Name what it is with ‹format›: obsidian, basic-memory or mem0."


def _check_hashes(item: ItemRecord) -> None:
    """Refuse a version whose fields were changed by hand, because the store would take it for damaged for ever. What a
    later Ricordo wrote may have fields that are not known here, and is left alone.
    """
    for version in item.versions:
        if version.fields.keys() <= set(FIELD_NAMES):
            draft = Draft(version.ref, version.kind, "", version.known_fields())
            if version_hash(draft, version.text_hash) != version.hash:
                raise BadRecord(f"version {version.number}: its fields are not what their hash says")
