"""The current rows of items, as far as they decide what a write does."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable

from ricordo.errors import Conflict, Forbidden
from ricordo.frozen import frozen
from ricordo.speaking import speaker
from ricordo.store.sql.batches import in_parts
from ricordo.store.sql.protocols import Connection, Row
from ricordo.store.values import PreparedItem
from ricordo.values.items import Ref
from ricordo.values.kinds import KNOWLEDGE_FOLDERS
from ricordo.values.provenance import PERSON, Provenance, read


@frozen
class Head:
    """The row of an item that decides what a save does."""

    n: int
    id: str
    state: str
    version: int
    hash: str
    text_hash: str
    immutable: bool


_HEAD = "SELECT n, id, state, version, hash, text_hash, fields FROM items"


def _head(row: Row) -> Head:
    n, identity, state, version, digest, text_digest, fields = row
    return Head(n, identity, state, version, digest, text_digest, bool(json.loads(fields).get("immutable")))


def find_head(connection: Connection, drive: str, path: str) -> Head | None:
    """The item that holds a ref now."""
    rows = connection.rows(f"{_HEAD} WHERE drive=? AND path=? AND state <> 'deleted'", (drive, path))
    return _head(rows[0]) if rows else None


def find_heads(connection: Connection, refs: Iterable[Ref]) -> dict[Ref, Head | None]:
    """The items that hold some refs now, by ref; None for a free one."""
    found: dict[Ref, Head | None] = dict.fromkeys(refs)
    paths: dict[str, set[str]] = {}
    for ref in found:
        paths.setdefault(ref.drive, set()).add(ref.path)
    for drive, some in paths.items():
        for marks, part in in_parts(sorted(some)):
            for *head, path in connection.rows(
                f"SELECT n, id, state, version, hash, text_hash, fields, path FROM items WHERE drive=?"
                f" AND path IN ({marks}) AND state <> 'deleted'",
                (drive, *part),
            ):
                found[Ref(drive, path)] = _head(tuple(head))
    return found


def new_id() -> str:
    """A UUIDv7: sorts by time, carries no machine address."""
    stamp = int(time.time() * 1000).to_bytes(6, "big")
    noise = bytearray(os.urandom(10))
    noise[0] = 0x70 | noise[0] & 0x0F
    noise[2] = 0x80 | noise[2] & 0x3F
    text = (stamp + bytes(noise)).hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def find_by_id(connection: Connection, identity: str) -> Head | None:
    """The item with an id, in the bin or not."""
    rows = connection.rows(f"{_HEAD} WHERE id=?", (identity,))
    return _head(rows[0]) if rows else None


def find_by_ids(connection: Connection, identities: Iterable[str]) -> dict[str, Head]:
    """The items with some ids, in the bin or not, as far as there are such."""
    found: dict[str, Head] = {}
    for marks, part in in_parts(identities):
        heads = [_head(row) for row in connection.rows(f"{_HEAD} WHERE id IN ({marks})", part)]
        found |= {head.id: head for head in heads}
    return found


def head_of(connection: Connection, n: int) -> Head:
    """The item with a number, in the bin or not."""
    return _head(connection.rows(f"{_HEAD} WHERE n=?", (n,))[0])


def refuse_silencing(connection: Connection, n: int, ref: str) -> None:
    """Nobody but the user takes away what the user tells every agent; others may propose a change."""
    if speaker().author == PERSON:
        return
    rows = connection.rows(
        "SELECT i.kind, v.fields FROM items i JOIN versions v ON v.item = i.n AND v.number = i.vouched WHERE i.n=?",
        (n,),
    )
    if rows and rows[0][0] in KNOWLEDGE_FOLDERS and json.loads(rows[0][1]).get("loading") == "always":
        raise Forbidden(
            f"{ref} is what the user tells every agent, and only the user may put it away",
            hint="Edit it instead: the user then decides which version is told.",
        )


def refuse_removal(connection: Connection, n: int) -> Head:
    """The item with a number, if it may be removed."""
    head, ref = head_of(connection, n), ref_of(connection, n)
    refuse_immutable(head, ref)
    refuse_silencing(connection, n, ref)
    return head


def ref_of(connection: Connection, n: int) -> str:
    """The ref of the item with a number."""
    return str(connection.rows("SELECT drive || ':' || path FROM items WHERE n=?", (n,))[0][0])


def is_users(connection: Connection, head: Head, item: PreparedItem, said: Provenance) -> bool:
    """Whether the next version of an item is the user's: a person wrote its text, or its file is in a trusted folder.

    A person who changes only fields, or restores a text, has not written that text: it is the user's if it was before.
    """
    if item.vouched or said.author != PERSON:
        return item.vouched
    before = connection.rows(
        "SELECT v.number, v.provenance, i.vouched FROM versions v JOIN items i ON i.n = v.item"
        " WHERE v.item=? AND v.text_hash=? ORDER BY v.number = i.vouched DESC, v.number DESC LIMIT 1",
        (head.n, item.text_hash),
    )
    return not before or before[0][0] == before[0][2] or read(before[0][1]).author == PERSON


def refuse_immutable(head: Head, ref: str) -> None:
    """Immutable items refuse every change."""
    if head.immutable:
        raise Conflict(
            f"{ref} is immutable",
            hint="It was saved as immutable on purpose; save a new item beside it, and link the two.",
        )
