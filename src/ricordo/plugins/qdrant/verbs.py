"""The verb for a search engine beside a store's server: index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ricordo.engine.context import OpenEngine
from ricordo.errors import Forbidden, UsageError
from ricordo.permissions import is_admin, is_agent
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.config.loading import Config
    from ricordo.plugins.postgres.store import PostgresStore
    from ricordo.plugins.qdrant.feed import Feed
    from ricordo.plugins.qdrant.values import IndexReport
    from ricordo.verbs.declare import Say


class IndexVerbs(OpenEngine):
    """Fills a search engine from a store, and says how far it is."""

    @verb(
        "write",
        "look after",
        "Show how far the search engine beside a store's server is; fill it, or drop it.",
        examples=("ricordo index", "ricordo index --rebuild"),
        looking={"rebuild": None, "drop": None},
    )
    def index(
        self,
        *,
        rebuild: Annotated[bool, Say("Fill it anew; every change of the store is noted for it from then on.")] = False,
        drop: Annotated[bool, Say("Stop feeding it, and throw away what it has.")] = False,
    ) -> IndexReport:
        """Large stores in PostgreSQL can have Qdrant beside them, which finds the passages of a search. PostgreSQL
        remains the record. Changes that wait are found all the same: searches look at them beside the engine, up to
        2,000. If it lacks more, or does not answer, the server's own index answers, and searches say so. If filling is
        interrupted, any process that has the store open goes on where it was. Only administrators fill and drop it.
        """
        feed: Feed | None = getattr(self._context.store, "beside", None)
        if feed is None:
            raise UsageError(
                "no search engine is set beside this store: its own index answers searches",
                hint="For a store in PostgreSQL, set store.index_address; see docs/scaling.md.",
            )
        if (rebuild or drop) and (is_agent() or not is_admin()):
            raise Forbidden("only administrators fill or drop the search engine", hint="‹:index› shows how far it is.")
        if drop:
            feed.drop()
        elif rebuild:
            feed.rebuild()
        return feed.report()


def feed_engine(store: PostgresStore, config: Config) -> None:
    """Put the search engine beside a store that was opened, if the settings name one."""
    if address := config.get("store.index_address"):
        from ricordo.plugins.qdrant.feed import Feed, IndexChoice

        Feed(store, IndexChoice(address))
