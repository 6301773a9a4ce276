"""Makes the items of a store what the entries say: the other half of ``sync_capture``.

An item keeps its number here, so that its use, links and file stay. Each call is part of the caller's transaction.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from ricordo.exchange.records import BlobRecord, ChunkRecord, ItemRecord, VersionRecord
from ricordo.plugins.sync import rows
from ricordo.plugins.sync.capture import SEEN, forget
from ricordo.plugins.sync.log import VersionBody, version_body
from ricordo.plugins.sync.merge import Merged, erased, merged
from ricordo.store import backlog
from ricordo.store.base import OpenStore
from ricordo.store.index import segments
from ricordo.store.sql import changes, files, history, item_records, links
from ricordo.store.sql.database import Connection, NewChunk, in_parts, moment, now_micros
from ricordo.store.values import Backlog
from ricordo.text.links import targets_in
from ricordo.values.items import DISK, Draft, FileRefs, Ref, version_hash

_SUFFIX = 8


@dataclass
class Applied:
    """What became of items in one transaction."""

    counts: Counter[str] = field(default_factory=Counter)
    apart: list[str] = field(default_factory=list)
    """The refs of items that were changed on two machines at the same time."""
    fresh: list[NewChunk] = field(default_factory=list)
    erased: list[str] = field(default_factory=list)
    """Texts of which no word may be left."""
    after: list[segments.ForgetWords] = field(default_factory=list)
    """What is done after the commit."""


@dataclass(eq=False)
class Application:
    """Shows items in one transaction."""

    connection: Connection
    opened: OpenStore
    backlog: Backlog | None
    done: Applied = field(default_factory=Applied)

    def show(self, items: Collection[str]) -> None:
        """Bring items in line with their entries; of what was erased, no word stays in any index."""
        known = rows.of_items(self.connection, items)
        gone = {item: erased(dict(entries)) for item, entries in known.items()}
        rows.erase(self.connection, sorted(set().union(*gone.values())))
        now = {item: merged(entries) for item, entries in known.items()}
        refs = files.refs_of(self.connection)
        contested = self._note_wanted(now, refs)
        others = self._wanting(contested) - set(now)
        now |= {item: merged(entries) for item, entries in rows.of_items(self.connection, others).items()}
        places = self._places(now, contested, refs)
        changed = {
            item: one
            for item, one in sorted(now.items(), key=lambda row: row[0])
            if not self._is_shown(item, one, places.get(item))
        }
        changes.set_aside(self.connection, changed)  # also the names of what goes to the bin
        ready: list[tuple[str, ItemRecord, Merged]] = []
        for item, one in changed.items():
            self._prepare_erasing(item, is_meant=bool(gone.get(item)))
            if one is None:
                self._erase(item)
            else:
                ready.append((item, self._record(item, one, places[item], refs), one))
        self._write(ready)
        for item, one in now.items():
            if one is not None:
                self._note_shown(item, one)
            else:
                forget(self.connection, item)

    def _note_wanted(self, now: Mapping[str, Merged | None], refs: FileRefs) -> set[str]:
        """Note which ref each item would have; returns the refs of which somebody has to be told."""
        contested: set[str] = set()
        for item, one in now.items():
            ref = "" if one is None or one.state == "deleted" else str(_ref(one, refs))
            before = self.connection.rows("SELECT wanted FROM sync_items WHERE item=?", (item,))
            contested |= {ref, before[0][0] if before else ""} - {""}
            if one is not None:
                self.connection.run(
                    "INSERT INTO sync_items(item, seen, wanted, apart) VALUES(?, '', ?, '[]')"
                    " ON CONFLICT(item) DO UPDATE SET wanted=excluded.wanted",
                    (item, ref),
                )
            elif before:
                self.connection.run("UPDATE sync_items SET wanted='' WHERE item=?", (item,))
        return contested

    def _wanting(self, wanted: Collection[str]) -> set[str]:
        return {
            row[0]
            for marks, part in in_parts(sorted(wanted))
            for row in self.connection.rows(f"SELECT item FROM sync_items WHERE wanted IN ({marks})", part)
        }

    def _places(self, now: Mapping[str, Merged | None], contested: Collection[str], refs: FileRefs) -> dict[str, Ref]:
        """The ref of each item. Of several that want one, the oldest has it, and the others a part of their id behind
        it; an item that does not sync keeps the one that it has.
        """
        places = {item: _ref(one, refs) for item, one in now.items() if one is not None}
        for ref in contested:
            wanting = sorted(self._wanting([ref]))
            holder = self.connection.rows(
                "SELECT 1 FROM items i WHERE drive || ':' || path = ? AND state <> 'deleted'"
                " AND NOT EXISTS (SELECT 1 FROM sync_items s WHERE s.item = i.id)",
                (ref,),
            )
            for item in wanting if holder else wanting[1:]:
                if item in places:
                    places[item] = Ref(places[item].drive, f"{places[item].path}-{item[-_SUFFIX:]}")
        return places

    def _is_shown(self, item: str, one: Merged | None, place: Ref | None) -> bool:
        rows = self.connection.rows("SELECT n, state, version, vouched, drive, path FROM items WHERE id=?", (item,))
        if one is None or not rows:
            return one is None and not rows
        n, state, version, vouched, drive, path = rows[0]
        wanted = dict(self._kept(one))
        shown: dict[int, tuple[str, str]] = {
            number: (uid, digest)
            for number, uid, digest in self.connection.rows(
                "SELECT v.number, s.uid, v.hash FROM versions v LEFT JOIN sync_versions s ON s.item=?"
                " AND s.number = v.number AND s.hash = v.hash AND s.created_at = v.created_at WHERE v.item=?",
                (item, n),
            )
        }
        entries = dict(one.versions)
        current = one.numbers[-1]
        is_same = {number: uid for number, (uid, _) in shown.items()} == wanted and all(
            # the current version alone may have another ref than its entry says, and with it another hash
            number == current or digest == entries[uid].body["version"]["hash"]
            for number, (uid, digest) in shown.items()
        )
        return bool(
            is_same
            and (state, version, Ref(drive, path)) == (one.state, current, place)
            and vouched == _number_of(one, one.vouched)
        )

    def _kept(self, one: Merged) -> list[tuple[int, str]]:
        """The versions that a store keeps: the last ones, those that were written apart, and the user's own."""
        numbered = [(number, uid) for number, (uid, _) in zip(one.numbers, one.versions, strict=True)]
        keep = self.opened.keep_versions
        if not keep:
            return numbered
        special = {*one.apart, one.vouched}
        return [row for at, row in enumerate(numbered) if at >= len(numbered) - keep or row[1] in special]

    def _record(self, item: str, one: Merged, place: Ref, refs: FileRefs) -> ItemRecord:
        """The whole item as an import would bring it."""
        entries = dict(one.versions)
        kept = self._kept(one)
        bodies = {uid: version_body(entries[uid]) for _, uid in kept}
        numbers = {uid: number for number, uid in kept}
        head_number, head_uid = kept[-1]
        versions, chunks = _Texts(one.state).versions([(number, bodies[uid]) for number, uid in kept], refs)
        parents = {uid: [numbers[parent] for parent in entries[uid].parents if parent in numbers] for _, uid in kept}
        versions = [
            replace(version, previous=max((p for p in parents[uid] if p < version.number), default=None))
            for version, (_, uid) in zip(versions, kept, strict=True)
        ]
        head = versions[-1]
        if place != head.ref:
            draft = Draft(place, head.kind, "", head.known_fields())
            versions[-1] = replace(head, ref=place, hash=version_hash(draft, head.text_hash))
        blobs = {
            body.version.blob: body.blob for body in bodies.values() if body.version.blob and body.blob is not None
        }
        last = bodies[head_uid]
        return ItemRecord(
            item, place, head.kind, one.state, head_number, last.created_at, last.updated_at, moment(now_micros()),
            self._put_away(item, one), None, None, tuple(versions), tuple(chunks),
            tuple(BlobRecord(digest, data) for digest, data in sorted(blobs.items()) if digest),
            (), last.secrets, _number_of(one, one.vouched), last.machine,
        )  # fmt: skip

    def _put_away(self, item: str, one: Merged) -> datetime | None:
        """When it was put away here: by this machine's clock, because the bin is emptied by it."""
        if one.put_away is None:
            return None
        known = self.connection.rows("SELECT deleted_at FROM items WHERE id=? AND state=?", (item, one.state))
        return moment(known[0][0] if known and known[0][0] else now_micros())

    def _write(self, ready: Sequence[tuple[str, ItemRecord, Merged]]) -> None:
        connection = self.connection
        analyzer = self.opened.analyzer
        ends: dict[int, links.Ends] = {}
        for item, record, one in ready:
            analysed = item_records.analysed(record, analyzer)
            found = connection.rows("SELECT n, state FROM items WHERE id=?", (item,))
            if found:
                n, before = found[0]
                fresh = self._replace(n, analysed)
            else:
                before = ""
                n, fresh = item_records.insert(connection, analysed, item)
            self._count(item, record, one, before)
            self.done.fresh += fresh
            head = record.head()
            if record.state == "deleted":
                links.forget_names(connection, n)
            else:
                targets = targets_in(record.content(head), record.ref, head.known_fields().mime_type)
                ends[n] = links.Ends(links.names(record.ref, head.known_fields()), targets)
        links.update(connection, ends)

    def _replace(self, n: int, one: item_records.Analysed) -> list[NewChunk]:
        """Give an item other versions; what its file looked like, and when it was used, stays."""
        connection = self.connection
        changes.erase_chunks(connection, connection.rows("SELECT id, state, lengths FROM chunks WHERE item=?", (n,)))
        held = connection.rows("SELECT blob FROM versions WHERE item=?", (n,))
        connection.run("DELETE FROM versions WHERE item=?", (n,))
        row = item_records.item_row(one.item, one.item.id)
        row = {name: value for name, value in row.items() if not name.startswith("file_")}
        connection.run(f"UPDATE items SET {'=?, '.join(row)}=? WHERE n=?", (*row.values(), n))
        connection.touched.add(n)
        connection.run("DELETE FROM item_tags WHERE item=?", (n,))
        if one.item.state != "deleted":
            changes.insert_tags(connection, n, one.item.head().known_fields())
        changes.write_secrets(connection, n, one.item.secrets)
        fresh = item_records.insert_texts(connection, n, one)
        changes.drop_blobs(connection, [blob for (blob,) in held])
        return fresh

    def _count(self, item: str, record: ItemRecord, one: Merged, before: str) -> None:
        after = record.state
        what = {"deleted": "removed", "archived": "archived"}.get(after, "") if after != before else ""
        if what and one.put_away is not None:
            said = json.dumps(dict(one.put_away.body["provenance"]), ensure_ascii=False)
            for (n,) in self.connection.rows("SELECT n FROM items WHERE id=?", (item,)):
                history.note_audit(self.connection, what, n, said)
        if not before and after == "deleted":
            return  # nobody here ever saw it
        self.done.counts[what or ("updated" if before else "created")] += 1

    def _prepare_erasing(self, item: str, *, is_meant: bool) -> None:
        """Before texts go that nobody may read any more: find where their words are."""
        found = self.connection.rows("SELECT n FROM items WHERE id=?", (item,))
        if not found or not is_meant:
            return
        n = found[0][0]
        self.connection.run("DELETE FROM feedback WHERE item=?", (n,))  # verdicts that stay are written again
        self.done.after.append(segments.prepare_erasing(self.connection, n))
        self.done.erased += changes.texts_of(self.connection, n)

    def _erase(self, item: str) -> None:
        found = self.connection.rows("SELECT n FROM items WHERE id=?", (item,))
        if found:
            links.forget_names(self.connection, found[0][0])
            changes.erase_item(self.connection, found[0][0])
            self.done.counts["erased"] += 1

    def _note_shown(self, item: str, one: Merged) -> None:
        connection = self.connection
        apart = sorted(number for number in (_number_of(one, uid) for uid in one.apart) if number is not None)
        before = connection.rows("SELECT apart FROM sync_items WHERE item=?", (item,))[0][0]
        after = json.dumps(
            [*(number for number in apart if number != one.numbers[-1]), one.numbers[-1]] if apart else []
        )
        if after not in (before, "[]"):
            self.done.apart.append(connection.rows("SELECT drive || ':' || path FROM items WHERE id=?", (item,))[0][0])
        connection.run(
            f"UPDATE sync_items SET apart=?, seen=(SELECT {SEEN} FROM items i WHERE i.id=?) WHERE item=?",
            (after, item, item),
        )
        uids = {number: uid for number, (uid, _) in zip(one.numbers, one.versions, strict=True)}
        rows = connection.rows(
            "SELECT v.number, v.hash, v.created_at FROM versions v JOIN items i ON i.n = v.item WHERE i.id=?", (item,)
        )
        connection.run("DELETE FROM sync_versions WHERE item=?", (item,))
        connection.run_many(
            "INSERT INTO sync_versions(item, number, uid, hash, created_at) VALUES(?,?,?,?,?)",
            [(item, number, uids[number], digest, created) for number, digest, created in rows],
        )

    def index(self) -> None:
        """Index what was written; the last step before the transaction commits."""
        add_chunks = segments.prepare([chunk.counts for chunk in self.done.fresh])
        add_chunks(self.connection, self.done.fresh)
        backlog.enqueue_chunks(self.connection, self.backlog, [chunk.chunk for chunk in self.done.fresh])


