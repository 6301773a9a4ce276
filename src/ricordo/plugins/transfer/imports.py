"""Takes in what an export holds, an Obsidian vault, or what another program keeps.

What these claim beyond their texts is dropped (``exchange.records``) unless the user imports a file from a folder
that the user trusts, and the report says what was dropped.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ricordo.config.trust_lists import is_in_trusted_folder
from ricordo.engine.context import EngineContext
from ricordo.engine.items import ItemVerbs
from ricordo.errors import NotFound, PathConflict, UsageError
from ricordo.exchange.records import ADDRESS, USERS, ItemClaims, ItemRecord, claims_of, harmless_fields
from ricordo.plugin import ask
from ricordo.plugins.transfer.export_file import ROWS, FoundRecord, Record, Row, Rows, batches, read, take_header
from ricordo.plugins.transfer.values import ImportReport
from ricordo.speaking import speaker, speaking
from ricordo.store.sql import files
from ricordo.store.sql.database import Connection, micros
from ricordo.store.sql.database import Row as Columns
from ricordo.store.sql.item_records import ItemImporter
from ricordo.store.sql.links import CONTRADICTS, FOUND
from ricordo.store.sql.proposals import COLUMNS, keep_rules, proposal_rules
from ricordo.store.tables import column_names
from ricordo.store.values import Backlog
from ricordo.trust.gate import is_users
from ricordo.values.hits import Filters
from ricordo.values.items import Entry, Foreign, Ref, Saved
from ricordo.values.log import WAITING, proposal_id
from ricordo.values.reports import AddReport, Progress

if TYPE_CHECKING:
    from ricordo.store.base import OpenStore
    from ricordo.values.kinds import OnConflict

_MANUAL_LINKS = "SELECT count(*) FROM links WHERE origin <> 'text'"


def _column_value(name: str, value: Any) -> Any:
    """The value of a record's field as a column holds it; who asked or acted is empty for unknown."""
    if isinstance(value, datetime):
        return micros(value)
    if isinstance(value, tuple):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return json.dumps(dict(value), ensure_ascii=False) if value or name not in ("asker", "provenance") else ""
    return value


