"""The id of a store: random, made once, and kept in the store, so that a copy of it has the same."""

from __future__ import annotations

import secrets
from contextlib import suppress

from ricordo.errors import Unavailable
from ricordo.store.sql.database import Connection, Database

STORE_ID = "store_id"
_BYTES = 16
_PATIENCE = 1.0
"""Seconds to wait for other writers before the id of an old store is left to the next call."""


def known_id(database: Database) -> str:
    """The id; a store of an earlier version gets one now. Empty while that cannot be written."""
    with database.read() as connection:
        found = connection.meta(STORE_ID)
    if found is None and not database.read_only:
        with suppress(Unavailable), database.write(durable=True, wait=_PATIENCE) as connection:
            give_id(connection)
            found = connection.meta(STORE_ID)
    return str(found or "")


def give_id(connection: Connection) -> None:
    """Give a store an id, if it has none."""
    connection.set_meta(STORE_ID, secrets.token_hex(_BYTES), replace=False)
