"""A connection as the pool lends it."""

from __future__ import annotations

import psycopg

from ricordo.store.sql.protocols import Row


class Pooled(psycopg.Connection[Row]):
    """A connection to a server. When it comes back, the pool ends what is still open, by a rollback.

    Of a read, that is made a commit: after a rollback psycopg forgets the statements that the server keeps parsed and
    planned, and each search would have all of its statements planned again.
    """

    only_read = False
    """Whether the connection is lent for reading: whoever takes it says so."""

    def rollback(self) -> None:
        """End a transaction; one that only read, by a commit."""
        if self.only_read:
            self.commit()
        else:
            super().rollback()
