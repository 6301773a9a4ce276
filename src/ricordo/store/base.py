"""A store: a record of narrow parts, of which callers take the one they need.

It takes prepared items and returns values; there is no SQL outside ``store/``. A file and a workspace on a server are
subclasses, which bring the parts that differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from ricordo.store.sql import damage
from ricordo.store.sql.changes import Changes
from ricordo.store.sql.database import Connection, Opened
from ricordo.store.sql.files import Files, KnowledgeRows, Machines, Secrets
from ricordo.store.sql.history import Audit, Threads
from ricordo.store.sql.items import Items
from ricordo.store.sql.links import Links
from ricordo.store.sql.proposals import Proposals
from ricordo.store.sql.store_id import STORE_ID, known_id
from ricordo.store.sql.undo import Steps
from ricordo.store.sql.usage import Lessons, UsageLog
from ricordo.text.words import Analyzer

if TYPE_CHECKING:
    from ricordo.store.backlog import Jobs, Vectors
    from ricordo.store.postgres.team import Team
    from ricordo.store.qdrant.feed import Feed
    from ricordo.store.search.index import SearchIndex
    from ricordo.store.sql.transfer import SharedTransfer
    from ricordo.store.sql.usage import Overview
    from ricordo.store.values import PreparedItem
    from ricordo.values.items import Saved
    from ricordo.values.reports import Check, Damage


class Mirror(Protocol):
    """Keeps a copy of some items outside the store, such as the Markdown files of memories."""

    def placed(self, item: PreparedItem) -> PreparedItem:
        """The item as it will be written, with the line numbers of its copy."""
        ...

    def committing(self, touched: frozenset[int], *, durable: bool) -> AbstractContextManager[None]:
        """Bring the copies of these items up to date; the transaction commits inside the block.

        The copies are put back if the block fails.
        """
        ...

    def tried_again(self, write: Callable[[], list[Saved]]) -> list[Saved]:
        """Do a write. If somebody else changed a copy meanwhile, take in that change and do the write again."""
        ...


class Store:
    """The parts that read and write items, and what concerns a store as a whole."""

    schema_version: int
    index: SearchIndex
    vectors: Vectors
    jobs: Jobs
    transfer: SharedTransfer
    is_file: bool = False
    """Whether it is a file of one person, which can sync through folders."""

    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        self.items = Items(opened.database)
        self.changes = Changes(opened)
        self.links = Links(opened.database)
        self.usage = UsageLog(opened.database)
        self.lessons = Lessons(opened.database)
        self.threads = Threads(opened.database)
        self.files = Files(opened.database)
        self.machines = Machines(opened.database)
        self.secrets = Secrets(opened.database)
        self.knowledge = KnowledgeRows(opened.database)
        self.audit = Audit(opened.database)
        self.team: Team | None = None
        """Who shares it; None for a store in a file."""
        self.feed: Feed | None = None
        """What feeds a search engine beside it; None if it has none."""
        self.proposals = Proposals(opened.database)
        self.steps = Steps(opened, self.changes)

    @property
    def overview(self) -> Overview:
        from ricordo.store.sql.usage import Overview

        return Overview(self.opened.database)

    @property
    def syncs(self) -> bool:
        """Whether it syncs through a folder."""
        return False

    @property
    def language(self) -> str:
        return self.opened.language

    @property
    def analyzer(self) -> Analyzer:
        return self.opened.analyzer

    @property
    def store_id(self) -> str:
        """What tells this store from all others, wherever its file is; a copy has the same. Empty if it has none yet
        and cannot be written.
        """
        return known_id(self.opened.database)

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
        """Do small maintenance work that is due, such as merging parts of an index."""
        raise NotImplementedError

    def checks(self) -> list[tuple[str, Callable[[bool], Check]]]:
        """The checks of this store, by name; each takes whether to repair."""
        raise NotImplementedError

    def close(self) -> None:
        self.opened.database.close()

    def mirror_to(self, mirror: Mirror) -> None:
        """Let ``mirror`` copy every changed item, before each commit."""
        self.opened.mirror = mirror
        self.opened.database.around_commit = mirror.committing

    @contextmanager
    def transaction(self, *, durable: bool = False, wait: float | None = None, mirrored: bool = True) -> Iterator[None]:
        """Let several writes be one: all that this thread writes in the block is committed at its end, or nothing.

        ``wait`` is how many seconds to wait for other writers, if not the usual. Without ``mirrored`` the mirror is
        not asked: for changes that came from there.
        """
        with self.opened.database.write(durable=durable, wait=wait, mirrored=mirrored):
            yield

    def changes_seen(self) -> int:
        """A number that differs after every write of items, by any process."""
        with self.opened.database.read() as connection:
            return int(connection.meta("index_epoch") or 0)

    def counts(self) -> dict[str, Any]:
        """How much there is."""
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
                "segments": self._count_segments(connection),
                "kinds": kinds,
                "drives": drives,
                "read_only": self.opened.database.read_only,
                "schema": self.schema_version,
                "language": self.language,
            }

    def _count_segments(self, connection: Connection) -> int:
        """In how many parts the keyword index is."""
        return 1

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