class Importer(ItemImporter):
    """One import into one store."""

    def __init__(self, opened: OpenStore, on_conflict: str, backlog: Backlog | None) -> None:
        super().__init__(opened, on_conflict, backlog)
        self._verdicts: list[int] = []
        """Where each verdict of the file is stored."""
        self._before: dict[str, int] = {}
        """The last entry of each log before this import."""

    def others(self, batch: Sequence[Row]) -> Counter[str]:
        """Write what refers to items; returns how many of each type were new."""
        written: Counter[str] = Counter()
        with self.database.write(durable=True) as connection:
            for name, some in groupby(batch, key=lambda record: record.type):
                write = self._log if ROWS[name].known_by else getattr(self, f"_{name}")
                written[name] += write(connection, list(some))
        return written

    def _log(self, connection: Connection, records: Sequence[Row]) -> int:
        """Write the entries of a log that were not there before this import."""
        name, rows = records[0].type, ROWS[records[0].type]
        numbers = self._numbers(connection, (record[column] for record in records for column in rows.items))
        keyed = []
        for record in records:
            row = {column: _column_value(column, value) for column, value in record.values.items() if column != "found"}
            if name == "audit":
                row["item"] = self.stands_for.get(record["item"], record["item"])
            row |= {column: numbers.get(record[column]) for column in rows.items}
            if name != "opening" or row["item"] is not None:
                keyed.append((record, row, tuple(row.get(column) for column in rows.known_by)))
        stored = self._stored_entries(connection, rows.table, rows.known_by, [key for *_, key in keyed])
        new = [(record, row) for record, row, key in keyed if key not in stored]
        made = self._numbered(connection, rows, [row for _, row in new])
        if name == "query":
            self._insert_hits(
                connection, {number: record["found"] for number, (record, _) in zip(made, new, strict=True)}
            )
        if name == "feedback":
            fresh = iter(made)
            self._verdicts += [stored[key] if key in stored else next(fresh) for *_, key in keyed]
        return len(new)

    def _insert_hits(self, connection: Connection, hits_of: Mapping[int, Sequence[FoundRecord]]) -> None:
        numbers = self._numbers(connection, (hit.item for some in hits_of.values() for hit in some))
        connection.insert(
            "retrieval_log",
            column_names("retrieval_log"),
            [
                (numbers[hit.item], hit.ref, hit.version, query, hit.score, micros(hit.at), "")
                for query, some in hits_of.items()
                for hit in some
                if hit.item in numbers
            ],
        )

    def _numbers(self, connection: Connection, identities: Iterable[str | None]) -> dict[str | None, int]:
        """The items here that belong to items of the file, by their ids there."""
        own = {i: self.stands_for.get(i, i) for i in identities if i is not None}
        rows = connection.rows_in("SELECT id, n FROM items WHERE id IN (*)", sorted(set(own.values())))
        here: dict[str, int] = dict(rows)
        return {i: here[identity] for i, identity in own.items() if identity in here}

    def _stored_entries(
        self, connection: Connection, table: str, columns: Sequence[str], keys: Iterable[Columns]
    ) -> dict[Columns, int]:
        """Entries of a log that were there before this import, by these columns; the first of them is a time."""
        if table not in self._before:
            self._before[table] = connection.rows(f"SELECT coalesce(max(id), 0) FROM {table}")[0][0]
        before, wanted = self._before[table], set(keys)
        sql = f"SELECT id, {', '.join(columns)} FROM {table} WHERE id<=? AND {columns[0]} IN (*)"
        rows = connection.rows_in(sql, list({key[0] for key in wanted}), before) if before else ()
        return {tuple(key): identity for identity, *key in rows if tuple(key) in wanted}

    def _numbered(self, connection: Connection, rows: Rows, new: Sequence[Mapping[str, Any]]) -> list[int]:
        """Write entries of a log and return their numbers."""
        if not new:
            return []
        [(last,)] = connection.rows(f"SELECT coalesce(max(id), 0) FROM {rows.table}")
        connection.insert(rows.table, tuple(new[0]), [tuple(row.values()) for row in new])
        key = [name for name in rows.known_by if name in new[0]]
        numbers: dict[Columns, list[int]] = {}
        for identity, *values in connection.rows(
            f"SELECT id, {', '.join(key)} FROM {rows.table} WHERE id>? ORDER BY id DESC", (last,)
        ):
            numbers.setdefault(tuple(values), []).append(identity)
        return [numbers[tuple(row[name] for name in key)].pop() for row in new]

    def _link(self, connection: Connection, records: Sequence[Row]) -> int:
        numbers = self._numbers(connection, (end for record in records for end in (record["source"], record["target"])))
        rows: dict[str, list[Columns]] = {"''": [], "id": []}
        for record in records:
            source, target = numbers.get(record["source"]), numbers.get(record["target"])
            if source is not None and target is not None and source != target:
                row = (source, record["type"], record["origin"], record["text"], micros(record["created_at"]), target)
                rows["''" if record["origin"] == "manual" else "id"].append(row)
        [(before,)] = connection.rows(_MANUAL_LINKS)
        for name, some in rows.items():
            connection.run_many(
                "INSERT INTO links(source, target, type, origin, text, name, created_at)"
                f" SELECT ?, n, ?, ?, ?, {name}, ? FROM items WHERE n=? ON CONFLICT DO NOTHING",
                some,
            )
        [(after,)] = connection.rows(_MANUAL_LINKS)
        return int(after - before)

    def _learned(self, connection: Connection, records: Sequence[Row]) -> int:
        written = 0
        for record in records:
            since = max(self._verdicts[: record["since"]], default=0)
            learned = (record["profile"], record["shift"], since)
            connection.run("INSERT INTO learned(profile, shift, since) VALUES(?,?,?) ON CONFLICT DO NOTHING", learned)
            if self.on_conflict == "overwrite" and not connection.changes():
                connection.run(
                    "UPDATE learned SET shift=?, since=? WHERE profile=? AND (shift<>? OR since<>?)",
                    (record["shift"], since, *learned),
                )
            written += connection.changes()
        return written

    def _root(self, connection: Connection, records: Sequence[Row]) -> int:
        written = 0
        for record in records:
            name, _, machine = record["machine"].rpartition("#")
            home, globs = machine or files.refs_of(connection).home, json.dumps(list(record["globs"]))
            connection.run(
                "INSERT INTO roots(machine, path, globs, about, added_at) VALUES(?,?,?,?,?) ON CONFLICT DO NOTHING",
                (home, record["path"], globs, record["about"], micros(record["added_at"])),
            )
            written += connection.changes()
            if machine and name:
                connection.set_meta(files.NAME + machine, name, replace=False)
        return written

    def _freeze(self, connection: Connection, records: Sequence[Row]) -> int:
        return sum(connection.set_meta("learning_frozen", int(record["frozen"]), replace=False) for record in records)

    def _proposal(self, connection: Connection, records: Sequence[Row]) -> int:
        """Proposals that are new here; one that waits here and was decided there is decided."""
        by_id = {proposal_id(record["session"], record["turn"], record["text"]): record for record in records}
        rows = connection.rows_in("SELECT id FROM proposals WHERE id IN (*)", list(by_id))
        existing = {identity for (identity,) in rows}
        new = [
            {**record.values, "id": i, "at": micros(record["at"])} for i, record in by_id.items() if i not in existing
        ]
        connection.insert("proposals", COLUMNS, [[row[name] for name in COLUMNS] for row in new])
        decided = [(i, record) for i, record in by_id.items() if i in existing and record["state"] != WAITING]
        connection.run_many(
            "UPDATE proposals SET state=?, became=? WHERE id=? AND state=?",
            [(record["state"], record["became"], identity, WAITING) for identity, record in decided],
        )
        return len(new)

    def _proposal_rule(self, connection: Connection, records: Sequence[Row]) -> int:
        rules = proposal_rules(connection)
        by_name = {record["name"]: record["rule"] for record in records}
        overwrites = self.on_conflict == "overwrite"
        new = {n: rule for n, rule in by_name.items() if rules.get(n) != rule and (overwrites or n not in rules)}
        if new:
            keep_rules(connection, {**rules, **new})
        return len(new)


