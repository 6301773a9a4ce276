"""Imports the records of an export: each item in one piece, then the records that refer to items.

Work that needs no lock is done before the transaction, and what is there already is looked up once for a whole batch,
because over a network trips take most of the time. An item keeps its id if that is free. Records about an item that was
skipped, or got another id, are written for the item that is here in its place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from ricordo.errors import Error, PathConflict
from ricordo.exchange.records import ItemRecord, Row
from ricordo.store.sql import heads, import_rows, jobs, links, machines, saving
from ricordo.store.sql.import_others import OtherRecords
from ricordo.store.sql.import_rows import Analysed, analysed
from ricordo.store.sql.new_chunks import NewChunk
from ricordo.store.sql.protocols import Connection, Opened
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
        self._left_alone: Collection[str] = ()
        self._others = OtherRecords(self._stands_for, is_overwriting=on_conflict == "overwrite")

    def items(self, batch: Sequence[ItemRecord], left_alone: Collection[str] = ()) -> list[Saved]:
        """Write items in one transaction; each is answered, and one that cannot be written leaves nothing behind.

        Those whose ids are in ``left_alone`` replace nothing: what is stored says the same.
        """
        self._left_alone = left_alone
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
            there = _Heads(connection, [one.item for one in ready])
            for one in ready:
                try:
                    answers.append(self._take(connection, one, there, fresh, ends))
                except Error as error:
                    answers.append(Saved(str(one.item.ref), "failed", error=error.to_dict()))
            add_chunks(connection, fresh)
            jobs.enqueue_chunks(connection, self.backlog, [chunk.chunk for chunk in fresh])
            links.update(connection, ends)
            words = analyzer.forget_stemmed()
            connection.run_many("INSERT INTO vocabulary(word, term) VALUES(?,?) ON CONFLICT DO NOTHING", words)
        return answers

    def _take(
        self, connection: Connection, one: Analysed, there: _Heads, fresh: list[NewChunk], ends: dict[int, links.Ends]
    ) -> Saved:
        item = one.item
        head = item.head()
        taken = there.by_id.get(item.id)
        holder = taken if item.state == "deleted" else there.by_ref.get(item.ref)
        if holder is not None:
            reason = self._reason_to_skip(holder, item)
            if reason:
                self._stands_for |= {item.id: holder.id} if holder.id != item.id else {}
                return Saved(str(item.ref), "skipped", holder.id, holder.version, None, holder.hash, reason=reason)
            there.forget(holder)
            self._make_room(connection, holder, item)
            taken = None if taken is not None and taken.n == holder.n else taken
        identity = heads.new_id() if taken is not None else item.id
        if identity != item.id:
            self._stands_for[item.id] = identity
        n, chunks = import_rows.insert(connection, one, identity)
        immutable = bool(head.fields.get("immutable"))
        there.note(
            item, heads.Head(n, identity, item.state, item.version, head.hash, head.text_hash, immutable=immutable)
        )
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
        return "unchanged" if same or item.id in self._left_alone else ""

    def _make_room(self, connection: Connection, holder: heads.Head, item: ItemRecord) -> None:
        """Move the item that has the ref to the bin, with its history, and under another id if necessary."""
        heads.refuse_immutable(holder, str(item.ref))
        links.forget_names(connection, holder.n)
        if holder.state != "deleted":
            saving.to_bin(connection, holder)
        if holder.id == item.id:
            connection.run("UPDATE items SET id=? WHERE n=?", (heads.new_id(), holder.n))

    def others(self, batch: Sequence[Row]) -> Counter[str]:
        """Write what refers to items; returns how many of each type were new."""
        with self.database.write(durable=True) as connection:
            return self._others.take(connection, batch)


class _Heads:
    """The items of this store that the items of a batch may meet: by their ids, and by the refs they hold."""

    def __init__(self, connection: Connection, batch: Sequence[ItemRecord]) -> None:
        self.by_id = heads.find_by_ids(connection, [item.id for item in batch])
        self.by_ref = heads.find_heads(connection, [item.ref for item in batch if item.state != "deleted"])

    def forget(self, head: heads.Head) -> None:
        """The item is about to lose its ref, or its id, to another."""
        self.by_id = {identity: one for identity, one in self.by_id.items() if one.n != head.n}
        self.by_ref = {ref: one for ref, one in self.by_ref.items() if one is None or one.n != head.n}

    def note(self, item: ItemRecord, head: heads.Head) -> None:
        """The item was written."""
        self.by_id[head.id] = head
        if item.state != "deleted":
            self.by_ref[item.ref] = head
