"""The PostgreSQL store: one workspace of one database, as a record of parts.

Parts whose statements both databases understand are those of the SQLite store; what differs (connections, the keyword
index, vectors, jobs, search) has its own modules here, under the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ricordo.store.base import Mirror
from ricordo.store.postgres.database import Database
from ricordo.store.postgres.job_queue import Jobs
from ricordo.store.postgres.meaning import Vectors
from ricordo.store.postgres.opened import Opened
from ricordo.store.postgres.schema import SCHEMA_VERSION
from ricordo.store.postgres.searching import Index
from ricordo.store.postgres.transfer import Transfer
from ricordo.store.sqlite.changes import Changes
from ricordo.store.sqlite.knowledge import KnowledgeRows
from ricordo.store.sqlite.known_files import Files
from ricordo.store.sqlite.lessons import Lessons
from ricordo.store.sqlite.linking import Links
from ricordo.store.sqlite.reading import Items
from ricordo.store.sqlite.secrets import Secrets
from ricordo.store.sqlite.threads import Threads
from ricordo.store.sqlite.usage import UsageLog
from ricordo.text.words import Analyzer
from ricordo.values.store_addresses import parse

if TYPE_CHECKING:
    from ricordo.values.reports import Check, Damage


class PostgresStore:
    """One workspace, open: its parts, and what concerns it as a whole."""

    def __init__(
        self,
        address: str,
        *,
        language: str = "english",
        busy_seconds: float = 30.0,
        keep_versions: int = 20,
        create: bool = True,
        partitions: int = 0,
        connections: int = 16,
    ) -> None:
        opened: Any = Opened(
            parse(address), language=language, keep_versions=keep_versions, busy_seconds=busy_seconds, create=create,
            partitions=partitions, connections=connections,
        )  # fmt: skip
        self._opened: Opened = opened
        self.items = Items(opened)
        self.changes = Changes(opened)
        self.index = Index(opened)
        self.vectors = Vectors(opened)
        self.jobs = Jobs(opened)
        self.links = Links(opened)
        self.usage = UsageLog(opened)
        self.lessons = Lessons(opened)
        self.threads = Threads(opened)
        self.files = Files(opened)
        self.secrets = Secrets(opened)
        self.knowledge = KnowledgeRows(opened)
        self.transfer = Transfer(opened)

    @property
    def address(self) -> str:
        """Where it is, without the password."""
        return self._opened.database.path

    @property
    def database(self) -> Database:
        return self._opened.database

    @property
    def language(self) -> str:
        return self._opened.language

    @property
    def analyzer(self) -> Analyzer:
        return self._opened.analyzer

    def close(self) -> None:
        self._opened.database.close()

    def mirror_to(self, mirror: Mirror) -> None:
        """Let ``mirror`` copy every changed item, before each commit."""
        self._opened.mirror = mirror
        self._opened.database.around_commit = mirror.committing

    @contextmanager
    def transaction(self, *, durable: bool = False, wait: float | None = None, mirrored: bool = True) -> Iterator[None]:
        """Let several writes be one: all that this thread writes in the block is committed at its end, or nothing."""
        with self._opened.database.write(durable=durable, wait=wait, mirrored=mirrored):
            yield

    def changes_seen(self) -> int:
        """A number that differs after every write of items, by any process."""
        with self._opened.database.read() as connection:
            return int(connection.meta("index_epoch"))

    def wait_for_change(self, seconds: float) -> bool:
        """Wait until any process commits a change of items; returns whether one did in that time."""
        return self._opened.database.wait_for_change(seconds)

    def maintain(self) -> None:
        """Make the index over the vectors once there are enough of them."""
        if not self._opened.database.read_only:
            self.vectors.index_due()

    def counts(self) -> dict[str, Any]:
        """How much there is."""
        with self._opened.database.read() as connection:
            kinds, drives, others = connection.together(
                [
                    *(
                        (f"SELECT {name}, count(*) FROM items WHERE state='live' GROUP BY {name} ORDER BY {name}", ())
                        for name in ("kind", "drive")
                    ),
                    (
                        "SELECT (SELECT total FROM lexical_stats WHERE field=-1), (SELECT count(*) FROM versions),"
                        " (SELECT count(*) FROM items WHERE state='deleted'),"
                        " (SELECT count(*) FROM items WHERE state='archived')",
                        (),
                    ),
                ]
            )
        chunks, versions, binned, archived = others[0]
        return {
            "items": sum(count for _, count in kinds),
            "chunks": chunks,
            "versions": versions,
            "in_bin": binned,
            "archived": archived,
            "segments": 1,
            "kinds": dict(kinds),
            "drives": dict(drives),
            "schema": SCHEMA_VERSION,
            "language": self.language,
        }

    def checks(self) -> list[tuple[str, Callable[[bool], Check]]]:
        """The checks of this store, by name; each takes whether to repair."""
        from ricordo.store.postgres import checks
        from ricordo.store.sqlite import relinking

        database: Any = self._opened.database
        return [
            ("workspaces", lambda repair: checks.separation(database)),
            ("references", lambda repair: checks.references(database, repair)),
            ("texts", lambda repair: checks.texts(database)[0]),
            ("keyword index", lambda repair: checks.keyword_index(database, Analyzer(self.language), repair)),
            ("links", lambda repair: relinking.check(database, repair)),
        ]

    def damage(self) -> Sequence[Damage]:
        """The versions that are no longer what was saved."""
        from ricordo.store.postgres import checks

        return checks.texts(self._opened.database)[1]

    def mend(self, n: int, number: int, content: str) -> bool:
        """Put the text of a damaged version back, if its hash shows that it is the right text."""
        from ricordo.store.sqlite import damage

        database: Any = self._opened.database
        return damage.mend(database, n, number, content)
