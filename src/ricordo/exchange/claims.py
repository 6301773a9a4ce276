"""What records of items claim beyond their texts: files and addresses that they came from, what every agent gets,
skills to follow, tools to call.

Whoever wrote the records decides what is in them. If these claims were trusted, a later ``refresh`` could read any file
of this machine into the store or fetch any page, and every agent would get texts that somebody else wrote. So they are
dropped from what the user does not trust.

What the stored item has already is not granted by a record, and so a record does not take it away either: where it says
the same as the store, what is stored stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ricordo.exchange.records import ItemRecord, VersionRecord
from ricordo.speaking import speaker
from ricordo.values.items import Draft, version_hash
from ricordo.values.provenance import IMPORT

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
