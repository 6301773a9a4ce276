"""Every change of items: what is there is looked up, then versions, chunks, tags and links are written.

Each change is one transaction, and the mirror is asked before it commits. Low-level writes note on the connection which
items they touch (``Connection.touched``), so that no way to change an item can forget it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ricordo import speaking
from ricordo.digests import hash_of
from ricordo.errors import Conflict, Error, NotFound, PathConflict, StaleVersion
from ricordo.store.backlog import drop_chunks, enqueue_chunks, keep_vectors
from ricordo.store.index import segments
from ricordo.store.index.lexical import EPOCH
from ricordo.store.prepare import stored_language
from ricordo.store.sql import history, items, links, usage
from ricordo.store.sql.database import (
    DELETED,
    LIVE,
    SUPERSEDED,
    Connection,
    NewChunk,
    Row,
    lengths_of,
    micros,
    now_micros,
)
from ricordo.store.sql.items import (
    Head,
    counts_of,
    fields_json,
    find_by_id,
    find_head,
    is_users,
    new_id,
    refuse_immutable,
)
from ricordo.store.tables import column_names
from ricordo.store.values import Backlog, FileState, PreparedChunk, PreparedItem
from ricordo.text.languages import language_of
from ricordo.text.words import Analyzer
from ricordo.trust.gate import WAITS_FOR_USER, withheld_refs
from ricordo.values.items import Fields, Saved
from ricordo.values.kinds import KNOWLEDGE_FOLDERS
from ricordo.values.provenance import PERSON, Provenance, stored

if TYPE_CHECKING:
    from ricordo.store.base import OpenStore

VERSION_COLUMNS, CHUNK_COLUMNS, SECRET_COLUMNS = map(column_names, ("versions", "chunks", "secrets"))


class Written(NamedTuple):
    """What became of one item: the answer to who saved it, its number, and the chunks that must be indexed."""

    saved: Saved
    n: int
    chunks: Sequence[NewChunk] = ()


def save_over(
    connection: Connection, head: Head | None, item: PreparedItem, policy: str, *, opened: OpenStore
) -> Written:
    """Apply one prepared item where another may hold its ref now: create, update, skip, or refuse with a conflict."""
    ref = str(item.draft.ref)
    if head is None:
        n, identity, chunks = _create(connection, item, opened)
        created = Saved(
            ref=ref,
            status="created",
            id=identity,
            version=1,
            content_hash=item.hash,
            chunks=len(chunks),
        )
        return Written(created, n, chunks)
    if policy == "error":
        raise PathConflict(
            f"{ref} already exists (version {head.version})",
            hint=f"Read it first (get {ref}), or pass on_conflict=overwrite to replace it.",
        )
    if policy == "skip":
        return Written(skipped(head, ref, "already in the store"), head.n)
    if head.hash == item.hash and head.state == "live":
        note_file(connection, head.n, item.file)
        return Written(skipped(head, ref, "unchanged"), head.n)
    refuse_immutable(head)
    chunks = write_version(connection, head, item, opened)
    if item.times is not None and item.text_hash != head.text_hash:  # when it changed at its origin
        changed = min(now_micros(), micros(item.times[1]))
        connection.run("UPDATE items SET updated_at=? WHERE n=?", (changed, head.n))
    return Written(_updated(head, item, len(chunks)), head.n, chunks)


def _updated(head: Head, item: PreparedItem, chunks: int) -> Saved:
    """The answer to a save that made an item's next version."""
    return Saved(
        ref=str(item.draft.ref),
        status="updated",
        id=head.id,
        version=head.version + 1,
        previous_version=head.version,
        content_hash=item.hash,
        chunks=chunks,
    )


def skipped(head: Head, ref: str, reason: str | None) -> Saved:
    """The answer to a save that left an item as it is."""
    return Saved(ref, "skipped", head.id, head.version, content_hash=head.hash, reason=reason)


