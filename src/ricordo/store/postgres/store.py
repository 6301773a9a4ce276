"""The PostgreSQL store: one workspace of one database, as a record of parts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from ricordo.store.base import Store
from ricordo.store.index import segments
from ricordo.store.postgres.database import Database
from ricordo.store.postgres.feed import Feed
from ricordo.store.postgres.job_queue import Jobs
from ricordo.store.postgres.meaning import Vectors
from ricordo.store.postgres.open_workspace import OpenWorkspace
from ricordo.store.postgres.schema import SCHEMA_VERSION
from ricordo.store.postgres.searching import Index
from ricordo.store.postgres.team import Team
from ricordo.store.postgres.transfer import Transfer
from ricordo.store.qdrant.points import IndexAway
from ricordo.store.sql import damage
from ricordo.text.words import Analyzer
from ricordo.values.store_addresses import parse

if TYPE_CHECKING:
    from ricordo.store.qdrant.choosing import IndexChoice
    from ricordo.values.reports import Check


class PostgresStore(Store):
    """One workspace, open: its parts, and what concerns it as a whole."""

    schema_version = SCHEMA_VERSION
    vectors: Vectors

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
        index: IndexChoice | None = None,
        feed_in_background: bool = True,
    ) -> None:
        self.database = Database(
            parse(address), busy_seconds=busy_seconds, create=create, partitions=partitions, connections=connections
        )
        self._workspace = workspace = OpenWorkspace(self.database, language=language, keep_versions=keep_versions)
        super().__init__(workspace)
        self.index = Index(workspace)
        self.vectors = Vectors(workspace)
        self.jobs = Jobs(workspace)
        self.transfer = Transfer(workspace)
        self.team = Team(workspace)
        self.feed: Feed | None = None
        if index is not None:
            self.feed = Feed(workspace, index, in_background=feed_in_background)

    @property
    def address(self) -> str:
        """Where it is, without the password."""
        return self.database.path

    def close(self) -> None:
        if self.feed is not None:
            self.feed.close()
        super().close()

    def wait_for_change(self, seconds: float) -> bool:
        """Wait until any process commits a change of items; returns whether one did in that time."""
        return self.database.wait_for_change(seconds)

    def maintain(self) -> None:
        """Merge segments of the keyword index, and make the index over the vectors once there are enough of them."""
        if not self.database.read_only:
            segments.maintain(self.database)
            self.vectors.index_due()
            if self.feed is not None:
                with suppress(IndexAway):  # what it lacks is noted, and waits
                    self.feed.run()

    def checks(self) -> list[tuple[str, Callable[[bool], Check]]]:
        """The checks of this store, by name; each takes whether to repair."""
        from ricordo.store.postgres import checks, recall
        from ricordo.store.sql import relinking

        database = self.database
        fed = [("search engine", self.feed.check)] if self.feed is not None else []
        return [
            ("workspaces", lambda repair: checks.separation(database)),
            ("references", lambda repair: checks.references(database, repair)),
            ("texts", lambda repair: damage.texts(database)[0]),
            ("keyword index", lambda repair: checks.keyword_index(database, Analyzer(self.language), repair)),
            ("vector index", lambda repair: recall.check(self._workspace, repair)),
            ("links", lambda repair: relinking.check(database, repair)),
            *fed,
        ]
