"""Writes and reads an export as a file: JSON lines in UTF-8, such that equal stores give equal bytes.

When it reads, it checks each record, and at the end that none is missing. The store decides what to do with the
records.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NoReturn

from ricordo.errors import Unreadable
from ricordo.exchange.codec import BadRecord, decode, encode
from ricordo.exchange.records import (
    FORMAT,
    FORMAT_VERSION,
    TYPES,
    Header,
    ItemRecord,
    Record,
    Row,
    check_item,
    decode_row,
    type_of,
)
from ricordo.values.items import FIELD_NAMES, Draft, version_hash

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
    yield _header(lines)
    yield from lines.records()
    lines.check_complete()


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
        self.header: Header | None = None
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
                record: Record = decode(ItemRecord, plain) if name == "item" else decode_row(name, plain)
                if isinstance(record, ItemRecord):
                    check_item(record)
                    _check_hashes(record)
            except BadRecord as problem:
                what = f"item {plain.get('ref')}" if name == "item" else name
                self.fail(f"{what}: {problem}", _DAMAGED)
            self.seen[name] += 1
            yield record

    def check_complete(self) -> None:
        assert self.header is not None, "the header is read first"
        for name, count in self.header.counts.items():
            if self.seen[name] != count:
                self.fail(f"the file is cut off: {self.seen[name]} of {count} records of type {name}", _CUT_OFF)


_DAMAGED = (
    "The file was damaged or changed by hand; export again, or remove the line and lower its count in the header."
)
_CUT_OFF = "Copy the file again, or export again."
_OTHERS = "Name what it is with ‹format›: obsidian, basic-memory or mem0."


def _header(lines: _Lines) -> Header:
    line = lines.next()
    if not line:
        raise Unreadable(f"{lines.name} is empty", hint="An export starts with a header line.")
    try:
        plain = json.loads(line)
    except (ValueError, RecursionError):
        plain = None
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise Unreadable(f"{lines.name} is not an export of Ricordo", hint=_OTHERS)
    version = plain.get("version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise Unreadable(
            f"{lines.name} has format {version}, this Ricordo knows up to {FORMAT_VERSION}",
            hint="Upgrade Ricordo (pip install -U ricordo).",
        )
    plain.pop("record", None)
    try:
        header = decode(Header, plain)
    except BadRecord as problem:
        lines.fail(f"the header: {problem}", _DAMAGED)
    lines.header = header
    return header


def _check_hashes(item: ItemRecord) -> None:
    """Refuse a version whose fields were changed by hand, because the store would take it for damaged for ever. What a
    later Ricordo wrote may have fields that are not known here, and is left alone.
    """
    for version in item.versions:
        if version.fields.keys() <= set(FIELD_NAMES):
            draft = Draft(version.ref, version.kind, "", version.known_fields())
            if version_hash(draft, version.text_hash) != version.hash:
                raise BadRecord(f"version {version.number}: its fields are not what their hash says")
