"""The whole store as records, in an order that depends only on its content: items by id, logs as they were written."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import groupby, islice
from typing import Any

import numpy as np

from ricordo.errors import CorruptStore
from ricordo.exchange.records import (
    CHUNK_STATES,
    FORMAT,
    FORMAT_VERSION,
    AuditRecord,
    BlobRecord,
    ChunkRecord,
    FeedbackRecord,
    FileRecord,
    FoundRecord,
    FreezeRecord,
    Header,
    ItemRecord,
    LearnedRecord,
    LinkRecord,
    OpeningRecord,
    ProposalRecord,
    ProposalRuleRecord,
    QueryRecord,
    Record,
    RootRecord,
    TextLinkRecord,
    UsageRecord,
    VersionRecord,
    WeightRecord,
)
from ricordo.store.sql import machines
from ricordo.store.sql.arrays import Array
from ricordo.store.sql.batches import in_parts
from ricordo.store.sql.proposals import COLUMNS, kept_rules
from ricordo.store.sql.protocols import Connection, Row
from ricordo.store.sql.stored_fields import all_fields
from ricordo.store.sql.times import moment, optional_moment
from ricordo.values.file_refs import DISK, FileRefs
from ricordo.values.items import Ref

_ITEM = (
    "SELECT i.n, i.id, i.drive, i.path, i.kind, i.state, i.version, i.created_at, i.updated_at, i.indexed_at,"
    " i.deleted_at, i.file_mtime, i.file_size, i.file_hash, i.file_fields, u.retrieval_count, u.last_retrieved_at,"
    " u.access_count, u.last_accessed_at, u.decay_score, u.decay_at, i.vouched,"
    f" (SELECT value FROM meta WHERE name = '{machines.HOME_MACHINE}')"
    " FROM items i LEFT JOIN usage u ON u.item = i.n"
)
_BATCH = 128
"""So many items are read together: over a network, trips take most of the time."""
_DETAILS = (
    "SELECT item, number, previous, hash, text_hash, drive, path, kind, state, fields, layout, marks, first_line, blob,"
    " created_at, provenance FROM versions WHERE item IN ({marks}) ORDER BY item, number",
    "SELECT item, id, text, heading, prefix, state, live_from, live_until FROM chunks WHERE item IN ({marks})"
    " ORDER BY item, id",
    "SELECT source, text, name, type, created_at FROM links WHERE source IN ({marks}) AND origin='text'"
    " ORDER BY 1, 2, 3, 4",
    "SELECT item, kind, count FROM secrets WHERE item IN ({marks}) ORDER BY item, kind",
)
"""What is read of items beside their own rows: versions, chunks, links in texts, secrets; the item's number first."""
_OPENING = "FROM retrieval_log r WHERE r.query IS NULL OR NOT EXISTS (SELECT 1 FROM query_log q WHERE q.id = r.query)"
_COUNTS = {
    "item": "items",
    "link": "links WHERE origin <> 'text'",
    "feedback": "feedback",
    "learned": "learned",
    "weights": "weight_log",
    "query": "query_log",
    "opening": _OPENING.removeprefix("FROM "),
    "root": "roots",
    "freeze": "meta WHERE name = 'learning_frozen'",
    "audit": "audit",
    "proposal": "proposals",
}
_LOGS = ("query", "opening", "audit")


def records(connection: Connection, language: str, *, log: bool) -> Iterator[Record]:
    """Header, items, and what refers to them; ``log`` says whether the logs of queries and openings are among them."""
    counts = {
        name: connection.rows(f"SELECT count(*) FROM {table}")[0][0]
        for name, table in _COUNTS.items()
        if log or name not in _LOGS
    } | {"proposal_rule": len(kept_rules(connection))}
    newest = connection.rows(
        "SELECT max(at) FROM (SELECT max(created_at) at FROM versions UNION ALL SELECT max(deleted_at) FROM items)"
    )[0][0]
    yield Header(FORMAT, FORMAT_VERSION, language, optional_moment(newest), counts)
    rows = connection.stream(f"{_ITEM} ORDER BY i.id")
    while batch := list(islice(rows, _BATCH)):
        yield from _items(connection, batch)
    for source in other_records(log=log).values():
        yield from source(connection)


