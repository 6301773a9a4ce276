"""Reading items: by ref, id or filter; their versions, content, places and neighbours in the tree."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np

from ricordo.errors import NotFound
from ricordo.store.arrays import Array
from ricordo.store.sql.batches import in_parts
from ricordo.store.sql.filters import where
from ricordo.store.sql.protocols import Connection, Row
from ricordo.store.sql.stored_fields import fields_of
from ricordo.store.sql.times import DAY, micros, moment, now_micros, optional_moment
from ricordo.values import provenance
from ricordo.values.hits import Filters
from ricordo.values.items import Draft, Item, Mark, Passage, Ref
from ricordo.values.use import decayed

ITEM_COLUMNS = (
    "i.n, i.id, i.drive, i.path, i.kind, i.state, i.version, i.hash, i.fields, i.size, i.created_at,"
    " i.updated_at, i.indexed_at, u.retrieval_count, u.last_retrieved_at, u.access_count, u.last_accessed_at,"
    " u.decay_score, u.decay_at, CASE i.kind WHEN 'entity' THEN (SELECT count(DISTINCT l.source) FROM links l"
    " JOIN items s ON s.n = l.source AND s.state = 'live' WHERE l.target = i.n AND l.type = 'mentions') ELSE 0 END,"
    " i.provenance, i.vouched"
)
ITEM_TABLES = "FROM items i LEFT JOIN usage u ON u.item = i.n"
ITEM = f"SELECT {ITEM_COLUMNS} {ITEM_TABLES} "


def decay_now(score: float | None, since: int, protected: bool) -> float:
    """A stored decay score (1 when there is none yet) as it is by now."""
    return decayed(1.0 if score is None else score, (now_micros() - since) / DAY, protected=protected)


def item_of(row: tuple[Any, ...], content: str = "", first_line: int = 1, *, foreign: bool = False) -> Item:
    """An item from a row of ``ITEM_COLUMNS``; ``foreign`` if the user does not trust the store that it is in."""
    fields = fields_of(row[8])
    return Item(
        id=row[1],
        ref=Ref(row[2], row[3]),
        kind=row[4],
        state=row[5],
        version=row[6],
        content_hash=row[7],
        content=content,
        fields=fields,
        created_at=moment(row[10]),
        updated_at=moment(row[11]),
        first_line=first_line,
        indexed_at=optional_moment(row[12]),
        retrieval_count=row[13] or 0,
        last_retrieved_at=optional_moment(row[14]),
        access_count=row[15] or 0,
        last_accessed_at=optional_moment(row[16]),
        decay_score=decay_now(row[17], row[18] or row[10], fields.decay_protected),
        size=row[9],
        mention_count=row[19],
        provenance=provenance.read(row[20]),
        vouched=row[21],
        foreign=foreign,
    )


def entity_titles(connection: Connection) -> list[tuple[int, str]]:
    """Numbers and titles of the live entities that have one."""
    rows = connection.rows("SELECT n, title FROM items WHERE kind='entity' AND state='live' AND title<>'' ORDER BY n")
    return [(n, title) for n, title in rows]


def number_of(connection: Connection, ref: Ref) -> int | None:
    """The number of the item at a ref; the latest one in the bin when none is live."""
    rows = connection.rows(
        "SELECT n FROM items WHERE drive=? AND path=? ORDER BY state='deleted', deleted_at DESC LIMIT 1",
        (ref.drive, ref.path),
    )
    return rows[0][0] if rows else None


def by_number(connection: Connection, n: int) -> Item | None:
    """One item, with its current content."""
    rows = connection.rows(f"{ITEM} WHERE i.n=?", (n,))
    if not rows:
        return None
    content, first_line = content_of(connection, n, rows[0][6])
    item = item_of(rows[0], content, first_line, foreign=connection.foreign)
    return replace(item, has_embedding=_has_embedding(connection, n))


def at_version(connection: Connection, n: int, number: int | None) -> Item:
    """An item with its content, now or in one of its versions."""
    item = by_number(connection, n)
    if item is None:
        raise NotFound("the item is gone", hint="It was removed a moment ago.")
    if number is None or number == item.version:
        return item
    as_it_was = as_version(connection, n, item, number)
    return replace(as_it_was, content=content_of(connection, n, number)[0])


VERSION_COLUMNS = "hash, created_at, drive, path, kind, fields, size, provenance, first_line"


def as_version(connection: Connection, n: int, item: Item, number: int) -> Item:
    """An item as one of its versions has it, without the text."""
    rows = connection.rows(f"SELECT {VERSION_COLUMNS} FROM versions WHERE item=? AND number=?", (n, number))
    if not rows:
        raise NotFound(f"{item.ref} has no version {number}", hint=f"‹:history {item.ref}› lists them.")
    return with_version(item, number, rows[0])


def with_version(item: Item, number: int, row: Row) -> Item:
    """An item with what a version's row (``VERSION_COLUMNS``) says, without the text."""
    digest, created, drive, path, kind, fields, size, said, first_line = row
    return replace(
        item,
        ref=Ref(drive, path),
        kind=kind,
        version=number,
        content_hash=digest,
        content="",
        fields=fields_of(fields),
        updated_at=moment(created),
        first_line=first_line,
        size=size,
        provenance=provenance.read(said),
    )


