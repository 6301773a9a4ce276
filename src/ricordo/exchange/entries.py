"""What machines tell each other through a folder: entries, each one change of one item, link, verdict or proposal.

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
    ProposalRecord,
    VersionRecord,
    check_item,
)
from ricordo.frozen import frozen
from ricordo.permissions import FILE_DRIVES
from ricordo.values.items import Ref
from ricordo.values.proposals import ACCEPTED, DRIVE, REFUSED, WAITING, proposal_id

VERSION, STATE, ERASE, LINK, FEEDBACK, WORD = "version", "state", "erase", "link", "feedback", "word"
PROPOSAL, PROPOSAL_RULE = "proposal", "proposal_rule"
REFERENCE = "reference"
NO_ITEMS = (LINK, FEEDBACK, PROPOSAL, PROPOSAL_RULE, REFERENCE)
"""Kinds of entries that change nothing in an item itself."""
ERASED = "erased"
"""The state of a proposal that was erased with its session."""
REFERENCES = "reference:"
"""How the names of documents begin that travel by reference."""
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


def proposal_body(entry: LogEntry) -> ProposalRecord:
    """What an entry says about a proposal, as values."""
    return decode(ProposalRecord, entry.body)


def plain_body(body: VersionBody) -> Mapping[str, Any]:
    """What is said about a version, as JSON has it."""
    plain: Mapping[str, Any] = encode(body)
    return plain


@frozen
class _Plain:
    kind: str
    item: str
    clock: int
    writer: str
    parents: tuple[str, ...]
    body: Mapping[str, Any]


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


@frozen
class RuleBody:
    """What the user decided about a whole kind of proposals; empty if that was taken back."""

    rule: str


@frozen
class ReferenceBody:
    """A document that a machine has, without its text; only the state is said of one that is gone or erased."""

    state: str
    ref: str = ""
    below_home: str = ""
    """Where the file is below its user's home, if it is there."""
    title: str = ""
    tags: tuple[str, ...] = ()
    url: str = ""
    text_hash: str = ""
    size: int = 0
    updated_at: int = 0


def reference_name(machine: str, item: str) -> str:
    """What the entries are about that say that a machine has a document."""
    return f"{REFERENCES}{machine} {item}"


_BODIES: Mapping[str, type[Any]] = {
    VERSION: VersionBody,
    STATE: _State,
    ERASE: _Erase,
    LINK: LinkBody,
    FEEDBACK: FeedbackBody,
    WORD: WordBody,
    PROPOSAL: ProposalRecord,
    PROPOSAL_RULE: RuleBody,
    REFERENCE: ReferenceBody,
}


def entry_from(plain: Any) -> LogEntry:
    """An entry from JSON, checked in every part: it becomes part of a store without being looked at again."""
    read = decode(_Plain, plain)
    entry = LogEntry(read.kind, read.item, read.clock, read.writer, read.parents, read.body)
    if entry.kind not in _BODIES:
        raise BadRecord(f"'{entry.kind}' is not a kind of change")
    if not 0 < entry.clock < LARGEST_CLOCK:
        raise BadRecord("its clock is not possible")
    if not entry.item:
        raise BadRecord("it names no item")
    body = decode(_BODIES[entry.kind], entry.body)
    if isinstance(body, VersionBody):
        _check_version(entry, body)
    if isinstance(body, _State) and body.state not in STATES:
        raise BadRecord(f"'{body.state}' is not a state of an item")
    if isinstance(body, ProposalRecord):
        _check_proposal(entry, body)
    if isinstance(body, RuleBody) and body.rule not in ("", "always", "never"):
        raise BadRecord(f"'{body.rule}' is no rule about proposals")
    if isinstance(body, ReferenceBody):
        _check_reference(entry, body)
    return entry


def _check_reference(entry: LogEntry, body: ReferenceBody) -> None:
    if body.state not in ("here", "gone", "erased"):
        raise BadRecord(f"'{body.state}' is not a state of a document")
    if not entry.item.startswith(reference_name(entry.writer, "")):
        raise BadRecord("it is about a document of another machine than its writer")
    if body.state == "here":
        check_ref(Ref.parse(body.ref))
    if ".." in body.below_home.split("/"):
        raise BadRecord(f"the path {body.below_home} walks through folders")


def _check_proposal(entry: LogEntry, body: ProposalRecord) -> None:
    if body.state not in (WAITING, ACCEPTED, REFUSED, ERASED):
        raise BadRecord(f"'{body.state}' is not a state of a proposal")
    if body.state != ERASED and entry.item != f"{DRIVE}{proposal_id(body.session, body.turn, body.text)}":
        raise BadRecord("it is about another proposal than it says")


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
