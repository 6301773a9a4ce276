"""Items, their versions and passages: their rows, who may change them, and the part of a store that gives them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np

from ricordo.errors import Conflict, CorruptStore, NotFound, UsageError
from ricordo.frozen import frozen
from ricordo.store.arrays import Array
from ricordo.store.prepare import text_hash
from ricordo.store.sql.database import (
    DAY,
    UNREADABLE,
    Connection,
    Row,
    StorePart,
    in_parts,
    json_or,
    marks,
    micros,
    moment,
    now_micros,
    optional_moment,
)
from ricordo.store.sql.filters import where
from ricordo.store.sql.user_words import user_words
from ricordo.store.values import ContentMark, PreparedChunk, PreparedItem
from ricordo.text.words import Analyzer
from ricordo.trust.fence import any_of
from ricordo.trust.gate import check_words
from ricordo.values import provenance
from ricordo.values.hits import Filters
from ricordo.values.items import FIELD_NAMES, Draft, Fields, Item, Mark, Passage, Ref, Version
from ricordo.values.provenance import PERSON, Provenance, read
from ricordo.values.use import decayed

_DEFAULTS: Mapping[str, Any] = Fields().to_dict()
_ALWAYS_WRITTEN = "is_textual"
"""Statements of this and of earlier programs ask for it by what is written."""
_KNOWN = frozenset(FIELD_NAMES)


def fields_json(plain: Mapping[str, Any]) -> str:
    """Fields as they are written: without those that have their default value."""
    changed = {
        name: value
        for name, value in plain.items()
        if name == _ALWAYS_WRITTEN or name not in _DEFAULTS or _DEFAULTS[name] != value
    }
    return json.dumps(changed, ensure_ascii=False, default=str)


def fields_of(text: str) -> Fields:
    """Fields from their stored JSON; names that this version does not know are left out."""
    plain = json.loads(text)
    if not plain.keys() <= _KNOWN:
        plain = {name: value for name, value in plain.items() if name in _KNOWN}
    plain["tags"] = tuple(plain.get("tags", ()))
    return Fields(**plain)


def stored_ref(drive: str, path: str) -> Ref:
    """A ref that is stored; one that cannot be is damaged."""
    try:
        return Ref(drive, path)
    except UsageError as error:
        raise ValueError(f"{drive}:{path}: {error.message}") from None


def shown_ref(drive: str, path: str, n: int) -> Ref:
    """The ref of an item to show; that of a damaged row says so."""
    try:
        return Ref(drive, path)
    except UsageError:
        return Ref("damaged", f"/{n}")


DAMAGED_FIELDS = Fields(metadata={"damaged": "its fields cannot be read"})


def shown_fields(text: str) -> Fields:
    """Fields to show: a damaged row costs itself alone, and says so."""
    try:
        return fields_of(text)
    except UNREADABLE:
        return DAMAGED_FIELDS


def all_fields(text: str) -> dict[str, Any]:
    """Every field from the stored JSON, also those that nobody gave a value, and names from later versions."""
    return {**_DEFAULTS, **json.loads(text)}


@frozen
class Head:
    """The row of an item that decides what a save does."""

    n: int
    id: str
    ref: str
    state: str
    version: int
    hash: str
    text_hash: str
    immutable: bool


_HEAD = "SELECT n, id, drive, path, state, version, hash, text_hash, fields FROM items"


def _head(row: Row) -> Head:
    n, identity, drive, path, state, version, digest, text_digest, fields = row
    return Head(
        n=n,
        id=identity,
        ref=f"{drive}:{path}",
        state=state,
        version=version,
        hash=digest,
        text_hash=text_digest,
        immutable=bool(json_or(fields, {}).get("immutable")),
    )


def find_head(connection: Connection, ref: Ref) -> Head | None:
    """The item that holds a ref now."""
    return head_ahead(connection, ref)()


def head_ahead(connection: Connection, ref: Ref) -> Callable[[], Head | None]:
    """The same, in the trip of another statement; see ``Connection.ahead``."""
    rows = connection.ahead(f"{_HEAD} WHERE drive=? AND path=? AND state <> 'deleted'", (ref.drive, ref.path))
    return lambda: _head(rows()[0]) if rows() else None


def find_heads(connection: Connection, refs: Iterable[Ref]) -> dict[Ref, Head | None]:
    """The items that hold some refs now, by ref; None for a free one."""
    heads: dict[Ref, Head | None] = dict.fromkeys(refs)
    sql = f"{_HEAD} WHERE drive=? AND state <> 'deleted' AND path IN (*)"
    for drive, paths in _by_drive(heads).items():
        for row in connection.rows_in(sql, paths, drive):
            heads[Ref(drive, row[3])] = _head(row)
    return heads


def _by_drive(refs: Iterable[Ref]) -> dict[str, list[str]]:
    """The paths of refs, by drive."""
    paths: dict[str, list[str]] = {}
    for ref in refs:
        paths.setdefault(ref.drive, []).append(ref.path)
    return paths


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
    heads = map(_head, connection.rows_in(f"{_HEAD} WHERE id IN (*)", list(identities)))
    return {head.id: head for head in heads}


def head_of(connection: Connection, n: int) -> Head:
    """The item with a number, in the bin or not."""
    return _head(connection.rows(f"{_HEAD} WHERE n=?", (n,))[0])


def refuse_removal(connection: Connection, n: int) -> Head:
    """The item with a number, if it may be removed."""
    head = head_of(connection, n)
    refuse_immutable(head)
    check_words(user_words(connection, [n]), {}, ())
    return head


def is_users(connection: Connection, head: Head, item: PreparedItem, record: Provenance) -> bool:
    """Whether the next version of an item is the user's: a person wrote its text, or its file is in a trusted folder.

    A person who changes only fields, or restores a text, has not written that text: it is the user's if it was before,
    and a text that is not the user's now stays so however often its fields change.
    """
    if item.vouched or record.author != PERSON:
        return item.vouched
    rows = connection.rows(
        "SELECT v.number = i.vouched, v.number = i.version, v.provenance FROM versions v JOIN items i ON i.n = v.item"
        " WHERE v.item=? AND v.text_hash=?"
        " ORDER BY v.number = i.vouched DESC, v.number = i.version DESC, v.number LIMIT 1",
        (head.n, item.text_hash),
    )
    if not rows:
        return True
    is_vouched, is_current, writer = rows[0]
    return bool(is_vouched) or (not is_current and read(writer).author == PERSON)


def refuse_immutable(head: Head) -> None:
    """Immutable items refuse every change."""
    if head.immutable:
        raise Conflict(
            f"{head.ref} is immutable",
            hint="It was saved as immutable on purpose; save a new item beside it, and link the two.",
        )


def chunk_texts(connection: Connection, chunks: Sequence[int]) -> dict[int, tuple[int, str, str]]:
    """Item number, heading and text of chunks."""
    rows = connection.rows_in("SELECT id, item, heading, text FROM chunks WHERE id IN (*)", chunks)
    return {chunk: (n, heading, text) for chunk, n, heading, text in rows}


def live_items(connection: Connection) -> Array:
    """Numbers of all live items."""
    rows = connection.rows("SELECT n FROM items WHERE state='live'")
    return np.fromiter((row[0] for row in rows), np.int64, len(rows))


def chunks_by_age(
    connection: Connection, allowed: Array | None = None, times: Array | None = None, folded: str = ""
) -> Iterator[tuple[int, int, str]]:
    """Chunk id, item number and text of every live chunk, or of those in ``times``, newest item first; where the
    database can tell, only of those that may hold a folded text.
    """
    wanted = None if allowed is None else set(allowed.tolist())
    seen = None if times is None else set(times.tolist())
    condition, values = connection.dialect.may_hold("c.text", folded) if folded else ("TRUE", [])
    for chunk, n, text in connection.stream(
        "SELECT c.id, c.item, c.text FROM chunks c JOIN items i ON i.n = c.item"
        f" WHERE c.state {'= 0' if seen is None else '< 2'} AND {condition} ORDER BY i.updated_at DESC, c.id",
        values,
    ):
        if (wanted is None or n in wanted) and (seen is None or chunk in seen):
            yield chunk, n, text


def counts_of(connection: Connection, n: int, part: PreparedChunk, analyzer: Analyzer) -> tuple[dict[str, int], ...]:
    """Analyse a chunk after all, because another process removed the one that should have been kept."""
    title, path, description, fields = connection.rows(
        "SELECT title, path, description, fields FROM items WHERE n=?", (n,)
    )[0]
    stored = json.loads(fields)
    context = f"{stored.get('context', '')}\n{part.heading}"
    texts = (title, path, description, "\n".join(stored.get("tags", ())), context, part.text)
    own = analyzer.in_language(part.language)
    return tuple(own.counts(text) for text in texts)


_ITEM_COLUMNS = (
    "i.n, i.id, i.drive, i.path, i.kind, i.state, i.version, i.hash, i.fields, i.size, i.created_at,"
    " i.updated_at, i.indexed_at, u.retrieval_count, u.last_retrieved_at, u.access_count, u.last_accessed_at,"
    " u.decay_score, u.decay_at, CASE i.kind WHEN 'entity' THEN (SELECT count(DISTINCT l.source) FROM links l"
    " JOIN items s ON s.n = l.source AND s.state = 'live' WHERE l.target = i.n AND l.type = 'mentions') ELSE 0 END,"
    " i.provenance, i.vouched"
)
_ITEM_ROWS = "FROM items i LEFT JOIN usage u ON u.item = i.n"
ITEM = f"SELECT {_ITEM_COLUMNS} {_ITEM_ROWS}"
_CONTRADICTION = (
    "SELECT s.n || ' ' || s.drive || ':' || s.path FROM links l JOIN items s ON s.n = l.source AND s.state = 'live'"
    " WHERE l.target = i.n AND l.type = 'contradicts' AND l.origin = 'manual'"
    " AND s.updated_at <= l.created_at AND i.updated_at <= l.created_at"
    " ORDER BY l.created_at DESC, l.id DESC LIMIT 1"
)
_ON_PAGE = (
    f"SELECT {_ITEM_COLUMNS}, v.layout, v.marks, ({_CONTRADICTION}) {_ITEM_ROWS}"
    " LEFT JOIN versions v ON v.item = i.n AND v.number = i.version WHERE i.n IN (*)"
)


def decay_now(score: float | None, since: int, protected: bool) -> float:
    """A stored decay score (1 when there is none yet) as it is by now."""
    return decayed(1.0 if score is None else score, (now_micros() - since) / DAY, protected=protected)


def item_of(row: Sequence[Any], *, foreign: bool) -> Item:
    """An item from a row of ``ITEM``; ``foreign`` if the user does not trust the store that it is in."""
    fields = shown_fields(row[8])
    return Item(
        id=row[1],
        ref=shown_ref(row[2], row[3], row[0]),
        kind=row[4],
        state=row[5],
        version=row[6],
        content_hash=row[7],
        content="",
        fields=fields,
        created_at=moment(row[10]),
        updated_at=moment(row[11]),
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
    found = _read_item(connection, n, None)
    return found[0] if found is not None else None


def at_version(connection: Connection, n: int, number: int | None) -> Item:
    """An item with its content, now or in one of its versions."""
    return checked_item(connection, n, number)[0]


def checked_item(connection: Connection, n: int, number: int | None) -> tuple[Item, StoredText]:
    """The same, with what its content was saved as."""
    found = _read_item(connection, n, number)
    if found is None:
        raise NotFound("the item is gone", hint="It was removed a moment ago.")
    return found


def _read_item(connection: Connection, n: int, number: int | None) -> tuple[Item, StoredText] | None:
    rows, versions, chunks, has_embedding = connection.gather(
        lambda: connection.rows(f"{ITEM} WHERE i.n=?", (n,)),
        lambda: _version_rows(connection, n, number),
        lambda: connection.rows(_CHUNKS, (n,)),
        lambda: _has_embedding(connection, n),
    )
    if not rows:
        return None
    item = item_of(rows[0], foreign=connection.foreign)
    if number not in (None, item.version):
        item = as_versions(connection, {n: item}, {n: number})[n]
    stored = _joined(versions, chunks, number)
    return replace(item, content=stored.content, first_line=stored.first_line, has_embedding=has_embedding), stored


def as_versions(connection: Connection, current: Mapping[int, Item], numbers: Mapping[int, int]) -> dict[int, Item]:
    """Items as some of their versions have them, by number and without the texts."""
    found: dict[int, Item] = {}
    for row in _of_versions(
        connection, "item, number, hash, created_at, drive, path, kind, fields, size, provenance, first_line", numbers
    ):
        n, number, digest, created, drive, path, kind, fields, size, written, first_line = row
        found[n] = replace(
            current[n],
            ref=shown_ref(drive, path, n),
            kind=kind,
            version=number,
            content_hash=digest,
            content="",
            fields=shown_fields(fields),
            updated_at=moment(created),
            first_line=first_line,
            size=size,
            provenance=provenance.read(written),
        )
    for n, number in numbers.items():
        if n not in found:
            ref = current[n].ref
            raise NotFound(f"{ref} has no version {number}", hint=f"‹:history {ref}› lists them.")
    return found


def _of_versions(connection: Connection, columns: str, numbers: Mapping[int, int]) -> Iterator[Row]:
    """The rows of one version of each of some items."""
    for _, part in in_parts(numbers.items()):
        pairs = ",".join(["(?,?)"] * len(part))
        sql = f"SELECT {columns} FROM versions WHERE (item, number) IN (VALUES {pairs})"
        yield from connection.rows(sql, [value for pair in part for value in pair])


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
    foreign = connection.foreign
    rows = connection.rows_in(f"{ITEM} WHERE i.n IN (*)", numbers)
    return {row[0]: item_of(row, foreign=foreign) for row in rows}


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


@frozen
class StoredText:
    """The text of a version and the line it starts at; the hash that it was saved with, and that of its bytes when it
    holds no text.
    """

    content: str
    first_line: int
    hash: str
    blob: str | None


_CHUNKS = "SELECT id, text FROM chunks WHERE item=?"


def content_of(connection: Connection, n: int, number: int | None) -> StoredText:
    """The text of a version, put together from its chunks; without a number, that of the current one."""
    versions, chunks = connection.gather(
        lambda: _version_rows(connection, n, number), lambda: connection.rows(_CHUNKS, (n,))
    )
    return _joined(versions, chunks, number)


def _version_rows(connection: Connection, n: int, number: int | None) -> list[Row]:
    return connection.rows(
        "SELECT layout, first_line, text_hash, blob FROM versions WHERE item=?"
        f" AND number={'?' if number is not None else '(SELECT version FROM items WHERE n=?)'}",
        (n, n if number is None else number),
    )


def _joined(versions: Sequence[Row], chunks: Sequence[Row], number: int | None) -> StoredText:
    if not versions:
        raise KeyError(f"version {number}")
    layout, *rest = versions[0]
    return StoredText(_joined_text(layout, dict(chunks)), *rest)


def _joined_text(layout: bytes, texts: Mapping[int, str]) -> str:
    return "".join(map(texts.__getitem__, np.frombuffer(layout, np.int64).reshape(-1, 4)[:, 0].tolist()))


def contents_of(connection: Connection, numbers: Sequence[int]) -> dict[int, StoredText]:
    """The current texts of items, without those of which something is missing."""
    versions, chunks = connection.gather(
        lambda: connection.rows_in(
            "SELECT v.item, v.layout, v.first_line, v.text_hash, v.blob FROM items i"
            " JOIN versions v ON v.item=i.n AND v.number=i.version WHERE i.n IN (*)",
            numbers,
        ),
        lambda: connection.rows_in("SELECT id, text FROM chunks WHERE item IN (*)", numbers),
    )
    texts = dict(chunks)
    found = {}
    for n, *version in versions:
        with suppress(*UNREADABLE):
            layout, *rest = version
            found[n] = StoredText(_joined_text(layout, texts), *rest)
    return found


Layout = tuple[Array, list[tuple[int, str]]]
"""Where each chunk of a version stands (chunk, character, lines), and the marks of pages and the like."""


def layouts_of(connection: Connection, numbers: Mapping[int, int]) -> dict[int, Layout]:
    """The layout of one version of each of some items."""
    rows = _of_versions(connection, "item, layout, marks", numbers)
    return {n: _layout(places, labels) for n, places, labels in rows}


def _layout(places: bytes, labels: str) -> Layout:
    # Few items have labels, and a page reads the layouts of all its items.
    try:
        marks = [(at, label) for at, label in json.loads(labels)] if labels != "[]" else []
        return np.frombuffer(places, np.int64).reshape(-1, 4), marks
    except UNREADABLE:  # a damaged row costs itself alone
        return np.empty((0, 4), np.int64), []


@frozen
class PageRow:
    """What a page shows of an item's current version."""

    item: Item
    layout: Layout
    contradiction: tuple[int, str] | None
    """The number and the ref of the newest live item of which the user said that it contradicts it. If one of the two
    was changed since, that says nothing any more.
    """


