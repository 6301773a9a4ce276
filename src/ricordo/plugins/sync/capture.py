"""Finds what was changed here since the last sync, and writes it down as entries.

Nothing has to be noted while people work: the store is compared with what was seen before. So no way to change an item
can be forgotten, and a store that does not sync pays nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ricordo import speaking
from ricordo.exchange.records import ItemRecord, VersionRecord
from ricordo.plugins.sync import rows
from ricordo.plugins.sync.log import (
    ERASE,
    FEEDBACK,
    LINK,
    STATE,
    VERSION,
    WORD,
    LogEntry,
    VersionBody,
    plain_body,
    text_mark,
)
from ricordo.plugins.sync.merge import Merged, merged
from ricordo.store.sql import item_records
from ricordo.store.sql.database import Connection, marks, now_micros
from ricordo.values.provenance import read

SEEN = (
    "i.version || ' ' || i.hash || ' ' || i.state || ' ' || coalesce(i.vouched, '') || ' ' || i.drive || ':' || i.path"
)
"""What tells whether an item is as it was when it last agreed with the entries."""
STAYS = ("program", "tool", "skill")
"""Drives whose items belong to one machine: what its programs keep, its tools, its skills."""


class Capture:
    """Writes down what one store's user did on this machine, in one transaction."""

    def __init__(self, connection: Connection, machine: str, what: Sequence[str], kinds: Sequence[str]) -> None:
        """``kinds`` are those of items that begin to sync by themselves; those that sync already go on."""
        self._connection = connection
        self._machine = machine
        self._what = what
        self._kinds = kinds
        self._clock = rows.last_clock(connection)
        self.written = 0
        self.changed: set[str] = set()
        """The items that were changed."""

    def all(self) -> None:
        """Everything that was changed."""
        self._items()
        self._links()
        if "feedback" in self._what:
            self._feedback()
        rows.erase_former_kinds(self._connection)

    def _items(self) -> None:
        """What was changed in items; what is gone, was erased."""
        new = f"(s.item IS NULL AND i.kind IN ({marks(self._kinds)}) AND i.drive NOT IN ({marks(STAYS)}))"
        for n, item in self._connection.rows(
            f"SELECT i.n, i.id FROM items i LEFT JOIN sync_items s ON s.item = i.id WHERE {new} OR s.seen <> {SEEN}",
            (*self._kinds, *STAYS),
        ):
            self._item(n, item)
            self.changed.add(item)
        for (item,) in self._connection.rows(
            "SELECT item FROM sync_items s WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.id = s.item)"
        ):
            self._erased(item)
            self.changed.add(item)

    def _say(self, kind: str, item: str, parents: Sequence[str], body: Mapping[str, Any]) -> str:
        """Write an entry down. It knows of every erasure of its item, so that none of them concerns it."""
        self._clock += 1
        parents = [*parents, *rows.erasures(self._connection, item)]
        entry = LogEntry(kind, item, self._clock, self._machine, tuple(sorted(parents)), body)
        self.written += rows.add(self._connection, entry, None)
        return entry.uid

    def _known(self, item: str) -> Merged | None:
        return merged(rows.of_items(self._connection, [item])[item])

    def _item(self, n: int, item: str) -> None:
        connection = self._connection
        before = self._known(item)
        parents: Sequence[str] = before.heads if before is not None else ()
        uids = self._versions(n, item, parents)
        state, vouched, put_away = connection.rows("SELECT state, vouched, deleted_at FROM items WHERE n=?", (n,))[0]
        now = self._known(item)
        if now is None:
            return  # every version of it was erased elsewhere
        if now.state != state:
            said = self._doer(item, {"archived": "archived", "deleted": "removed"}.get(state, ""))
            self._say(STATE, item, now.heads, {"state": state, "at": put_away or now_micros(), "provenance": said})
        self._word(item, now, uids.get(vouched))
        connection.run(
            "INSERT INTO sync_items(item, seen, wanted, apart) VALUES(?, '', '', '[]') ON CONFLICT DO NOTHING", (item,)
        )
        connection.run(
            f"UPDATE sync_items SET seen=(SELECT {SEEN} FROM items i WHERE i.id = sync_items.item) WHERE item=?",
            (item,),
        )

    def _versions(self, n: int, item: str, parents: Sequence[str]) -> dict[int, str]:
        """Write down the versions that are new; returns the uid of each version of the item."""
        connection = self._connection
        known = {
            (number, digest, created): uid
            for number, uid, digest, created in connection.rows(
                "SELECT number, uid, hash, created_at FROM sync_versions WHERE item=?", (item,)
            )
        }
        rows = connection.rows("SELECT number, hash, created_at FROM versions WHERE item=? ORDER BY number", (n,))
        new = {row[0] for row in rows if tuple(row) not in known}
        uids = {row[0]: known[tuple(row)] for row in rows if tuple(row) in known}
        if not new:
            return uids
        record = item_records.item_record(connection, n, new)
        for version in record.versions:
            is_vouched = record.vouched == version.number
            body = plain_body(_body(record, version, is_vouched=is_vouched))
            uids[version.number] = self._say(VERSION, item, parents, body)
            parents = [uids[version.number]]
        connection.run("DELETE FROM sync_versions WHERE item=?", (item,))
        connection.run_many(
            "INSERT INTO sync_versions(item, number, uid, hash, created_at) VALUES(?,?,?,?,?)",
            [(item, number, uids[number], digest, created) for number, digest, created in rows],
        )
        return uids

    def _word(self, item: str, now: Merged, given: str | None) -> None:
        """Write down that the user agreed to a version, or takes the word back."""
        if now.vouched == given:
            return
        order = [uid for uid, _ in now.versions]
        if given is not None:
            self._say(WORD, item, (), {"uid": given, "given": True})
        after = order[order.index(given) + 1 :] if given in order else order
        for uid in after:
            self._say(WORD, item, (), {"uid": uid, "given": False})

    def _erased(self, item: str) -> None:
        """Write down that an item was erased: all of it that this machine knows, and nothing that it has not seen."""
        known = rows.of_items(self._connection, [item])[item]
        uids = sorted(uid for uid, entry in known if entry.kind in (VERSION, STATE, FEEDBACK) and entry.body)
        is_emptied = self._only_left_the_bin(item)
        texts = {  # what only left the bin, may have been brought back elsewhere
            text_mark(item, entry.body["version"]["text_hash"])
            for _, entry in known
            if entry.kind == VERSION and entry.body and not is_emptied
        }
        if uids:
            said = self._doer(item, "erased")
            self._say(ERASE, item, (), {"uids": uids, "texts": sorted(texts), "provenance": said})
            rows.erase(self._connection, uids)

    def _only_left_the_bin(self, item: str) -> bool:
        """Whether an item that is gone was in the bin when it was last seen, and nobody had brought it back since."""
        rows = self._connection.rows(
            "SELECT s.seen, a.version FROM sync_items s JOIN audit a ON a.item = s.item AND a.what = 'erased'"
            " WHERE s.item=? ORDER BY a.id DESC LIMIT 1",
            (item,),
        )
        if not rows:
            return False
        version, _, state = rows[0][0].split(" ")[:3]
        return bool(state == "deleted" and int(version) == rows[0][1])

    def _doer(self, item: str, what: str) -> dict[str, Any]:
        """Who did something to an item, as the store wrote it down; without that, whoever speaks now."""
        rows = self._connection.rows(
            "SELECT provenance FROM audit WHERE item=? AND what=? ORDER BY id DESC LIMIT 1", (item, what)
        )
        return (read(rows[0][0]) if rows else speaking.speaker()).to_dict()

    def _links(self) -> None:
        wanted = wanted_links(self._connection)
        actual = actual_links(self._connection)
        here = {
            row[0] for row in self._connection.rows("SELECT s.item FROM sync_items s JOIN items i ON i.id = s.item")
        }
        for (source, target, kind), at in actual.items():
            if not wanted.get((source, target, kind), (False, 0))[0]:
                self._say(LINK, source, (), {"target": target, "type": kind, "at": at, "exists": True})
        for (source, target, kind), (exists, at) in wanted.items():
            if exists and (source, target, kind) not in actual and {source, target} <= here:
                self._say(LINK, source, (), {"target": target, "type": kind, "at": at, "exists": False})

    def _feedback(self) -> None:
        said = int(self._connection.meta("sync_feedback") or 0)
        rows = self._connection.rows(
            "SELECT f.id, f.query, i.id, f.ref, f.verdict, f.counted, f.at FROM feedback f"
            " JOIN items i ON i.n = f.item JOIN sync_items s ON s.item = i.id WHERE f.id > ? ORDER BY f.id",
            (said,),
        )
        for _, query, item, ref, verdict, counted, at in rows:
            body = {"query": query, "ref": ref, "verdict": verdict, "counted": bool(counted), "at": at}
            self._say(FEEDBACK, item, (), body)
        if rows:
            self._connection.set_meta("sync_feedback", rows[-1][0])


