"""Gives the records of an export; of a damaged store, all that can still be read, and a list of what cannot.

Damaged versions are left out if the item has undamaged ones. An item without any keeps its damaged text under a new
hash, so that it can be imported, and is reported as damaged.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby, islice
from typing import Any, get_origin

import numpy as np

from ricordo.errors import CorruptStore, Error
from ricordo.exchange.records import (
    CHUNK_STATES,
    FORMAT,
    FORMAT_VERSION,
    ROWS,
    BlobRecord,
    ChunkRecord,
    FileRecord,
    FoundRecord,
    Header,
    ItemRecord,
    Record,
    Row,
    TextLinkRecord,
    UsageRecord,
    VersionRecord,
    check_item,
)
from ricordo.store.arrays import Array
from ricordo.store.prepare import text_hash
from ricordo.store.sql import files
from ricordo.store.sql.damage import stored_items, version_problem
from ricordo.store.sql.database import Connection, moment, optional_moment
from ricordo.store.sql.database import Row as Columns
from ricordo.store.sql.items import all_fields, fields_of
from ricordo.store.sql.proposals import kept_rules
from ricordo.values.file_refs import DISK, FileRefs
from ricordo.values.items import Draft, Ref, version_hash

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


def records(connection: Connection, language: str, *, log: bool) -> Iterator[Record]:
    """Header, items, and what refers to them; ``log`` says whether the logs of queries and openings are among them."""
    wanted = [name for name, rows in ROWS.items() if log or not rows.is_log]
    counts = {"item": connection.rows("SELECT count(*) FROM items")[0][0]}
    for name in wanted:
        rows = ROWS[name]
        counts[name] = (
            connection.rows(f"SELECT count(*) FROM {rows.table} t WHERE {rows.where or '1=1'}")[0][0]
            if rows.table
            else len(kept_rules(connection))
        )
    newest = connection.rows(
        "SELECT max(at) FROM (SELECT max(created_at) at FROM versions UNION ALL SELECT max(deleted_at) FROM items)"
    )[0][0]
    yield Header(FORMAT, FORMAT_VERSION, language, optional_moment(newest), counts)
    found = connection.stream(f"{_ITEM} ORDER BY i.id")
    while batch := list(islice(found, _BATCH)):
        yield from _items(connection, batch)
    for name in wanted:
        yield from other_records(connection, name)


def other_records(connection: Connection, name: str) -> Iterator[Row]:
    """The records of one type that are not items."""
    if name == "proposal_rule":
        for kind, rule in sorted(kept_rules(connection).items()):
            yield Row(name, {"name": kind, "rule": rule})
        return
    columns = ROWS[name].columns
    readers = {column: _reader(hint) for column, hint in columns.items()}
    found = _found(connection) if name == "query" else None
    for row in connection.stream(ROWS[name].select):
        values = {column: read(value) for (column, read), value in zip(readers.items(), row, strict=True)}
        if found is not None:
            values["found"] = found.get(values["found"], ())
        if name == "root":
            values["machine"] = files.name_of(connection, values["machine"])
        yield Row(name, values)


def _found(connection: Connection) -> dict[int, tuple[FoundRecord, ...]]:
    """What the queries of the log found, by the numbers of their entries."""
    rows = connection.stream(
        "SELECT r.query, i.id, r.ref, r.version, r.score, r.at FROM retrieval_log r JOIN items i ON i.n = r.item"
        " WHERE r.query IS NOT NULL ORDER BY r.query, r.id"
    )
    return {
        query: tuple(FoundRecord(item, ref, version, score, moment(at)) for _, item, ref, version, score, at in group)
        for query, group in groupby(rows, key=lambda row: row[0])
    }


def _reader(hint: Any) -> Callable[[Any], Any]:
    """What makes a value of a type from a column."""
    if hint is datetime:
        return moment
    if hint is bool:
        return bool
    if get_origin(hint) is Mapping:
        return lambda said: json.loads(said or "{}")
    if hint == tuple[str, ...]:
        return lambda said: tuple(json.loads(said))
    return lambda value: value


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
        yield _item(connection, row, numbers, *(by_item.get(row[0], []) for by_item in parts))


def _item(
    connection: Connection,
    row: Columns,
    numbers: Collection[int] | None,
    all_versions: Sequence[Columns],
    chunks: Sequence[Columns],
    links: Sequence[Columns],
    secrets: Sequence[Columns],
) -> ItemRecord:
    _, identity, drive, path, kind, state, version, created, updated, indexed, deleted = row[:11]
    ref = Ref(drive, path)
    machine = FileRefs(row[22] or "").owner(ref) if drive == DISK else ""
    rows = [one for one in all_versions if numbers is None or one[0] in numbers]
    used = {chunk for one in rows for chunk in _layout(one)[:, 0].tolist()}
    held = [chunk for chunk in chunks if chunk[0] in used]
    if len(held) < len(used):
        raise CorruptStore(
            f"{ref} lacks some of its passages",
            hint="See ‹:doctor›; restore a backup, or export what can be read with ‹salvage›.",
        )
    place = {chunk[0]: at for at, chunk in enumerate(held)}
    versions = tuple(_version(one, place) for one in rows)
    return ItemRecord(
        identity,
        Ref(drive, ref.place),
        kind,
        state,
        version,
        moment(created),
        moment(updated),
        optional_moment(indexed),
        optional_moment(deleted),
        None if row[11] is None else FileRecord(row[11], row[12], row[13] or "", json.loads(row[14] or "{}")),
        _usage(row[15:21]),
        versions,
        tuple(
            ChunkRecord(text, heading, prefix, CHUNK_STATES[chunk_state], moment(since), optional_moment(until))
            for _, text, heading, prefix, chunk_state, since, until in held
        ),
        tuple(  # read item by item, because they may be large
            BlobRecord(digest, data)
            for digest in sorted({version.blob for version in versions if version.blob is not None})
            for (data,) in connection.rows("SELECT data FROM blobs WHERE hash=?", (digest,))
        ),
        tuple(TextLinkRecord(text, name, type_, moment(at)) for text, name, type_, at in links),
        dict(secrets),
        row[21],
        machine,
    )


def _usage(row: Sequence[Any]) -> UsageRecord | None:
    retrieved, last_retrieved, accessed, last_accessed, decay, decay_at = row
    if retrieved is None:
        return None
    return UsageRecord(
        retrieved,
        optional_moment(last_retrieved),
        accessed,
        optional_moment(last_accessed),
        decay,
        optional_moment(decay_at),
    )


def _version(row: Sequence[Any], place: dict[int, int]) -> VersionRecord:
    number, previous, digest, text_hash, drive, path, kind, state, fields, _, marks, first_line, blob, at, said = row
    return VersionRecord(
        number,
        previous,
        digest,
        text_hash,
        Ref(drive, Ref(drive, path).place),
        kind,
        state,
        moment(at),
        all_fields(fields),
        first_line,
        tuple((offset, label) for offset, label in json.loads(marks)),
        tuple((place[chunk], start, first, last) for chunk, start, first, last in _layout(row).tolist()),
        blob,
        json.loads(said or "{}"),
    )


def _layout(row: Sequence[Any]) -> Array:
    """The passages of a version's row: chunk, first character, first and last line."""
    return np.frombuffer(row[9], np.int64).reshape(-1, 4)