_IN_MEMORY = 32_000_000
Source = str | Path | BinaryIO
OnProgress = Callable[[Progress], None] | None
_MANY = {
    USERS: "claims that you wrote items",
    ADDRESS: "addresses that items would be fetched from",
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


class Claims(ItemClaims):
    """Removes the claims from records as they are read, and from the texts of other programs."""

    def __init__(
        self, name: str, *, trust: bool = False, stored: Callable[[ItemRecord], ItemRecord | None] | None = None
    ) -> None:
        super().__init__(name, stored=stored)
        self.trust = trust

    def without(self, records: Iterator[Record]) -> Iterator[Record]:
        """The records with nothing but texts, fields and what refers to them, unless they are trusted."""
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
                    self.dropped[_CLAIMS[record.type]] += 1
            elif isinstance(record, Row) and (record.type, record.values.get("type")) == ("link", CONTRADICTS):
                yield replace(record, values={**record.values, "origin": FOUND})
            elif isinstance(record, ItemRecord):
                if (harmless := self.harmless(record)) is not None:
                    yield harmless
            else:
                yield record

    def without_claims(self, entries: Sequence[Entry], stored: Mapping[str, Mapping[str, Any]]) -> list[Entry]:
        """The texts of another program without what they claim, unless they are trusted; ``stored`` has the fields of
        the items that they replace, by their refs.
        """
        if self.trust:
            return list(entries)
        for entry in entries:
            self.dropped.update(claims_of(entry.fields, stored.get(entry.ref, {})))
        return [replace(one, fields=harmless_fields(one.fields, stored.get(one.ref, {}))) for one in entries]

    def speaking(self) -> AbstractContextManager[None]:
        """What is written in the block is said by the file; if it is trusted, by the user who took it from there."""
        return speaking(replace(speaker(), origin=self.said.origin) if self.trust else self.said)

    def notes(self) -> tuple[str, ...]:
        """What was dropped, and how to keep it."""
        dropped = [f"{count:,} {what if count == 1 else _MANY[what]}" for what, count in self.dropped.items() if count]
        if not dropped:
            return ()
        listed = ", ".join(dropped)
        return (f"left out, because anybody may have written them: {listed} (‘trust’ its folder to take them in)",)


def is_trusted(source: Source) -> bool:
    """Whether what a file claims is to be believed: the user asks, and trusts the folder that it is in."""
    return isinstance(source, (str, Path)) and is_users() and is_in_trusted_folder(Path(source).expanduser())


def take_records(
    context: EngineContext, file: BinaryIO, name: str, *, on_conflict: str, progress: OnProgress, trust: bool
) -> ImportReport:
    """Import records. The file is read twice, so that nothing is written before all of it was checked."""
    store = context.store
    records = read(file, name)
    header = take_header(records)
    total = int(header.counts.get("item", 0))
    for items, _ in batches(records):
        if on_conflict == "error" and (taken := next(filter(partial(_is_taken, context), items), None)):
            raise PathConflict(
                f"{taken.ref} in {name} is already in the store; nothing was written",
                hint="Pass ‹on_conflict=skip› or overwrite.",
            )
    file.seek(0)
    was_empty = store.items.count(Filters(states=("live", "archived", "deleted"))) == 0
    notes: tuple[str, ...] = ()
    if not store.transfer.adopt_language(header.language):
        notes = (f"the words were indexed as {store.language}, as in this store, not {header.language}",)
    importer = Importer(store.opened, on_conflict, context.models.backlog())
    done: list[Saved] = []
    others: Counter[str] = Counter()
    started = time.monotonic()
    claims = Claims(name, trust=trust, stored=partial(_stored, context) if on_conflict == "overwrite" else None)
    for items, rest in batches(claims.without(read(file, name))):
        if items:
            with claims.speaking():
                done += importer.items(items, claims.left_alone)
            if progress is not None:
                rate = len(done) / max(time.monotonic() - started, 1e-6)
                left = max(total - len(done), 0) / rate if rate else None
                progress(Progress(len(done), total, "", "importing", rate, left))
        if rest:
            others.update(importer.others(rest))
    store.maintain()
    if not was_empty and store.items.entity_titles():
        store.links.relink()  # texts in the store may link to imported items, and the other way round
    refs = {saved.ref for saved in done if saved.status in ("created", "updated")}
    notes = (*notes, *(note for told in ask("imported", store, refs) for note in told), *claims.notes())
    return ImportReport(AddReport(tuple(done), notes), {name: count for name, count in others.items() if count})


def _number_of(context: EngineContext, item: ItemRecord) -> int | None:
    """The number of the item that one of a file would replace."""
    items = context.store.items
    if item.state == "deleted":
        return items.number_by_id(item.id)
    return items.number(item.placed_in(context.file_refs).ref)


def _is_taken(context: EngineContext, item: ItemRecord) -> bool:
    n = _number_of(context, item)
    if n is None or item.state == "deleted":
        return n is not None
    return context.store.items.get_many([n])[n].state != "deleted"


def _stored(context: EngineContext, item: ItemRecord) -> ItemRecord | None:
    n = _number_of(context, item)
    return None if n is None else context.store.transfer.item(n)


@contextmanager
def opened(source: Source) -> Iterator[tuple[BinaryIO, str]]:
    """The file and its name, such that it can be read twice."""
    if isinstance(source, (str, Path)):
        path = Path(source).expanduser()
        if not path.is_file():
            raise NotFound(
                f"there is no file {path}", hint="An export is one file; for a folder, say what it is with ‹format›."
            )
        with path.open("rb") as file:
            yield file, str(path)
        return
    import tempfile

    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as copy:
        while part := source.read(1 << 20):
            copy.write(part)
        copy.seek(0)
        yield copy, "standard input"  # type: ignore[misc]  # it reads like any binary file


def import_vault(context: EngineContext, source: Source, on_conflict: OnConflict, progress: OnProgress) -> ImportReport:
    """Add the Markdown files of a vault; its folder is remembered, so that ``refresh`` follows it."""
    from ricordo.ingest.add import Adding
    from ricordo.ingest.files import FileReader
    from ricordo.ingest.formats.markdown import MARKER, in_vault

    folder = folder_of(source, "A vault")
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


def save_foreign(
    engine: ItemVerbs, foreign: Foreign, on_conflict: OnConflict, progress: OnProgress, *, allow_secrets: bool,
    claims: Claims,
) -> ImportReport:  # fmt: skip
    """Save texts of another program, with their times, and link them."""
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


def folder_of(source: Source, what: str) -> Path:
    """The folder that an import is given; ``what`` says what it is, if it is something else."""
    if not isinstance(source, (str, Path)):
        raise UsageError(f"{what} is a folder, not standard input", hint="Name the folder.")
    folder = Path(source).expanduser()
    if not folder.is_dir():
        raise NotFound(f"there is no folder {folder}", hint=f"{what} is a folder of Markdown files.")
    return folder


def _without_secrets(entries: Sequence[Entry], *, allow_secrets: bool) -> tuple[list[Entry], tuple[str, ...]]:
    """The texts without secrets, and notes about what was removed."""
    from ricordo.secrets.redaction import redact_item

    clean = []
    touched = 0
    for entry in entries:
        text, fields, found = redact_item(entry.kind, entry.content, entry.fields, allow_secrets=allow_secrets)
        clean.append(replace(entry, content=text, fields=fields))
        touched += bool(found)
    note = f"secrets were taken out of {touched} item{'' if touched == 1 else 's'}; --allow-secrets keeps them"
    return clean, (note,) if touched else ()