def forget(connection: Connection, item: str) -> None:
    """An item syncs no more, because nothing of it is left."""
    connection.run("DELETE FROM sync_versions WHERE item=?", (item,))
    connection.run("DELETE FROM sync_items WHERE item=?", (item,))


def wanted_links(connection: Connection) -> dict[tuple[str, str, str], tuple[bool, int]]:
    """Whether each link that was ever said exists, and since when; what was said last counts."""
    found: dict[tuple[str, str, str], tuple[tuple[int, str, str], bool, int]] = {}
    for uid, entry in rows.of_kind(connection, LINK):
        body = entry.body
        key = (entry.item, str(body["target"]), str(body["type"]))
        order = (*entry.order, uid)
        if key not in found or order > found[key][0]:
            found[key] = (order, bool(body["exists"]), int(body["at"]))
    return {key: (exists, at) for key, (_, exists, at) in found.items()}


def actual_links(connection: Connection) -> dict[tuple[str, str, str], int]:
    """The links that were made by hand between items that sync, with their times."""
    rows = connection.rows(
        "SELECT s.id, t.id, l.type, l.created_at FROM links l JOIN items s ON s.n = l.source"
        " JOIN items t ON t.n = l.target JOIN sync_items a ON a.item = s.id"
        " JOIN sync_items b ON b.item = t.id WHERE l.origin = 'manual'"
    )
    return {(source, target, kind): at for source, target, kind, at in rows}


def _body(record: ItemRecord, version: VersionRecord, *, is_vouched: bool) -> VersionBody:
    """What is said about a version: all of it, in one piece."""
    passages = []
    layout = []
    start = 0
    for at, (chunk, _, first, last) in enumerate(version.layout):
        held = record.chunks[chunk]
        passages.append((held.text, held.heading, held.prefix, first, last))
        layout.append((at, start, first, last))
        start += len(held.text)
    blob = next((one.data for one in record.blobs if one.hash == version.blob), None)
    return VersionBody(
        replace(version, layout=tuple(layout), previous=None),
        tuple(passages),
        record.machine,
        is_vouched,
        record.created_at,
        record.updated_at,
        dict(record.secrets),
        blob,
    )
