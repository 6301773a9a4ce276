"""What machines tell each other through a folder: entries, each one change of one item, link or verdict.

An entry never changes. Its name (``uid``) follows from what it says, so that the same change is one entry wherever it
was written down, however often it arrives. ``merging`` says what a set of entries means, ``machine_files`` how they are
kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ricordo.exchange.codec import BadRecord, decode, encode
from ricordo.exchange.records import (
    STATES,
    BlobRecord,
    ChunkRecord,
    ItemRecord,
    VersionRecord,
    check_item,
)
from ricordo.frozen import frozen
from ricordo.permissions import FILE_DRIVES
from ricordo.values.items import Ref

VERSION, STATE, ERASE, LINK, FEEDBACK, WORD = "version", "state", "erase", "link", "feedback", "word"
NO_ITEMS = (LINK, FEEDBACK)
"""Kinds of entries that change nothing in an item itself."""
LARGEST_CLOCK = 1 << 53
_UID_BYTES = 16


@frozen
class LogEntry:
    """One change. ``clock`` is a logical time: higher than that of every entry that its writer knew then.

    ``writer`` is the machine that wrote it, and which of its logs; ``parents`` are the entries of the same item that it
    was made on top of; ``body`` says the change itself, and is empty once that was erased.
    """

    kind: str
    item: str
    clock: int
    writer: str
    parents: tuple[str, ...]
    body: Mapping[str, Any]

    @property
    def order(self) -> tuple[int, str]:
        """All machines put entries into this one order. An entry comes after everything it was made on top of."""
        return self.clock, self.writer

    @property
    def uid(self) -> str:
        body = self.body
        said: list[object] = [self.kind, self.item]
        if self.kind == VERSION:
            said += [body["version"]["hash"], body["version"]["created_at"]]
        elif self.kind == STATE:
            said += [body["state"], body["at"]]
        elif self.kind == ERASE:
            said += sorted(body["uids"])
        else:
            said += [json.dumps(dict(body), sort_keys=True)]
            if self.kind != FEEDBACK:  # a link may be made, unmade and made again; a verdict is given once
                said += [self.clock, self.writer]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[: 2 * _UID_BYTES]

    def to_line(self) -> bytes:
        plain = {
            "kind": self.kind,
            "item": self.item,
            "clock": self.clock,
            "writer": self.writer,
            "parents": list(self.parents),
            "body": dict(self.body),
        }
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


@frozen
class VersionBody:
    """What an entry says about a version. ``version`` has its number and layout as its writer had them."""

    version: VersionRecord
    passages: tuple[tuple[str, str, str, int, int], ...]
    """Text, heading, what is embedded before it, first and last line of each passage."""
    machine: str
    """The machine that has the file, of a version of a file; its ref is plain."""
    vouched: bool
    """Whether the user wrote it or agreed to it."""
    created_at: datetime
    updated_at: datetime
    """When the item was made, and when its text last changed."""
    secrets: Mapping[str, Any]
    blob: bytes | None = None

    def record(self, identity: str) -> ItemRecord:
        """An item with this version alone, for the checks that imports make, too."""
        version = self.version
        chunks = tuple(
            ChunkRecord(text, heading, prefix, "live", version.created_at, None)
            for text, heading, prefix, *_ in self.passages
        )
        blobs = () if self.blob is None or version.blob is None else (BlobRecord(version.blob, self.blob),)
        return ItemRecord(
            identity, version.ref, version.kind, "live", version.number, self.created_at, self.updated_at, None, None,
            None, None, (version,), chunks, blobs, (), self.secrets, None, self.machine,
        )  # fmt: skip


def text_mark(item: str, text_hash: str) -> str:
    """What an erasure keeps of a text, to know it again in a version that its writer had not seen."""
    return hashlib.sha256(f"{item} {text_hash}".encode()).hexdigest()[: 2 * _UID_BYTES]


def version_body(entry: LogEntry) -> VersionBody:
    """What an entry says about a version, as values."""
    return decode(VersionBody, entry.body)


def plain_body(body: VersionBody) -> Mapping[str, Any]:
    """What is said about a version, as JSON has it."""
    plain: Mapping[str, Any] = encode(body)
    return plain


@frozen
class _State:
    state: str
    at: int
    provenance: Mapping[str, Any]


@frozen
class _Erase:
    uids: tuple[str, ...]
    texts: tuple[str, ...]
    provenance: Mapping[str, Any]


@frozen
class LinkBody:
    """A link between two items that somebody made by hand, or took away."""

    target: str
    type: str
    at: int
    exists: bool


@frozen
class FeedbackBody:
    """A verdict on what a query found."""

    query: str
    ref: str
    verdict: str
    counted: bool
    at: int


@frozen
class WordBody:
    """Whether the user stands by a version, said after it was written."""

    uid: str
    given: bool


KINDS: Mapping[str, type[Any]] = {
    VERSION: VersionBody,
    STATE: _State,
    ERASE: _Erase,
    LINK: LinkBody,
    FEEDBACK: FeedbackBody,
    WORD: WordBody,
}


def entry_from(plain: Any) -> LogEntry:
    """An entry from JSON, checked in every part: it becomes part of a store without being looked at again."""
    entry = decode(LogEntry, plain)
    if entry.kind not in KINDS:
        raise BadRecord(f"'{entry.kind}' is not a kind of change")
    if not 0 < entry.clock < LARGEST_CLOCK:
        raise BadRecord("its clock is not possible")
    if not entry.item:
        raise BadRecord("it names no item")
    body = decode(KINDS[entry.kind], entry.body)
    if isinstance(body, VersionBody):
        _check_version(entry, body)
    if isinstance(body, _State) and body.state not in STATES:
        raise BadRecord(f"'{body.state}' is not a state of an item")
    return entry


def _check_version(entry: LogEntry, body: VersionBody) -> None:
    check_ref(body.version.ref)
    starts = 0
    layout = []
    for at, (text, _, _, first, last) in enumerate(body.passages):
        layout.append((at, starts, first, last))
        starts += len(text)
    if tuple(layout) != body.version.layout:
        raise BadRecord("its passages do not cover its text")
    check_item(body.record(entry.item))


def check_ref(ref: Ref) -> None:
    """Refuse a ref that names a file or a repository of the machine and walks through folders. On other drives, such a
    path leads nowhere: older machines may have it, and knowledge files get harmless names (``file_name``).
    """
    if ref.drive in FILE_DRIVES and ref.walks:
        raise BadRecord(f"the ref {ref} walks through folders")