def save_archived(connection: Connection, item: PreparedItem, opened: OpenStore) -> Written:
    """Write an item that is archived from the start: its chunks are superseded as soon as they are written."""
    head = find_head(connection, item.draft.ref)
    if head is not None and (head.hash == item.hash or head.state == "live"):
        reason = "unchanged" if head.hash == item.hash else "in use"
        return Written(skipped(head, str(item.draft.ref), reason), head.n)
    saved, n, chunks = save_over(connection, head, item, "overwrite", opened=opened)
    connection.run_many(
        "UPDATE chunks SET state=?, live_until=live_from WHERE id=?", [(SUPERSEDED, chunk.chunk) for chunk in chunks]
    )
    connection.run("UPDATE items SET state='archived' WHERE n=?", (n,))
    here = (saved.version or 1, "archived")
    history.note_step(connection, n, here, here)
    return Written(saved, n, [replace(chunk, state=SUPERSEDED) for chunk in chunks])


def _create(connection: Connection, item: PreparedItem, opened: OpenStore) -> tuple[int, str, list[NewChunk]]:
    now = now_micros()
    provenance = _provenance_of(item)
    identity = item.id if item.id and find_by_id(connection, item.id) is None else new_id()
    draft = item.draft
    row = {
        "id": identity, "drive": draft.ref.drive, "path": draft.ref.path, "kind": draft.kind, "state": "live",
        "version": 1, "hash": item.hash, "text_hash": item.text_hash, **field_columns(draft.fields),
        "fields": fields_json(draft.fields.to_dict()), "size": _size(item), "created_at": now, "updated_at": now,
        "indexed_at": now, "provenance": stored(provenance),
        "vouched": 1 if item.vouched or provenance.author == PERSON else None,
        **dict(zip(_FILE_COLUMNS, _file_values(item.file), strict=True)),
    }  # fmt: skip
    n = connection.insert_numbered("items", tuple(row), tuple(row.values()))
    history.note_step(connection, n, history.NEW, (1, "live"))
    connection.touched.add(n)
    connection.granted |= {n} if item.vouched else set()
    insert_tags(connection, n, draft.fields)
    chunks = _write_version(
        connection,
        Head(n=n, id=identity, ref=str(draft.ref), state="live", version=0, hash="", text_hash="", immutable=False),
        item,
        opened,
        now=now,
        provenance=provenance,
    )
    connection.insert("secrets", SECRET_COLUMNS, [(n, *kind_and_count) for kind_and_count in item.secrets.items()])
    if item.times is not None:  # that it had before; its version dates from its last change
        created, updated = min(now, *map(micros, item.times)), min(now, micros(item.times[1]))
        connection.run("UPDATE items SET created_at=?, updated_at=? WHERE n=?", (created, updated, n))
        connection.run("UPDATE versions SET created_at=? WHERE item=?", (updated, n))
        connection.run("UPDATE chunks SET live_from=? WHERE item=?", (updated, n))
    return n, identity, chunks


def _provenance_of(item: PreparedItem) -> Provenance:
    """Who writes it now; of what belongs to a branch, also on which."""
    provenance = speaking.author_now(item.origin)
    return speaking.on_branch(provenance) if item.draft.kind in KNOWLEDGE_FOLDERS else provenance


def field_columns(fields: Fields) -> dict[str, Any]:
    """The columns of an item that hold single fields."""
    return {
        "title": fields.title, "description": fields.description, "category": fields.category,
        "domain": fields.domain, "severity": fields.severity, "importance": fields.importance,
        "loading": fields.loading, "thread": fields.thread, "seq": fields.seq, "source_url": fields.source_url,
        "metadata": json.dumps(dict(fields.metadata), ensure_ascii=False, default=str),
    }  # fmt: skip


