"""The migration to smaller indexes: over vectors by one bit of each number, over texts by a hash of their digest."""

from __future__ import annotations

from typing import Any

from ricordo.store.postgres import permissions_sql
from ricordo.store.postgres.workspaces import vector_schema

TEXTS = "CREATE INDEX IF NOT EXISTS items_texts ON items USING hash(text_hash)"
"""Finds items by their text, in a third of the space of an index by order."""


def make_indexes_smaller(connection: Any, schema: str, partitions: int) -> None:
    """Replace both; new stores have them from the start.

    The one over vectors is made again when the workspace is next maintained; until then, all vectors are compared.
    """
    connection.execute(TEXTS)
    connection.execute("DROP INDEX IF EXISTS items_workspace_text_hash_idx")
    permissions_sql.make_functions(connection, schema, vector_schema(connection))
    rows = connection.execute(
        r"SELECT c.oid::regclass::text FROM pg_class c WHERE c.relname LIKE 'vectors\_near\_%'"
        " AND c.relnamespace = current_schema()::regnamespace AND NOT c.relispartition AND c.relkind IN ('i', 'I')"
    ).fetchall()
    for (name,) in rows:
        connection.execute(f"DROP INDEX {name}")
