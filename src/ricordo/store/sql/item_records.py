"""Items as records: one is read with all that belongs to it, and written in one piece.

Work that needs no lock is done before the transaction, and what is there already is looked up once for a whole batch,
because over a network trips take most of the time. An item keeps its id if that is free.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ricordo.errors import CorruptStore, Error, PathConflict
from ricordo.exchange.records import (
    CHUNK_STATES,
    BlobRecord,
    ChunkRecord,
    FileRecord,
    ItemRecord,
    TextLinkRecord,
    UsageRecord,
    VersionRecord,
)
from ricordo.frozen import frozen
from ricordo.store.arrays import Array
from ricordo.store.backlog import enqueue_chunks
from ricordo.store.index import segments
from ricordo.store.prepare import prepare
from ricordo.store.sql import changes, files, items, links
from ricordo.store.sql.database import DELETED, Connection, NewChunk, lengths_of, micros, moment, optional_moment
from ricordo.store.sql.database import Row as Columns
from ricordo.store.sql.items import Head, all_fields, fields_json, stored_ref
from ricordo.store.sql.user_words import user_words
from ricordo.store.values import Backlog, PreparedChunk
from ricordo.text.links import LinkTarget
from ricordo.text.words import Analyzer
from ricordo.trust.gate import ONLY_USER, WAITS_FOR_USER, is_users
from ricordo.values.items import DISK, Draft, FileRefs, Ref, Saved

if TYPE_CHECKING:
    from ricordo.store.base import OpenStore


_ITEM = (
    "SELECT i.n, i.id, i.drive, i.path, i.kind, i.state, i.version, i.created_at, i.updated_at, i.indexed_at,"
    " i.deleted_at, i.file_mtime, i.file_size, i.file_hash, i.file_fields, u.retrieval_count, u.last_retrieved_at,"
    " u.access_count, u.last_accessed_at, u.decay_score, u.decay_at, i.vouched,"
    f" (SELECT value FROM meta WHERE name = '{files.HOME_MACHINE}')"
    " FROM items i LEFT JOIN usage u ON u.item = i.n"
)
_BATCH = 128
"""So many items are read together: over a network, trips take most of the time."""
_DETAILS = (
    "SELECT item, number, previous, hash, text_hash, drive, path, kind, state, fields, layout, marks, first_line, blob,"
    " created_at, provenance FROM versions WHERE item IN (*) ORDER BY item, number",
    "SELECT item, id, text, heading, prefix, state, live_from, live_until FROM chunks WHERE item IN (*)"
    " ORDER BY item, id",
    "SELECT source, text, name, type, created_at FROM links WHERE source IN (*) AND origin='text' ORDER BY 1, 2, 3, 4",
    "SELECT item, kind, count FROM secrets WHERE item IN (*) ORDER BY item, kind",
)
"""What is read of items beside their own rows: versions, chunks, links in texts, secrets; the item's number first."""


def all_items(connection: Connection) -> Iterator[ItemRecord]:
    """All items, by their ids."""
    stream = connection.stream(f"{_ITEM} ORDER BY i.id")
    while batch := list(islice(stream, _BATCH)):
        yield from _items(connection, batch)


def item_record(connection: Connection, n: int, numbers: Collection[int] | None) -> ItemRecord:
    """One item with some of its versions; None is all."""
    [record] = _items(connection, connection.rows(f"{_ITEM} WHERE i.n=?", (n,)), numbers)
    return record


def _items(
    connection: Connection, rows: Sequence[Columns], numbers: Collection[int] | None = None
) -> Iterator[ItemRecord]:
    """The records of some items, whose parts are read together; ``numbers`` are the versions wanted, None is all."""
    parts: list[dict[int, list[Columns]]] = []
    for statement in _DETAILS:
        by_item: dict[int, list[Columns]] = {}
        for n, *rest in connection.rows_in(statement, [row[0] for row in rows]):
            by_item.setdefault(n, []).append(tuple(rest))
        parts.append(by_item)
    for row in rows:
        yield _item(connection, row, numbers, [by_item.get(row[0], []) for by_item in parts])


