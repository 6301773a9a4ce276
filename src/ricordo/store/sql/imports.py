"""Imports the records of an export: each item in one piece, then the records that refer to items.

Work that needs no lock is done before the transaction, and what is there already is looked up once for a whole batch,
because over a network trips take most of the time. An item keeps its id if that is free. Records about an item that was
skipped, or got another id, are written for the item that is here in its place.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from ricordo.errors import Error, PathConflict
from ricordo.exchange.records import CHUNK_STATES, ROWS, FoundRecord, ItemRecord, Row, Rows, VersionRecord
from ricordo.frozen import frozen
from ricordo.store.backlog import enqueue_chunks
from ricordo.store.index import segments
from ricordo.store.prepare import prepare
from ricordo.store.sql import changes, files, items, links
from ricordo.store.sql.database import DELETED, Connection, NewChunk, micros
from ricordo.store.sql.database import Row as Columns
from ricordo.store.sql.items import Head, fields_json
from ricordo.store.sql.proposals import COLUMNS, keep_rules, kept_rules
from ricordo.store.tables import column_names
from ricordo.store.values import Backlog, PreparedChunk
from ricordo.text.links import LinkTarget
from ricordo.text.words import Analyzer
from ricordo.values.items import Draft, Saved
from ricordo.values.review import WAITING, proposal_id

if TYPE_CHECKING:
    from ricordo.store.base import OpenStore


@frozen
class Analysed:
    """An item with what is indexed of each of its chunks."""

    item: ItemRecord
    chunks: Sequence[PreparedChunk]


def analysed(item: ItemRecord, analyzer: Analyzer) -> Analysed:
    """Work out keys and words of an item's chunks, each in the version that first held it."""
    found: dict[int, PreparedChunk] = {}
    seen: dict[bytes, PreparedChunk] = {}
    for version in item.versions:
        if all(chunk in found for chunk, *_ in version.layout):
            continue
        draft = Draft(version.ref, version.kind, item.content(version), version.known_fields(), item.passages(version))
        prepared = prepare(
            draft,
            analyzer,
            prefixes=[item.chunks[chunk].prefix for chunk, *_ in version.layout],
            lines=[(first, last) for *_, first, last in version.layout],
            known=seen.keys(),
        )
        for (chunk, *_), part in zip(version.layout, prepared.chunks, strict=True):
            # If two passages have the same words, the second is not analysed again.
            found.setdefault(chunk, part if part.counts is not None else seen[part.key])
            seen.setdefault(part.key, part)
    return Analysed(item, [found[at] for at in range(len(item.chunks))])


def insert(connection: Connection, one: Analysed, identity: str) -> tuple[int, list[NewChunk]]:
    """Write an item with all its versions; returns its number and the chunks that are to be indexed."""
    item = one.item
    row = item_row(item, identity)
    n = connection.insert_item(tuple(row), tuple(row.values()))
    connection.touched.add(n)
    changes.write_secrets(connection, n, item.secrets)
    if item.state != "deleted":
        changes.insert_tags(connection, n, item.head().known_fields())
    fresh = insert_texts(connection, n, one)
    usage = item.usage
    if usage is not None:
        connection.run(
            "INSERT INTO usage VALUES(?,?,?,?,?,?,?)",
            (
                n, usage.retrieval_count, _optional(usage.last_retrieved_at), usage.access_count,
                _optional(usage.last_accessed_at), usage.decay_score, _optional(usage.decay_at),
            ),
        )  # fmt: skip
    return n, fresh


def insert_texts(connection: Connection, n: int, one: Analysed) -> list[NewChunk]:
    """Write the versions of an item, their chunks and bytes; returns the chunks that are to be indexed."""
    item = one.item
    first = connection.reserve_chunks(len(item.chunks))
    rows: list[Columns] = []
    fresh = []
    for at, (chunk, part) in enumerate(zip(item.chunks, one.chunks, strict=True)):
        state = CHUNK_STATES.index(chunk.state)
        assert part.counts is not None, "every chunk was analysed"
        new = NewChunk(first + at, n, part.counts, state)
        rows.append(
            (
                new.chunk, n, state, micros(chunk.live_from), _optional(chunk.live_until), part.key, part.embed_hash,
                changes.LENGTHS.pack(*new.lengths()), chunk.heading, chunk.prefix, chunk.text, part.language,
            )
        )  # fmt: skip
        if state != DELETED:
            fresh.append(new)
    connection.insert("chunks", changes.CHUNK_COLUMNS, rows)
    connection.run_many(
        "INSERT INTO blobs(hash, data) VALUES(?,?) ON CONFLICT DO NOTHING", [(b.hash, b.data) for b in item.blobs]
    )
    sizes = {blob.hash: len(blob.data) for blob in item.blobs}
    connection.insert(
        "versions",
        changes.VERSION_COLUMNS,
        [_version_row(n, item, version, first, sizes) for version in item.versions],
    )
    return fresh