def write_version(connection: Connection, head: Head, item: PreparedItem, opened: OpenStore) -> list[NewChunk]:
    """Write the next version of an item; returns the chunks that must be indexed."""
    now = now_micros()
    provenance = _provenance_of(item)
    number = head.version + 1
    is_vouched = is_users(connection, head, item, provenance)
    new_chunks = _write_version(connection, head, item, opened, now=now, provenance=provenance)
    history.note_step(connection, head.n, (head.version, head.state), (number, "live"))
    connection.touched.add(head.n)
    connection.granted |= {head.n} if item.vouched else set()
    draft = item.draft
    described = field_columns(draft.fields)
    connection.run(
        f"UPDATE items SET drive=?, path=?, kind=?, state='live', version=?, hash=?, {'=?, '.join(described)}=?,"
        " fields=?, size=?, updated_at=CASE WHEN text_hash=? THEN updated_at ELSE ? END, text_hash=?,"
        " indexed_at=?, deleted_at=NULL, file_mtime=coalesce(?, file_mtime), file_size=coalesce(?, file_size),"
        " file_hash=coalesce(?, file_hash), file_fields=coalesce(?, file_fields), provenance=?,"
        " vouched=coalesce(?, vouched) WHERE n=?",
        (
            draft.ref.drive, draft.ref.path, draft.kind, number, item.hash, *described.values(),
            fields_json(draft.fields.to_dict()), _size(item), item.text_hash, now, item.text_hash, now,
            *_file_values(item.file), stored(provenance), number if is_vouched else None, head.n,
        ),
    )  # fmt: skip
    connection.run("DELETE FROM item_tags WHERE item=?", (head.n,))
    insert_tags(connection, head.n, draft.fields)
    write_secrets(connection, head.n, item.secrets)
    if opened.keep_versions:
        _prune_versions(connection, head.n, number - opened.keep_versions)
    return new_chunks


def _write_version(
    connection: Connection, head: Head, item: PreparedItem, opened: OpenStore, *, now: int, provenance: Provenance
) -> list[NewChunk]:
    """Write the row of a version and its chunks."""
    ids, new_chunks = _write_chunks(connection, head, item.chunks, opened.analyzer, now=now)
    layout = np.array(
        [(chunk, part.start, *part.lines) for chunk, part in zip(ids, item.chunks, strict=True)], np.int64
    )
    draft = item.draft
    blob = None if draft.blob is None else hash_of(draft.blob)
    if blob is not None:
        connection.run("INSERT INTO blobs(hash, data) VALUES(?,?) ON CONFLICT DO NOTHING", (blob, draft.blob))
    row = (
        head.n, head.version + 1, head.version or None, item.hash, item.text_hash, draft.ref.drive, draft.ref.path,
        draft.kind, "live", fields_json(draft.fields.to_dict()), layout.tobytes(),
        json.dumps([[m.offset, m.label] for m in draft.marks]), draft.first_line, _size(item),
        blob, now, stored(provenance),
    )  # fmt: skip
    connection.insert("versions", VERSION_COLUMNS, [row])
    return new_chunks


def _size(item: PreparedItem) -> int:
    draft = item.draft
    if draft.blob is not None:
        return len(draft.blob)
    elsewhere = draft.fields.metadata.get("bytes") if not draft.fields.is_textual else None
    return elsewhere if isinstance(elsewhere, int) else len(draft.content)


def write_secrets(connection: Connection, n: int, counts: Mapping[str, int]) -> None:
    """Note which secrets an item's text contains now."""
    connection.run("DELETE FROM secrets WHERE item=?", (n,))
    connection.insert("secrets", SECRET_COLUMNS, [(n, *kind_and_count) for kind_and_count in counts.items()])


def insert_tags(connection: Connection, n: int, fields: Fields) -> None:
    """Write the tags to filter by."""
    if fields.tags:
        connection.run_many(
            "INSERT INTO item_tags(tag, item) VALUES(?,?) ON CONFLICT DO NOTHING", [(tag, n) for tag in fields.tags]
        )


_FILE_COLUMNS = ("file_mtime", "file_size", "file_hash", "file_fields")


