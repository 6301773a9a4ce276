"""Imports the records of an export: each item in one piece, then the records that refer to items.

Work that needs no lock is done before the transaction. An item keeps its id if that is free. Records about an item that
was skipped, or got another id, are written for the item that is here in its place.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from ricordo.config.machine import Machine
from ricordo.errors import Error, PathConflict
from ricordo.exchange.records import (
    TYPE_NAMES,
    AuditRecord,
    FeedbackRecord,
    FreezeRecord,
    ItemRecord,
    LearnedRecord,
    LinkRecord,
    OpeningRecord,
    QueryRecord,
    Record,
    RootRecord,
    WeightRecord,
)
from ricordo.store.sql import heads, import_rows, jobs, links, machines, saving
from ricordo.store.sql.audit import AUDIT_COLUMNS
from ricordo.store.sql.import_rows import Analysed, analysed
from ricordo.store.sql.new_chunks import NewChunk
from ricordo.store.sql.protocols import Connection, Opened
from ricordo.store.sql.times import micros
from ricordo.store.values import Backlog
from ricordo.values.items import Saved


class Importing:
    """One import into one store."""

    def __init__(self, opened: Opened, on_conflict: str, backlog: Backlog | None) -> None:
        self._opened = opened
        self.database = opened.database
        self.on_conflict = on_conflict
        self.backlog = backlog
        self._stands_for: dict[str, str] = {}
        """Ids of the file whose item has another id here."""
        self._verdicts: list[int] = []
        """Where each verdict of the file is kept."""
        self._before: dict[str, int] = {}
        """The last entry of each log before this import."""

    def items(self, batch: Sequence[ItemRecord]) -> list[Saved]:
        """Write items in one transaction; each is answered, and one that cannot be written leaves nothing behind."""
        mirror = self._opened.mirror
        return self._write_items(batch) if mirror is None else mirror.tried_again(lambda: self._write_items(batch))

    def _write_items(self, batch: Sequence[ItemRecord]) -> list[Saved]:
        analyzer = self._opened.analyzer
        with self.database.read() as connection:
            refs = machines.refs_of(connection)
        ready = [analysed(item.placed_in(refs), analyzer) for item in batch]
        counts = [
            part.counts
            for one in ready
            for part, chunk in zip(one.chunks, one.item.chunks, strict=True)
            if part.counts is not None and chunk.state != "deleted"
        ]
        add_chunks = self.database.words.prepare(counts)
        answers: list[Saved] = []
        fresh: list[NewChunk] = []
        ends: dict[int, links.Ends] = {}
        with self.database.write(durable=True) as connection:
            for one in ready:
                try:
                    answers.append(self._take(connection, one, fresh, ends))
                except Error as error:
                    answers.append(Saved(str(one.item.ref), "failed", error=error.to_dict()))
            add_chunks(connection, fresh)
            jobs.enqueue_chunks(connection, self.backlog, [chunk.chunk for chunk in fresh])
            links.update(connection, ends)
            words, analyzer.stemmed = analyzer.stemmed, {}
            connection.run_many(
                "INSERT INTO vocabulary(word, term) VALUES(?,?) ON CONFLICT DO NOTHING", sorted(words.items())
            )
        return answers

    def _take(self, connection: Connection, one: Analysed, fresh: list[NewChunk], ends: dict[int, links.Ends]) -> Saved:
        item = one.item
        head = item.head()
        taken = heads.find_by_id(connection, item.id)
        holder = taken if item.state == "deleted" else heads.find_head(connection, item.ref.drive, item.ref.path)
        if holder is not None:
            reason = self._reason_to_skip(holder, item)
            if reason:
                self._stands_for |= {item.id: holder.id} if holder.id != item.id else {}
                return Saved(str(item.ref), "skipped", holder.id, holder.version, None, holder.hash, reason=reason)
            self._make_room(connection, holder, item)
            taken = None if taken is not None and taken.n == holder.n else taken
        identity = saving.new_id() if taken is not None else item.id
        if identity != item.id:
            self._stands_for[item.id] = identity
        n, chunks = import_rows.insert(connection, one, identity)
        fresh.extend(chunks)
        ends[n] = import_rows.insert_text_links(connection, n, item)
        if holder is not None:
            import_rows.pass_on(connection, holder.n, n)
        status, before = ("updated", holder.version) if holder is not None else ("created", None)
        return Saved(str(item.ref), status, identity, item.version, before, head.hash, chunks=len(chunks))

    def _reason_to_skip(self, holder: heads.Head, item: ItemRecord) -> str:
        """Why an item that is there already is left as it is; empty when it is to be replaced."""
        if self.on_conflict == "error":
            raise PathConflict(
                f"{item.ref} is already in the store", hint="Pass ‹on_conflict=skip› or overwrite to go on."
            )
        if self.on_conflict == "skip":
            return "already in the store"
        same = (holder.id, holder.version, holder.hash, holder.state) == (
            item.id, item.version, item.head().hash, item.state,
        )  # fmt: skip
        return "unchanged" if same else ""

    def _make_room(self, connection: Connection, holder: heads.Head, item: ItemRecord) -> None:
        """Move the item that has the ref to the bin, with its history, and under another id if necessary."""
        heads.refuse_immutable(holder, str(item.ref))
        links.forget_names(connection, holder.n)
        if holder.state != "deleted":
            saving.to_bin(connection, holder)
        if holder.id == item.id:
            connection.run("UPDATE items SET id=? WHERE n=?", (saving.new_id(), holder.n))

    def others(self, batch: Sequence[Record]) -> Counter[str]:
        """Write what refers to items; returns how many of each type were new."""
        written: Counter[str] = Counter()
        with self.database.write(durable=True) as connection:
            for record in batch:
                written[TYPE_NAMES[type(record)]] += self._TAKES[type(record)](self, connection, record)
        return written

    def _number(self, connection: Connection, identity: str | None) -> int | None:
        """The item here that belongs to an item of the file."""
        if identity is None:
            return None
        rows = connection.rows("SELECT n FROM items WHERE id=?", (self._stands_for.get(identity, identity),))
        return rows[0][0] if rows else None

    def _link(self, connection: Connection, record: LinkRecord) -> bool:
        source, target = self._number(connection, record.source), self._number(connection, record.target)
        if source is None or target is None or source == target:
            return False
        name = "''" if record.origin == "manual" else "id"
        connection.run(
            "INSERT INTO links(source, target, type, origin, text, name, created_at)"
            f" SELECT ?, n, ?, ?, ?, {name}, ? FROM items WHERE n=? ON CONFLICT DO NOTHING",
            (source, record.type, record.origin, record.text, micros(record.created_at), target),
        )
        return bool(connection.changes())

    def _known(self, connection: Connection, table: str, condition: str, values: Sequence[Any]) -> int | None:
        """The same entry of a log, if it was there before, because the same file may be imported twice."""
        if table not in self._before:
            self._before[table] = connection.rows(f"SELECT coalesce(max(id), 0) FROM {table}")[0][0]
        before = self._before[table]
        if not before:
            return None
        rows = connection.rows(f"SELECT id FROM {table} WHERE id<=? AND {condition} LIMIT 1", (before, *values))
        return rows[0][0] if rows else None

    def _feedback(self, connection: Connection, record: FeedbackRecord) -> bool:
        at = micros(record.at)
        said = (at, record.query, record.ref, record.verdict)
        known = self._known(connection, "feedback", "at=? AND query=? AND ref=? AND verdict=?", said)
        if known is not None:
            self._verdicts.append(known)
            return False
        rows = connection.rows(
            "INSERT INTO feedback(query, item, ref, verdict, counted, at) VALUES(?,?,?,?,?,?) RETURNING id",
            (record.query, self._number(connection, record.item), record.ref, record.verdict, record.counted, at),
        )
        self._verdicts.append(rows[0][0])
        return True

    def _learned(self, connection: Connection, record: LearnedRecord) -> bool:
        since = max(self._verdicts[: record.since], default=0)
        learned = (record.profile, record.shift, since)
        connection.run("INSERT INTO learned(profile, shift, since) VALUES(?,?,?) ON CONFLICT DO NOTHING", learned)
        if connection.changes() or self.on_conflict != "overwrite":
            return bool(connection.changes())
        connection.run(
            "UPDATE learned SET shift=?, since=? WHERE profile=? AND (shift<>? OR since<>?)",
            (record.shift, since, *learned),
        )
        return bool(connection.changes())

    def _weights(self, connection: Connection, record: WeightRecord) -> bool:
        at = micros(record.at)
        if self._known(connection, "weight_log", "profile=? AND at=?", (record.profile, at)):
            return False
        weights = json.dumps(dict(record.before)), json.dumps(dict(record.after))
        connection.insert(
            "weight_log",
            ("profile", "at", "reason", "before", "after", "shift_before", "shift_after", "counted"),
            [(record.profile, at, record.reason, *weights, record.shift_before, record.shift_after, record.counted)],
        )
        return True

    def _query(self, connection: Connection, record: QueryRecord) -> bool:
        at = micros(record.at)
        said = (at, record.text, record.tool)
        if self._known(connection, "query_log", "at=? AND text=? AND tool=?", said):
            return False
        query: int = connection.rows(
            "INSERT INTO query_log(text, tool, profile, results, refs, ms, at, asker) VALUES(?,?,?,?,?,?,?,?)"
            " RETURNING id",
            (
                record.text,
                record.tool,
                record.profile,
                record.results,
                json.dumps(record.refs),
                record.ms,
                at,
                _stored(record.asker),
            ),
        )[0][0]
        rows = [(self._number(connection, found.item), found) for found in record.found]
        connection.insert(
            "retrieval_log",
            ("item", "ref", "version", "query", "score", "at", "asker"),
            [(n, one.ref, one.version, query, one.score, micros(one.at), "") for n, one in rows if n is not None],
        )
        return True

    def _opening(self, connection: Connection, record: OpeningRecord) -> bool:
        n = self._number(connection, record.item)
        at = micros(record.at)
        if n is None or self._known(connection, "retrieval_log", "at=? AND item=? AND query IS NULL", (at, n)):
            return False
        connection.insert(
            "retrieval_log",
            ("item", "ref", "version", "score", "at", "asker"),
            [(n, record.ref, record.version, record.score, at, _stored(record.asker))],
        )
        return True

    def _root(self, connection: Connection, record: RootRecord) -> bool:
        name, _, machine = record.machine.rpartition("#")
        connection.run(
            "INSERT INTO roots(machine, path, globs, added_at) VALUES(?,?,?,?) ON CONFLICT DO NOTHING",
            (
                machine or machines.refs_of(connection).home,
                record.path,
                json.dumps(list(record.globs)),
                micros(record.added_at),
            ),
        )
        is_new = bool(connection.changes())
        if machine and name:
            machines.note_name(connection, Machine(machine, name))
        return is_new

    def _freeze(self, connection: Connection, record: FreezeRecord) -> bool:
        return connection.set_meta("learning_frozen", int(record.frozen), replace=False)

    def _audit(self, connection: Connection, record: AuditRecord) -> bool:
        at, item = micros(record.at), self._stands_for.get(record.item, record.item)
        if self._known(connection, "audit", "at=? AND item=? AND what=?", (at, item, record.what)):
            return False
        said = _stored(record.provenance)
        connection.insert("audit", AUDIT_COLUMNS, [(at, record.what, item, record.ref, record.version, said)])
        return True

    _TAKES: ClassVar[Mapping[type[Any], Callable[[Importing, Connection, Any], bool]]] = {
        LinkRecord: _link,
        FeedbackRecord: _feedback,
        LearnedRecord: _learned,
        WeightRecord: _weights,
        QueryRecord: _query,
        OpeningRecord: _opening,
        RootRecord: _root,
        FreezeRecord: _freeze,
        AuditRecord: _audit,
    }


def _stored(plain: Mapping[str, Any]) -> str:
    """Who asked or acted, as a store keeps it; empty for unknown."""
    return json.dumps(dict(plain), ensure_ascii=False) if plain else ""