def item_row(item: ItemRecord, identity: str) -> dict[str, Any]:
    """The columns of an item's row."""
    head = item.head()
    fields = head.known_fields()
    file = item.file
    return {
        "id": identity, "drive": item.ref.drive, "path": item.ref.path, "kind": item.kind, "state": item.state,
        "version": item.version, "hash": head.hash, "text_hash": head.text_hash, **changes.field_columns(fields),
        "fields": fields_json(head.fields),
        "size": _size(item, head, {blob.hash: len(blob.data) for blob in item.blobs}),
        "created_at": micros(item.created_at), "updated_at": micros(item.updated_at),
        "indexed_at": _optional(item.indexed_at), "deleted_at": _optional(item.deleted_at),
        "file_mtime": file and file.mtime, "file_size": file and file.size, "file_hash": file and file.hash,
        "file_fields": file and json.dumps(dict(file.fields)), "provenance": _said(head), "vouched": item.vouched,
    }  # fmt: skip


def _version_row(n: int, item: ItemRecord, version: VersionRecord, first: int, sizes: dict[str, int]) -> Sequence[Any]:
    layout = np.array(version.layout, np.int64).reshape(-1, 4)
    layout[:, 0] += first
    return (
        n, version.number, version.previous, version.hash, version.text_hash, version.ref.drive, version.ref.path,
        version.kind, version.state, fields_json(version.fields), layout.tobytes(), json.dumps(version.marks),
        version.first_line, _size(item, version, sizes), version.blob, micros(version.created_at),
        _said(version),
    )  # fmt: skip


def _size(item: ItemRecord, version: VersionRecord, sizes: dict[str, int]) -> int:
    return sizes[version.blob] if version.blob is not None else len(item.content(version))


def insert_text_links(connection: Connection, n: int, item: ItemRecord) -> links.Ends:
    """Write the links in an item's text; returns what they are settled by."""
    connection.insert(
        "links",
        ("source", "text", "name", "type", "origin", "created_at"),
        [(n, link.text, link.name, link.type, "text", micros(link.created_at)) for link in item.links],
    )
    fields = item.head().known_fields()
    names = links.names(item.ref, fields) if item.state != "deleted" else ()
    return links.Ends(names, [LinkTarget(link.text, link.name) for link in item.links])


def pass_on(connection: Connection, old: int, new: int) -> None:
    """Give the links and verdicts of an item that was replaced to the new one."""
    same = "o.origin = links.origin AND o.type = links.type AND o.name = links.name AND o.text = links.text"
    for end, other in (("source", "target"), ("target", "source")):
        connection.run(
            f"UPDATE links SET {end}=? WHERE {end}=? AND origin <> 'text' AND NOT EXISTS (SELECT 1 FROM links o"
            f" WHERE o.{end}=? AND o.{other} = links.{other} AND {same})",
            (new, old, new),
        )
    for table in ("feedback", "retrieval_log"):
        connection.run(f"UPDATE {table} SET item=? WHERE item=?", (new, old))


def _said(version: VersionRecord) -> str:
    return json.dumps(dict(version.provenance), ensure_ascii=False) if version.provenance else ""


def _optional(moment: datetime | None) -> int | None:
    return None if moment is None else micros(moment)


_MANUAL_LINKS = "SELECT count(*) FROM links WHERE origin <> 'text'"


def _stored(name: str, value: Any) -> Any:
    """The value of a record's field as a column holds it; who asked or acted is empty for unknown."""
    if isinstance(value, datetime):
        return micros(value)
    if isinstance(value, tuple):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return json.dumps(dict(value), ensure_ascii=False) if value or name not in ("asker", "provenance") else ""
    return value