def _file_values(state: FileState | None) -> tuple[Any, ...]:
    if state is None:
        return (None,) * 4
    return state.mtime, state.size, state.hash, json.dumps(dict(state.fields), ensure_ascii=False, default=str)


def note_file(connection: Connection, n: int, state: FileState | None) -> None:
    """Remember what an item's file looks like now that its content is known to be the same."""
    if state is not None:
        values = _file_values(state)
        changed = " OR ".join(f"{column} IS DISTINCT FROM ?" for column in _FILE_COLUMNS)
        connection.run(
            f"UPDATE items SET {'=?, '.join(_FILE_COLUMNS)}=? WHERE n=? AND ({changed})", (*values, n, *values)
        )


def _write_chunks(
    connection: Connection, head: Head, chunks: Sequence[PreparedChunk], analyzer: Analyzer, *, now: int
) -> tuple[list[int], list[NewChunk]]:
    """Reuse live chunks with the same key, insert the others, supersede what is no longer part of the item."""
    n = head.n
    free: dict[bytes, list[int]] = {}
    lengths: dict[int, bytes] = {}
    stored = connection.rows(
        "SELECT id, key, lengths FROM chunks WHERE item=? AND state=? ORDER BY id DESC", (n, LIVE)
    ) if head.version else []  # fmt: skip
    for chunk, key, size in stored:
        free.setdefault(key, []).append(chunk)
        lengths[chunk] = size
    ids: list[int] = []
    fresh: list[NewChunk] = []
    rows = []
    following = connection.reserve_chunks(len(chunks))
    for part in chunks:
        spare = free.get(part.key)
        if spare:
            ids.append(spare.pop())
            continue
        counts = part.counts if part.counts is not None else counts_of(connection, n, part, analyzer)
        new = NewChunk(following, n, counts, lengths_of(counts), embed_hash=part.embed_hash)
        following += 1
        rows.append(
            (
                new.chunk, n, LIVE, now, None, part.key, part.embed_hash, new.lengths, part.heading,
                part.prefix, part.text, part.language,
            )
        )  # fmt: skip
        ids.append(new.chunk)
        fresh.append(new)
    connection.insert("chunks", CHUNK_COLUMNS, rows)
    supersede(connection, [(chunk, LIVE, lengths[chunk]) for left in free.values() for chunk in left], now)
    return ids, fresh


def supersede(connection: Connection, chunks: Sequence[tuple[int, int, bytes]], now: int) -> None:
    """Chunks leave normal search, and stay searchable as of the time they were current."""
    if chunks:
        connection.run_many(
            "UPDATE chunks SET state=?, live_until=? WHERE id=?", [(SUPERSEDED, now, chunk) for chunk, _, _ in chunks]
        )
        segments.retire(connection, chunks, SUPERSEDED)
        drop_chunks(connection, [chunk for chunk, _, _ in chunks])


def erase_chunks(connection: Connection, chunks: Sequence[tuple[int, int, bytes]]) -> None:
    """Chunks leave every index, and their text the store."""
    if not chunks:
        return
    connection.run_many("DELETE FROM chunks WHERE id=?", [(chunk,) for chunk, _, _ in chunks])
    segments.retire(connection, [chunk for chunk in chunks if chunk[1] != DELETED], DELETED)
    drop_chunks(connection, [chunk for chunk, _, _ in chunks])


def _prune_versions(connection: Connection, n: int, last: int) -> None:
    """Drop versions up to a number, and the chunks that no remaining version holds."""
    if last <= 0:
        return
    dropped = connection.rows(
        "DELETE FROM versions WHERE item=? AND number<=?"
        " AND number <> coalesce((SELECT vouched FROM items WHERE n=?), 0) RETURNING blob",
        (n, last, n),
    )  # the user's own last words stay, however often others change the item
    if not dropped:
        return
    held: set[int] = set()
    for (layout,) in connection.rows("SELECT layout FROM versions WHERE item=?", (n,)):
        held.update(np.frombuffer(layout, np.int64).reshape(-1, 4)[:, 0].tolist())
    rows = connection.rows("SELECT id, state, lengths FROM chunks WHERE item=?", (n,))
    erase_chunks(connection, [row for row in rows if row[0] not in held])
    drop_blobs(connection, [row[0] for row in dropped])


