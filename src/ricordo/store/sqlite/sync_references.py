"""Documents by reference, among machines that sync through a folder: each says which files and pages it has, and
nothing of what is in them.

What a machine says about a document is an entry; the last one counts, because nobody else speaks about its documents.
If a document is erased, what was said about it before is erased everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ricordo.exchange.codec import decode, encode
from ricordo.exchange.entries import REFERENCE, REFERENCES, LogEntry, ReferenceBody, reference_name
from ricordo.store.sql import machines
from ricordo.store.sql.batches import in_parts
from ricordo.store.sql.times import moment
from ricordo.store.sqlite import sync_rows
from ricordo.store.sqlite.connection import Connection
from ricordo.store.values import KnownReference
from ricordo.values.file_refs import DISK
from ricordo.values.items import Ref

Say = Callable[[str, str, Sequence[str], Mapping[str, Any]], str]
HERE, GONE, ERASED = "here", "gone", "erased"
_DRIVES = (DISK, "url")
"""Files and pages; commits and what other loaders bring belong to what they were read from."""


def capture(connection: Connection, machine: str, say: Say, *, is_chosen: bool) -> None:
    """Write down which documents are new, changed or gone since the last time; if they do not travel by reference (any
    more), all are gone.
    """
    held = _held(connection, machine) if is_chosen else {}
    known = _known(connection, f"{REFERENCES}{machine} ")
    for name, body in held.items():
        if name not in known or _last(known[name]) != body:
            say(REFERENCE, name, (), encode(body))
    lost = sorted(known.keys() - held.keys())
    left = _existing(connection, [_item_of(name) for name in lost])
    for name in lost:
        state = GONE if _item_of(name) in left else ERASED
        if _last(known[name]).state not in (state, ERASED):
            say(REFERENCE, name, (), encode(ReferenceBody(state)))
    settle(connection, lost)


def settle(connection: Connection, names: Collection[str]) -> None:
    """Of documents that were erased, let nothing stay that was said before."""
    for entries in sync_rows.of_items(connection, names).values():
        erasures = [entry.order for _, entry in entries if entry.body and entry.body["state"] == ERASED]
        if erasures:
            last = max(erasures)
            sync_rows.erase(connection, sorted(uid for uid, one in entries if one.body and one.order < last))


def elsewhere(connection: Connection, machine: str) -> list[KnownReference]:
    """The documents that other machines said they have, each with the item here that is the same."""
    said = []
    for name, entries in _known(connection, REFERENCES).items():
        owner = name.removeprefix(REFERENCES).split(" ")[0]
        body = _last(entries)
        if owner != machine and body.state == HERE:
            said.append((owner, body))
    hashes = _refs_here(connection, "text_hash", [body.text_hash for _, body in said])
    refs = _refs_here(connection, "drive || ':' || path", [body.ref for _, body in said if body.url])
    return [
        KnownReference(
            owner, body.ref, body.below_home, body.title, body.tags, body.url, body.size, moment(body.updated_at),
            hashes.get(body.text_hash) or refs.get(body.ref, ""),
        )
        for owner, body in sorted(said, key=lambda row: (row[0], row[1].ref))
    ]  # fmt: skip


def _held(connection: Connection, machine: str) -> dict[str, ReferenceBody]:
    """What is to be said about each document of this machine that does not travel whole."""
    refs = machines.refs_of(connection)
    tags: dict[int, list[str]] = {}
    for n, tag in connection.rows("SELECT t.item, t.tag FROM item_tags t JOIN items i ON i.n = t.item ORDER BY t.tag"):
        tags.setdefault(n, []).append(tag)
    found = {}
    for n, item, drive, path, title, url, digest, size, updated in connection.rows(
        "SELECT i.n, i.id, i.drive, i.path, i.title, i.source_url, i.text_hash, i.size, i.updated_at FROM items i"
        " WHERE i.kind = 'document' AND i.state = 'live' AND i.drive IN (?, ?)"
        " AND NOT EXISTS (SELECT 1 FROM sync_items s WHERE s.item = i.id)",
        _DRIVES,
    ):
        ref = Ref(drive, path)
        if refs.is_here(ref):
            place = refs.place(ref) if drive == DISK else ""
            plain = f"{DISK}:{place}" if place else str(ref)
            address = "" if place else url or path.lstrip("/")
            found[reference_name(machine, item)] = ReferenceBody(
                HERE, plain, _below_home(place), title, tuple(tags.get(n, ())), address, digest, size, updated
            )
    return found


def _below_home(place: str) -> str:
    """Where a file is below the user's home, which has another name on another machine; empty if it is not there."""
    file, home = Path(place), Path.home()
    return file.relative_to(home).as_posix() if place and file.is_relative_to(home) else ""


def _known(connection: Connection, beginning: str) -> dict[str, list[LogEntry]]:
    found: dict[str, list[LogEntry]] = {}
    for _, entry in sync_rows.of_items_like(connection, beginning):
        if entry.kind == REFERENCE:
            found.setdefault(entry.item, []).append(entry)
    return found


def _last(entries: Sequence[LogEntry]) -> ReferenceBody:
    return decode(ReferenceBody, max(entries, key=lambda entry: (*entry.order, entry.uid)).body)


def _item_of(name: str) -> str:
    return name.rpartition(" ")[2]


def _existing(connection: Connection, items: Collection[str]) -> set[str]:
    """Those of the items that are in the store, be it in the bin."""
    return {
        row[0]
        for marks, part in in_parts(sorted(items))
        for row in connection.rows(f"SELECT id FROM items WHERE id IN ({marks})", part)
    }


def _refs_here(connection: Connection, column: str, values: Collection[str]) -> dict[str, str]:
    """The refs of live items by a column of theirs."""
    return {
        row[0]: row[1]
        for marks, part in in_parts(sorted(set(values) - {""}))
        for row in connection.rows(
            f"SELECT {column}, drive || ':' || path FROM items WHERE state = 'live' AND {column} IN ({marks})", part
        )
    }
