"""The SQLite store: one file with items, versions, chunks and the indexes derived from them.

Methods take and give values; each write is one short transaction. Ranking, parsing and embedding happen elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from recollect.errors import Conflict, Error, NotFound, UsageError
from recollect.store.base import Matches, PreparedItem, Scoring, Wanted
from recollect.store.sqlite import checks, items, saving, segments
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.filters import allowed_items
from recollect.store.sqlite.lexical import LexicalIndex
from recollect.store.sqlite.postings import Array
from recollect.store.sqlite.schema import SCHEMA_VERSION, migrate
from recollect.store.sqlite.segments import NewChunk
from recollect.store.sqlite.times import micros, now_micros
from recollect.values import Draft, Filters, Item, Ref, Saved, Version
from recollect.words import Analyzer

DAY = 86_400_000_000


class SqliteStore:
    """One store file, open."""

    def __init__(
        self,
        path: Path,
        *,
        language: str = "english",
        busy_seconds: float = 30.0,
        keep_versions: int = 20,
        create: bool = True,
    ) -> None:
        self.path = path
        self.keep_versions = keep_versions
        self.database = Database(path, busy_seconds=busy_seconds, create=create)
        migrate(self.database)
        self.language = self._settle_language(language)
        self.analyzer = Analyzer(self.language)
        self.lexical = LexicalIndex()

    def close(self) -> None:
        self.database.close()

    def _settle_language(self, language: str) -> str:
        """A store keeps the language it was made with: its terms are stems of that language."""
        with self.database.read() as connection:
            rows = connection.execute("SELECT value FROM meta WHERE name='language'").fetchall()
        if rows:
            return str(rows[0][0])
        if not self.database.read_only:
            Analyzer(language)  # refuses an unknown language before it is written down
            with self.database.write() as connection:
                connection.execute("INSERT OR IGNORE INTO meta VALUES('language', ?)", (language,)).fetchall()
        return language

    # -- writing ------------------------------------------------------------------------------------------------

    def save(
        self, prepared: Sequence[PreparedItem], *, on_conflict: str = "overwrite", durable: bool = False
    ) -> list[Saved]:
        """Write items in one transaction: all searchable when it returns. Conflicts of single items are answered."""
        answers: list[Saved] = []
        with self._writing(prepared, durable=durable) as (connection, fresh):
            for item in prepared:
                try:
                    saved, chunks = saving.save(connection, item, on_conflict, self.analyzer, self.keep_versions)
                except Error as error:
                    saved, chunks = Saved(str(item.draft.ref), "failed", error=error.to_dict()), []
                answers.append(saved)
                fresh.extend(chunks)
        return answers

    @contextmanager
    def _writing(
        self, prepared: Sequence[PreparedItem], *, durable: bool = False
    ) -> Iterator[tuple[apsw.Connection, list[NewChunk]]]:
        """A transaction whose new chunks are indexed before it commits; merges that fall due follow it."""
        fresh: list[NewChunk] = []
        expected = [chunk.counts for item in prepared for chunk in item.chunks if chunk.counts is not None]
        made = segments.inverted(expected)
        with self.database.write(durable=durable) as connection:
            yield connection, fresh
            segments.add_segment(connection, fresh, made)
            self._store_words(connection)
        self.maintain()

    def _store_words(self, connection: apsw.Connection) -> None:
        words, self.analyzer.stemmed = self.analyzer.stemmed, {}
        connection.executemany(
            "INSERT OR IGNORE INTO vocabulary(word, term) VALUES(?,?)", sorted(words.items())
        ).fetchall()

    def maintain(self) -> None:
        """Merge small segments where enough have gathered."""
        segments.maintain(self.database)

    def _head(self, connection: apsw.Connection, n: int) -> saving.Head:
        row = connection.execute(
            "SELECT n, id, state, version, hash, text_hash, json_extract(fields, '$.immutable') FROM items WHERE n=?", (n,)
        ).fetchall()[0]
        return saving.Head(*row[:6], bool(row[6]))

    def rewrite(self, n: int, item: PreparedItem, *, durable: bool = False) -> Saved:
        """Give an item its next version, wherever it stands: an edit, a move, a restore from the bin."""
        draft = item.draft
        with self._writing([item], durable=durable) as (connection, fresh):
            head = self._head(connection, n)
            occupant = saving.find_head(connection, draft.ref.drive, draft.ref.path)
            if occupant is not None and occupant.n != n:
                raise Conflict(f"{draft.ref} is taken by another item", hint="Move or remove that one first.")
            saving.refuse_immutable(head, str(draft.ref))
            if head.hash == item.hash and head.state == "live":
                return Saved(str(draft.ref), "skipped", head.id, head.version, None, head.hash, reason="unchanged")
            fresh.extend(saving.write_version(connection, head, item, self.analyzer, self.keep_versions))
        return Saved(str(draft.ref), "updated", head.id, head.version + 1, head.version, item.hash)

    def remove(self, n: int, *, purge: bool = False) -> None:
        """Take an item out of every index; with ``purge`` erase it and its words from the file."""
        with self.database.write(durable=True) as connection:
            head = self._head(connection, n)
            ref = connection.execute("SELECT drive || ':' || path FROM items WHERE n=?", (n,)).fetchall()[0][0]
            saving.refuse_immutable(head, ref)
            if purge:
                touched = self._segments_of(connection, n)
                texts = [row[0] for row in connection.execute("SELECT text FROM chunks WHERE item=?", (n,))]
                saving.erase_item(connection, n)
            elif head.state != "deleted":
                saving.to_bin(connection, head)
        if purge:
            segments.rewrite(self.database, touched)
            self._forget_words(texts)
            self.database.checkpoint()

    def _segments_of(self, connection: apsw.Connection, n: int) -> list[int]:
        ready = connection.execute("SELECT id FROM segments WHERE state=?", (segments.READY,)).fetchall()
        return [seg for (seg,) in ready if (segments.load_arrays(connection, seg).items == n).any()]

    def _forget_words(self, texts: Iterable[str]) -> None:
        """Drop words from the vocabulary that no remaining text holds."""
        analyzer = Analyzer(self.language)
        for text in texts:
            analyzer.counts(text)
        self.analyzer = Analyzer(self.language)
        with self.database.write() as connection:
            for word, term in analyzer.stemmed.items():
                if not connection.execute(
                    "SELECT 1 FROM segments s JOIN postings p ON p.segment = s.id AND p.term = ? WHERE s.state=1 LIMIT 1",
                    (term,),
                ).fetchall():
                    connection.execute("DELETE FROM vocabulary WHERE word=?", (word,)).fetchall()

    def empty_bin(self, days: float) -> int:
        """Erase what has been in the bin longer than the given days."""
        limit = now_micros() - int(days * DAY)
        with self.database.read() as connection:
            due = [
                row[0]
                for row in connection.execute("SELECT n FROM items WHERE state='deleted' AND deleted_at < ?", (limit,))
            ]
        if due:
            with self.database.write() as connection:
                for n in due:
                    saving.erase_item(connection, n)
        return len(due)

    def remember_root(self, path: str, globs: Sequence[str]) -> None:
        """Note a folder that was added, so that ``refresh`` finds its new files."""
        with self.database.write() as connection:
            connection.execute(
                "INSERT INTO roots VALUES(?,?,?) ON CONFLICT(path) DO UPDATE SET globs=excluded.globs",
                (path, json.dumps(list(globs)), now_micros()),
            ).fetchall()

    def roots(self) -> list[tuple[str, tuple[str, ...]]]:
        with self.database.read() as connection:
            rows = connection.execute("SELECT path, globs FROM roots ORDER BY path").fetchall()
        return [(path, tuple(json.loads(globs))) for path, globs in rows]

    # -- reading ------------------------------------------------------------------------------------------------

    def number(self, ref: Ref) -> int | None:
        with self.database.read() as connection:
            return items.number_of(connection, ref)

    def require(self, ref: Ref) -> int:
        """The item's number, or not_found with the nearest refs."""
        n = self.number(ref)
        if n is None:
            near = self.nearest(ref)
            hint = f"Did you mean: {', '.join(near)}?" if near else "'recollect list' shows what is in the store."
            raise NotFound(f"there is no item {ref}", hint=hint)
        return n

    def nearest(self, ref: Ref, count: int = 3) -> list[str]:
        """Refs that look most like one that was not found."""
        import difflib

        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT drive || ':' || path, path FROM items WHERE state='live' ORDER BY drive=? DESC, n DESC LIMIT 5000",
                (ref.drive,),
            ).fetchall()
        wanted = ref.path.rpartition("/")[2].lower()
        by_name: dict[str, list[str]] = {}
        for text, path in rows:
            by_name.setdefault(path.rpartition("/")[2].lower(), []).append(text)
        names = difflib.get_close_matches(wanted, list(by_name), count, 0.5)
        return [text for name in names for text in by_name[name]][:count]

    def ref_by_id(self, identity: str) -> Ref | None:
        with self.database.read() as connection:
            return items.ref_by_id(connection, identity)

    def item(self, n: int, *, version: int | None = None) -> Item:
        """An item with its content, now or in one of its versions."""
        with self.database.read() as connection:
            item = items.by_number(connection, n)
            if item is None:
                raise NotFound("the item is gone", hint="It was removed a moment ago.")
            if version is None or version == item.version:
                return item
            return self._item_in_version(connection, n, item, version)

    def _item_in_version(self, connection: apsw.Connection, n: int, item: Item, number: int) -> Item:
        from dataclasses import replace

        for version in items.history(connection, n):
            if version.number == number:
                content, first_line = items.content_of(connection, n, number)
                return replace(
                    item,
                    ref=version.ref,
                    kind=version.kind,
                    version=number,
                    content_hash=version.content_hash,
                    content=content,
                    fields=version.fields,
                    updated_at=version.created_at,
                    first_line=first_line,
                    size=version.size,
                )
        raise NotFound(f"{item.ref} has no version {number}", hint=f"'recollect history {item.ref}' lists them.")

    def items_by_number(self, numbers: Sequence[int]) -> dict[int, Item]:
        with self.database.read() as connection:
            return items.by_numbers(connection, numbers)

    def listing(self, filters: Filters, limit: int, offset: int) -> list[tuple[int, Item]]:
        with self.database.read() as connection:
            return items.listing(connection, filters, limit, offset)

    def count(self, filters: Filters) -> int:
        with self.database.read() as connection:
            return items.count(connection, filters)

    def refs_below(self, drive: str | None, prefix: str) -> list[tuple[int, Ref, str]]:
        with self.database.read() as connection:
            return list(items.refs_below(connection, drive, prefix))

    def history(self, n: int) -> list[Version]:
        with self.database.read() as connection:
            return items.history(connection, n)

    def version_at(self, n: int, when: datetime) -> int | None:
        with self.database.read() as connection:
            return items.version_at(connection, n, when)

    def draft(self, n: int, number: int) -> Draft:
        with self.database.read() as connection:
            draft = items.draft_of(connection, n, number)
        if draft is None:
            raise NotFound(f"there is no version {number}", hint="'recollect history REF' lists the versions kept.")
        return draft

    def live_keys(self, ref: Ref) -> set[bytes]:
        with self.database.read() as connection:
            return items.live_keys(connection, ref)

    def known_files(self, drive: str = "disk") -> dict[str, tuple[int | None, int | None]]:
        """Path → (mtime, size) as last read, for every live item of a drive."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT path, file_mtime, file_size FROM items WHERE drive=? AND state<>'deleted'", (drive,)
            ).fetchall()
        return {path: (mtime, size) for path, mtime, size in rows}

    def texts(self) -> Iterator[tuple[int, Ref, str, int]]:
        """Number, ref, whole text and first line of each live item, newest first; a row at a time."""
        with self.database.read() as connection:
            sql = "SELECT n, drive, path, version FROM items WHERE state='live' ORDER BY updated_at DESC, drive, path"
            for number, drive, path, version in connection.execute(sql).fetchall():
                content, first_line = items.content_of(connection, number, version)
                yield number, Ref(drive, path), content, first_line

    # -- searching ----------------------------------------------------------------------------------------------

    def allowed(self, filters: Filters, *, as_of: bool = False) -> Array | None:
        with self.database.read() as connection:
            return allowed_items(connection, filters, as_of=as_of)

    def live_items(self) -> Array:
        """Numbers of all live items."""
        with self.database.read() as connection:
            rows = connection.execute("SELECT n FROM items WHERE state='live'").fetchall()
        return np.fromiter((row[0] for row in rows), np.int64, len(rows))

    def chunks_at(self, when: datetime) -> Array:
        """Ids of the chunks that were live at a time and are not deleted."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT id FROM chunks WHERE state<2 AND live_from<=?1 AND (live_until IS NULL OR live_until>?1)",
                (micros(when),),
            ).fetchall()
        return np.fromiter((row[0] for row in rows), np.int64, len(rows))

    def keyword_search(
        self,
        wanted: Sequence[Wanted],
        *,
        scoring: Scoring,
        limit: int,
        allowed: Array | None = None,
        required: Sequence[Sequence[str]] = (),
        excluded: Sequence[Sequence[str]] = (),
        times: Array | None = None,
    ) -> Matches:
        if limit < 1:
            raise UsageError("a limit is at least 1")
        with self.database.read() as connection:
            return self.lexical.search(
                connection,
                wanted,
                scoring=scoring,
                items=limit,
                allowed=allowed,
                required=required,
                excluded=excluded,
                times=times,
            )

    def keyword_shares(
        self, wanted: Sequence[Wanted], chunks: Sequence[int], *, scoring: Scoring, times: Array | None = None
    ) -> dict[int, list[tuple[str, dict[str, int], float, float]]]:
        with self.database.read() as connection:
            return self.lexical.shares(connection, wanted, chunks, scoring=scoring, times=times)

    def terms_starting_with(self, prefix: str) -> list[str]:
        with self.database.read() as connection:
            return self.lexical.terms_starting_with(connection, prefix)

    def chunk_texts(self, chunks: Sequence[int]) -> dict[int, tuple[int, str, str]]:
        """Item number, heading and text of chunks."""
        found: dict[int, tuple[int, str, str]] = {}
        with self.database.read() as connection:
            for at in range(0, len(chunks), 500):
                part = list(chunks[at : at + 500])
                marks = ",".join("?" * len(part))
                for chunk, n, heading, text in connection.execute(
                    f"SELECT id, item, heading, text FROM chunks WHERE id IN ({marks})", part
                ):
                    found[chunk] = (n, heading, text)
        return found

    def places(self, n: int, version: int | None = None) -> tuple[Array, list[tuple[int, str]]]:
        """Layout and marks of an item's current (or given) version."""
        with self.database.read() as connection:
            if version is None:
                version = connection.execute("SELECT version FROM items WHERE n=?", (n,)).fetchall()[0][0]
            return items.layout_of(connection, n, version)

    def live_chunks(self, allowed: Array | None = None) -> Iterator[tuple[int, int, str]]:
        """Chunk id, item number and text of every live chunk, newest item first: for substring scans."""
        wanted = None if allowed is None else set(allowed.tolist())
        with self.database.read() as connection:
            for chunk, n, text in connection.execute(
                "SELECT c.id, c.item, c.text FROM chunks c JOIN items i ON i.n = c.item WHERE c.state=0"
                " ORDER BY i.updated_at DESC, c.id"
            ):
                if wanted is None or n in wanted:
                    yield chunk, n, text

    # -- looking after ------------------------------------------------------------------------------------------

    def counts(self) -> dict[str, Any]:
        """How much there is."""
        with self.database.read() as connection:
            by_kind = dict(
                connection.execute("SELECT kind, count(*) FROM items WHERE state='live' GROUP BY kind ORDER BY kind").fetchall()
            )
            by_drive = dict(
                connection.execute("SELECT drive, count(*) FROM items WHERE state='live' GROUP BY drive ORDER BY drive").fetchall()
            )
            chunks, versions, bin_, archived, parts = connection.execute(
                "SELECT (SELECT total FROM lexical_stats WHERE field=-1), (SELECT count(*) FROM versions),"
                " (SELECT count(*) FROM items WHERE state='deleted'), (SELECT count(*) FROM items WHERE state='archived'),"
                " (SELECT count(*) FROM segments WHERE state=1)"
            ).fetchall()[0]
        return {
            "items": sum(by_kind.values()),
            "chunks": chunks,
            "versions": versions,
            "in_bin": bin_,
            "archived": archived,
            "segments": parts,
            "kinds": by_kind,
            "drives": by_drive,
            "schema": SCHEMA_VERSION,
            "language": self.language,
        }

    def checks(self) -> checks.Checks:
        """The checks of this store, by name; each takes whether to repair."""
        database = self.database
        return [
            ("integrity", lambda repair: checks.integrity(database, repair)),
            ("versions", lambda repair: checks.versions(database, repair)),
            ("keyword index", lambda repair: checks.lexical(database, Analyzer(self.language), repair)),
            ("leftovers", lambda repair: checks.leftovers(database, repair)),
        ]
