"""The SQLite store: one file with items, versions, chunks and the indexes derived from them.

Methods take and give values; each write is one short transaction. Ranking, parsing and embedding happen elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ricordo.errors import Conflict, Error, NotFound, StaleVersion
from ricordo.store.base import Backlog, FileState, PreparedItem
from ricordo.store.sqlite import jobs, links, saving, segments
from ricordo.store.sqlite.connection import Connection, Database
from ricordo.store.sqlite.keeping import Keeping
from ricordo.store.sqlite.knowledge import KnowledgeRows
from ricordo.store.sqlite.lessons import Lessons
from ricordo.store.sqlite.lexical import LexicalIndex
from ricordo.store.sqlite.linking import Linking
from ricordo.store.sqlite.meaning import Meaning
from ricordo.store.sqlite.reading import Reading
from ricordo.store.sqlite.schema import SCHEMA_VERSION, migrate
from ricordo.store.sqlite.searching import Searching
from ricordo.store.sqlite.secrets import Secrets
from ricordo.store.sqlite.segments import NewChunk
from ricordo.store.sqlite.threads import Threads
from ricordo.store.sqlite.times import now_micros
from ricordo.store.sqlite.usage import UsageCounts
from ricordo.store.sqlite.vectors import VectorIndex
from ricordo.text.words import Analyzer
from ricordo.values.items import Saved
from ricordo.values.reports import Check


class SqliteStore(Reading, Threads, Searching, Meaning, Linking, UsageCounts, Lessons, Secrets, Keeping, KnowledgeRows):
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
        self.vector_index = VectorIndex()

    def close(self) -> None:
        self.database.close()

    def _settle_language(self, language: str) -> str:
        """A store keeps the language it was made with: its terms are stems of that language."""
        with self.database.read() as connection:
            rows = connection.rows("SELECT value FROM meta WHERE name='language'")
        if rows:
            return str(rows[0][0])
        if not self.database.read_only:
            Analyzer(language)  # refuses an unknown language before it is written down
            with self.database.write() as connection:
                connection.rows("INSERT OR IGNORE INTO meta VALUES('language', ?)", (language,))
        return language

    def save(
        self,
        prepared: Sequence[PreparedItem],
        *,
        on_conflict: str = "overwrite",
        durable: bool = False,
        backlog: Backlog | None = None,
        still_wanted: Callable[[], None] | None = None,
    ) -> list[Saved]:
        """Write items in one transaction: all searchable when it returns. Conflicts of single items are answered.

        ``still_wanted`` is asked once no other process can write; nothing is written when it raises.
        """
        answers: list[Saved] = []
        written: list[tuple[str, PreparedItem]] = []
        with self._writing(prepared, durable=durable, backlog=backlog) as (connection, fresh):
            if still_wanted is not None:
                still_wanted()
            for item in prepared:
                try:
                    saved, chunks = saving.save(connection, item, on_conflict, self.analyzer, self.keep_versions)
                except Error as error:
                    saved, chunks = Saved(str(item.draft.ref), "failed", error=error.to_dict()), []
                answers.append(saved)
                fresh.extend(chunks)
                if saved.id is not None and saved.status in ("created", "updated"):
                    written.append((saved.id, item))
            links.settle_saved(connection, written)
        return answers

    @contextmanager
    def _writing(
        self, prepared: Sequence[PreparedItem], *, durable: bool, backlog: Backlog | None
    ) -> Iterator[tuple[Connection, list[NewChunk]]]:
        """A transaction whose new chunks are indexed before it commits; merges that fall due follow it."""
        fresh: list[NewChunk] = []
        expected = [chunk.counts for item in prepared for chunk in item.chunks if chunk.counts is not None]
        made = segments.inverted(expected)
        with self.database.write(durable=durable) as connection:
            yield connection, fresh
            segments.add_segment(connection, fresh, made)
            if backlog is not None and fresh:
                number = jobs.fingerprint_id(connection, backlog.fingerprint, backlog.dimensions)
                jobs.enqueue_chunks(connection, number, [chunk.chunk for chunk in fresh])
            self._store_words(connection)
        if not self.database.is_writing():
            self.maintain()

    def _store_words(self, connection: Connection) -> None:
        words, self.analyzer.stemmed = self.analyzer.stemmed, {}
        connection.run_many("INSERT OR IGNORE INTO vocabulary(word, term) VALUES(?,?)", sorted(words.items()))

    def maintain(self) -> None:
        """Merge small segments where enough have gathered."""
        segments.maintain(self.database)

    def rewrite(
        self,
        n: int,
        item: PreparedItem,
        *,
        durable: bool = False,
        backlog: Backlog | None = None,
        base: int | None = None,
    ) -> Saved:
        """Give an item its next version, wherever it stands: an edit, a move, a restore from the bin.

        With ``base`` it is refused when the item has another version by now.
        """
        draft = item.draft
        with self._writing([item], durable=durable, backlog=backlog) as (connection, fresh):
            head = saving.head_of(connection, n)
            occupant = saving.find_head(connection, draft.ref.drive, draft.ref.path)
            if occupant is not None and occupant.n != n:
                raise Conflict(f"{draft.ref} is taken by another item", hint="Move or remove that one first.")
            if base is not None and head.version != base:
                raise StaleVersion(f"{draft.ref} was changed meanwhile", hint="Read it again, then change it.")
            saving.refuse_immutable(head, str(draft.ref))
            if head.hash == item.hash and head.state == "live":
                return Saved(str(draft.ref), "skipped", head.id, head.version, None, head.hash, reason="unchanged")
            fresh.extend(saving.write_version(connection, head, item, self.analyzer, self.keep_versions))
            links.settle_saved(connection, [(head.id, item)])
            if head.state != "live":
                links.reconsider(connection, n)
        return Saved(str(draft.ref), "updated", head.id, head.version + 1, head.version, item.hash, chunks=len(fresh))

    def succeed(self, old: int, item: PreparedItem, link: str, *, backlog: Backlog | None = None) -> Saved:
        """Write a new item and archive the one whose place it takes, linked; all of it or nothing."""
        with self._writing([item], durable=True, backlog=backlog) as (connection, fresh):
            self._put_away(connection, old)
            saved, chunks = saving.save(connection, item, "error", self.analyzer, self.keep_versions)
            fresh.extend(chunks)
            assert saved.id is not None, "what was just written has an id"
            links.settle_saved(connection, [(saved.id, item)])
            n = connection.rows("SELECT n FROM items WHERE id=?", (saved.id,))[0][0]
            links.add(connection, n, old, link)
        return saved

    def archive(self, numbers: Sequence[int], *, successor: int | None = None, link: str = "supersedes") -> list[Saved]:
        """Take items out of normal search in one transaction; a ``successor`` is linked to each."""
        answers: list[Saved] = []
        with self.database.write(durable=True) as connection:
            for n in numbers:
                answers.append(self._put_away(connection, n))
                if successor is not None:
                    links.add(connection, successor, n, link)
        return answers

    def save_apart(self, prepared: Sequence[PreparedItem], *, backlog: Backlog | None = None) -> list[Saved]:
        """Write items that count in no search: archived from the start."""
        answers: list[Saved] = []
        with self._writing(prepared, durable=False, backlog=backlog) as (connection, fresh):
            for item in prepared:
                saved, chunks = saving.save_apart(connection, item, self.analyzer, self.keep_versions)
                answers.append(saved)
                fresh.extend(chunks)
                if saved.id is not None and saved.status != "skipped":
                    links.settle_saved(connection, [(saved.id, item)])
        return answers

    def _put_away(self, connection: Connection, n: int) -> Saved:
        head = saving.head_of(connection, n)
        ref: str = connection.rows("SELECT drive || ':' || path FROM items WHERE n=?", (n,))[0][0]
        if head.state == "deleted":
            raise NotFound(f"{ref} is in the bin", hint=f"'ricordo restore {ref}' brings it back.")
        if head.state == "archived":
            return Saved(ref, "skipped", head.id, head.version, None, head.hash, reason="already archived")
        saving.refuse_immutable(head, ref)
        saving.archive(connection, head)
        links.reconsider(connection, n)
        return Saved(ref, "archived", head.id, head.version, None, head.hash)

    def remove(self, n: int, *, purge: bool = False) -> None:
        """Take an item out of every index; with ``purge`` erase it and its words from the file."""
        with self.database.write(durable=True) as connection:
            head = self._leaving(connection, n)
            if purge:
                touched = self._segments_of(connection, n)
                texts = [
                    " ".join(row)
                    for sql in (
                        "SELECT heading, text FROM chunks WHERE item=?",
                        "SELECT path, fields FROM versions WHERE item=?",
                    )
                    for row in connection.rows(sql, (n,))
                ]
                saving.erase_item(connection, n)
            elif head.state != "deleted":
                saving.to_bin(connection, head)
        if purge:
            segments.rewrite(self.database, touched)
            self._forget_words(texts)
            self.database.checkpoint()

    def remove_many(self, numbers: Sequence[int]) -> dict[int, Error]:
        """Take items to the bin in one transaction; those that refuse stay, and are answered with the reason."""
        refused: dict[int, Error] = {}
        with self.database.write(durable=True) as connection:
            for n in numbers:
                try:
                    head = self._leaving(connection, n)
                except Error as error:
                    refused[n] = error
                    continue
                if head.state != "deleted":
                    saving.to_bin(connection, head)
        return refused

    def _leaving(self, connection: Connection, n: int) -> saving.Head:
        """An item about to be removed: it may be, and its names lead nowhere any more."""
        head = saving.head_of(connection, n)
        ref = connection.rows("SELECT drive || ':' || path FROM items WHERE n=?", (n,))[0][0]
        saving.refuse_immutable(head, ref)
        links.forget_names(connection, n)
        return head

    def _segments_of(self, connection: Connection, n: int) -> list[int]:
        ready = connection.rows("SELECT id FROM segments WHERE state=?", (segments.READY,))
        return [seg for (seg,) in ready if (segments.load_arrays(connection, seg).items == n).any()]

    def _forget_words(self, texts: Iterable[str]) -> None:
        """Drop words from the vocabulary that no remaining text holds."""
        analyzer = Analyzer(self.language)
        for text in texts:
            analyzer.counts(text)
        self.analyzer = Analyzer(self.language)
        with self.database.write() as connection:
            for word, term in analyzer.stemmed.items():
                if not connection.rows(
                    "SELECT 1 FROM segments s JOIN postings p ON p.segment = s.id AND p.term = ?"
                    " WHERE s.state=1 LIMIT 1",
                    (term,),
                ):
                    connection.rows("DELETE FROM vocabulary WHERE word=?", (word,))

    def note_files(self, states: Mapping[int, FileState]) -> None:
        """Remember what files look like whose content did not change."""
        if states:
            with self.database.write() as connection:
                for n, state in states.items():
                    saving.note_file(connection, n, state)

    def remember_root(self, path: str, globs: Sequence[str]) -> None:
        """Note a folder that was added, so that ``refresh`` finds its new files; once is enough."""
        if (path, tuple(globs)) in self.roots():
            return
        with self.database.write() as connection:
            connection.rows(
                "INSERT INTO roots VALUES(?,?,?) ON CONFLICT(path) DO UPDATE SET globs=excluded.globs",
                (path, json.dumps(list(globs)), now_micros()),
            )

    def roots(self) -> list[tuple[str, tuple[str, ...]]]:
        with self.database.read() as connection:
            rows = connection.rows("SELECT path, globs FROM roots ORDER BY path")
        return [(path, tuple(json.loads(globs))) for path, globs in rows]

    def counts(self) -> dict[str, Any]:
        """How much there is."""
        with self.database.read() as connection:
            by_kind: dict[str, int]
            by_drive: dict[str, int]
            by_kind, by_drive = (
                dict(
                    connection.rows(
                        f"SELECT {column}, count(*) FROM items WHERE state='live' GROUP BY {column} ORDER BY {column}"
                    )
                )
                for column in ("kind", "drive")
            )
            chunks, versions, binned, archived, parts = connection.rows(
                "SELECT (SELECT total FROM lexical_stats WHERE field=-1), (SELECT count(*) FROM versions),"
                " (SELECT count(*) FROM items WHERE state='deleted'),"
                " (SELECT count(*) FROM items WHERE state='archived'), (SELECT count(*) FROM segments WHERE state=1)"
            )[0]
        return {
            "items": sum(by_kind.values()),
            "chunks": chunks,
            "versions": versions,
            "in_bin": binned,
            "archived": archived,
            "segments": parts,
            "kinds": by_kind,
            "drives": by_drive,
            "schema": SCHEMA_VERSION,
            "language": self.language,
        }

    def checks(self) -> list[tuple[str, Callable[[bool], Check]]]:
        """The checks of this store, by name; each takes whether to repair."""
        from ricordo.store.sqlite import checks, reference_checks, relinking, vector_checks

        database = self.database
        return [
            ("integrity", lambda repair: checks.integrity(database, repair)),
            ("references", lambda repair: reference_checks.references(database, repair)),
            ("versions", lambda repair: checks.versions(database, repair)),
            ("fields", lambda repair: reference_checks.copies(database, repair)),
            ("files without text", lambda repair: reference_checks.blobs(database, repair)),
            ("keyword index", lambda repair: checks.lexical(database, Analyzer(self.language), repair)),
            ("links", lambda repair: relinking.check(database, repair)),
            ("vectors", lambda repair: vector_checks.vectors(database, repair)),
            ("leftovers", lambda repair: checks.leftovers(database, repair)),
        ]