def _item(
    connection: Connection, row: Columns, numbers: Collection[int] | None, details: Sequence[Sequence[Columns]]
) -> ItemRecord:
    all_versions, chunks, links, secrets = details
    _, identity, drive, path, kind, state, version, created, updated, indexed, deleted = row[:11]
    ref = stored_ref(drive, path)
    machine = FileRefs(row[22] or "").owner(ref) if drive == DISK else ""
    rows = [columns for columns in all_versions if numbers is None or columns[0] in numbers]
    used = {chunk for columns in rows for chunk in _layout(columns)[:, 0].tolist()}
    held = [chunk for chunk in chunks if chunk[0] in used]
    if len(held) < len(used):
        raise CorruptStore(
            f"{ref} lacks some of its passages",
            hint="See ‹:doctor›; restore a backup, or export what can be read with ‹salvage›.",
        )
    place = {chunk[0]: at for at, chunk in enumerate(held)}
    versions = tuple(_version(columns, place) for columns in rows)
    return ItemRecord(
        id=identity,
        ref=Ref(drive, ref.place),
        kind=kind,
        state=state,
        version=version,
        created_at=moment(created),
        updated_at=moment(updated),
        indexed_at=optional_moment(indexed),
        deleted_at=optional_moment(deleted),
        file=None if row[11] is None else FileRecord(row[11], row[12], row[13] or "", json.loads(row[14] or "{}")),
        usage=_usage(row[15:21]),
        versions=versions,
        chunks=tuple(
            ChunkRecord(
                text=text,
                heading=heading,
                prefix=prefix,
                state=CHUNK_STATES[chunk_state],
                live_from=moment(since),
                live_until=optional_moment(until),
            )
            for _, text, heading, prefix, chunk_state, since, until in held
        ),
        blobs=tuple(  # read item by item, because they may be large
            BlobRecord(digest, data)
            for digest in sorted({version.blob for version in versions if version.blob is not None})
            for (data,) in connection.rows("SELECT data FROM blobs WHERE hash=?", (digest,))
        ),
        links=tuple(TextLinkRecord(text, name, type_, moment(at)) for text, name, type_, at in links),
        secrets=dict(secrets),
        vouched=row[21],
        machine=machine,
    )


def _usage(row: Sequence[Any]) -> UsageRecord | None:
    retrieved, last_retrieved, accessed, last_accessed, decay, decay_at = row
    if retrieved is None:
        return None
    return UsageRecord(
        retrieval_count=retrieved,
        last_retrieved_at=optional_moment(last_retrieved),
        access_count=accessed,
        last_accessed_at=optional_moment(last_accessed),
        decay_score=decay,
        decay_at=optional_moment(decay_at),
    )


def _version(row: Sequence[Any], place: dict[int, int]) -> VersionRecord:
    (
        number,
        previous,
        digest,
        text_hash,
        drive,
        path,
        kind,
        state,
        fields,
        _,
        marks,
        first_line,
        blob,
        at,
        written,
    ) = row
    return VersionRecord(
        number=number,
        previous=previous,
        hash=digest,
        text_hash=text_hash,
        ref=Ref(drive, stored_ref(drive, path).place),
        kind=kind,
        state=state,
        created_at=moment(at),
        fields=all_fields(fields),
        first_line=first_line,
        marks=tuple((offset, label) for offset, label in json.loads(marks)),
        layout=tuple((place[chunk], start, first, last) for chunk, start, first, last in _layout(row).tolist()),
        blob=blob,
        provenance=json.loads(written or "{}"),
    )


def _layout(row: Sequence[Any]) -> Array:
    """The passages of a version's row: chunk, first character, first and last line."""
    return np.frombuffer(row[9], np.int64).reshape(-1, 4)


@frozen
class Analysed:
    """An item with what is indexed of each of its chunks."""

    item: ItemRecord
    chunks: Sequence[PreparedChunk]


def analysed(item: ItemRecord, analyzer: Analyzer) -> Analysed:
    """Work out keys and words of an item's chunks, each in the version that first held it."""
    chunks: dict[int, PreparedChunk] = {}
    seen: dict[bytes, PreparedChunk] = {}
    for version in item.versions:
        if all(chunk in chunks for chunk, *_ in version.layout):
            continue
        draft = Draft(
            ref=version.ref,
            kind=version.kind,
            content=item.content(version),
            fields=version.known_fields(),
            passages=item.passages(version),
        )
        prepared = prepare(
            draft,
            analyzer,
            prefixes=[item.chunks[chunk].prefix for chunk, *_ in version.layout],
            lines=[(first, last) for *_, first, last in version.layout],
            stored_keys=seen.keys(),
        )
        for (chunk, *_), part in zip(version.layout, prepared.chunks, strict=True):
            # If two passages have the same words, the second is not analysed again.
            chunks.setdefault(chunk, part if part.counts is not None else seen[part.key])
            seen.setdefault(part.key, part)
    return Analysed(item, [chunks[at] for at in range(len(item.chunks))])


