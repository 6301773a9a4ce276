"""Exports a damaged store: everything that can still be read, row by row, and a list of what cannot.

Damaged versions are left out if the item has undamaged ones. An item without any keeps its damaged text under a new
hash, so that it can be imported, and is reported as damaged.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import apsw

from ricordo.errors import Error
from ricordo.exchange.codec import BadRecord
from ricordo.exchange.records import (
    FORMAT,
    FORMAT_VERSION,
    ROWS,
    Header,
    ItemRecord,
    Record,
    Row,
    VersionRecord,
    check_item,
    type_of,
)
from ricordo.store.prepare import text_hash
from ricordo.store.sql import exporting
from ricordo.store.sql.damage import item_places, version_problem
from ricordo.store.sql.protocols import UNREADABLE, Connection
from ricordo.store.sql.stored_fields import fields_of
from ricordo.values.items import Draft, version_hash

_ANY = (apsw.Error, Error, BadRecord, *UNREADABLE)


def records(connection: Connection, language: str, left_out: list[str], *, log: bool) -> Iterator[Record]:
    """Header and records; two passes, because the header says how many there are."""
    counts: Counter[str] = Counter()
    sound = []
    known: set[str] = set()
    for n, ref in item_places(connection):
        record = _item(connection, n, ref, left_out)
        if record is not None and record.id not in known:
            sound.append((n, ref))
            known.add(record.id)
    rest = [record for record in _others(connection, left_out, log=log) if _refers_to(record) <= known]
    counts.update(map(type_of, rest))
    counts["item"] = len(sound)
    yield Header(FORMAT, FORMAT_VERSION, language, None, dict(counts))
    for n, ref in sound:
        record = _item(connection, n, ref, [])
        assert record is not None, "the same snapshot reads the same"
        yield record
    yield from rest


def _item(connection: Connection, n: int, ref: str, left_out: list[str]) -> ItemRecord | None:
    """One item with its undamaged versions; if there are none, as it is."""
    try:
        numbers = [row[0] for row in connection.rows("SELECT number FROM versions WHERE item=? ORDER BY number", (n,))]
    except _ANY as error:
        left_out.append(f"{ref}: its versions cannot be read ({error})")
        return None
    bad = {number: problem for number in numbers if (problem := version_problem(connection, n, number))}
    left_out += [f"{ref} version {number}: {problem}" for number, problem in bad.items()]
    good = [number for number in numbers if number not in bad]
    for kept in ([good] if good else []) + [[number] for number in reversed(numbers)]:
        try:
            record = _readable(exporting.item_record(connection, n, kept))
            check_item(record)
            return record
        except _ANY:
            continue
    left_out.append(f"{ref}: nothing of it can be read")
    return None


def _readable(item: ItemRecord) -> ItemRecord:
    """The item with its newest remaining version as the current one, and hashes of the text as it is."""
    versions = tuple(_rehashed(item, version) for version in item.versions)
    numbers = [version.number for version in versions]
    return replace(item, versions=versions, version=item.version if item.version in numbers else numbers[-1])


def _rehashed(item: ItemRecord, version: VersionRecord) -> VersionRecord:
    content = item.content(version)
    digest = version.text_hash if version.blob is not None else text_hash(content)
    draft = Draft(version.ref, version.kind, content, fields_of(json.dumps(dict(version.fields))))
    return replace(version, text_hash=digest, hash=version_hash(draft, digest))


def _others(connection: Connection, left_out: list[str], *, log: bool) -> Iterator[Record]:
    """Links, verdicts, logs and folders: of each as many as can be read."""
    for name, kind in ROWS.items():
        if log or not kind.is_log:
            try:
                yield from exporting.other_records(connection, name)
            except _ANY as error:
                left_out.append(f"records of type {name}: the rest cannot be read ({error})")


def _refers_to(record: Record) -> set[str]:
    """The ids of the items that a link connects; if one is left out, the link is, too."""
    return {record["source"], record["target"]} if isinstance(record, Row) and record.type == "link" else set()
