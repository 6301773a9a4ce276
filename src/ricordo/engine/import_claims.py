"""What an export claims beyond its texts: folders to read, files and pages that items came from, what every agent gets.

The author of the file decides what is in it. If these claims were trusted, a later ``refresh`` could read any file of
this machine into the store, and every agent would get texts that somebody else wrote. So these claims are dropped
unless the user says that the file is to be trusted, and the report says what was dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ricordo.speaking import speaker
from ricordo.values.provenance import IMPORT

if TYPE_CHECKING:
    from ricordo.exchange.records import ItemRecord, Record, VersionRecord


_MANY = {
    "folder to refresh": "folders to refresh",
    "item that every agent would get": "items that every agent would get",
    "file that an item came from": "files that items came from",
    "entry of the audit": "entries of the audit",
}


class Claims:
    """Removes the claims from records as they are read, and counts them."""

    def __init__(self, name: str, *, trust: bool) -> None:
        self.trust = trust
        self._said = replace(speaker(), author=IMPORT, origin=name)
        self._dropped: Counter[str] = Counter()

    def without(self, records: Iterator[Record]) -> Iterator[Record]:
        """The records with nothing but texts, fields and what refers to them, unless they are trusted."""
        from ricordo.exchange.records import AuditRecord, ItemRecord, RootRecord

        for record in records:
            if self.trust:
                yield _vouched_for(record) if isinstance(record, ItemRecord) else record
            elif isinstance(record, RootRecord):
                self._dropped["folder to refresh"] += 1
            elif isinstance(record, AuditRecord):
                self._dropped["entry of the audit"] += 1
            elif isinstance(record, ItemRecord):
                yield self._harmless(record)
            else:
                yield record

    def _harmless(self, item: ItemRecord) -> ItemRecord:
        head = item.head().fields
        self._dropped["item that every agent would get"] += head.get("loading") is not None
        self._dropped["file that an item came from"] += item.file is not None
        versions = tuple(_harmless_version(item, self._attributed(one)) for one in item.versions)
        return replace(item, versions=versions, file=None, vouched=None)

    def _attributed(self, version: VersionRecord) -> VersionRecord:
        """The version as said by this export; what the export says of its author is kept beside that."""
        return replace(version, provenance=replace(self._said, claimed=dict(version.provenance)).to_dict())

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


def _harmless_version(item: ItemRecord, version: VersionRecord) -> VersionRecord:
    """A version without the claims that every agent gets it, or that the user wrote it by hand."""
    from ricordo.store.prepare import version_hash
    from ricordo.values.items import Draft

    fields = dict(version.fields)
    if fields.get("loading") is None and fields.get("source") != "user":
        return version
    fields["loading"] = None
    if fields.get("source") == "user":
        fields["source"] = "file"
    changed = replace(version, fields=fields)
    draft = Draft(version.ref, version.kind, item.content(version), changed.known_fields())
    return replace(changed, hash=version_hash(draft, version.text_hash))
