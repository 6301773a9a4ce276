"""The SQLite store: one file with items, versions, chunks and the indexes derived from them, as a record of parts.

Methods of the parts take and give values; each write is one short transaction. Ranking, parsing and embedding happen
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.store.base import Mirror
from ricordo.store.sqlite import damage, segments
from ricordo.store.sqlite.changes import Changes
from ricordo.store.sqlite.connection import Database
from ricordo.store.sqlite.job_queue import Jobs
from ricordo.store.sqlite.knowledge import KnowledgeRows
from ricordo.store.sqlite.known_files import Files
from ricordo.store.sqlite.lessons import Lessons
from ricordo.store.sqlite.linking import Links
from ricordo.store.sqlite.meaning import Vectors
from ricordo.store.sqlite.open_file import OpenFile
from ricordo.store.sqlite.reading import Items
from ricordo.store.sqlite.schema import SCHEMA_VERSION
from ricordo.store.sqlite.searching import Index
from ricordo.store.sqlite.secrets import Secrets
from ricordo.store.sqlite.threads import Threads
from ricordo.store.sqlite.transfer import Transfer
from ricordo.store.sqlite.usage import UsageLog
from ricordo.text.words import Analyzer

if TYPE_CHECKING:
    from ricordo.values.reports import Check, Damage


class SqliteStore:
    """One store file, open: its parts, and what concerns the file as a whole."""

    def __init__(
        self,
        path: Path,
        *,
        language: str = "english",
        busy_seconds: float = 30.0,
        keep_versions: int = 20,
        create: bool = True,
    ) -> None:
        file = OpenFile(path, language=language, busy_seconds=busy_seconds, keep_versions=keep_versions, create=create)
        self._file = file
        self.items = Items(file)
        self.changes = Changes(file)
        self.index = Index(file)
        self.vectors = Vectors(file)
        self.jobs = Jobs(file)
        self.links = Links(file)
        self.usage = UsageLog(file)
        self.lessons = Lessons(file)
        self.threads = Threads(file)
        self.files = Files(file)
        self.secrets = Secrets(file)
        self.knowledge = KnowledgeRows(file)
        self.transfer = Transfer(file)

    @property
    def path(self) -> Path:
        return self._file.path

    @property
    def database(self) -> Database:
        return self._file.database

    @property
    def language(self) -> str:
        return self._file.language

    @property
    def analyzer(self) -> Analyzer:
        return self._file.analyzer

    def close(self) -> None:
        self._file.database.close()

    def mirror_to(self, mirror: Mirror) -> None:
        """Let ``mirror`` copy every changed item, before each commit."""
        self._file.mirror = mirror
        self._file.database.around_commit = mirror.committing

    @contextmanager
    def transaction(self, *, durable: bool = False, wait: float | None = None, mirrored: bool = True) -> Iterator[None]:
        """Let several writes be one: all that this thread writes in the block is committed at its end, or nothing.

        ``wait`` is how many seconds to wait for other writers, if not the usual. Without ``mirrored`` the mirror is
        not asked: for changes that came from there.
        """
        with self._file.database.write(durable=durable, wait=wait, mirrored=mirrored):
            yield

    def changes_seen(self) -> int:
        """A number that differs after every write of items, by any process."""
        with self._file.database.read() as connection:
            return int(connection.rows("SELECT value FROM meta WHERE name='index_epoch'")[0][0])

    def maintain(self) -> None:
        """Merge small segments where enough have gathered."""
        segments.maintain(self._file.database)

    def counts(self) -> dict[str, Any]:
        """How much there is."""
        with self._file.database.read() as connection:
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
            "read_only": self._file.database.read_only,
            "schema": SCHEMA_VERSION,
            "language": self.language,
        }

    def checks(self) -> list[tuple[str, Callable[[bool], Check]]]:
        """The checks of this store, by name; each takes whether to repair."""
        from ricordo.store.sqlite import checks, reference_checks, relinking, vector_checks

        database = self._file.database
        return [
            ("integrity", lambda repair: checks.integrity(database, repair)),
            ("write-ahead log", lambda repair: checks.log(database, repair)),
            ("references", lambda repair: reference_checks.references(database, repair)),
            ("versions", lambda repair: checks.versions(database, repair)),
            ("texts", lambda repair: damage.texts(database)[0]),
            ("fields", lambda repair: reference_checks.copies(database, repair and self._is_whole())),
            ("files without text", lambda repair: reference_checks.blobs(database, repair)),
            (
                "keyword index",
                lambda repair: checks.lexical(database, Analyzer(self.language), repair and self._is_whole()),
            ),
            ("links", lambda repair: relinking.check(database, repair and self._is_whole())),
            ("vectors", lambda repair: vector_checks.vectors(database, repair and self._is_whole())),
            ("leftovers", lambda repair: checks.leftovers(database, repair)),
        ]

    def damage(self) -> Sequence[Damage]:
        """The versions that are no longer what was saved."""
        return damage.texts(self._file.database)[1]

    def mend(self, n: int, number: int, content: str) -> bool:
        """Put the text of a damaged version back, if its hash shows that it is the right text."""
        return damage.mend(self._file.database, n, number, content)

    def _is_whole(self) -> bool:
        """Refuse to rebuild indexes from damaged texts, because the indexes would then agree with them and hide the
        damage.
        """
        return damage.texts(self._file.database)[0].ok