def item_record(connection: Connection, n: int, numbers: Collection[int] | None) -> ItemRecord:
    """One item with some of its versions; None is all."""
    [record] = _items(connection, connection.rows(f"{_ITEM} WHERE i.n=?", (n,)), numbers)
    return record


def other_records(*, log: bool) -> dict[str, Callable[[Connection], Iterator[Record]]]:
    """Readers of everything but the items, in the order of an export."""
    logs: dict[str, Callable[[Connection], Iterator[Record]]] = {"queries": _queries, "openings": _openings}
    return {
        "links": _links,
        "verdicts": _lessons,
        **(logs if log else {}),
        "folders": _roots,
        "settings of learning": _frozen,
        **({"audit": _audit} if log else {}),
        "proposals": proposal_records,
        "rules about proposals": _proposal_rules,
    }


def proposal_records(connection: Connection) -> Iterator[ProposalRecord]:
    """Proposals, and what was decided about each."""
    for _, at, state, kind, way, text, quote, scope, file, session, turn, branch, became in connection.rows(
        f"SELECT {', '.join(COLUMNS)} FROM proposals ORDER BY id"
    ):
        yield ProposalRecord(text, kind, scope, quote, session, turn, moment(at), way, file, branch, state, became)


def _proposal_rules(connection: Connection) -> Iterator[ProposalRuleRecord]:
    for name, rule in sorted(kept_rules(connection).items()):
        yield ProposalRuleRecord(name, rule)


def _audit(connection: Connection) -> Iterator[AuditRecord]:
    for at, what, item, ref, version, said in connection.stream(
        "SELECT at, what, item, ref, version, provenance FROM audit ORDER BY id"
    ):
        yield AuditRecord(moment(at), what, item, ref, version, json.loads(said or "{}"))


def _roots(connection: Connection) -> Iterator[RootRecord]:
    for machine, path, globs, added in connection.rows(
        "SELECT machine, path, globs, added_at FROM roots ORDER BY path, machine"
    ):
        yield RootRecord(path, tuple(json.loads(globs)), moment(added), machines.name_of(connection, machine))


def _frozen(connection: Connection) -> Iterator[FreezeRecord]:
    for (frozen,) in connection.rows("SELECT value FROM meta WHERE name = 'learning_frozen'"):
        yield FreezeRecord(bool(frozen))


def _items(connection: Connection, rows: Sequence[Row], numbers: Collection[int] | None = None) -> Iterator[ItemRecord]:
    """The records of some items, whose parts are read together; ``numbers`` are the versions wanted, None is all."""
    [(marks, part)] = in_parts([row[0] for row in rows])
    parts = [_by_item(connection.rows(statement.format(marks=marks), part)) for statement in _DETAILS]
    for row in rows:
        yield _item(connection, row, numbers, *(found.get(row[0], []) for found in parts))


def _by_item(rows: Sequence[Row]) -> dict[int, list[Row]]:
    """Rows by the number they begin with, each without it."""
    found: dict[int, list[Row]] = {}
    for n, *rest in rows:
        found.setdefault(n, []).append(tuple(rest))
    return found


def _item(
    connection: Connection,
    row: Row,
    numbers: Collection[int] | None,
    all_versions: Sequence[Row],
    chunks: Sequence[Row],
    links: Sequence[Row],
    secrets: Sequence[Row],
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
        _file(row[11:15]),
        _usage(row[15:21]),
        versions,
        tuple(
            ChunkRecord(text, heading, prefix, CHUNK_STATES[chunk_state], moment(since), optional_moment(until))
            for _, text, heading, prefix, chunk_state, since, until in held
        ),
        _blobs(connection, versions),
        tuple(TextLinkRecord(text, name, type_, moment(at)) for text, name, type_, at in links),
        dict(secrets),
        row[21],
        machine,
    )


