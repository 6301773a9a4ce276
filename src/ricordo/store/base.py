"""A store: a record of narrow parts, of which callers take the one they need.

It takes prepared items and returns values; there is no SQL outside ``store/``. A file and a schema on a server are
subclasses, which bring the parts that differ.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ricordo.errors import Error, Unavailable
from ricordo.patterns import late
from ricordo.store.backlog import Jobs, Vectors, compact_due, drop_unused_vectors
from ricordo.store.index import segments
from ricordo.store.index.lexical import EPOCH
from ricordo.store.prepare import stored_language
from ricordo.store.search.caches import SearchedStore
from ricordo.store.search.index import SearchIndex
from ricordo.store.sql import changes, damage
from ricordo.store.sql.changes import Changes
from ricordo.store.sql.database import DAY, UNREADABLE, Connection, Database, now_micros
from ricordo.store.sql.files import Files, KnowledgeRows, Machines, Secrets
from ricordo.store.sql.history import Audit, Threads
from ricordo.store.sql.items import Items
from ricordo.store.sql.links import Links
from ricordo.store.sql.proposals import Proposals
from ricordo.store.sql.undo import Steps
from ricordo.store.sql.usage import Lessons, Overview, UsageLog
from ricordo.store.values import Backlog
from ricordo.text.languages import passage_languages
from ricordo.text.scripts import JOINING
from ricordo.text.words import Analyzer

if TYPE_CHECKING:
    from ricordo.exchange.records import ItemRecord
    from ricordo.store.sql.item_records import ItemImporter
    from ricordo.store.values import PreparedItem
    from ricordo.values.items import Saved
    from ricordo.values.reports import Check, Damage, VacuumReport


class Mirror(Protocol):
    """Keeps a copy of some items outside the store, such as the Markdown files of memories."""

    def placed(self, item: PreparedItem) -> PreparedItem:
        """The item as it will be written, with the line numbers of its copy."""

    def committing(self, touched: frozenset[int], *, durable: bool) -> AbstractContextManager[None]:
        """Bring the copies of these items up to date; the transaction commits inside the block.

        The copies are put back if the block fails.
        """

    def tried_again(self, write: Callable[[], list[Saved]]) -> list[Saved]:
        """Do a write. If somebody else changed a copy meanwhile, take in that change and do the write again."""


UNBUILT = "unbuilt"
"""The name under which an upgrade notes that the indexes are to be built when the store is next opened: ``words`` too,
or only ``vectors``.
"""
WORDS = "words"
"""The name under which a store notes by which rules its words were made."""
WORDS_VERSION = 2
"""The rules of now: marks belong to words, and passages are stemmed in their own language."""
_MADE_OTHERWISE = late(rf"[{JOINING}ıłøđæœ\u0370-\u1fff]", re.IGNORECASE)
"""What is in a text whose words are other ones by these rules, besides those in a language of their own."""
STORE_ID = "store_id"
_PATIENCE = 1.0
"""Seconds to wait for other writers before the id of an old store is left to the next call."""


def store_identity(database: Database) -> str:
    """The id: random, made once, the same in a copy. A store of an earlier version gets one now; it is empty while that
    cannot be written.
    """
    with database.read() as connection:
        identity = connection.meta(STORE_ID)
    if identity is None and not database.read_only:
        with suppress(Unavailable), database.write(durable=True, wait=_PATIENCE) as connection:
            _give_id(connection)
            identity = connection.meta(STORE_ID)
    return str(identity or "")


def _give_id(connection: Connection) -> None:
    import secrets

    connection.set_meta(STORE_ID, secrets.token_hex(16), replace=False)


def count_segments(database: Database) -> int:
    """In how many parts the keyword index is."""
    with database.read() as connection:
        return int(connection.rows("SELECT count(*) FROM segments WHERE state=?", (segments.READY,))[0][0])


class OpenStore(SearchedStore):
    """What all parts of a store share: the open database, the language of its words, the mirror."""

    mirror: Mirror | None = None

    def __init__(self, database: Database, *, language: str, keep_versions: int) -> None:
        super().__init__()
        self.database = database
        self.keep_versions = keep_versions
        with database.read() as connection:
            names = ("language", WORDS, UNBUILT)
            own, words, unbuilt = connection.gather(*(partial(connection.meta, name) for name in names))
        self.language = str(own) if own is not None else self._set_language(language)
        self.analyzer = Analyzer(self.language)
        if database.read_only:
            return
        if unbuilt is not None:
            self._build(words=unbuilt == "words")
        if words != WORDS_VERSION:
            renew_words(database, self.analyzer)

    def maintain(self) -> None:
        """After a write: merge parts of the keyword index where enough have gathered, and then blocks of vectors. The
        write is done, whatever becomes of this.
        """
        try:
            if segments.maintain(self.database):
                compact_due(self.database)
        except (Error, *UNREADABLE) as error:  # whoever comes next merges
            from ricordo.log import report

            report("parts of the indexes were not merged", error)

    def _set_language(self, language: str) -> str:
        """A store keeps the language it was made with: its terms are stems of that language."""
        if self.database.read_only:
            return language
        Analyzer(language)  # an unknown language is an error before it is stored
        with self.database.write() as connection:
            connection.set_meta("language", language, replace=False)
            _give_id(connection)
            return str(connection.meta("language"))

    def _build(self, *, words: bool) -> None:
        """Make the indexes that an upgrade left to be made."""
        from ricordo.store.search import checks

        if words:
            checks.rebuild_lexical(self.database, self.analyzer)
        with self.database.read() as connection:
            models = connection.rows("SELECT id, dimensions FROM fingerprints")
        for number, dimensions in models:
            checks.rebuild_vectors(self.database, number, dimensions, waiting=())
        with self.database.write() as connection:
            connection.run("DELETE FROM meta WHERE name=?", (UNBUILT,))


def renew_words(database: Database, analyzer: Analyzer) -> None:
    """Note the languages of passages, and index the words again where that changes any.

    That it was done is noted at the end: if it was interrupted, the next process that opens the store begins again.
    """
    with database.write() as connection:
        if connection.meta(WORDS) == WORDS_VERSION:
            return  # another process was faster
        changes = _note_languages(connection, analyzer)
    if changes:
        from ricordo.store.search.checks import rebuild_lexical

        rebuild_lexical(database, analyzer)
    with database.write() as connection:
        connection.set_meta(WORDS, WORDS_VERSION)


def _note_languages(connection: Connection, analyzer: Analyzer) -> bool:
    """Write down the language of every passage; returns whether the words of any are other ones now."""
    changes = False
    rows = connection.rows("SELECT item, id, heading, text FROM chunks WHERE state < 2 ORDER BY item, id")
    languages: list[tuple[str, int]] = []
    for _, group in groupby(rows, key=lambda row: row[0]):
        passages = list(group)
        texts = [text for *_, text in passages]
        codes = passage_languages("\n".join(texts), texts)
        for (_, chunk, heading, text), code in zip(passages, codes, strict=True):
            language = stored_language(code, analyzer)
            if language:
                languages.append((language, chunk))
            changes = changes or bool(language) or bool(_MADE_OTHERWISE.search(f"{heading}\n{text}"))
    connection.run_many("UPDATE chunks SET language=? WHERE id=?", languages)
    return changes


_ERASED_AT_ONCE = 100
_DUE = "SELECT n FROM items WHERE state='deleted' AND deleted_at < ?"


class SharedTransfer:
    """Records of items, and the bin. Backup and vacuum, each database has for itself."""

    def __init__(self, opened: OpenStore) -> None:
        self._opened = opened
        self._database = opened.database

    def item(self, n: int) -> ItemRecord:
        from ricordo.store.sql.item_records import item_record

        with self._database.read() as connection:
            return item_record(connection, n, None)

    def importer(self, on_conflict: str, backlog: Backlog | None) -> ItemImporter:
        from ricordo.store.sql.item_records import ItemImporter

        return ItemImporter(self._opened, on_conflict, backlog)

    def adopt_language(self, language: str, *, rebuild: bool = False) -> bool:
        """Take another language for the words of a store that never held any; returns whether it has that language now.

        With ``rebuild`` a store that holds texts takes it too, and indexes all words again.
        """
        if language == self._opened.language:
            return True
        analyzer = Analyzer(language)
        with self._database.write() as connection:
            holds_words = connection.has_used_chunks()
            if holds_words and not rebuild:
                return False
            connection.set_meta("language", language)
        self._opened.language, self._opened.analyzer = language, analyzer
        if holds_words:
            from ricordo.store.search.checks import rebuild_lexical

            rebuild_lexical(self._database, analyzer)
        return True

    def backup(
        self, target: Path, *, force: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> tuple[int, Sequence[Damage]]:
        """Copy the store, as it is at one moment, to a file; how many items it has, and which were damaged."""
        raise NotImplementedError

    def vacuum(self, *, bin_days: float, full: bool = False, keep: Collection[str] = ()) -> VacuumReport:
        """Give back what is no longer needed; ``full`` rewrites everything even when little is to be gained."""
        from ricordo.values.reports import VacuumReport

        started = time.perf_counter()
        before, parts = self.size(), count_segments(self._database)
        emptied = self.empty_bin(bin_days)
        blobs = self._drop_unused_rows()
        vectors = Vectors(self._opened).drop_idle(keep) + drop_unused_vectors(self._database)
        segments.merge_all(self._database)
        rewritten = self._rewrite(always=full)
        parts_after = count_segments(self._database)
        seconds = time.perf_counter() - started
        return VacuumReport(
            bytes_before=before,
            bytes_after=self.size(),
            emptied=emptied,
            vectors=vectors,
            blobs=blobs,
            segments_before=parts,
            segments_after=parts_after,
            rewritten=rewritten,
            seconds=seconds,
        )

    def size(self) -> int:
        raise NotImplementedError

    def _rewrite(self, *, always: bool) -> bool:
        """Give free space back, if it is worthwhile or ``always``; returns whether that was done."""
        raise NotImplementedError

    def empty_bin(self, days: float) -> int:
        """Erase what has been in the bin longer than the given days, a few items at a time."""
        limit = now_micros() - int(days * DAY)
        erased = 0
        while True:
            with self._database.read() as connection:
                if not connection.rows(f"{_DUE} LIMIT 1", (limit,)):
                    return erased
            with self._database.write() as connection:
                # Looked up again: an item may have been brought back.
                due = [row[0] for row in connection.rows(f"{_DUE} LIMIT {_ERASED_AT_ONCE}", (limit,))]
                for n in due:
                    changes.erase_item(connection, n)
            erased += len(due)

    def _drop_unused_rows(self) -> int:
        """Drop bytes that no version holds, and jobs whose chunk is gone; returns how many files' bytes those were."""
        with self._database.write() as connection:
            connection.run("DELETE FROM blobs WHERE hash NOT IN (SELECT blob FROM versions WHERE blob IS NOT NULL)")
            blobs = connection.changes()
            connection.run("DELETE FROM jobs WHERE chunk NOT IN (SELECT id FROM chunks WHERE state < 2)")
        return blobs


