"""The file of an export: one record a line, JSON in UTF-8, equal for equal stores.

First comes a header, then items, then records that refer to items. A record names an item by its id. When a file is
read, each record is checked, and at the end that none is missing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from datetime import datetime
from functools import cache
from typing import Any, BinaryIO, NoReturn

from ricordo.errors import Unreadable
from ricordo.exchange.codec import BadRecord, decode, encode, object_decoder
from ricordo.exchange.records import ItemRecord, check_item
from ricordo.frozen import frozen
from ricordo.values.items import FIELD_NAMES, Draft, version_hash

FORMAT = "ricordo-export"
FORMAT_VERSION = 2

_BATCH_CHUNKS = 1_000
_BATCH_ITEMS = 500
_BATCH_BYTES = 32_000_000
_BATCH_OTHERS = 1_000


@frozen
class Header:
    """The first line. ``counts`` says how many records of each type follow, ``changed_at`` how current they are."""

    format: str
    version: int
    language: str
    changed_at: datetime | None
    counts: Mapping[str, Any]


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
        {"path": str, "globs": tuple[str, ...], "about": str, "added_at": datetime, "machine": str},
        "t.path, t.machine",
        defaults={"machine": "", "about": ""},
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


def take_header(records: Iterator[Record]) -> Header:
    """The header, which is the first of the records."""
    header = next(records)
    assert isinstance(header, Header), "the header is read first"
    return header


def batches(records: Iterator[Record]) -> Iterator[tuple[list[ItemRecord], list[Row]]]:
    """Items, and then the other records, in batches of one transaction each."""
    items: list[ItemRecord] = []
    others: list[Row] = []
    chunks = size = 0
    for record in records:
        if isinstance(record, ItemRecord):
            items.append(record)
            chunks += len(record.chunks)
            size += sum(len(chunk.text) for chunk in record.chunks) + sum(len(blob.data) for blob in record.blobs)
            if chunks >= _BATCH_CHUNKS or len(items) >= _BATCH_ITEMS or size >= _BATCH_BYTES:
                yield items, []
                items, chunks, size = [], 0, 0
        elif isinstance(record, Row):
            if items:
                yield items, []
                items = []
            others.append(record)
            if len(others) >= _BATCH_OTHERS:
                yield [], others
                others = []
    if items or others:
        yield items, others
