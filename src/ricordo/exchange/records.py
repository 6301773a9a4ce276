"""An item as a record: everything that belongs to it alone, in values that JSON can hold.

A version's text is the texts of its chunks, one after another, so that a passage that twenty versions share is in the
record once. Vectors and the keyword index are left out, because they can be made again.

A record claims more than its texts: files and addresses that they came from, what every agent gets, skills to follow,
tools to call. Whoever wrote it decides what is in it. If these claims were trusted, a later ``refresh`` could read any
file of this machine into the store or fetch any page, and every agent would get texts that somebody else wrote. So they
are dropped from what the user does not trust.

What the stored item has already is not granted by a record, and so a record does not take it away either: where it says
the same as the store, what is stored stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from datetime import datetime
from typing import Any

from ricordo.digests import hash_of
from ricordo.exchange.codec import BadRecord, check_field
from ricordo.frozen import frozen
from ricordo.speaking import speaker
from ricordo.values.items import DISK, FIELD_NAMES, Draft, Fields, FileRefs, Passage, Ref, version_hash
from ricordo.values.kinds import KINDS
from ricordo.values.provenance import IMPORT

STATES = ("live", "archived", "deleted")
CHUNK_STATES = ("live", "superseded", "deleted")


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
        if hash_of(data) != digest:
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
    if hash_of(whole) != version.text_hash:
        raise BadRecord(f"{name}: the text is not what its hash says")


def _among(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise BadRecord(f"{name} is '{value}', which is none of {', '.join(allowed)}")


ALWAYS = "item that every agent would get"
USERS = "claim that you wrote an item"
ADDRESS = "address that an item would be fetched from"
CLAIMED_ADDRESS = "claimed_source_url"
"""The address that an import gives for an item is kept in its metadata under this name, where nothing fetches it."""
_NOTHING: Mapping[str, Any] = {}
_OFFERED = ("skill", "tool")
"""Kinds that are offered to agents to follow and to call."""


class ItemClaims:
    """Removes the claims from items, and counts them.

    ``stored`` gives the item that one of the records would replace; without it, nothing is replaced.
    """

    def __init__(self, name: str, *, stored: Callable[[ItemRecord], ItemRecord | None] | None = None) -> None:
        self.left_alone: set[str] = set()
        """The ids, in the records, of items that are stored with the same text and fields."""
        self.dropped: Counter[str] = Counter()
        self._stored = stored or (lambda _: None)
        self.said = replace(speaker(), author=IMPORT, origin=name)

    def harmless(self, item: ItemRecord) -> ItemRecord | None:
        """The item without claims but for those that the stored item has too; None for one that is a claim itself.

        Its current version is compared with the stored current one; a version that is stored keeps its author, and
        others are said by these records.
        """
        if kinds := [kind for kind in _OFFERED if kind in (item.ref.drive, item.head().kind)]:
            self.dropped[kinds[0]] += 1
            return None
        stored = self._stored(item)
        head, before = item.head(), stored.head() if stored is not None else None
        known = {one.hash: one for one in stored.versions} if stored is not None else {}
        file = users = None
        if stored is not None and before is not None:
            if (head.hash, item.state) == (before.hash, stored.state):
                self.left_alone.add(item.id)
            file = item.file if item.file == stored.file and head.text_hash == before.text_hash else None
            users = next((one.hash for one in stored.versions if one.number == stored.vouched), None)
        self.dropped.update(claims_of(head.fields, before.fields if before is not None else {}))
        self.dropped["file that an item came from"] += item.file is not None and file is None
        versions = []
        for one in item.versions:
            same = before if one.number == item.version else known.get(one.hash)
            plain = _harmless_version(item, one, same.fields if same is not None else {})
            claimed = replace(self.said, claimed=dict(plain.provenance)).to_dict()
            is_known = plain.hash in known
            versions.append(replace(plain, provenance=known[plain.hash].provenance if is_known else claimed))
        # The version with the user's word is the newest that equals the one that has it in the store.
        vouched = max((one.number for one in versions if one.hash == users), default=None)
        return replace(item, versions=tuple(versions), file=file, vouched=vouched)


def claims_of(fields: Mapping[str, Any], stored: Mapping[str, Any] = _NOTHING) -> list[str]:
    """What the fields of an item claim that the stored one has not."""
    made = ((ALWAYS, "loading"), (USERS, "source"), (ADDRESS, "source_url"))
    claimed = [(what, name) for what, name in made if fields.get(name) and fields[name] != stored.get(name)]
    return [what for what, name in claimed if name != "source" or fields[name] == "user"]


def harmless_fields(fields: Mapping[str, Any], stored: Mapping[str, Any] = _NOTHING) -> dict[str, Any]:
    """The fields without claims; where the item says it comes from is kept as a plain fact about it."""
    plain = dict(fields)
    claims = claims_of(fields, stored)
    if ALWAYS in claims:
        plain["loading"] = None
    if USERS in claims:
        plain["source"] = "file"
    if ADDRESS in claims:
        plain["metadata"] = {**(plain.get("metadata") or {}), CLAIMED_ADDRESS: plain.pop("source_url")}
    return plain


def _harmless_version(item: ItemRecord, version: VersionRecord, stored: Mapping[str, Any] = _NOTHING) -> VersionRecord:
    """A version without claims but for those that stored fields make too."""
    if not claims_of(version.fields, stored):
        return version
    changed = replace(version, fields=harmless_fields(version.fields, stored))
    draft = Draft(version.ref, version.kind, item.content(version), changed.known_fields())
    return replace(changed, hash=version_hash(draft, version.text_hash))