class Importing:
    """One import into one store."""

    def __init__(self, opened: OpenStore, on_conflict: str, backlog: Backlog | None) -> None:
        self._opened = opened
        self.database = opened.database
        self.on_conflict = on_conflict
        self.backlog = backlog
        self._stands_for: dict[str, str] = {}
        """Ids of the file whose item has another id here."""
        self._left_alone: Collection[str] = ()
        self._verdicts: list[int] = []
        """Where each verdict of the file is kept."""
        self._before: dict[str, int] = {}
        """The last entry of each log before this import."""

    def items(self, batch: Sequence[ItemRecord], left_alone: Collection[str] = ()) -> list[Saved]:
        """Write items in one transaction; each is answered, and one that cannot be written leaves nothing behind.

        Those whose ids are in ``left_alone`` replace nothing: what is stored says the same.
        """
        self._left_alone = left_alone
        mirror = self._opened.mirror
        return self._write_items(batch) if mirror is None else mirror.tried_again(lambda: self._write_items(batch))

    def _write_items(self, batch: Sequence[ItemRecord]) -> list[Saved]:
        analyzer = self._opened.analyzer
        with self.database.read() as connection:
            refs = files.refs_of(connection)
        ready = [analysed(item.placed_in(refs), analyzer) for item in batch]
        counts = [
            part.counts
            for one in ready
            for part, chunk in zip(one.chunks, one.item.chunks, strict=True)
            if part.counts is not None and chunk.state != "deleted"
        ]
        add_chunks = segments.prepare(counts)
        answers: list[Saved] = []
        fresh: list[NewChunk] = []
        ends: dict[int, links.Ends] = {}
        with self.database.write(durable=True) as connection:
            there = _Heads(connection, [one.item for one in ready])
            for one in ready:
                try:
                    answers.append(self._take(connection, one, there, fresh, ends))
                except Error as error:
                    answers.append(Saved(str(one.item.ref), "failed", error=error.to_dict()))
            add_chunks(connection, fresh)
            enqueue_chunks(connection, self.backlog, [chunk.chunk for chunk in fresh])
            links.update(connection, ends)
            changes.store_words(connection, analyzer)
        return answers

    def _take(
        self, connection: Connection, one: Analysed, there: _Heads, fresh: list[NewChunk], ends: dict[int, links.Ends]
    ) -> Saved:
        item = one.item
        head = item.head()
        taken = there.by_id.get(item.id)
        holder = taken if item.state == "deleted" else there.by_ref.get(item.ref)
        if holder is not None:
            reason = self._reason_to_skip(holder, item)
            if reason:
                self._stands_for |= {item.id: holder.id} if holder.id != item.id else {}
                return Saved(str(item.ref), "skipped", holder.id, holder.version, None, holder.hash, reason=reason)
            there.forget(holder)
            self._make_room(connection, holder, item)
            taken = None if taken is not None and taken.n == holder.n else taken
        identity = items.new_id() if taken is not None else item.id
        if identity != item.id:
            self._stands_for[item.id] = identity
        n, chunks = insert(connection, one, identity)
        immutable = bool(head.fields.get("immutable"))
        there.note(item, Head(n, identity, item.state, item.version, head.hash, head.text_hash, immutable=immutable))
        fresh.extend(chunks)
        ends[n] = insert_text_links(connection, n, item)
        if holder is not None:
            pass_on(connection, holder.n, n)
        status, before = ("updated", holder.version) if holder is not None else ("created", None)
        return Saved(str(item.ref), status, identity, item.version, before, head.hash, chunks=len(chunks))

    def _reason_to_skip(self, holder: Head, item: ItemRecord) -> str:
        """Why an item that is there already is left as it is; empty when it is to be replaced."""
        if self.on_conflict == "error":
            raise PathConflict(
                f"{item.ref} is already in the store", hint="Pass ‹on_conflict=skip› or overwrite to go on."
            )
        if self.on_conflict == "skip":
            return "already in the store"
        same = (holder.id, holder.version, holder.hash, holder.state) == (
            item.id, item.version, item.head().hash, item.state,
        )  # fmt: skip
        return "unchanged" if same or item.id in self._left_alone else ""

    def _make_room(self, connection: Connection, holder: Head, item: ItemRecord) -> None:
        """Move the item that has the ref to the bin, with its history, and under another id if necessary."""
        items.refuse_immutable(holder, str(item.ref))
        links.forget_names(connection, holder.n)
        if holder.state != "deleted":
            changes.put_away(connection, holder, "deleted")
        if holder.id == item.id:
            connection.run("UPDATE items SET id=? WHERE n=?", (items.new_id(), holder.n))

    def others(self, batch: Sequence[Row]) -> Counter[str]:
        """Write what refers to items; returns how many of each type were new."""
        written: Counter[str] = Counter()
        with self.database.write(durable=True) as connection:
            for name, some in groupby(batch, key=lambda one: one.type):
                write = self._log if ROWS[name].known_by else getattr(self, f"_{name}")
                written[name] += write(connection, list(some))
        return written

    def _log(self, connection: Connection, records: Sequence[Row]) -> int:
        """Write the entries of a log that were not there before this import."""
        name, rows = records[0].type, ROWS[records[0].type]
        numbers = self._numbers(connection, (one[column] for one in records for column in rows.items))
        found = []
        for one in records:
            row = {column: _stored(column, value) for column, value in one.values.items() if column != "found"}
            if name == "audit":
                row["item"] = self._stands_for.get(one["item"], one["item"])
            row |= {column: numbers.get(one[column]) for column in rows.items}
            if name != "opening" or row["item"] is not None:
                found.append((one, row, tuple(row.get(column) for column in rows.known_by)))
        known = self._known(connection, rows.table, rows.known_by, [key for *_, key in found])
        new = [(one, row) for one, row, key in found if key not in known]
        made = self._numbered(connection, rows, [row for _, row in new])
        if name == "query":
            self._found(connection, {number: one["found"] for number, (one, _) in zip(made, new, strict=True)})
        if name == "feedback":
            fresh = iter(made)
            self._verdicts += [known[key] if key in known else next(fresh) for *_, key in found]
        return len(new)

    def _found(self, connection: Connection, found: Mapping[int, Sequence[FoundRecord]]) -> None:
        numbers = self._numbers(connection, (one.item for some in found.values() for one in some))
        connection.insert(
            "retrieval_log",
            column_names("retrieval_log"),
            [
                (numbers[one.item], one.ref, one.version, query, one.score, micros(one.at), "")
                for query, some in found.items()
                for one in some
                if one.item in numbers
            ],
        )

    def _numbers(self, connection: Connection, identities: Iterable[str | None]) -> dict[str | None, int]:
        """The items here that belong to items of the file, by their ids there."""
        own = {one: self._stands_for.get(one, one) for one in identities if one is not None}
        rows = connection.rows_in("SELECT id, n FROM items WHERE id IN (*)", sorted(set(own.values())))
        here: dict[str, int] = dict(rows)
        return {one: here[identity] for one, identity in own.items() if identity in here}

    def _known(
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
        for identity, *said in connection.rows(
            f"SELECT id, {', '.join(key)} FROM {rows.table} WHERE id>? ORDER BY id DESC", (last,)
        ):
            numbers.setdefault(tuple(said), []).append(identity)
        return [numbers[tuple(row[name] for name in key)].pop() for row in new]

    def _link(self, connection: Connection, records: Sequence[Row]) -> int:
        numbers = self._numbers(connection, (end for one in records for end in (one["source"], one["target"])))
        rows: dict[str, list[Columns]] = {"''": [], "id": []}
        for one in records:
            source, target = numbers.get(one["source"]), numbers.get(one["target"])
            if source is not None and target is not None and source != target:
                row = (source, one["type"], one["origin"], one["text"], micros(one["created_at"]), target)
                rows["''" if one["origin"] == "manual" else "id"].append(row)
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
                "INSERT INTO roots(machine, path, globs, added_at) VALUES(?,?,?,?) ON CONFLICT DO NOTHING",
                (home, record["path"], globs, micros(record["added_at"])),
            )
            written += connection.changes()
            if machine and name:
                connection.set_meta(files.NAME + machine, name, replace=False)
        return written

    def _freeze(self, connection: Connection, records: Sequence[Row]) -> int:
        return sum(connection.set_meta("learning_frozen", int(record["frozen"]), replace=False) for record in records)

    def _proposal(self, connection: Connection, records: Sequence[Row]) -> int:
        """Proposals that are new here; one that waits here and was decided there is decided."""
        by_id = {proposal_id(one["session"], one["turn"], one["text"]): one for one in records}
        rows = connection.rows_in("SELECT id FROM proposals WHERE id IN (*)", list(by_id))
        existing = {identity for (identity,) in rows}
        new = [{**one.values, "id": i, "at": micros(one["at"])} for i, one in by_id.items() if i not in existing]
        connection.insert("proposals", COLUMNS, [[row[name] for name in COLUMNS] for row in new])
        decided = [(i, one) for i, one in by_id.items() if i in existing and one["state"] != WAITING]
        connection.run_many(
            "UPDATE proposals SET state=?, became=? WHERE id=? AND state=?",
            [(one["state"], one["became"], identity, WAITING) for identity, one in decided],
        )
        return len(new)

    def _proposal_rule(self, connection: Connection, records: Sequence[Row]) -> int:
        rules = kept_rules(connection)
        given = {one["name"]: one["rule"] for one in records}
        overwrites = self.on_conflict == "overwrite"
        new = {n: rule for n, rule in given.items() if rules.get(n) != rule and (overwrites or n not in rules)}
        if new:
            keep_rules(connection, {**rules, **new})
        return len(new)


class _Heads:
    """The items of this store that the items of a batch may meet: by their ids, and by the refs they hold."""

    def __init__(self, connection: Connection, batch: Sequence[ItemRecord]) -> None:
        self.by_id = items.find_by_ids(connection, [item.id for item in batch])
        self.by_ref = items.find_heads(connection, [item.ref for item in batch if item.state != "deleted"])

    def forget(self, head: Head) -> None:
        """The item is about to lose its ref, or its id, to another."""
        self.by_id = {identity: one for identity, one in self.by_id.items() if one.n != head.n}
        self.by_ref = {ref: one for ref, one in self.by_ref.items() if one is None or one.n != head.n}

    def note(self, item: ItemRecord, head: Head) -> None:
        self.by_id[head.id] = head
        if item.state != "deleted":
            self.by_ref[item.ref] = head
