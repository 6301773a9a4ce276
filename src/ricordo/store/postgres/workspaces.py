"""The workspaces of a PostgreSQL store: each has a number, and rows that every store begins with."""

from __future__ import annotations

from typing import Any


def workspace_number(connection: Any, schema: str, name: str, *, create: bool) -> int | None:
    """The number of a workspace, made when it is new."""
    row = connection.execute(f"SELECT id FROM {schema}.workspaces WHERE name = %s", (name,)).fetchone()
    if row is not None or not create:
        return int(row[0]) if row is not None else None
    with connection.transaction():
        connection.execute(f"INSERT INTO {schema}.workspaces(name) VALUES(%s) ON CONFLICT DO NOTHING", (name,))
        number = int(connection.execute(f"SELECT id FROM {schema}.workspaces WHERE name = %s", (name,)).fetchone()[0])
        connection.execute("SELECT set_config('ricordo.workspace', %s, true)", (str(number),))
        connection.execute(
            f"INSERT INTO {schema}.meta(name, value) VALUES('index_epoch', '0'), ('vector_epoch', '0'),"
            " ('jobs_done', '0'), ('last_chunk', '0') ON CONFLICT DO NOTHING"
        )
        connection.execute(
            f"INSERT INTO {schema}.lexical_stats(field, total, passages)"
            " SELECT field, 0, 0 FROM generate_series(-1, 5) field ON CONFLICT DO NOTHING"
        )
    return number