def _file(row: Sequence[Any]) -> FileRecord | None:
    mtime, size, digest, fields = row
    return None if mtime is None else FileRecord(mtime, size, digest or "", json.loads(fields or "{}"))


def _usage(row: Sequence[Any]) -> UsageRecord | None:
    retrieved, last_retrieved, accessed, last_accessed, decay, decay_at = row
    if retrieved is None:
        return None
    times = optional_moment(last_retrieved), optional_moment(last_accessed), optional_moment(decay_at)
    return UsageRecord(retrieved, times[0], accessed, times[1], decay, times[2])


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


def _blobs(connection: Connection, versions: Sequence[VersionRecord]) -> tuple[BlobRecord, ...]:
    """The bytes of an item's versions; read item by item, because they may be large."""
    wanted = sorted({version.blob for version in versions if version.blob is not None})
    return tuple(
        BlobRecord(digest, data)
        for digest in wanted
        for (data,) in connection.rows("SELECT data FROM blobs WHERE hash=?", (digest,))
    )


def _links(connection: Connection) -> Iterator[LinkRecord]:
    for source, target, type_, origin, text, at in connection.stream(
        "SELECT s.id, t.id, l.type, l.origin, l.text, l.created_at FROM links l JOIN items s ON s.n = l.source"
        " JOIN items t ON t.n = l.target WHERE l.origin <> 'text' ORDER BY 1, 2, 3, 4, 5"
    ):
        yield LinkRecord(source, target, type_, origin, text, moment(at))


def _lessons(connection: Connection) -> Iterator[FeedbackRecord | LearnedRecord | WeightRecord]:
    for query, item, ref, verdict, counted, at in connection.stream(
        "SELECT f.query, i.id, f.ref, f.verdict, f.counted, f.at FROM feedback f LEFT JOIN items i ON i.n = f.item"
        " ORDER BY f.id"
    ):
        yield FeedbackRecord(query, item, ref, verdict, bool(counted), moment(at))
    for profile, shift, since in connection.rows(
        "SELECT profile, shift, (SELECT count(*) FROM feedback f WHERE f.id <= since) FROM learned ORDER BY profile"
    ):
        yield LearnedRecord(profile, shift, since)
    for profile, at, reason, before, after, shift_before, shift_after, counted in connection.stream(
        "SELECT profile, at, reason, before, after, shift_before, shift_after, counted FROM weight_log ORDER BY id"
    ):
        yield WeightRecord(
            profile, moment(at), reason, json.loads(before), json.loads(after), shift_before, shift_after, counted
        )


def _queries(connection: Connection) -> Iterator[QueryRecord]:
    rows = connection.stream(
        "SELECT q.id, q.text, q.tool, q.profile, q.results, q.refs, q.ms, q.at, q.asker, q.fit, i.id, r.ref,"
        " r.version, r.score, r.at FROM query_log q LEFT JOIN retrieval_log r ON r.query = q.id"
        " LEFT JOIN items i ON i.n = r.item"
        " ORDER BY q.id, r.id"
    )
    for (_, text, tool, profile, results, refs, ms, at, asker, fit), group in groupby(rows, key=lambda row: row[:10]):
        found = tuple(
            FoundRecord(item, ref, version, score, moment(when))
            for item, ref, version, score, when in (row[10:] for row in group)
            if item is not None
        )
        yield QueryRecord(
            text, tool, profile, results, tuple(json.loads(refs)), ms, moment(at), found, json.loads(asker or "{}"), fit
        )


def _openings(connection: Connection) -> Iterator[OpeningRecord]:
    for item, ref, version, score, at, asker in connection.stream(
        "SELECT (SELECT id FROM items WHERE n = r.item), r.ref, r.version, r.score, r.at, r.asker"
        f" {_OPENING} ORDER BY r.id"
    ):
        yield OpeningRecord(item, ref, version, score, moment(at), json.loads(asker or "{}"))