def insert(connection: Connection, ready: Analysed, identity: str) -> tuple[int, list[NewChunk]]:
    """Write an item with all its versions; returns its number and the chunks that are to be indexed."""
    item = ready.item
    row = item_row(item, identity)
    n = connection.insert_numbered("items", tuple(row), tuple(row.values()))
    connection.touched.add(n)
    changes.write_secrets(connection, n, item.secrets)
    if item.state != "deleted":
        changes.insert_tags(connection, n, item.head().known_fields())
    fresh = insert_texts(connection, n, ready)
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


def insert_texts(connection: Connection, n: int, ready: Analysed) -> list[NewChunk]:
    """Write the versions of an item, their chunks and bytes; returns the chunks that are to be indexed."""
    item = ready.item
    first = connection.reserve_chunks(len(item.chunks))
    rows: list[Columns] = []
    fresh = []
    for at, (chunk, part) in enumerate(zip(item.chunks, ready.chunks, strict=True)):
        state = CHUNK_STATES.index(chunk.state)
        assert part.counts is not None, "every chunk was analysed"
        new = NewChunk(first + at, n, part.counts, lengths_of(part.counts), state)
        rows.append(
            (
                new.chunk, n, state, micros(chunk.live_from), _optional(chunk.live_until), part.key, part.embed_hash,
                new.lengths, chunk.heading, chunk.prefix, chunk.text, part.language,
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
        [_version_row(n, item, version, first, sizes=sizes) for version in item.versions],
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
        "file_fields": file and json.dumps(dict(file.fields)), "provenance": _provenance_text(head),
        "vouched": item.vouched,
    }  # fmt: skip


def _version_row(
    n: int, item: ItemRecord, version: VersionRecord, first: int, *, sizes: dict[str, int]
) -> Sequence[Any]:
    layout = np.array(version.layout, np.int64).reshape(-1, 4)
    layout[:, 0] += first
    return (
        n, version.number, version.previous, version.hash, version.text_hash, version.ref.drive, version.ref.path,
        version.kind, version.state, fields_json(version.fields), layout.tobytes(), json.dumps(version.marks),
        version.first_line, _size(item, version, sizes), version.blob, micros(version.created_at),
        _provenance_text(version),
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


def _provenance_text(version: VersionRecord) -> str:
    return json.dumps(dict(version.provenance), ensure_ascii=False) if version.provenance else ""


def _optional(moment: datetime | None) -> int | None:
    return None if moment is None else micros(moment)


class ItemImporter:
    """Writes records of items into one store."""

    def __init__(self, opened: OpenStore, on_conflict: str, backlog: Backlog | None) -> None:
        self._opened = opened
        self.database = opened.database
        self.on_conflict = on_conflict
        self.backlog = backlog
        self.stands_for: dict[str, str] = {}
        """Ids of records whose item has another id here."""
        self._left_alone: Collection[str] = ()

    def items(self, batch: Sequence[ItemRecord], left_alone: Collection[str] = ()) -> list[Saved]:
        """Write items in one transaction; each is answered, and one that cannot be written leaves nothing behind.

        Those whose ids are in ``left_alone`` replace nothing: what is stored says the same.
        """
        self._left_alone = left_alone
        return changes.tried_again(self._opened, lambda: self._write_items(batch))

    def _write_items(self, batch: Sequence[ItemRecord]) -> list[Saved]:
        analyzer = self._opened.analyzer
        with self.database.read() as connection:
            refs = files.refs_of(connection)
        ready = [analysed(item.placed_in(refs), analyzer) for item in batch]
        counts = [
            part.counts
            for entry in ready
            for part, chunk in zip(entry.chunks, entry.item.chunks, strict=True)
            if part.counts is not None and chunk.state != "deleted"
        ]
        add_chunks = segments.prepare(counts)
        answers: list[Saved] = []
        fresh: list[NewChunk] = []
        ends: dict[int, links.Ends] = {}
        with self.database.write(durable=True) as connection:
            there = _Heads(connection, [entry.item for entry in ready])
            for entry in ready:
                try:
                    answers.append(self._take(connection, entry, there, fresh=fresh, ends=ends))
                except Error as error:
                    answers.append(Saved(str(entry.item.ref), "failed", error=error.to_dict()))
            add_chunks(connection, fresh)
            enqueue_chunks(connection, self.backlog, [chunk.chunk for chunk in fresh])
            links.update(connection, ends)
            changes.store_words(connection, analyzer)
        return answers

    def _take(
        self,
        connection: Connection,
        ready: Analysed,
        there: _Heads,
        *,
        fresh: list[NewChunk],
        ends: dict[int, links.Ends],
    ) -> Saved:
        item = ready.item
        head = item.head()
        taken = there.by_id.get(item.id)
        holder = taken if item.state == "deleted" else there.by_ref.get(item.ref)
        if holder is not None:
            reason = self._reason_to_skip(holder, item)
            if reason:
                self.stands_for |= {item.id: holder.id} if holder.id != item.id else {}
                return changes.skipped(holder, str(item.ref), reason)
            if not is_users() and (word := user_words(connection, [holder.n]).get(holder.n)) and word.is_told:
                return self._propose(connection, holder, ready, fresh)
            there.forget(holder)
            self._make_room(connection, holder, item)
            taken = None if taken is not None and taken.n == holder.n else taken
        identity = items.new_id() if taken is not None else item.id
        if identity != item.id:
            self.stands_for[item.id] = identity
        n, chunks = insert(connection, ready, identity)
        immutable = bool(head.fields.get("immutable"))
        there.note(
            item,
            Head(
                n=n,
                id=identity,
                ref=str(item.ref),
                state=item.state,
                version=item.version,
                hash=head.hash,
                text_hash=head.text_hash,
                immutable=immutable,
            ),
        )
        fresh.extend(chunks)
        ends[n] = insert_text_links(connection, n, item)
        if holder is not None:
            pass_on(connection, holder.n, n)
        status, before = ("updated", holder.version) if holder is not None else ("created", None)
        return Saved(
            ref=str(item.ref),
            status=status,
            id=identity,
            version=item.version,
            previous_version=before,
            content_hash=head.hash,
            chunks=len(chunks),
        )

    def _propose(self, connection: Connection, holder: Head, ready: Analysed, fresh: list[NewChunk]) -> Saved:
        """Write the current version of an item over what the user tells every agent: the user's goes on being told, and
        the other waits in ``review``.
        """
        item, head = ready.item, ready.item.head()
        ref = str(item.ref)
        if item.state != "live":
            return changes.skipped(holder, ref, ONLY_USER)
        items.refuse_immutable(holder)
        draft = Draft(
            ref=item.ref,
            kind=item.kind,
            content=item.content(head),
            fields=head.known_fields(),
            passages=item.passages(head),
        )
        prepared = prepare(
            draft,
            self._opened.analyzer,
            prefixes=[item.chunks[chunk].prefix for chunk, *_ in head.layout],
            lines=[(first, last) for *_, first, last in head.layout],
        )
        if prepared.hash == holder.hash:
            return changes.skipped(holder, ref, "unchanged")
        chunks = changes.write_version(connection, holder, prepared, self._opened)
        links.update_saved(connection, {holder.n: prepared})
        self.stands_for |= {item.id: holder.id} if holder.id != item.id else {}
        fresh.extend(chunks)
        return Saved(
            ref=ref,
            status="updated",
            id=holder.id,
            version=holder.version + 1,
            previous_version=holder.version,
            content_hash=prepared.hash,
            reason=WAITS_FOR_USER,
        )

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
        items.refuse_immutable(holder)
        links.forget_names(connection, holder.n)
        if holder.state != "deleted":
            changes.put_away(connection, holder, "deleted")
        if holder.id == item.id:
            connection.run("UPDATE items SET id=? WHERE n=?", (items.new_id(), holder.n))


class _Heads:
    """The items of this store that the items of a batch may meet: by their ids, and by the refs they hold."""

    def __init__(self, connection: Connection, batch: Sequence[ItemRecord]) -> None:
        self.by_id = items.find_by_ids(connection, [item.id for item in batch])
        self.by_ref = items.find_heads(connection, [item.ref for item in batch if item.state != "deleted"])

    def forget(self, head: Head) -> None:
        """The item is about to lose its ref, or its id, to another."""
        self.by_id = {identity: other for identity, other in self.by_id.items() if other.n != head.n}
        self.by_ref = {ref: other for ref, other in self.by_ref.items() if other is None or other.n != head.n}

    def note(self, item: ItemRecord, head: Head) -> None:
        self.by_id[head.id] = head
        if item.state != "deleted":
            self.by_ref[item.ref] = head