def page_rows(connection: Connection, numbers: Sequence[int]) -> dict[int, PageRow]:
    """What a page shows of some items, by number."""
    foreign = connection.foreign
    page: dict[int, PageRow] = {}
    for *row, places, labels, contradiction in connection.rows_in(_ON_PAGE, numbers):
        n, _, ref = (contradiction or "").partition(" ")
        page[row[0]] = PageRow(
            item_of(row, foreign=foreign), _layout(places, labels), (int(n), ref) if contradiction else None
        )
    return page


def versions_at(connection: Connection, numbers: Sequence[int], when: datetime) -> dict[int, int]:
    """The numbers of the versions that were current at a time, by item; without items that have none from then."""
    sql = "SELECT item, max(number) FROM versions WHERE created_at<=? AND item IN (*) GROUP BY item"
    return dict(connection.rows_in(sql, numbers, micros(when)))


def draft_of(connection: Connection, n: int, number: int) -> Draft | None:
    """A version as a draft, cut as it was: to restore or move it without parsing again."""
    rows = connection.rows(
        "SELECT drive, path, kind, fields, layout, marks, first_line, (SELECT data FROM blobs WHERE hash = blob)"
        " FROM versions WHERE item=? AND number=?",
        (n, number),
    )
    if not rows:
        return None
    drive, path, kind, fields, layout, marks, first_line, blob = rows[0]
    content = content_of(connection, n, number).content
    places = np.frombuffer(layout, np.int64).reshape(-1, 4)
    headings: dict[int, str] = dict(connection.rows("SELECT id, heading FROM chunks WHERE item=?", (n,)))
    starts = [*places[:, 1].tolist(), len(content)]
    passages = tuple(
        Passage(starts[i], starts[i + 1], headings[chunk]) for i, chunk in enumerate(places[:, 0].tolist())
    )
    return Draft(
        ref=stored_ref(drive, path),
        kind=kind,
        content=content,
        fields=fields_of(fields),
        passages=passages,
        first_line=first_line,
        marks=tuple(Mark(at, label) for at, label in json.loads(marks)),
        blob=blob,
    )


