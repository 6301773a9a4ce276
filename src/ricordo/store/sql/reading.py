"""The part of the store that reads: items, versions and texts as values."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from ricordo.errors import NotFound
from ricordo.store.sql import heads, items
from ricordo.store.sql.batches import in_parts, marks
from ricordo.store.sql.chunk_rows import chunks_by_age
from ricordo.store.sql.damage import check_content
from ricordo.store.sql.filters import where
from ricordo.store.sql.protocols import Database
from ricordo.store.sql.stored_fields import fields_of
from ricordo.store.sql.times import micros, moment
from ricordo.store.values import ContentMark
from ricordo.trust.fence import any_of
from ricordo.values import provenance
from ricordo.values.hits import Filters
from ricordo.values.items import Draft, Item, Ref, Version


class Items:
    """Items, versions and refs. Looks things up; writes nothing."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._entities: tuple[object, list[tuple[int, str]]] | None = None

    def number(self, ref: Ref) -> int | None:
        with self._database.read() as connection:
            return items.number_of(connection, ref)

    def require(self, ref: Ref) -> int:
        """The item's number, or not_found with the nearest refs."""
        n = self.number(ref)
        if n is None:
            near = self.nearest(ref)
            hint = f"Did you mean {any_of(near)}?" if near else "‹:list› shows what is in the store."
            raise NotFound(f"there is no item {ref}", hint=hint)
        return n

    def numbers(self, refs: Sequence[Ref]) -> dict[Ref, int]:
        with self._database.read() as connection:
            found: dict[Ref, int] = {}
            for _, part in in_parts(refs):
                pairs = ",".join(["(?,?)"] * len(part))
                rows = connection.rows(
                    f"SELECT drive, path, n FROM items WHERE state<>'deleted' AND (drive, path) IN (VALUES {pairs})",
                    [text for ref in part for text in (ref.drive, ref.path)],
                )
                found |= {Ref(drive, path): n for drive, path, n in rows}
            return found

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
        names = difflib.get_close_matches(wanted, list(by_name), count, 0.5)
        return [text for name in names for text in by_name[name]][:count]

    def ending_with(self, name: str) -> list[Ref]:
        """The live items whose path ends with a name, after a slash."""
        pattern = name.replace("!", "!!").replace("%", "!%").replace("_", "!_")
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT drive, path FROM items WHERE state='live' AND path LIKE ? ESCAPE '!' ORDER BY drive, path",
                (f"%/{pattern}",),
            )
        return [Ref(drive, path) for drive, path in rows if path.endswith(f"/{name}")]

    def ref_by_id(self, identity: str) -> Ref | None:
        with self._database.read() as connection:
            rows = connection.rows("SELECT drive, path FROM items WHERE id=?", (identity.lower(),))
        return Ref(*rows[0]) if rows else None

    def number_by_id(self, identity: str) -> int | None:
        """The number of the item with an id, in the bin or not: its ref may be another item's by now."""
        with self._database.read() as connection:
            found = heads.find_by_ids(connection, [identity.lower()])
        return next((head.n for head in found.values()), None)

    def known_ids(self, identities: Sequence[str]) -> set[str]:
        """Those of the ids that an item has, in the bin or not."""
        with self._database.read() as connection:
            return set(heads.find_by_ids(connection, identities))

    def get(self, n: int, *, version: int | None = None) -> Item:
        """An item with its content, now or in one of its versions."""
        with self._database.read() as connection:
            item = items.at_version(connection, n, version)
            digest, blob = items.stored_hash(connection, n, item.version)
        if blob is None:
            check_content(item.ref, item.version, item.content, None, digest)
        return item

    def get_many(self, numbers: Sequence[int]) -> dict[int, Item]:
        with self._database.read() as connection:
            return items.by_numbers(connection, numbers)

    def listing(self, filters: Filters, limit: int, offset: int) -> list[tuple[int, Item]]:
        with self._database.read() as connection:
            condition, values = where(filters, connection.dialect)
            rows = connection.rows(
                f"{items.ITEM} WHERE {condition} ORDER BY i.updated_at DESC, i.drive, i.path LIMIT ? OFFSET ?",
                (*values, limit, offset),
            )
            return [(row[0], items.item_of(row, foreign=connection.foreign)) for row in rows]

    def count(self, filters: Filters) -> int:
        with self._database.read() as connection:
            return items.count(connection, filters)

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
        return [(n, Ref(item_drive, path), title) for n, item_drive, path, title in rows]

    def history(self, n: int) -> list[Version]:
        """All kept versions, the newest first."""
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
                ref=Ref(row[4], row[5]),
                kind=row[6],
                fields=fields_of(row[7]),
                size=row[8],
                provenance=provenance.read(row[9]),
                is_head=row[0] == number,
                state=state,
            )
            for row in rows
        ]

    def version_at(self, n: int, when: datetime) -> int | None:
        """The number of the version that was current at a time."""
        with self._database.read() as connection:
            rows = connection.rows("SELECT max(number) FROM versions WHERE item=? AND created_at<=?", (n, micros(when)))
        number: int | None = rows[0][0]
        return number

    def draft(self, n: int, number: int) -> Draft:
        with self._database.read() as connection:
            draft = items.draft_of(connection, n, number)
            if draft is None:
                raise NotFound(f"there is no version {number}", hint="‹:history REF› lists the versions kept.")
            digest, _ = items.stored_hash(connection, n, number)
        check_content(draft.ref, number, draft.content, draft.blob, digest)
        return draft

    def live_keys(self, refs: Iterable[Ref]) -> dict[Ref, set[bytes]]:
        """Keys of the chunks that some items have now; equal chunks need not be analysed again."""
        found: dict[Ref, set[bytes]] = {ref: set() for ref in refs}
        paths: dict[str, list[str]] = {}
        for ref in found:
            paths.setdefault(ref.drive, []).append(ref.path)
        with self._database.read() as connection:
            for drive, some in paths.items():
                for marks, part in in_parts(some):
                    for path, key in connection.rows(
                        "SELECT i.path, c.key FROM items i JOIN chunks c ON c.item = i.n WHERE i.drive=?"
                        f" AND i.path IN ({marks}) AND i.state='live' AND c.state=0",
                        (drive, *part),
                    ):
                        found[Ref(drive, path)].add(key)
        return found

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
        """Numbers and titles of all live entities."""
        with self._database.read() as connection:
            epoch = connection.meta("index_epoch")
            if self._entities is None or self._entities[0] != epoch:
                self._entities = epoch, items.entity_titles(connection)
            return self._entities[1]

    def texts(self, filters: Filters) -> Iterator[tuple[int, Ref, str, int]]:
        """Number, ref, whole text and first line of each item that passes, newest first; a row at a time."""
        with self._database.read() as connection:
            condition, values = where(filters, connection.dialect)
            sql = f"SELECT i.n, i.drive, i.path, i.version FROM items i WHERE {condition}"
            for n, drive, path, version in connection.rows(f"{sql} ORDER BY i.updated_at DESC, drive, path", values):
                content, first_line = items.content_of(connection, n, version)
                yield n, Ref(drive, path), content, first_line

    def passage_texts(self) -> Iterator[str]:
        """The text of every live passage, a row at a time."""
        with self._database.read() as connection:
            for _, _, text in chunks_by_age(connection):
                yield text

    def passes(self, n: int, filters: Filters) -> bool:
        """Whether an item passes the filters."""
        with self._database.read() as connection:
            condition, values = where(filters, connection.dialect)
            return bool(connection.rows(f"SELECT 1 FROM items i WHERE i.n = ? AND {condition}", (n, *values)))
