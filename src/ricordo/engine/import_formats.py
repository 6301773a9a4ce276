"""What an import claims beyond its texts: folders to read, files and pages that items came from, what every agent gets,
skills to follow, tools to call.

The author of the file decides what is in it. If these claims were trusted, a later ``refresh`` could read any file of
this machine into the store or fetch any page, and every agent would get texts that somebody else wrote. So these claims
are dropped unless the user says that the file is to be trusted, and the report says what was dropped.

What the stored item has already is not granted by the import, and so the import does not take it away either: where the
file says the same as the store, what is stored stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ricordo.engine.context import EngineContext
from ricordo.engine.items import ItemVerbs
from ricordo.errors import NotFound, PathConflict, UsageError
from ricordo.speaking import speaker, speaking
from ricordo.values.items import Entry, Ref
from ricordo.values.provenance import IMPORT
from ricordo.values.reports import AddReport, Progress
from ricordo.values.review import WAITING

if TYPE_CHECKING:
    from ricordo.exchange.records import ItemRecord, Record, VersionRecord
    from ricordo.ingest.importers import Foreign
    from ricordo.values.items import Entry
    from ricordo.values.kinds import OnConflict
    from ricordo.values.reports import ImportReport


_ALWAYS = "item that every agent would get"
_USERS = "claim that you wrote an item"
_ADDRESS = "address that an item would be fetched from"
CLAIMED_ADDRESS = "claimed_source_url"
"""The address that an import gives for an item is kept in its metadata under this name, where nothing fetches it."""
_NOTHING: Mapping[str, Any] = {}
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


_CLAIMS = {
    "root": "folder to refresh",
    "audit": "entry of the audit",
    "proposal_rule": "rule about proposals",
    "proposal": "proposal that waits",
}
"""Records that say what only the user of a store may say."""


class Claims:
    """Removes the claims from records as they are read, and counts them.

    ``stored`` gives the item that one of the file would replace; without it, nothing is replaced.
    """

    def __init__(
        self, name: str, *, trust: bool, stored: Callable[[ItemRecord], ItemRecord | None] | None = None
    ) -> None:
        self.trust = trust
        self.left_alone: set[str] = set()
        """The ids, in the file, of items that are stored with the same text and fields."""
        self._stored = stored or (lambda _: None)
        self._said = replace(speaker(), author=IMPORT, origin=name)
        self._dropped: Counter[str] = Counter()

    def without(self, records: Iterator[Record]) -> Iterator[Record]:
        """The records with nothing but texts, fields and what refers to them, unless they are trusted."""
        from ricordo.exchange.records import ItemRecord, Row

        for record in records:
            if self.trust and isinstance(record, ItemRecord):
                # Before authors were recorded, what the user wrote and what every agent gets had the user's word.
                head = record.head()
                is_users = head.fields.get("source") == "user" or head.fields.get("loading") == "always"
                yield replace(record, vouched=record.version) if is_users and not head.provenance else record
            elif self.trust:
                yield record
            elif isinstance(record, Row) and record.type in _CLAIMS:
                if record.type == "proposal" and record["state"] != WAITING:
                    yield record
                else:
                    self._dropped[_CLAIMS[record.type]] += 1
            elif isinstance(record, ItemRecord):
                if kinds := [kind for kind in _OFFERED if kind in (record.ref.drive, record.head().kind)]:
                    self._dropped[kinds[0]] += 1
                else:
                    yield self._harmless(record)
            else:
                yield record

    def _harmless(self, item: ItemRecord) -> ItemRecord:
        """The item without claims but for those that the stored item has too. Its current version is compared with the
        stored current one; a version that is stored keeps its author, and others are said by this export.
        """
        stored = self._stored(item)
        head, before = item.head(), stored.head() if stored is not None else None
        known = {one.hash: one for one in stored.versions} if stored is not None else {}
        file = users = None
        if stored is not None and before is not None:
            if (head.hash, item.state) == (before.hash, stored.state):
                self.left_alone.add(item.id)
            file = item.file if item.file == stored.file and head.text_hash == before.text_hash else None
            users = next((one.hash for one in stored.versions if one.number == stored.vouched), None)
        self._dropped.update(_claims(head.fields, before.fields if before is not None else {}))
        self._dropped["file that an item came from"] += item.file is not None and file is None
        versions = []
        for one in item.versions:
            same = before if one.number == item.version else known.get(one.hash)
            plain = _harmless_version(item, one, same.fields if same is not None else {})
            claimed = replace(self._said, claimed=dict(plain.provenance)).to_dict()
            is_known = plain.hash in known
            versions.append(replace(plain, provenance=known[plain.hash].provenance if is_known else claimed))
        # The version with the user's word is the newest that equals the one that has it in the store.
        vouched = max((one.number for one in versions if one.hash == users), default=None)
        return replace(item, versions=tuple(versions), file=file, vouched=vouched)

    def without_claims(self, entries: Sequence[Entry], stored: Mapping[str, Mapping[str, Any]]) -> list[Entry]:
        """The texts of another program without what they claim, unless they are trusted; ``stored`` has the fields of
        the items that they replace, by their refs.
        """
        if self.trust:
            return list(entries)
        for entry in entries:
            self._dropped.update(_claims(entry.fields, stored.get(entry.ref, {})))
        return [replace(one, fields=_harmless_fields(one.fields, stored.get(one.ref, {}))) for one in entries]

    def speaking(self) -> AbstractContextManager[None]:
        """What is written in the block is said by the file; if it is trusted, by the user who took it from there."""
        return speaking(replace(speaker(), origin=self._said.origin) if self.trust else self._said)

    def notes(self) -> tuple[str, ...]:
        """What was dropped, and how to keep it."""
        dropped = [f"{count:,} {what if count == 1 else _MANY[what]}" for what, count in self._dropped.items() if count]
        if not dropped:
            return ()
        return (f"left out, because anybody may have written them: {', '.join(dropped)} (--trust takes them in)",)


def _claims(fields: Mapping[str, Any], stored: Mapping[str, Any] = _NOTHING) -> list[str]:
    """What the fields of an item claim that the stored one has not."""
    made = ((_ALWAYS, "loading"), (_USERS, "source"), (_ADDRESS, "source_url"))
    claimed = [(what, name) for what, name in made if fields.get(name) and fields[name] != stored.get(name)]
    return [what for what, name in claimed if name != "source" or fields[name] == "user"]


def _harmless_fields(fields: Mapping[str, Any], stored: Mapping[str, Any] = _NOTHING) -> dict[str, Any]:
    """The fields without claims; where the item says it comes from is kept as a plain fact about it."""
    plain = dict(fields)
    claims = _claims(fields, stored)
    if _ALWAYS in claims:
        plain["loading"] = None
    if _USERS in claims:
        plain["source"] = "file"
    if _ADDRESS in claims:
        plain["metadata"] = {**(plain.get("metadata") or {}), CLAIMED_ADDRESS: plain.pop("source_url")}
    return plain


def _harmless_version(item: ItemRecord, version: VersionRecord, stored: Mapping[str, Any] = _NOTHING) -> VersionRecord:
    """A version without claims but for those that stored fields make too."""
    from ricordo.values.items import Draft, version_hash

    if not _claims(version.fields, stored):
        return version
    changed = replace(version, fields=_harmless_fields(version.fields, stored))
    draft = Draft(version.ref, version.kind, item.content(version), changed.known_fields())
    return replace(changed, hash=version_hash(draft, version.text_hash))


Source = str | Path | BinaryIO
OnProgress = Callable[[Progress], None] | None


def import_vault(context: EngineContext, source: Source, on_conflict: OnConflict, progress: OnProgress) -> ImportReport:
    """Add the Markdown files of a vault; its folder is remembered, so that ``refresh`` follows it."""
    from ricordo.ingest.add import Adding
    from ricordo.ingest.files import FileReader
    from ricordo.ingest.formats.markdown import MARKER, in_vault
    from ricordo.values.reports import ImportReport

    folder = _folder(source, "A vault")
    adding = Adding(
        context.store,
        context.pipeline,
        FileReader(context.config, context.location, is_vault=True),
        kind=None,
        fields={},
        on_conflict=on_conflict,
        backlog=context.models.backlog(),
        progress=progress,
    )
    report = adding.sources([folder], globs=["*.md"], as_ref=None)
    if not in_vault(folder.absolute(), {}):
        note = f"{folder} has no {MARKER} folder: 'refresh' will read the notes as plain Markdown, without #tags"
        report = replace(report, notes=(*report.notes, note))
    return ImportReport(report)


def read_foreign(context: EngineContext, source: Source, format_: str) -> Foreign:
    """What another program keeps, as texts and relations."""
    if format_ == "basic-memory":
        from ricordo.ingest.importers import read_basic_memory

        return read_basic_memory(_folder(source, "basic-memory's home"), context.files())
    from ricordo.ingest.importers import READERS

    reader = READERS[format_]
    if not isinstance(source, (str, Path)):
        return reader(source.read(), "standard input")
    path = Path(source).expanduser()
    if not path.is_file():
        raise NotFound(f"there is no file {path}", hint="Name the file that the other program's export wrote.")
    return reader(path.read_bytes(), str(path))


def save_foreign(
    engine: ItemVerbs, foreign: Foreign, on_conflict: OnConflict, progress: OnProgress, *, allow_secrets: bool,
    claims: Claims,
) -> ImportReport:  # fmt: skip
    """Save texts of another program, with their times, and link them."""
    from ricordo.values.reports import ImportReport

    store = engine.store
    numbers = store.items.numbers([Ref.parse(entry.ref) for entry in foreign.entries])
    if on_conflict == "error" and numbers:
        raise PathConflict(
            f"{next(iter(numbers))} is already in the store; nothing was written",
            hint="Pass ‹on_conflict=skip› or overwrite.",
        )
    items = store.items.get_many(list(numbers.values())) if on_conflict == "overwrite" else {}
    stored = {str(ref): items[n].fields.to_dict() for ref, n in numbers.items() if n in items}
    entries, notes = _without_secrets(claims.without_claims(foreign.entries, stored), allow_secrets=allow_secrets)
    with claims.speaking():
        report = engine.save_many(
            entries, on_conflict=on_conflict, wait=False, durable=True, allow_secrets=True, progress=progress
        )
    linked = 0
    for relation in foreign.relations:
        ends = [store.items.number(Ref.parse(ref)) for ref in (relation.source, relation.target)]
        if ends[0] is not None and ends[1] is not None:
            linked += store.links.add(ends[0], ends[1], relation.type)
    notes = (*report.notes, *foreign.notes, *notes, *claims.notes())
    return ImportReport(AddReport((*report.items, *foreign.failed), notes), {"link": linked} if linked else {})


def _folder(source: Source, what: str) -> Path:
    if not isinstance(source, (str, Path)):
        raise UsageError(f"{what} is a folder, not standard input", hint="Name the folder.")
    folder = Path(source).expanduser()
    if not folder.is_dir():
        raise NotFound(f"there is no folder {folder}", hint=f"{what} is a folder of Markdown files.")
    return folder


def _without_secrets(entries: Sequence[Entry], *, allow_secrets: bool) -> tuple[list[Entry], tuple[str, ...]]:
    """The texts without secrets, and notes about what was removed."""
    from ricordo.secrets.find import redact_item

    clean = []
    touched = 0
    for entry in entries:
        text, fields, found = redact_item(entry.kind, entry.content, entry.fields, allow_secrets=allow_secrets)
        clean.append(replace(entry, content=text, fields=fields))
        touched += bool(found)
    note = f"secrets were taken out of {touched} item{'' if touched == 1 else 's'}; --allow-secrets keeps them"
    return clean, (note,) if touched else ()