def salvaged(connection: Connection, language: str, left_out: list[str], *, log: bool) -> Iterator[Record]:
    """Header and records; two passes, because the header says how many there are."""
    sound = []
    known: set[str] = set()
    for n, ref, _ in stored_items(connection):
        record = _salvaged_item(connection, n, ref, left_out)
        if record is not None and record.id not in known:
            sound.append((n, ref))
            known.add(record.id)
    rest: list[Row] = []
    for name, kind in ROWS.items():
        if log or not kind.is_log:
            try:
                for row in other_records(connection, name):
                    if name != "link" or {row["source"], row["target"]} <= known:
                        rest.append(row)  # noqa: PERF401 - what was read before an error counts
            except _broken(connection) as error:
                left_out.append(f"records of type {name}: the rest cannot be read ({error})")
    counts = Counter(row.type for row in rest)
    yield Header(FORMAT, FORMAT_VERSION, language, None, {**counts, "item": len(sound)})
    for n, ref in sound:
        record = _salvaged_item(connection, n, ref, [])
        assert record is not None, "the same snapshot reads the same"
        yield record
    yield from rest


def _salvaged_item(connection: Connection, n: int, ref: str, left_out: list[str]) -> ItemRecord | None:
    """One item with its undamaged versions; if there are none, as it is."""
    try:
        numbers = [row[0] for row in connection.rows("SELECT number FROM versions WHERE item=? ORDER BY number", (n,))]
    except _broken(connection) as error:
        left_out.append(f"{ref}: its versions cannot be read ({error})")
        return None
    bad = {number: problem for number in numbers if (problem := version_problem(connection, n, number))}
    left_out += [f"{ref} version {number}: {problem}" for number, problem in bad.items()]
    good = [number for number in numbers if number not in bad]
    for readable in ([good] if good else []) + [[number] for number in reversed(numbers)]:
        try:
            item = item_record(connection, n, readable)
            versions = tuple(_rehashed(item, version) for version in item.versions)
            head = item.version if item.version in readable else readable[-1]
            item = replace(item, versions=versions, version=head)
            check_item(item)
            return item
        except _broken(connection):
            continue
    left_out.append(f"{ref}: nothing of it can be read")
    return None


def _rehashed(item: ItemRecord, version: VersionRecord) -> VersionRecord:
    """The version with the hashes of its text as it is."""
    content = item.content(version)
    digest = version.text_hash if version.blob is not None else text_hash(content)
    draft = Draft(version.ref, version.kind, content, fields_of(json.dumps(dict(version.fields))))
    return replace(version, text_hash=digest, hash=version_hash(draft, digest))


def _broken(connection: Connection) -> tuple[type[Exception], ...]:
    """What is raised where something cannot be read."""
    return (Error, *connection.unreadable)
