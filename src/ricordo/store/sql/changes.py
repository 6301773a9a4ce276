"""Every change of items: one transaction each, mirrored to knowledge files before it commits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from ricordo.errors import Conflict, Error, NotFound, StaleVersion
from ricordo.store.prepare import kept_language
from ricordo.store.sql import heads, jobs, links, saving
from ricordo.store.sql.new_chunks import NewChunk
from ricordo.store.sql.protocols import Connection, Opened
from ricordo.store.sql.times import micros, now_micros
from ricordo.store.values import Backlog, PreparedItem
from ricordo.text.languages import language_of
from ricordo.text.words import Analyzer
from ricordo.values.items import Ref, Saved


class Changes:
    """Writes items. Low-level writes note on the connection which items they touch (``Connection.touched``), so that no
    verb can bypass the mirror.
    """

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._database = opened.database

    def save(
        self,
        prepared: Sequence[PreparedItem],
        *,
        on_conflict: str = "overwrite",
        durable: bool = False,
        backlog: Backlog | None = None,
        still_wanted: Callable[[], None] | None = None,
    ) -> list[Saved]:
        """Write items in one transaction; all are searchable when it returns. Conflicts of single items are in the
        result.

        ``still_wanted`` is called when no other process can write; if it raises, nothing is written.
        """

        def write() -> list[Saved]:
            answers: list[Saved] = []
            written: list[tuple[str, PreparedItem]] = []
            with self.writing(prepared, durable=durable, backlog=backlog) as (connection, placed, fresh):
                if still_wanted is not None:
                    still_wanted()
                held = heads.find_heads(connection, [item.draft.ref for item in placed])
                for item in placed:
                    saved, chunks = self._save_one(connection, held, item, on_conflict)
                    answers.append(saved)
                    fresh.extend(chunks)
                    if saved.id is not None and saved.status in ("created", "updated"):
                        written.append((saved.id, item))
                links.update_saved(connection, written)
            return answers

        return self.tried_again(write)

    def _save_one(
        self, connection: Connection, held: dict[Ref, heads.Head | None], item: PreparedItem, on_conflict: str
    ) -> tuple[Saved, list[NewChunk]]:
        """Save one item; ``held`` says which items had the refs before. A ref may come twice."""
        ref = item.draft.ref
        head = held.pop(ref) if ref in held else heads.find_head(connection, ref.drive, ref.path)
        try:
            return saving.save_over(
                connection, head, item, on_conflict, self._opened.analyzer, self._opened.keep_versions
            )
        except Error as error:
            return Saved(str(item.draft.ref), "failed", error=error.to_dict()), []

    def tried_again(self, write: Callable[[], list[Saved]]) -> list[Saved]:
        """Do a change; if somebody edits a mirrored file at that moment, take in the edit and do the change again."""
        mirror = self._opened.mirror
        if mirror is None or self._database.is_writing():
            return write()
        return mirror.tried_again(write)

    @contextmanager
    def writing(
        self, prepared: Sequence[PreparedItem], *, durable: bool, backlog: Backlog | None
    ) -> Iterator[tuple[Connection, Sequence[PreparedItem], list[NewChunk]]]:
        """A transaction whose new chunks are indexed before it commits; merges that fall due follow it.

        It gives the connection, the items as the mirror places them, and the list that collects new chunks.
        """
        fresh: list[NewChunk] = []
        if self._opened.mirror is not None and self._database.is_mirrored():
            prepared = [self._opened.mirror.placed(item) for item in prepared]
        expected = [chunk.counts for item in prepared for chunk in item.chunks if chunk.counts is not None]
        add_chunks = self._database.words.prepare(expected)
        with self._database.write(durable=durable) as connection:
            yield connection, prepared, fresh
            add_chunks(connection, fresh)
            jobs.enqueue_chunks(connection, backlog, [chunk.chunk for chunk in fresh])
            self.store_words(connection)
        if not self._database.is_writing():
            self._database.words.maintain(self._database)

    def store_words(self, connection: Connection) -> None:
        words = self._opened.analyzer.forget_stemmed()
        connection.run_many("INSERT INTO vocabulary(word, term) VALUES(?,?) ON CONFLICT DO NOTHING", words)

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
        return self.tried_again(lambda: [self._rewrite(n, item, durable, backlog, base)])[0]

    def _rewrite(self, n: int, item: PreparedItem, durable: bool, backlog: Backlog | None, base: int | None) -> Saved:
        draft = item.draft
        with self.writing([item], durable=durable, backlog=backlog) as (connection, (placed,), fresh):
            head = heads.head_of(connection, n)
            occupant = heads.find_head(connection, draft.ref.drive, draft.ref.path)
            if occupant is not None and occupant.n != n:
                raise Conflict(f"{draft.ref} is taken by another item", hint="Move or remove that one first.")
            if base is not None and head.version != base:
                raise StaleVersion(f"{draft.ref} was changed meanwhile", hint="Read it again, then change it.")
            heads.refuse_immutable(head, heads.ref_of(connection, n))
            if head.hash == item.hash and head.state == "live" and occupant is not None:
                return Saved(str(draft.ref), "skipped", head.id, head.version, None, head.hash, reason="unchanged")
            fresh.extend(
                saving.write_version(connection, head, placed, self._opened.analyzer, self._opened.keep_versions)
            )
            links.update_saved(connection, [(head.id, placed)])
            if head.state != "live":
                links.reconsider(connection, n)
        return Saved(str(draft.ref), "updated", head.id, head.version + 1, head.version, item.hash, chunks=len(fresh))

    def succeed(self, old: int, item: PreparedItem, link: str, *, backlog: Backlog | None = None) -> Saved:
        """Write a new item, archive the one that it replaces, and link them, all in one transaction."""
        return self.tried_again(lambda: [self._succeed(old, item, link, backlog)])[0]

    def _succeed(self, old: int, item: PreparedItem, link: str, backlog: Backlog | None) -> Saved:
        with self.writing([item], durable=True, backlog=backlog) as (connection, (placed,), fresh):
            self.archive_one(connection, old)
            saved, chunks = saving.save(connection, placed, "error", self._opened.analyzer, self._opened.keep_versions)
            fresh.extend(chunks)
            assert saved.id is not None, "what was just written has an id"
            links.update_saved(connection, [(saved.id, placed)])
            n = connection.rows("SELECT n FROM items WHERE id=?", (saved.id,))[0][0]
            links.add(connection, n, old, link)
        return saved

    def archive(self, numbers: Sequence[int], *, successor: int | None = None, link: str = "supersedes") -> list[Saved]:
        """Take items out of normal search in one transaction; a ``successor`` is linked to each."""

        def write() -> list[Saved]:
            answers: list[Saved] = []
            with self._database.write(durable=True) as connection:
                for n in numbers:
                    answers.append(self.archive_one(connection, n))
                    if successor is not None:
                        links.add(connection, successor, n, link)
            return answers

        return self.tried_again(write)

    def save_archived(self, prepared: Sequence[PreparedItem], *, backlog: Backlog | None = None) -> list[Saved]:
        """Write items that are archived from the start."""
        answers: list[Saved] = []
        with self.writing(prepared, durable=False, backlog=backlog) as (connection, placed, fresh):
            for item in placed:
                saved, chunks = saving.save_archived(
                    connection, item, self._opened.analyzer, self._opened.keep_versions
                )
                answers.append(saved)
                fresh.extend(chunks)
                if saved.id is not None and saved.status != "skipped":
                    links.update_saved(connection, [(saved.id, item)])
        return answers

    def archive_one(self, connection: Connection, n: int) -> Saved:
        """Archive an item in the caller's transaction."""
        head = heads.head_of(connection, n)
        ref: str = connection.rows("SELECT drive || ':' || path FROM items WHERE n=?", (n,))[0][0]
        if head.state == "deleted":
            raise NotFound(f"{ref} is in the bin", hint=f"‹:restore {ref}› brings it back.")
        if head.state == "archived":
            return Saved(ref, "skipped", head.id, head.version, None, head.hash, reason="already archived")
        heads.refuse_immutable(head, ref)
        heads.refuse_silencing(connection, n, ref)
        saving.archive(connection, head)
        links.reconsider(connection, n)
        return Saved(ref, "archived", head.id, head.version, None, head.hash)

    def remove(self, n: int, *, purge: bool = False) -> None:
        """Remove an item from every index; with ``purge``, erase it and its words from the file."""
        self.tried_again(lambda: self._purge(n) if purge else self._bin(n))

    def _bin(self, n: int) -> list[Saved]:
        with self._database.write(durable=True) as connection:
            return [self.bin_one(connection, n)]

    def bin_one(self, connection: Connection, n: int, ref: str = "") -> Saved:
        """Move an item to the bin in the caller's transaction."""
        head = self._prepare_removal(connection, n)
        if head.state != "deleted":
            saving.to_bin(connection, head)
        return Saved(ref, "removed", head.id, head.version)

    def _purge(self, n: int) -> list[Saved]:
        with self._database.write(durable=True) as connection:
            self._prepare_removal(connection, n)
            forget_words = connection.words.prepare_erasing(connection, n)
            texts = [
                " ".join(row)
                for sql in (
                    "SELECT heading, text FROM chunks WHERE item=?",
                    "SELECT path, fields FROM versions WHERE item=?",
                )
                for row in connection.rows(sql, (n,))
            ]
            saving.erase_item(connection, n)
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
                        self.bin_one(connection, n)
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

    def _prepare_removal(self, connection: Connection, n: int) -> heads.Head:
        """Check that an item may be removed, and forget its names, so that no link leads to it."""
        head = heads.refuse_removal(connection, n)
        links.forget_names(connection, n)
        return head

    def check_removal(self, numbers: Sequence[int]) -> None:
        """Raise the error that removing some items would end with, before any of them is removed."""
        with self._database.read() as connection:
            for n in numbers:
                heads.refuse_removal(connection, n)

    def forget_words(self, texts: Iterable[str]) -> None:
        """After texts were erased: drop words from the vocabulary that occur in no remaining text."""
        analyzer = Analyzer(self._opened.language)
        for text in texts:
            analyzer.in_language(kept_language(language_of(text), analyzer)).counts(text)
        self._opened.analyzer = Analyzer(self._opened.language)
        with self._database.write() as connection:
            for word, term in analyzer.forget_stemmed():
                if not connection.words.is_used(connection, term):
                    connection.run("DELETE FROM vocabulary WHERE word=? AND term=?", (word, term))

    def set_times(self, n: int, created: datetime, updated: datetime) -> None:
        """Say when an item was made, and when its text last changed."""
        last = min(now_micros(), micros(updated))
        first = min(last, micros(created))
        with self._database.write() as connection:
            connection.run(
                "UPDATE items SET created_at=?, updated_at=? WHERE n=? AND (created_at<>? OR updated_at<>?)",
                (first, last, n, first, last),
            )
