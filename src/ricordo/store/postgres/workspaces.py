"""What surrounds the tables of a PostgreSQL store: its workspaces, and the role that superusers switch to."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import psycopg

APPLICATION_ROLE = "ricordo_app"
"""The role that a connection switches to if its own role ignores row-level security (a superuser)."""


def vector_schema(connection: Any) -> str:
    """The schema in which an administrator put pgvector, as a name in SQL."""
    found = connection.execute(
        "SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
        " WHERE e.extname = 'vector'"
    ).fetchone()
    return str(found[0]) if found else "public"


def grant_application_role(connection: Any, schema: str) -> None:
    """Let the role that superusers switch to read and write rows; it is made if this role may make one."""
    may_make, is_plain, there = connection.execute(
        "SELECT rolsuper OR rolcreaterole, rolsuper OR NOT rolbypassrls,"
        " EXISTS (SELECT 1 FROM pg_roles WHERE rolname = %s) FROM pg_roles WHERE rolname = current_user",
        (APPLICATION_ROLE,),
    ).fetchone()
    if not (there or may_make):
        return
    if not there:
        # Roles belong to the whole server: whoever opens the first store of another database may be making it now.
        with suppress(psycopg.errors.UniqueViolation, psycopg.errors.DuplicateObject), connection.transaction():
            connection.execute(f"CREATE ROLE {APPLICATION_ROLE} NOLOGIN")
    if not is_plain:  # it must switch, too, and unlike a superuser it needs leave to
        connection.execute(f"GRANT {APPLICATION_ROLE} TO CURRENT_USER")
    connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO {APPLICATION_ROLE}")
    connection.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {APPLICATION_ROLE}")
    connection.execute(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {APPLICATION_ROLE}")
    vectors = vector_schema(connection)
    if not connection.execute(
        "SELECT has_schema_privilege(%s, to_regnamespace(%s)::oid, 'USAGE')", (APPLICATION_ROLE, vectors)
    ).fetchone()[0]:
        connection.execute(f"GRANT USAGE ON SCHEMA {vectors} TO {APPLICATION_ROLE}")


def role_to_take(connection: Any, schema: str, *, may_make: bool) -> str | None:
    """The role that this connection switches to, if its own ignores row-level security; made if it is missing, as in
    a database that was restored on another server.
    """
    ignores, there = connection.execute(
        "SELECT rolsuper OR rolbypassrls, EXISTS (SELECT 1 FROM pg_roles WHERE rolname = %s)"
        " FROM pg_roles WHERE rolname = current_user",
        (APPLICATION_ROLE,),
    ).fetchone()
    if ignores and not there and may_make:
        grant_application_role(connection, schema)
    return APPLICATION_ROLE if ignores else None


class Access(NamedTuple):
    """What a role may do in a workspace."""

    login: str
    has_team: bool
    may_read: bool
    may_write: bool


def access(connection: Any, schema: str, workspace: int) -> Access:
    """What the role that logged in may do; without a team, whoever was granted the tables may."""
    row = connection.execute(
        f"SELECT session_user, readers IS NOT NULL, readers IS NULL OR {schema}.is_in_group(readers),"
        f" has_table_privilege(%s, 'INSERT') AND (writers IS NULL OR {schema}.is_in_group(writers))"
        f" FROM {schema}.workspaces WHERE id = %s",
        (f"{schema}.items", workspace),
    ).fetchone()
    return Access(*row)


def workspace_number(connection: Any, schema: str, name: str, client: int, *, create: bool) -> int | None:
    """The number of a workspace, made when it is new; ``client`` is how new this program is."""
    row = connection.execute(f"SELECT id FROM {schema}.workspaces WHERE name = %s", (name,)).fetchone()
    if row is not None or not create:
        return int(row[0]) if row is not None else None
    with connection.transaction():
        connection.execute(
            f"INSERT INTO {schema}.workspaces(name, oldest_client) VALUES(%s, %s) ON CONFLICT DO NOTHING",
            (name, client),
        )
        number = int(connection.execute(f"SELECT id FROM {schema}.workspaces WHERE name = %s", (name,)).fetchone()[0])
        connection.execute(
            "SELECT set_config('ricordo.workspace', %s, true), set_config('ricordo.client', %s, true)",
            (str(number), str(client)),
        )
        connection.execute(
            f"INSERT INTO {schema}.meta(name, value) VALUES('index_epoch', '0'), ('vector_epoch', '0'),"
            " ('jobs_done', '0'), ('last_chunk', '0') ON CONFLICT DO NOTHING"
        )
        connection.execute(
            f"INSERT INTO {schema}.lexical_stats(field, total)"
            " SELECT field, 0 FROM generate_series(-1, 11) field ON CONFLICT DO NOTHING"
        )
    return number
