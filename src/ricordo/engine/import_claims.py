"""What an import claims beyond its texts: folders to read, files and pages that items came from, what every agent gets,
skills to follow, tools to call.

The author of the file decides what is in it. If these claims were trusted, a later ``refresh`` could read any file of
this machine into the store or fetch any page, and every agent would get texts that somebody else wrote. So these claims
are dropped unless the user says that the file is to be trusted, and the report says what was dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ricordo.speaking import speaker, speaking
from ricordo.values.proposals import WAITING
from ricordo.values.provenance import IMPORT

if TYPE_CHECKING:
    from ricordo.exchange.records import ItemRecord, Record, VersionRecord
    from ricordo.values.items import Entry


_ALWAYS = "item that every agent would get"
_USERS = "claim that you wrote an item"
_ADDRESS = "address that an item would be fetched from"
CLAIMED_ADDRESS = "claimed_source_url"
"""The address that an import gives for an item is kept in its metadata under this name, where nothing fetches it."""
_OFFERED = ("skill", "tool")
"""Kinds that are offered to agents to follow and to call."""
_MANY = {
    _USERS: "claims that you wrote items",
    _ADDRESS: "addresses that items would be fetched from",
    "skill": "skills",
    "tool": "tools",
    "folder to refresh": "folders to refresh",
    "item that every agent would get": "items that every agent would get",
    "file that an item came from": "files that items came from",
    "entry of the audit": "entries of the audit",
    "rule about proposals": "rules about proposals",
    "proposal that waits": "proposals that wait",
}


class Claims:
    """Removes the claims from records as they are read, and counts them."""

    def __init__(self, name: str, *, trust: bool) -> None:
        self.trust = trust
        self._said = replace(speaker(), author=IMPORT, origin=name)
        self._dropped: Counter[str] = Counter()

    def without(self, records: Iterator[Record]) -> Iterator[Record]:
        """The records with nothing but texts, fields and what refers to them, unless they are trusted."""
        from ricordo.exchange.records import (
            AuditRecord,
            ItemRecord,
            ProposalRecord,
            ProposalRuleRecord,
            RootRecord,
        )

        for record in records:
            if self.trust:
                yield _vouched_for(record) if isinstance(record, ItemRecord) else record
            elif isinstance(record, RootRecord):
                self._dropped["folder to refresh"] += 1
            elif isinstance(record, AuditRecord):
                self._dropped["entry of the audit"] += 1
            elif isinstance(record, ProposalRuleRecord):
                self._dropped["rule about proposals"] += 1
            elif isinstance(record, ProposalRecord) and record.state == WAITING:
                self._dropped["proposal that waits"] += 1
            elif isinstance(record, ItemRecord):
                if kinds := [kind for kind in _OFFERED if kind in (record.ref.drive, record.head().kind)]:
                    self._dropped[kinds[0]] += 1
                else:
                    yield self._harmless(record)
            else:
                yield record

    def _harmless(self, item: ItemRecord) -> ItemRecord:
        self._dropped.update(_claims(item.head().fields))
        self._dropped["file that an item came from"] += item.file is not None
        versions = tuple(_harmless_version(item, self._attributed(one)) for one in item.versions)
        return replace(item, versions=versions, file=None, vouched=None)

    def _attributed(self, version: VersionRecord) -> VersionRecord:
        """The version as said by this export; what the export says of its author is kept beside that."""
        return replace(version, provenance=replace(self._said, claimed=dict(version.provenance)).to_dict())

    def without_claims(self, entries: Sequence[Entry]) -> list[Entry]:
        """The texts of another program without what they claim, unless they are trusted."""
        if self.trust:
            return list(entries)
        for entry in entries:
            self._dropped.update(_claims(entry.fields))
        return [replace(entry, fields=_harmless_fields(entry.fields)) for entry in entries]

    def speaking(self) -> AbstractContextManager[None]:
        """What is written in the block is said by the file; if it is trusted, by the user who took it from there."""
        return speaking(replace(speaker(), origin=self._said.origin) if self.trust else self._said)

    def notes(self) -> tuple[str, ...]:
        """What was dropped, and how to keep it."""
        dropped = [f"{count:,} {what if count == 1 else _MANY[what]}" for what, count in self._dropped.items() if count]
        if not dropped:
            return ()
        return (f"left out, because anybody may have written them: {', '.join(dropped)} (--trust takes them in)",)


def _vouched_for(item: ItemRecord) -> ItemRecord:
    """An item of a trusted export. Before authors were recorded, what the user wrote and what every agent gets had the
    user's word.
    """
    head = item.head()
    is_users = head.fields.get("source") == "user" or head.fields.get("loading") == "always"
    return replace(item, vouched=item.version) if is_users and not head.provenance else item


def _claims(fields: Mapping[str, Any]) -> list[str]:
    """What the fields of an item claim."""
    made = ((_ALWAYS, "loading"), (_USERS, "source"), (_ADDRESS, "source_url"))
    return [what for what, name in made if fields.get(name) and (name != "source" or fields[name] == "user")]


def _harmless_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields without claims; where the item says it comes from is kept as a plain fact about it."""
    plain = dict(fields)
    if "loading" in plain:
        plain["loading"] = None
    if plain.get("source") == "user":
        plain["source"] = "file"
    if plain.get("source_url"):
        plain["metadata"] = {**(plain.get("metadata") or {}), CLAIMED_ADDRESS: plain.pop("source_url")}
    return plain


def _harmless_version(item: ItemRecord, version: VersionRecord) -> VersionRecord:
    """A version without claims."""
    from ricordo.values.hashes import version_hash
    from ricordo.values.items import Draft

    if not _claims(version.fields):
        return version
    changed = replace(version, fields=_harmless_fields(version.fields))
    draft = Draft(version.ref, version.kind, item.content(version), changed.known_fields())
    return replace(changed, hash=version_hash(draft, version.text_hash))