class Store:
    """The parts that read and write items, and what concerns a store as a whole."""

    schema_version: int
    transfer: SharedTransfer
    is_file: bool = False
    """Whether it is a file of one person."""
    notice: str = ""
    """What was found wrong when it was opened, and is said once."""

    def __init__(self, opened: OpenStore) -> None:
        self.opened = opened
        self.index = SearchIndex(opened)
        self.vectors = Vectors(opened)
        self.jobs = Jobs(opened)
        self.items = Items(opened.database)
        self.changes = Changes(opened)
        self.links = Links(opened.database)
        self.usage = UsageLog(opened.database)
        self.lessons = Lessons(opened.database)
        self.overview = Overview(opened.database)
        self.threads = Threads(opened.database)
        self.files = Files(opened.database)
        self.machines = Machines(opened.database)
        self.secrets = Secrets(opened.database)
        self.knowledge = KnowledgeRows(opened.database)
        self.audit = Audit(opened.database)
        self.proposals = Proposals(opened.database)
        self.steps = Steps(opened.database, self.changes)

    @property
    def language(self) -> str:
        return self.opened.language

    @property
    def analyzer(self) -> Analyzer:
        return self.opened.analyzer

    @property
    def person(self) -> str:
        """Who is logged in, where a server knows who shares the store."""
        return ""

    @property
    def store_id(self) -> str:
        return store_identity(self.opened.database)

    def adopt_id(self, identity: str) -> None:
        """Take the id of a store that was here before."""
        with self.opened.database.write(durable=True) as connection:
            connection.set_meta(STORE_ID, identity)

    @property
    def foreign(self) -> bool:
        """Whether it came with a project that the user does not trust; items that are read from it say so."""
        return self.opened.database.foreign

    @foreign.setter
    def foreign(self, is_foreign: bool) -> None:
        self.opened.database.foreign = is_foreign

    def maintain(self) -> None:
        """Do small maintenance work that is due: merge parts of the keyword index where enough have gathered."""
        if not self.opened.database.read_only:
            segments.maintain(self.opened.database)

    def checks(self) -> list[tuple[str, Callable[[bool], Check]]]:
        """The checks of this store, by name; each takes whether to repair."""
        from ricordo.store.search import checks
        from ricordo.store.sql import links

        database = self.opened.database
        return [
            ("texts", lambda repair: damage.texts(database)[0]),
            (
                "keyword index",
                lambda repair: checks.lexical(database, Analyzer(self.language), repair and self._is_whole()),
            ),
            ("links", lambda repair: links.check(database, repair and self._is_whole())),
            ("vectors", lambda repair: checks.vectors(database, repair and self._is_whole())),
        ]

    def _is_whole(self) -> bool:
        """Refuse to rebuild indexes from damaged texts, because the indexes would then agree with them and hide the
        damage.
        """
        return damage.texts(self.opened.database)[0].ok

    def close(self) -> None:
        self.opened.database.close()

    def mirror_to(self, mirror: Mirror) -> None:
        """Let ``mirror`` copy every changed item, before each commit."""
        self.opened.mirror = mirror
        self.opened.database.around_commit = mirror.committing

    def transaction(
        self, *, durable: bool = False, wait: float | None = None, mirrored: bool = True
    ) -> AbstractContextManager[object]:
        """Let several writes be one: all that this thread writes in the block is committed at its end, or nothing.

        ``wait`` is how many seconds to wait for other writers, if not the usual. Without ``mirrored`` the mirror is
        not asked: for changes that came from there.
        """
        return self.opened.database.write(durable=durable, wait=wait, mirrored=mirrored)

    def changes_seen(self) -> int:
        """A number that differs after every write of items, by any process."""
        with self.opened.database.read() as connection:
            return int(connection.once(EPOCH)[0][0])

    def counts(self) -> dict[str, Any]:
        with self.opened.database.read() as connection:
            kinds = _live_by(connection, "kind")
            drives = _live_by(connection, "drive")
            chunks, versions, binned, archived = connection.rows(
                "SELECT (SELECT total FROM lexical_stats WHERE field=-1), (SELECT count(*) FROM versions),"
                " (SELECT count(*) FROM items WHERE state='deleted'),"
                " (SELECT count(*) FROM items WHERE state='archived')"
            )[0]
            return {
                "items": sum(kinds.values()),
                "chunks": chunks,
                "versions": versions,
                "in_bin": binned,
                "archived": archived,
                "segments": count_segments(self.opened.database),
                "kinds": kinds,
                "drives": drives,
                "read_only": self.opened.database.read_only,
                "schema": self.schema_version,
                "language": self.language,
            }

    def size(self) -> int:
        return self.transfer.size()

    def allow_model(self, fingerprint: str) -> None:
        """Refuse to make vectors with this model, if those who share the store agreed on another one."""

    def damage(self) -> Sequence[Damage]:
        """The versions that are no longer what was saved."""
        return damage.texts(self.opened.database)[1]

    def mend(self, n: int, number: int, content: str) -> bool:
        """Put the text of a damaged version back, if its hash shows that it is the right text."""
        return damage.mend(self.opened.database, n, number, content)


def _live_by(connection: Connection, column: str) -> dict[str, int]:
    """How many live items there are, by a column."""
    return dict(
        connection.rows(f"SELECT {column}, count(*) FROM items WHERE state='live' GROUP BY {column} ORDER BY {column}")
    )