def drop_blobs(connection: Connection, hashes: Sequence[str | None]) -> None:
    """Drop bytes that some versions held and none holds any more."""
    connection.run_many(
        "DELETE FROM blobs WHERE hash=? AND NOT EXISTS (SELECT 1 FROM versions WHERE blob=blobs.hash)",
        [(digest,) for digest in set(hashes) if digest is not None],
    )


def live_chunks(connection: Connection, n: int) -> Callable[[], list[Row]]:
    """The chunks of an item that searches find, in the trip of another statement."""
    return connection.ahead("SELECT id, state, lengths FROM chunks WHERE item=? AND state=?", (n, LIVE))


def put_away(connection: Connection, head: Head, state: str, chunks: Callable[[], list[Row]] | None = None) -> None:
    """Take an item out of normal search (``archived``) or out of every search (``deleted``). Its chunks stay searchable
    as of the time they were current, those of a deleted one if it is restored.
    """
    supersede(connection, (chunks or live_chunks(connection, head.n))(), now_micros())
    history.note_step(connection, head.n, (head.version, head.state), (head.version, state))
    connection.touched.add(head.n)
    history.note_audit(connection, "removed" if state == "deleted" else state, head.n)
    connection.run("UPDATE items SET state=?, deleted_at=? WHERE n=?", (state, now_micros(), head.n))
    if state == "deleted":
        connection.run("DELETE FROM item_tags WHERE item=?", (head.n,))


def set_aside(connection: Connection, identities: Iterable[str]) -> None:
    """Free the refs of items that get others in the same transaction; those in the bin hold none."""
    sql = "UPDATE items SET path='/.moving/' || id WHERE id=? AND state<>'deleted'"
    connection.run_many(sql, [(identity,) for identity in identities])


def erase_item(connection: Connection, n: int) -> None:
    """Remove an item with all its versions and text."""
    rows = connection.rows("SELECT id, state, lengths FROM chunks WHERE item=?", (n,))
    erase_chunks(connection, rows)
    held = connection.rows("SELECT blob FROM versions WHERE item=?", (n,))
    connection.touched.add(n)
    history.note_erased(connection, n)
    usage.forget_names(connection, n)
    connection.run(  # they quote it
        "DELETE FROM proposals WHERE session=(SELECT thread FROM items WHERE n=? AND kind='session')", (n,)
    )
    connection.run("DELETE FROM items WHERE n=?", (n,))
    drop_blobs(connection, [row[0] for row in held])


def texts_of(connection: Connection, n: int) -> list[str]:
    """All texts that an item has or had, with its headings, paths and fields."""
    rows = connection.rows("SELECT heading, text FROM chunks WHERE item=?", (n,))
    rows += connection.rows("SELECT path, fields FROM versions WHERE item=?", (n,))
    return [" ".join(row) for row in rows]


def store_words(connection: Connection, analyzer: Analyzer) -> None:
    """Write down the words that were stemmed since the last time, for what is asked in other spellings."""
    words = analyzer.forget_stemmed()
    connection.run_many("INSERT INTO vocabulary(word, term) VALUES(?,?) ON CONFLICT DO NOTHING", words)


def tried_again(opened: OpenStore, write: Callable[[], list[Saved]]) -> list[Saved]:
    """Do a change as ``Changes.tried_again`` says."""
    mirror = opened.mirror
    with withheld_refs() as waiting:
        answers = write() if mirror is None or opened.database.is_writing() else mirror.tried_again(write)
    return [replace(saved, reason=WAITS_FOR_USER) if saved.ref in waiting else saved for saved in answers]