def _ref(one: Merged, refs: FileRefs) -> Ref:
    """The ref of the current version, as this store writes it."""
    body = version_body(one.versions[-1][1])
    return refs.ref(body.version.ref.path, body.machine) if body.version.ref.drive == DISK else body.version.ref


def _number_of(one: Merged, uid: str | None) -> int | None:
    return next((number for number, (name, _) in zip(one.numbers, one.versions, strict=True) if name == uid), None)


@dataclass
class _Texts:
    """Puts the texts of several versions together, such that passages that they share are one."""

    state: str
    known: dict[object, int] = field(default_factory=dict)
    chunks: list[ChunkRecord] = field(default_factory=list)

    def versions(
        self, bodies: Sequence[tuple[int, VersionBody]], refs: FileRefs
    ) -> tuple[list[VersionRecord], list[ChunkRecord]]:
        times = [body.version.created_at for _, body in bodies]
        found = []
        for at, (number, body) in enumerate(bodies):
            version = body.version
            ref = refs.ref(version.ref.path, body.machine) if version.ref.drive == DISK else version.ref
            layout = []
            start = 0
            for chunk, (_, _, _, first, last) in zip(self._chunks(at, body, ref, times), body.passages, strict=True):
                layout.append((chunk, start, first, last))
                start += len(self.chunks[chunk].text)
            found.append(replace(version, number=number, ref=ref, layout=tuple(layout)))
        last = len(bodies) - 1
        held = {chunk for chunk, *_ in found[last].layout}
        self.chunks = [self._ended(chunk, at in held) for at, chunk in enumerate(self.chunks)]
        return found, self.chunks

    def _chunks(self, at: int, body: VersionBody, ref: Ref, times: Sequence[datetime]) -> list[int]:
        fields = body.version.known_fields()
        shared = (ref.path, fields.title, fields.description, fields.tags, fields.context)
        counted: Counter[object] = Counter()
        chosen = []
        until = times[at + 1] if at + 1 < len(times) else None
        for text, heading, prefix, *_ in body.passages:
            same = (text, heading, prefix, shared)
            counted[same] += 1
            key = (same, counted[same])
            if key not in self.known:
                self.known[key] = len(self.chunks)
                self.chunks.append(ChunkRecord(text, heading, prefix, "live", times[at], until))
            else:
                held = self.chunks[self.known[key]]
                self.chunks[self.known[key]] = replace(held, live_until=until)
            chosen.append(self.known[key])
        return chosen

    def _ended(self, chunk: ChunkRecord, is_current: bool) -> ChunkRecord:
        """A chunk with its state: live in the current version of a live item, otherwise out of normal search."""
        if is_current and self.state == "live":
            return replace(chunk, state="live", live_until=None)
        until = max(chunk.live_until or moment(now_micros()), chunk.live_from)
        return replace(chunk, state="superseded", live_until=until)
