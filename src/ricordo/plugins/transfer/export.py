"""The records of a store; of a damaged one, all that can still be read, and a list of what cannot.

Damaged versions are left out if the item has undamaged ones. An item without any keeps its damaged text under a new
hash, so that it can be imported, and is reported as damaged.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO, get_origin

from ricordo.engine.context import EngineContext
from ricordo.errors import CorruptStore, Error, PathConflict, StoreError, UsageError
from ricordo.exchange.records import ItemRecord, VersionRecord, check_item
from ricordo.permissions import is_admin, refuse_replacing
from ricordo.plugins.transfer.export_file import (
    FORMAT,
    FORMAT_VERSION,
    ROWS,
    FoundRecord,
    Header,
    Record,
    Row,
    type_of,
    write,
)
from ricordo.plugins.transfer.values import ExportReport
from ricordo.store.base import OpenStore
from ricordo.store.prepare import text_hash
from ricordo.store.sql import files
from ricordo.store.sql.damage import stored_items, version_problem
from ricordo.store.sql.database import Connection, moment, optional_moment
from ricordo.store.sql.item_records import all_items, item_record
from ricordo.store.sql.items import fields_of
from ricordo.store.sql.proposals import proposal_rules
from ricordo.values.items import Draft, version_hash


def export(
    context: EngineContext, target: str | Path | BinaryIO, *, log: bool, force: bool, salvage: bool
) -> ExportReport:
    """Write the store to a file, or to an open one; ``-`` is standard output."""
    left_out: list[str] = []
    if isinstance(target, (str, Path)) and target != "-":
        refuse_replacing(Path(target).expanduser(), force=force)
    if salvage:
        # neither written to nor compared with its files
        source = salvaged(context.unsynced_store.opened, left_out, log=log)
    else:
        context.flush_use()
        source = records(context.store.opened, log=log)
    with closing(source) as everything:
        allowed = (
            one for one in everything if is_admin() or type_of(one) not in ("audit", "proposal", "proposal_rule")
        )
        if target == "-":
            target = sys.stdout.buffer
        if not isinstance(target, (str, Path)):
            return ExportReport("-", *write(allowed, target), tuple(left_out))
        path = Path(target).expanduser()
        location = context.located.location
        own = [] if location.address else [Path(f"{location.path}{end}") for end in ("", "-wal", "-shm", "-key")]
        if path.exists() and any(one.exists() and path.samefile(one) for one in own):
            raise UsageError(f"{path} belongs to the store itself", hint="Name another file.")
        with _new_file(path, force=force) as out:
            written = write(allowed, out)
        return ExportReport(str(path), *written, tuple(left_out))


def records(opened: OpenStore, *, log: bool = True) -> Generator[Record]:
    """All that a store holds, as it was at one moment: header, items, and what refers to them; ``log`` says whether the
    logs of queries and openings are among them.
    """
    try:
        with opened.database.read() as connection:
            yield from _records(connection, opened.language, log=log)
    except CorruptStore as error:  # who finds an export takes it for all that there was
        hint = "‹:doctor --repair› mends what it can; ‹:export --salvage FILE› takes out all that can be read."
        raise CorruptStore(f"nothing is exported, because {error.message}", hint=hint) from error


def salvaged(opened: OpenStore, left_out: list[str], *, log: bool = True) -> Generator[Record]:
    """All that can still be read of a damaged store; what cannot be read is added to ``left_out``."""
    with opened.database.read() as connection:
        yield from _salvaged(connection, opened.language, left_out, log=log)


def _records(connection: Connection, language: str, *, log: bool) -> Iterator[Record]:
    wanted = [name for name, rows in ROWS.items() if log or not rows.is_log]
    counts = {"item": connection.rows("SELECT count(*) FROM items")[0][0]}
    for name in wanted:
        rows = ROWS[name]
        counts[name] = (
            connection.rows(f"SELECT count(*) FROM {rows.table} t WHERE {rows.where or '1=1'}")[0][0]
            if rows.table
            else len(proposal_rules(connection))
        )
    newest = connection.rows(
        "SELECT max(at) FROM (SELECT max(created_at) at FROM versions UNION ALL SELECT max(deleted_at) FROM items)"
    )[0][0]
    yield Header(
        format=FORMAT, version=FORMAT_VERSION, language=language, changed_at=optional_moment(newest), counts=counts
    )
    yield from all_items(connection)
    for name in wanted:
        yield from _other_records(connection, name)


def _other_records(connection: Connection, name: str) -> Iterator[Row]:
    """The records of one type that are not items."""
    if name == "proposal_rule":
        for kind, rule in sorted(proposal_rules(connection).items()):
            yield Row(name, {"name": kind, "rule": rule})
        return
    columns = ROWS[name].columns
    readers = {column: _reader(hint) for column, hint in columns.items()}
    hits = _hits_by_query(connection) if name == "query" else None
    for row in connection.stream(ROWS[name].select):
        values = {column: read(value) for (column, read), value in zip(readers.items(), row, strict=True)}
        if hits is not None:
            values["found"] = hits.get(values["found"], ())
        if name == "root":
            values["machine"] = files.name_of(connection, values["machine"])
        yield Row(name, values)


def _hits_by_query(connection: Connection) -> dict[int, tuple[FoundRecord, ...]]:
    """What the queries of the log found, by the numbers of their entries."""
    rows = connection.stream(
        "SELECT r.query, i.id, r.ref, r.version, r.score, r.at FROM retrieval_log r JOIN items i ON i.n = r.item"
        " WHERE r.query IS NOT NULL ORDER BY r.query, r.id"
    )
    return {
        query: tuple(
            FoundRecord(item=item, ref=ref, version=version, score=score, at=moment(at))
            for _, item, ref, version, score, at in group
        )
        for query, group in groupby(rows, key=lambda row: row[0])
    }


def _reader(hint: Any) -> Callable[[Any], Any]:
    """What makes a value of a type from a column."""
    if hint is datetime:
        return moment
    if hint is bool:
        return bool
    if get_origin(hint) is Mapping:
        return lambda text: json.loads(text or "{}")
    if hint == tuple[str, ...]:
        return lambda text: tuple(json.loads(text))
    return lambda value: value


def _salvaged(connection: Connection, language: str, left_out: list[str], *, log: bool) -> Iterator[Record]:
    """Header and records; two passes, because the header says how many there are."""
    sound = []
    identities: set[str] = set()
    for n, ref, _ in stored_items(connection):
        record = _salvaged_item(connection, n, ref, left_out)
        if record is not None and record.id not in identities:
            sound.append((n, ref))
            identities.add(record.id)
    rest: list[Row] = []
    for name, kind in ROWS.items():
        if log or not kind.is_log:
            try:
                for row in _other_records(connection, name):
                    if name != "link" or {row["source"], row["target"]} <= identities:
                        rest.append(row)  # noqa: PERF401 - what was read before an error counts
            except _broken(connection) as error:
                left_out.append(f"records of type {name}: the rest cannot be read ({error})")
    counts = Counter(row.type for row in rest)
    yield Header(
        format=FORMAT, version=FORMAT_VERSION, language=language, changed_at=None, counts={**counts, "item": len(sound)}
    )
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
            versions = tuple(_rehashed(item, version, bad.get(version.number, "")) for version in item.versions)
            head = item.version if item.version in readable else readable[-1]
            was = item.version
            item = replace(item, versions=versions, version=head)
            check_item(item)
            left_out += [f"{ref}: version {was} is gone, version {head} stands in"] if head != was else []
            return item
        except _broken(connection):
            continue
    left_out.append(f"{ref}: nothing of it can be read")
    return None


def _rehashed(item: ItemRecord, version: VersionRecord, problem: str) -> VersionRecord:
    """The version with the hashes of its text as it is. A damaged one says so in its metadata from then on, because
    its new hashes no longer do.
    """
    if problem:
        fields = dict(version.fields)
        version = replace(version, fields={**fields, "metadata": {**fields.get("metadata", {}), "damaged": problem}})
    content = item.content(version)
    digest = version.text_hash if version.blob is not None else text_hash(content)
    draft = Draft(version.ref, version.kind, content, fields_of(json.dumps(dict(version.fields))))
    return replace(version, text_hash=digest, hash=version_hash(draft, digest))


def _broken(connection: Connection) -> tuple[type[Exception], ...]:
    """What is raised where something cannot be read."""
    return (Error, *connection.unreadable)


@contextmanager
def _new_file(path: Path, *, force: bool) -> Iterator[BinaryIO]:
    """A new file that only its owner can read; it gets its name only when it is complete."""
    if not path.parent.is_dir():
        raise StoreError(f"there is no folder {path.parent}", hint=f"Make it first: mkdir -p {path.parent}")
    if path.is_dir():
        raise UsageError(f"{path} is a folder", hint=f"Name a file in it, such as {path / 'export.jsonl'}")
    if path.exists() and not force:
        raise PathConflict(f"{path} exists", hint="Pass ‹force› to replace it, or name another file.")
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)
        handle = os.open(partial, flags, 0o600)
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        partial.replace(path)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {error.strerror or error}",
            hint="Check that the disk has room and the folder can be written to, or name another place.",
        ) from error
    finally:
        partial.unlink(missing_ok=True)
