"""The rows of one item of an export: analysed without a lock, then written as they were, times and states included."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np

from ricordo.exchange.records import CHUNK_STATES, ItemRecord, VersionRecord
from ricordo.frozen import frozen
from ricordo.store.prepare import prepare
from ricordo.store.sql import links, saving
from ricordo.store.sql.new_chunks import DELETED, NewChunk
from ricordo.store.sql.protocols import Connection
from ricordo.store.sql.stored_fields import fields_json
from ricordo.store.sql.times import micros
from ricordo.store.values import PreparedChunk
from ricordo.text.links import LinkTarget
from ricordo.text.words import Analyzer
from ricordo.values.items import Draft


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
        prepared = prepare(
            _draft(item, version),
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


def _draft(item: ItemRecord, version: VersionRecord) -> Draft:
    return Draft(version.ref, version.kind, item.content(version), version.known_fields(), item.passages(version))


def insert(connection: Connection, one: Analysed, identity: str) -> tuple[int, list[NewChunk]]:
    """Write an item with all its versions; returns its number and the chunks that are to be indexed."""
    item = one.item
    n = _insert_item(connection, item, identity)
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
    fresh = _insert_chunks(connection, n, one, first)
    connection.run_many(
        "INSERT INTO blobs(hash, data) VALUES(?,?) ON CONFLICT DO NOTHING", [(b.hash, b.data) for b in item.blobs]
    )
    sizes = {blob.hash: len(blob.data) for blob in item.blobs}
    connection.insert(
        "versions",
        saving.VERSION_COLUMNS,
        [_version_row(n, item, version, first, sizes) for version in item.versions],
    )
    return fresh


def _insert_item(connection: Connection, item: ItemRecord, identity: str) -> int:
    row = item_row(item, identity)
    n = connection.insert_item(tuple(row), tuple(row.values()))
    connection.touched.add(n)
    saving.write_secrets(connection, n, item.secrets)
    if item.state != "deleted":
        saving.insert_tags(connection, n, item.head().known_fields())
    return n


def item_row(item: ItemRecord, identity: str) -> dict[str, Any]:
    """The columns of an item's row."""
    head = item.head()
    fields = head.known_fields()
    file = item.file
    return {
        "id": identity, "drive": item.ref.drive, "path": item.ref.path, "kind": item.kind, "state": item.state,
        "version": item.version, "hash": head.hash, "text_hash": head.text_hash, **saving.field_columns(fields),
        "fields": fields_json(head.fields),
        "size": _size(item, head, {blob.hash: len(blob.data) for blob in item.blobs}),
        "created_at": micros(item.created_at), "updated_at": micros(item.updated_at),
        "indexed_at": _optional(item.indexed_at), "deleted_at": _optional(item.deleted_at),
        "file_mtime": file and file.mtime, "file_size": file and file.size, "file_hash": file and file.hash,
        "file_fields": file and json.dumps(dict(file.fields)), "provenance": _said(head), "vouched": item.vouched,
    }  # fmt: skip


def _insert_chunks(connection: Connection, n: int, one: Analysed, first: int) -> list[NewChunk]:
    rows = []
    fresh = []
    for at, (chunk, part) in enumerate(zip(one.item.chunks, one.chunks, strict=True)):
        state = CHUNK_STATES.index(chunk.state)
        assert part.counts is not None, "every chunk was analysed"
        new = NewChunk(first + at, n, part.counts, state)
        lengths = saving.LENGTHS.pack(*new.lengths())
        rows.append(
            (
                new.chunk, n, state, micros(chunk.live_from), _optional(chunk.live_until), part.key, part.embed_hash,
                lengths, chunk.heading, chunk.prefix, chunk.text, part.language,
            )
        )  # fmt: skip
        if state != DELETED:
            fresh.append(new)
    connection.insert("chunks", saving.CHUNK_COLUMNS, rows)
    return fresh


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


def _json(plain: Any) -> str:
    return json.dumps(dict(plain), ensure_ascii=False)


def _said(version: VersionRecord) -> str:
    return _json(version.provenance) if version.provenance else ""


def _optional(moment: datetime | None) -> int | None:
    return None if moment is None else micros(moment)
