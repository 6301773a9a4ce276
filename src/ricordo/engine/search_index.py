"""Verbs for a search engine beside a store's server: index status, rebuild, drop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ricordo.engine.context import OpenEngine
from ricordo.errors import UsageError
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from ricordo.store.qdrant.feed import Feed
    from ricordo.values.reports import IndexReport


class IndexVerbs(OpenEngine):
    """Fills a search engine from a store, and says how far it is."""

    @verb(
        "read",
        "look after",
        "Show what the search engine beside the server holds, and how far it is behind.",
        path="index status",
        examples=("ricordo index status",),
    )
    def index_status(self) -> IndexReport:
        """Changes that wait are found all the same: searches look at them beside the engine, up to 2,000. If it lacks
        more, or does not answer, the server's own index answers, and searches say so.
        """
        return self._feed().report()

    @verb(
        "admin",
        "look after",
        "Fill the search engine beside the server anew.",
        path="index rebuild",
        examples=("ricordo index rebuild",),
    )
    def index_rebuild(self) -> IndexReport:
        """From then on, every change of the store is noted for the engine, whoever makes it. What the engine had before
        is thrown away. If it is interrupted, any process that has the store open goes on where it was.
        """
        feed = self._feed()
        feed.rebuild()
        return feed.report()

    @verb(
        "admin",
        "look after",
        "Stop feeding the search engine, and throw away what it has.",
        path="index drop",
        examples=("ricordo index drop",),
    )
    def index_drop(self) -> IndexReport:
        """The store stays as it is: its own index answers again. Then also unset store.index_address."""
        feed = self._feed()
        feed.drop()
        return feed.report()

    def _feed(self) -> Feed:
        feed = self._context.store.feed
        if feed is None:
            raise UsageError(
                "no search engine is set beside this store: its own index answers searches",
                hint="For a store in PostgreSQL, set store.index_address; see docs/scaling.md.",
            )
        return feed