def _has_embedding(connection: Connection, n: int) -> bool:
    """Whether an item has passages, and each of them its vector by the model in use.

    The models come from a list of their own: joined with the vectors, SQLite would look through all of these.
    """
    [(passages, waiting)] = connection.rows(
        "SELECT count(*), coalesce(sum(CASE WHEN EXISTS (SELECT 1 FROM vectors v WHERE v.hash = c.embed_hash"
        " AND v.fingerprint IN (SELECT id FROM fingerprints WHERE active)) THEN 0 ELSE 1 END), 0)"
        " FROM chunks c WHERE c.item = ? AND c.state = 0",
        (n,),
    )
    return bool(passages) and not waiting


def by_numbers(connection: Connection, numbers: Sequence[int]) -> dict[int, Item]:
    """Items without their content, by number."""
    found: dict[int, Item] = {}
    for marks, part in in_parts(numbers):
        for row in connection.rows(f"{ITEM} WHERE i.n IN ({marks})", part):
            found[row[0]] = item_of(row, foreign=connection.foreign)
    return found


def newest(connection: Connection, filters: Filters, limit: int) -> list[int]:
    """Numbers of the items that pass the filters, newest first."""
    condition, values = where(filters, connection.dialect)
    rows = connection.rows(
        f"SELECT i.n FROM items i WHERE {condition} ORDER BY i.updated_at DESC, i.drive, i.path LIMIT ?",
        (*values, limit),
    )
    return [row[0] for row in rows]


def count(connection: Connection, filters: Filters) -> int:
    """How many items pass the filters."""
    condition, values = where(filters, connection.dialect)
    return int(connection.rows(f"SELECT count(*) FROM items i WHERE {condition}", values)[0][0])


def content_of(connection: Connection, n: int, number: int) -> tuple[str, int]:
    """The text of a version, put together from its chunks, and the line it starts at."""
    found = connection.rows("SELECT layout, first_line FROM versions WHERE item=? AND number=?", (n, number))
    if not found:
        raise KeyError(f"version {number}")
    layout, first_line = found[0]
    order = np.frombuffer(layout, np.int64).reshape(-1, 4)[:, 0].tolist()
    texts: dict[int, str] = dict(connection.rows("SELECT id, text FROM chunks WHERE item=?", (n,)))
    return "".join(texts[chunk] for chunk in order), first_line


def stored_hash(connection: Connection, n: int, number: int) -> tuple[str, str | None]:
    """The hash that the content of a version was saved with, and that of its bytes when it holds no text."""
    digest, blob = connection.rows("SELECT text_hash, blob FROM versions WHERE item=? AND number=?", (n, number))[0]
    return digest, blob


def blob_of(connection: Connection, n: int, number: int) -> bytes | None:
    """The bytes of a version that holds no text."""
    rows = connection.rows(
        "SELECT data FROM versions JOIN blobs ON blobs.hash = versions.blob WHERE item=? AND number=?", (n, number)
    )
    return rows[0][0] if rows else None


Layout = tuple[Array, list[tuple[int, str]]]
"""Where each chunk of a version stands (chunk, character, lines), and the marks of pages and the like."""


def layouts_of(connection: Connection, versions: Sequence[tuple[int, int]]) -> dict[int, Layout]:
    """The layouts of versions, by item."""
    found: dict[int, Layout] = {}
    for _, part in in_parts(dict(versions).items()):
        pairs = ",".join(["(?,?)"] * len(part))
        found |= _layouts(
            connection.rows(
                f"SELECT item, layout, marks FROM versions WHERE (item, number) IN (VALUES {pairs})",
                [value for pair in part for value in pair],
            )
        )
    return found


def current_layouts(connection: Connection, numbers: Sequence[int]) -> dict[int, Layout]:
    """The layouts of the current versions of items."""
    sql = "SELECT v.item, v.layout, v.marks FROM items i JOIN versions v ON v.item = i.n AND v.number = i.version"
    return _layouts(connection.rows_in(f"{sql} WHERE i.n IN (*)", numbers)) if numbers else {}


def _layouts(rows: Sequence[Row]) -> dict[int, Layout]:
    return {
        n: (np.frombuffer(layout, np.int64).reshape(-1, 4), [(at, label) for at, label in json.loads(labels)])
        for n, layout, labels in rows
    }


def versions_at(connection: Connection, numbers: Sequence[int], when: datetime) -> dict[int, int]:
    """The numbers of the versions that were current at a time, by item; without items that have none from then."""
    found: dict[int, int] = {}
    for marks, part in in_parts(numbers):
        found |= dict(
            connection.rows(
                f"SELECT item, max(number) FROM versions WHERE item IN ({marks}) AND created_at<=? GROUP BY item",
                (*part, micros(when)),
            )
        )
    return found


def draft_of(connection: Connection, n: int, number: int) -> Draft | None:
    """A version as a draft, cut as it was: to restore or move it without parsing again."""
    rows = connection.rows(
        "SELECT drive, path, kind, fields, layout, marks, first_line FROM versions WHERE item=? AND number=?",
        (n, number),
    )
    if not rows:
        return None
    drive, path, kind, fields, layout, marks, first_line = rows[0]
    content, _ = content_of(connection, n, number)
    places = np.frombuffer(layout, np.int64).reshape(-1, 4)
    headings: dict[int, str] = dict(connection.rows("SELECT id, heading FROM chunks WHERE item=?", (n,)))
    starts = [*places[:, 1].tolist(), len(content)]
    passages = tuple(
        Passage(starts[i], starts[i + 1], headings[chunk]) for i, chunk in enumerate(places[:, 0].tolist())
    )
    return Draft(
        Ref(drive, path),
        kind,
        content,
        fields_of(fields),
        passages,
        first_line,
        tuple(Mark(at, label) for at, label in json.loads(marks)),
        blob_of(connection, n, number),
    )