_TEXTS_AT_FIRST, _TEXTS_AT_ONCE = 50, 400
"""How many texts are read together, of those that are gone through: few, as the first ones may be enough."""


class Items(StorePart):
    """Items, versions and refs. Looks things up; writes nothing."""

    def number(self, ref: Ref) -> int | None:
        with self._database.read() as connection:
            return number_of(connection, ref)

    def require(self, ref: Ref) -> int:
        """The item's number, or not_found with the nearest refs."""
        n = self.number(ref)
        if n is None:
            near = self.nearest(ref)
            hint = f"Did you mean {any_of(near)}?" if near else "‹:list› shows what is in the store."
            raise NotFound(f"there is no item {ref}", hint=hint)
        return n

    def numbers(self, refs: Sequence[Ref]) -> dict[Ref, int]:
        if not refs:
            return {}
        with self._database.read() as connection:
            sql = "SELECT drive, path, n FROM items WHERE state<>'deleted' AND drive=? AND path IN (*)"
            found = connection.gather(
                *(partial(connection.rows_in, sql, paths, drive) for drive, paths in _by_drive(refs).items())
            )
            return {Ref(drive, path): n for rows in found for drive, path, n in rows}

    def nearest(self, ref: Ref, count: int = 3) -> list[str]:
        """Refs that look most like one that was not found."""
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT drive || ':' || path, path FROM items WHERE state='live'"
                " ORDER BY drive=? DESC, n DESC LIMIT 5000",
                (ref.drive,),
            )
        wanted = ref.path.rpartition("/")[2].lower()
        by_name: dict[str, list[str]] = {}
        for text, path in rows:
            by_name.setdefault(path.rpartition("/")[2].lower(), []).append(text)
        from difflib import get_close_matches  # only after a mistake

        names = get_close_matches(wanted, list(by_name), count, 0.5)
        return [text for name in names for text in by_name[name]][:count]

    def ending_with(self, name: str) -> list[Ref]:
        """The live items whose path ends with a name, after a slash."""
        pattern = name.replace("!", "!!").replace("%", "!%").replace("_", "!_")
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT drive, path, n FROM items WHERE state='live' AND path LIKE ? ESCAPE '!' ORDER BY drive, path",
                (f"%/{pattern}",),
            )
        return [shown_ref(drive, path, n) for drive, path, n in rows if path.endswith(f"/{name}")]

    def ref_by_id(self, identity: str) -> Ref | None:
        with self._database.read() as connection:
            rows = connection.rows("SELECT drive, path, n FROM items WHERE id=?", (identity.lower(),))
        return shown_ref(*rows[0]) if rows else None

    def number_by_id(self, identity: str) -> int | None:
        """The number of the item with an id, in the bin or not: its ref may be another item's by now."""
        with self._database.read() as connection:
            head = find_by_id(connection, identity.lower())
        return None if head is None else head.n

    def existing_ids(self, identities: Sequence[str]) -> set[str]:
        """Those of the ids that an item has, in the bin or not."""
        with self._database.read() as connection:
            return set(find_by_ids(connection, identities))

    def get(self, n: int, *, version: int | None = None) -> Item:
        with self._database.read() as connection:
            item, stored = checked_item(connection, n, version)
        if stored.blob is None:
            check_content(item.ref, item.version, item.content, blob=None, digest=stored.hash)
        return item

    def contents(self, numbers: Sequence[int]) -> dict[int, str]:
        """The current texts of some items, without those that are damaged."""
        with self._database.read() as connection:
            found = contents_of(connection, numbers)
        return {
            n: text.content
            for n, text in found.items()
            if text.blob is not None or text_hash(text.content, None) == text.hash
        }

    def get_many(self, numbers: Sequence[int]) -> dict[int, Item]:
        if not numbers:
            return {}
        with self._database.read() as connection:
            return by_numbers(connection, numbers)

    def listing(self, filters: Filters, limit: int, offset: int) -> list[tuple[int, Item]]:
        with self._database.read() as connection:
            condition, values = where(filters, connection.dialect)
            rows = connection.rows(
                f"{ITEM} WHERE {condition} ORDER BY i.updated_at DESC, i.drive, i.path LIMIT ? OFFSET ?",
                (*values, limit, offset),
            )
            return [(row[0], item_of(row, foreign=connection.foreign)) for row in rows]

    def count(self, filters: Filters) -> int:
        with self._database.read() as connection:
            return count(connection, filters)

    def refs_below(
        self, drive: str | None, prefix: str, states: Sequence[str] = ("live",)
    ) -> list[tuple[int, Ref, str]]:
        """Items below a path (or of all drives) that are in one of some states, with their titles, in order."""
        sql = f"SELECT n, drive, path, title FROM items WHERE state IN ({marks(states)})"
        values = [*states]
        if drive is not None:
            sql += " AND drive=?"
            values.append(drive)
        folder = prefix.rstrip("/")
        if folder:
            # "0" is the character after "/": a range is found by the index, a prefix is not
            sql += " AND (path=? OR (path>=? AND path<?))"
            values += [folder, f"{folder}/", f"{folder}0"]
        with self._database.read() as connection:
            rows = connection.rows(f"{sql} ORDER BY drive, path", values)
        return [(n, shown_ref(item_drive, path, n), title) for n, item_drive, path, title in rows]

    def history(self, n: int) -> list[Version]:
        with self._database.read() as connection:
            number, state = connection.rows("SELECT version, state FROM items WHERE n=?", (n,))[0]
            rows = connection.rows(
                "SELECT number, previous, hash, created_at, drive, path, kind, fields, size, provenance FROM versions"
                " WHERE item=? ORDER BY number DESC",
                (n,),
            )
        return [
            Version(
                number=row[0],
                previous=row[1],
                content_hash=row[2],
                created_at=moment(row[3]),
                ref=shown_ref(row[4], row[5], n),
                kind=row[6],
                fields=shown_fields(row[7]),
                size=row[8],
                provenance=provenance.read(row[9]),
                is_head=row[0] == number,
                state=state,
            )
            for row in rows
        ]

    def version_at(self, n: int, when: datetime) -> int | None:
        with self._database.read() as connection:
            rows = connection.rows("SELECT max(number) FROM versions WHERE item=? AND created_at<=?", (n, micros(when)))
        number: int | None = rows[0][0]
        return number

    def draft(self, n: int, number: int) -> Draft:
        with self._database.read() as connection:
            draft = draft_of(connection, n, number)
            if draft is None:
                raise NotFound(f"there is no version {number}", hint="‹:history REF› lists the versions kept.")
            [(digest,)] = connection.rows("SELECT text_hash FROM versions WHERE item=? AND number=?", (n, number))
        check_content(draft.ref, number, draft.content, blob=draft.blob, digest=digest)
        return draft

    def before_preparing(
        self, refs: Iterable[Ref], *, entities: bool
    ) -> tuple[dict[Ref, set[bytes]], Sequence[tuple[int, str]]]:
        """Keys of the chunks that some items have now, because equal chunks need not be analysed again, and if they are
        asked for, the numbers and titles of all ``entities``.
        """
        keys: dict[Ref, set[bytes]] = {ref: set() for ref in refs}
        sql = (
            "SELECT i.path, c.key FROM items i JOIN chunks c ON c.item = i.n"
            " WHERE i.state='live' AND c.state=0 AND i.drive=? AND i.path IN (*)"
        )
        drives = _by_drive(keys)
        with self._database.read() as connection:
            titles, *found = connection.gather(
                lambda: entity_titles(connection) if entities else (),
                *(partial(connection.rows_in, sql, paths, drive) for drive, paths in drives.items()),
            )
        for drive, rows in zip(drives, found, strict=True):
            for path, key in rows:
                keys[Ref(drive, path)].add(key)
        return keys, titles

    def content_marks(self, versions: Sequence[tuple[str, int]]) -> dict[str, ContentMark]:
        """Hashes that show whether two stores hold the same text, for versions of items given by id."""
        marks: dict[str, ContentMark] = {}
        with self._database.read() as connection:
            for identity, version in versions:
                for text_hash, changed in connection.rows(
                    "SELECT CASE WHEN v.size > 0 THEN v.text_hash ELSE '' END, i.updated_at FROM items i"
                    " JOIN versions v ON v.item = i.n AND v.number = ? WHERE i.id = ?",
                    (version, identity),
                ):
                    marks[identity] = ContentMark(text_hash, changed)
        return marks

    def same_text(self, text_hash: str, kind: str) -> list[int]:
        """Live items of a kind with exactly this text, by the hash of the content alone."""
        with self._database.read() as connection:
            rows = connection.rows("SELECT n, kind, state FROM items WHERE text_hash=? ORDER BY n", (text_hash,))
        return [n for n, its_kind, state in rows if its_kind == kind and state == "live"]

    def paths_like(self, drive: str, path: str) -> set[str]:
        """The paths ``path`` and ``path-…`` that items have, live, archived or in the bin."""
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT path FROM items WHERE drive=? AND (path=? OR path>? AND path<?)",
                (drive, path, f"{path}-", f"{path}."),
            )
        return {row[0] for row in rows}

    def entity_titles(self) -> Sequence[tuple[int, str]]:
        with self._database.read() as connection:
            return entity_titles(connection)

    def texts(self, filters: Filters) -> Iterator[tuple[int, Ref, str, int]]:
        """Number, ref, whole text and first line of each item that passes, newest first; a few at first."""
        with self._database.read() as connection:
            condition, values = where(filters, connection.dialect)
            sql = f"SELECT i.n, i.drive, i.path FROM items i WHERE {condition}"
            rows = connection.rows(f"{sql} ORDER BY i.updated_at DESC, drive, path", values)
            at, size = 0, _TEXTS_AT_FIRST
            while part := rows[at : at + size]:
                texts = contents_of(connection, [row[0] for row in part])
                for n, drive, path in part:
                    yield n, shown_ref(drive, path, n), texts[n].content, texts[n].first_line
                at, size = at + size, min(2 * size, _TEXTS_AT_ONCE)

    def passage_texts(self) -> Iterator[str]:
        with self._database.read() as connection:
            for _, _, text in chunks_by_age(connection):
                yield text

    def passes(self, n: int, filters: Filters) -> bool:
        with self._database.read() as connection:
            condition, values = where(filters, connection.dialect)
            return bool(connection.rows(f"SELECT 1 FROM items i WHERE i.n = ? AND {condition}", (n, *values)))


def check_content(ref: object, number: int, content: str, *, blob: bytes | None, digest: str) -> None:
    """Refuse a text that is not what was saved, and say how to get an undamaged one."""
    if text_hash(content, blob) != digest:
        raise CorruptStore(
            f"the text of {ref} is damaged: it is not what was saved as version {number}",
            hint="‹:doctor --repair› restores it from its file or an older version where it can;"
            " ‹:export --salvage FILE› takes out all that can be read.",
        )