class Changes:
    """Writes items. Low-level writes note on the connection which items they touch (``Connection.touched``), so that no
    verb can bypass the mirror.
    """

    def __init__(self, opened: OpenStore) -> None:
        self._opened = opened
        self._database = opened.database

    def save(
        self,
        prepared: Sequence[PreparedItem],
        *,
        on_conflict: str = "overwrite",
        durable: bool = False,
        backlog: Backlog | None = None,
        still_wanted: Callable[[int], None] | None = None,
    ) -> list[Saved]:
        """Write items in one transaction; all are searchable when it returns. Conflicts of single items are in the
        result.

        ``still_wanted`` is called when no other process can write, with what ``Store.changes_seen`` says then; if it
        raises, nothing is written.
        """

        def write() -> list[Saved]:
            answers: list[Saved] = []
            written: dict[int, PreparedItem] = {}
            new: set[int] = set()
            with self.writing(prepared, durable=durable, backlog=backlog) as (connection, placed, fresh):
                seen = connection.ahead(EPOCH) if still_wanted is not None else None
                held = items.find_heads(connection, [item.draft.ref for item in placed])
                if still_wanted is not None and seen is not None:
                    still_wanted(int(seen()[0][0]))
                for item in placed:
                    ref = item.draft.ref  # which may come twice
                    head = held.pop(ref) if ref in held else find_head(connection, ref)
                    try:
                        saved, n, chunks = save_over(connection, head, item, on_conflict, opened=self._opened)
                    except Error as error:
                        answers.append(Saved(str(ref), "failed", error=error.to_dict()))
                        continue
                    answers.append(saved)
                    fresh.extend(chunks)
                    if saved.status in ("created", "updated"):
                        written[n] = item
                        new |= {n} if saved.status == "created" else set()
                links.update_saved(connection, written, new)
            return answers

        return self.tried_again(write)

    def tried_again(self, write: Callable[[], list[Saved]]) -> list[Saved]:
        """Do a change; if somebody edits a mirrored file at that moment, take in the edit and do the change again. What
        has to wait for the user's word says so.
        """
        return tried_again(self._opened, write)

    @contextmanager
    def writing(
        self, prepared: Sequence[PreparedItem], *, durable: bool, backlog: Backlog | None
    ) -> Iterator[tuple[Connection, Sequence[PreparedItem], list[NewChunk]]]:
        """A transaction whose new chunks are indexed before it commits; merges that fall due follow it, apart.

        It gives the connection, the items as the mirror places them, and the list that collects new chunks.
        """
        fresh: list[NewChunk] = []
        if self._opened.mirror is not None and self._database.is_mirrored():
            prepared = [self._opened.mirror.placed(item) for item in prepared]
        expected = [chunk.counts for item in prepared for chunk in item.chunks if chunk.counts is not None]
        add_chunks = segments.prepare(expected)
        with self._database.write(durable=durable) as connection:
            connection.expect(items=len(prepared), chunks=sum(len(item.chunks) for item in prepared))
            embed = keep_vectors(connection, backlog, [item.vector for item in prepared if item.vector is not None])
            yield connection, prepared, fresh
            add_chunks(connection, fresh)
            enqueue_chunks(connection, backlog, [chunk.chunk for chunk in embed(fresh)])
            store_words(connection, self._opened.analyzer)
        if not self._database.is_writing():
            self._opened.maintain()

    def withdraw_word(self, numbers: Sequence[int]) -> None:
        """No version of these items counts as the user's any more."""
        with self._database.write(durable=True) as connection:
            connection.run_many("UPDATE items SET vouched=NULL WHERE n=?", [(n,) for n in numbers])

    def rewrite(
        self,
        n: int,
        item: PreparedItem,
        *,
        durable: bool = False,
        backlog: Backlog | None = None,
        base: int | None = None,
    ) -> Saved:
        """Give an item its next version, whatever its state: an edit, a move, a restore from the bin.

        With ``base`` it is refused when the item has another version by now.
        """
        return self.tried_again(lambda: [self._rewrite(n, item, durable=durable, backlog=backlog, base=base)])[0]

    def _rewrite(
        self, n: int, item: PreparedItem, *, durable: bool, backlog: Backlog | None, base: int | None
    ) -> Saved:
        draft = item.draft
        with self.writing([item], durable=durable, backlog=backlog) as (connection, (placed,), fresh):
            head = items.head_of(connection, n)
            if base is not None and head.version != base:
                raise StaleVersion(f"{draft.ref} was changed meanwhile", hint="Read it again, then change it.")
            refuse_immutable(head)
            if head.hash == item.hash and head.state == "live" and head.ref == str(draft.ref):
                return skipped(head, head.ref, "unchanged")
            fresh.extend(self.rewrite_item(connection, head, placed))
        return _updated(head, item, len(fresh))

    def rewrite_item(self, connection: Connection, head: Head, item: PreparedItem) -> list[NewChunk]:
        ref = item.draft.ref
        occupant = find_head(connection, ref) if head.ref != str(ref) or head.state == "deleted" else None
        if occupant is not None and occupant.n != head.n:
            raise Conflict(f"{ref} is taken by another item", hint="Move or remove that one first.")
        chunks = write_version(connection, head, item, self._opened)
        links.update_saved(connection, {head.n: item})
        if head.state != "live":
            links.reconsider(connection, head.n)()
        return chunks

    def succeed(
        self, old: int, item: PreparedItem, link: str, *, backlog: Backlog | None = None,
        base: tuple[int, str] | None = None,
    ) -> Saved:  # fmt: skip
        """Write a new item, archive the one that it replaces, and link them, all in one transaction.

        With ``base``, a version and a state, it is refused when the old one is not as it was any more.
        """
        return self.tried_again(lambda: [self._succeed(old, item, link, backlog=backlog, base=base)])[0]

    def _succeed(
        self, old: int, item: PreparedItem, link: str, *, backlog: Backlog | None, base: tuple[int, str] | None
    ) -> Saved:
        with self.writing([item], durable=True, backlog=backlog) as (connection, (placed,), fresh):
            there = items.head_ahead(connection, placed.draft.ref)
            self.archive_item(connection, old, base=base)
            saved, n, chunks = save_over(connection, there(), placed, "error", opened=self._opened)
            fresh.extend(chunks)
            links.update_saved(connection, {n: placed}, [n])
            links.add(connection, n, old, link, is_new=True)
        return saved

    def archive(self, numbers: Sequence[int], *, successor: int | None = None, link: str = "supersedes") -> list[Saved]:
        """Take items out of normal search in one transaction; a ``successor`` is linked to each."""

        def write() -> list[Saved]:
            answers: list[Saved] = []
            with self._database.write(durable=True) as connection:
                for n in numbers:
                    answers.append(self.archive_item(connection, n))
                    if successor is not None:
                        links.add(connection, successor, n, link)
            return answers

        return self.tried_again(write)

    def save_archived(self, prepared: Sequence[PreparedItem], *, backlog: Backlog | None = None) -> list[Saved]:
        answers: list[Saved] = []
        with self.writing(prepared, durable=False, backlog=backlog) as (connection, placed, fresh):
            for item in placed:
                saved, n, chunks = save_archived(connection, item, self._opened)
                answers.append(saved)
                fresh.extend(chunks)
                if saved.status != "skipped":
                    links.update_saved(connection, {n: item}, [n] if saved.status == "created" else ())
        return answers

    def archive_item(self, connection: Connection, n: int, *, base: tuple[int, str] | None = None) -> Saved:
        chunks, redirect = live_chunks(connection, n), links.reconsider(connection, n)
        head = items.head_of(connection, n)
        ref = head.ref
        if base not in (None, (head.version, head.state)):
            raise Conflict(f"{ref} was changed or replaced meanwhile", hint=f"Read it again: ‹:get {ref}›.")
        if head.state == "deleted":
            raise NotFound(f"{ref} is in the bin", hint=f"‹:restore {ref}› brings it back.")
        if head.state == "archived":
            return skipped(head, ref, "already archived")
        refuse_immutable(head)
        put_away(connection, head, "archived", chunks)
        redirect()
        return Saved(ref=ref, status="archived", id=head.id, version=head.version, content_hash=head.hash)

    def remove(self, n: int, *, purge: bool = False) -> None:
        """Remove an item from every index; with ``purge``, erase it and its words from the file."""

        def write() -> list[Saved]:
            with self._database.write(durable=True) as connection:
                return [self.bin_item(connection, n)]

        self.tried_again((lambda: self._purge(n)) if purge else write)

    def bin_item(self, connection: Connection, n: int, ref: str = "") -> Saved:
        head = self._prepare_removal(connection, n)
        if head.state != "deleted":
            put_away(connection, head, "deleted")
        return Saved(ref, "removed", head.id, head.version)

    def _purge(self, n: int) -> list[Saved]:
        with self._database.write(durable=True) as connection:
            self._prepare_removal(connection, n)
            forget_words = segments.prepare_erasing(connection, n)
            texts = texts_of(connection, n)
            erase_item(connection, n)
        forget_words(self._database)
        self.forget_words(texts)
        self._database.checkpoint()
        return []

    def remove_many(self, numbers: Sequence[int]) -> dict[int, Error]:
        """Move items to the bin in one transaction; items that must not be removed stay, and are returned with the
        reason.
        """
        refused: dict[int, Error] = {}

        def write() -> list[Saved]:
            refused.clear()
            with self._database.write(durable=True) as connection:
                for n in numbers:
                    try:
                        self.bin_item(connection, n)
                    except Error as error:
                        refused[n] = error
            return []

        self.tried_again(write)
        return refused

    def touch(self, numbers: Sequence[int]) -> None:
        """Count items as changed, so that the mirror brings their copies up to date."""

        def write() -> list[Saved]:
            with self._database.write(durable=True) as connection:
                connection.touched.update(numbers)
            return []

        self.tried_again(write)

    def _prepare_removal(self, connection: Connection, n: int) -> items.Head:
        """Check that an item may be removed, and forget its names, so that no link leads to it."""
        head = items.refuse_removal(connection, n)
        links.forget_names(connection, n)
        return head

    def check_removal(self, numbers: Sequence[int]) -> None:
        """Raise the error that removing some items would end with, before any of them is removed."""
        with self._database.read() as connection:
            for n in numbers:
                items.refuse_removal(connection, n)

    def forget_words(self, texts: Iterable[str]) -> None:
        """After texts were erased: drop words from the vocabulary that occur in no remaining text."""
        analyzer = Analyzer(self._opened.language)
        for text in texts:
            analyzer.in_language(stored_language(language_of(text), analyzer)).counts(text)
        self._opened.analyzer = Analyzer(self._opened.language)
        with self._database.write() as connection:
            for word, term in analyzer.forget_stemmed():
                if not segments.is_used(connection, term):
                    connection.run("DELETE FROM vocabulary WHERE word=? AND term=?", (word, term))

    def set_aside(self, identities: Sequence[str]) -> None:
        """Free the refs of items that get others in the same transaction, so that they can be exchanged."""
        with self._database.write() as connection:
            set_aside(connection, identities)

    def set_times(self, n: int, created: datetime, updated: datetime) -> None:
        """Say when an item was made, and when its text last changed."""
        last = min(now_micros(), micros(updated))
        first = min(last, micros(created))
        with self._database.write() as connection:
            connection.run(
                "UPDATE items SET created_at=?, updated_at=? WHERE n=? AND (created_at<>? OR updated_at<>?)",
                (first, last, n, first, last),
            )
