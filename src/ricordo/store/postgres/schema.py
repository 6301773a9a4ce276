"""The tables of a PostgreSQL store, its workspaces, and who may read and write which of them.

Every key begins with the workspace. ``workspace`` is the last column and has a default, so that the statements that
both databases share need not name it. Texts are compared byte by byte, as in SQLite.

The server decides who may: row-level security asks functions. A workspace without a team is open to every role that was
granted the tables. A workspace with a team has group roles: its readers, its writers (who are readers, too), its owners
(who own the tables), and a backup role that reads everything. A connection says which workspace it means
(``ricordo.workspace``) and how new its program is (``ricordo.client``). Whether it may is asked of the role that logged
in, at each statement, so that a member who is removed sees nothing from then on.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import psycopg

from ricordo.errors import NewerSchema, StoreError
from ricordo.store.base import UNBUILT
from ricordo.store.tables import TABLES, postgres_references, postgres_table

SCHEMA_VERSION = 11
RELEASED, BEFORE_BLOCKS = 1, 10
"""The schema of version 0.1.0, and the last one whose vectors were of pgvector's type."""
MIGRATION_LOCK = 0x52696363
APPLICATION_ROLE = "ricordo_app"
"""The role that a connection switches to if its own role ignores row-level security (a superuser)."""

_FUNCTIONS = (
    # Functions that the statements shared with SQLite call by SQLite's names.
    "CREATE OR REPLACE FUNCTION json_extract(doc text, place text) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE"
    " AS $$ SELECT nullif(jsonb_path_query_first(replace(doc, '\\u0000', '')::jsonb, place::jsonpath), 'null'::jsonb)"
    " $$",
    "CREATE OR REPLACE FUNCTION instr(hay text, needle text) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS"
    " $$ SELECT strpos(hay, needle) $$",
    "CREATE OR REPLACE FUNCTION glob(pattern text, value text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE"
    " AS $$ SELECT value ~ ('^' || replace(replace(regexp_replace(pattern, '([.+(){}|^$\\\\])', '\\\\\\1', 'g'),"
    " '*', '.*'), '?', '.') || '$') $$",
    "CREATE OR REPLACE FUNCTION folded(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$"
    " SELECT regexp_replace(normalize(lower(value COLLATE \"default\"), NFKD), '[\u0300-\u036f]', '', 'g') $$",
)

OLD_CLIENT, NO_WRITER = "RI001", "RI002"
"""The codes of our own errors: the program is too old to write; the role may not write here."""
_GIVEN = "nullif(current_setting('ricordo.{name}', true), '')::int"
_MAY = """
CREATE OR REPLACE FUNCTION {name}() RETURNS int LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = {schema}, pg_temp AS $$
DECLARE given int := {workspace}; asked record;
BEGIN
  SELECT w.{group_column} AS members, w.oldest_client AS oldest INTO asked FROM workspaces w WHERE w.id = given;
  IF NOT FOUND {condition} THEN RETURN NULL; END IF;
  IF asked.members IS NULL OR is_in_group(asked.members) THEN RETURN given; END IF;
  RETURN NULL;
END $$"""
_IN_GROUP = """
CREATE OR REPLACE FUNCTION is_in_group(name text) RETURNS boolean LANGUAGE sql STABLE
SET search_path = {schema}, pg_temp AS $$
  SELECT EXISTS (SELECT 1 FROM pg_roles r WHERE r.rolname = name AND pg_has_role(session_user, r.oid, 'MEMBER'))
    OR pg_has_role(session_user, (SELECT relowner FROM pg_class WHERE oid = 'items'::regclass), 'MEMBER')
$$"""
_REFUSE = """
CREATE OR REPLACE FUNCTION refuse_writing() RETURNS void LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = {schema}, pg_temp AS $$
BEGIN
  IF may_write() IS NULL THEN
    IF coalesce({client}, 0) < (SELECT oldest_client FROM workspaces WHERE id = {workspace}) THEN
      RAISE EXCEPTION 'this program is too old to write here' USING ERRCODE = '{old}';
    END IF;
    RAISE EXCEPTION 'this role may not write here' USING ERRCODE = '{no}';
  END IF;
END $$"""
_POLICIES = {
    "own_workspace": "FOR SELECT USING (workspace = (SELECT may_read()))",
    "own_workspace_new": "FOR INSERT WITH CHECK (workspace = (SELECT may_write()))",
    "own_workspace_changed": "FOR UPDATE USING (workspace = (SELECT may_write()))",
    "own_workspace_gone": "FOR DELETE USING (workspace = (SELECT may_write()))",
}
UNSEPARATED = ("workspaces", "schema_version")
"""Tables that belong to no workspace; only their owner writes to them."""


def _make_functions(connection: Any, schema: str) -> None:
    """Make the functions that decide, and those that the shared statements call by SQLite's names."""
    for statement in _FUNCTIONS:
        connection.execute(statement)
    workspace, client = (_GIVEN.format(name=name) for name in ("workspace", "client"))
    values = {"schema": schema, "workspace": workspace, "client": client}
    connection.execute(_IN_GROUP.format(**values))
    connection.execute(_MAY.format(name="may_read", group_column="readers", condition="", **values))
    too_old = f"OR coalesce({client}, 0) < asked.oldest"
    connection.execute(_MAY.format(name="may_write", group_column="writers", condition=too_old, **values))
    connection.execute(_REFUSE.format(old=OLD_CLIENT, no=NO_WRITER, **values))


def separate(connection: Any, table: str) -> None:
    """Let a connection see and write the rows of its own workspace alone, as far as its role may.

    As a subquery, the workspace is unknown to the planner, which then expects one of middle size. Of one that it knows
    to be new, it would expect a single row, and compare every row with every other.
    """
    connection.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    connection.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    for name, rule in _POLICIES.items():
        connection.execute(f"DROP POLICY IF EXISTS {name} ON {table}")
        connection.execute(f"CREATE POLICY {name} ON {table} {rule}")


def separated_tables(connection: Any) -> list[str]:
    """The tables whose rows belong to workspaces."""
    rows = connection.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"
        " AND relname <> ALL(%s) ORDER BY relname",
        (list(UNSEPARATED),),
    ).fetchall()
    return [row[0] for row in rows]


def _make(connection: Any) -> None:
    """All tables, of a new store."""
    connection.execute(
        "CREATE TABLE workspaces(id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
        ' name text COLLATE "C" NOT NULL UNIQUE)'
    )
    _make_tables(connection, tuple(TABLES))
    for statement in (
        "CREATE INDEX item_tags_lower ON item_tags(workspace, lower(tag))",
        "CREATE INDEX jobs_next ON jobs(workspace, fingerprint, state, not_before, chunk)",
    ):
        connection.execute(statement)


def _make_tables(connection: Any, names: tuple[str, ...]) -> None:
    statements = [one for name in names for one in postgres_table(name, TABLES[name])]
    for statement in (*statements, *(one for name in names for one in postgres_references(name, TABLES[name]))):
        connection.execute(statement)


_SINCE_RELEASE = """
ALTER TABLE versions ADD COLUMN provenance text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE items ADD COLUMN provenance text COLLATE "C" NOT NULL DEFAULT '', ADD COLUMN vouched bigint;
ALTER TABLE query_log ADD COLUMN asker text COLLATE "C" NOT NULL DEFAULT '', ADD COLUMN fit double precision;
ALTER TABLE retrieval_log ADD COLUMN asker text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE chunks ADD COLUMN language text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE roots ADD COLUMN machine text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE roots DROP CONSTRAINT roots_pkey, ADD PRIMARY KEY (workspace, machine, path);
ALTER TABLE vocabulary DROP CONSTRAINT vocabulary_pkey, ADD PRIMARY KEY (workspace, word, term);
CREATE INDEX chunks_language ON chunks(workspace, language) WHERE language <> '';
CREATE INDEX items_unreviewed ON items(workspace, n) WHERE vouched <> version;
UPDATE items SET vouched = version WHERE loading = 'always' OR fields::jsonb ->> 'source' = 'user';
DROP TABLE postings, term_counts, lexical_stats;
"""
_ADDED = (
    "audit", "proposals", "steps", "step_items", "step_links", "segments", "postings",
    "retired", "merges", "lexical_stats",
)  # fmt: skip
_OUT_OF_USE = """
DROP TABLE IF EXISTS index_feeds, index_outbox, index_applied, index_terms;
DROP FUNCTION IF EXISTS note_chunks, note_vectors CASCADE;
DROP FUNCTION IF EXISTS make_vector_index, drop_vector_index, length_at, layout_chunks;
DELETE FROM meta WHERE name LIKE 'vector_depth_%';
"""


def _upgrade(connection: Any, found: int) -> None:
    """From the tables of 0.1.0, or of the last schema with vectors of pgvector's type. What was trusted before authors
    were recorded stays so. Row-level security would hide all workspaces from the owner, too.
    """
    for table in separated_tables(connection):
        connection.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
    if found == RELEASED:
        connection.execute(_SINCE_RELEASE)
        _make_tables(connection, _ADDED)
        connection.execute(
            "INSERT INTO lexical_stats(field, total, workspace)"
            " SELECT f, 0, id FROM workspaces, generate_series(-1, 11) f"
        )
    connection.execute(_OUT_OF_USE)
    _convert_vectors(connection)
    connection.execute(
        "INSERT INTO meta(name, value, workspace) SELECT %s, to_jsonb(%s::text), id FROM workspaces",
        (UNBUILT, "words" if found == RELEASED else "vectors"),
    )


def _convert_vectors(connection: Any) -> None:
    """Write the vectors of pgvector's type as plain numbers, and make the table of blocks, which is filled later."""
    connection.execute("ALTER TABLE vectors RENAME TO vectors_before")
    _make_tables(connection, ("vectors", "vector_blocks"))
    with connection.cursor("vectors", binary=True) as cursor:
        cursor.execute("SELECT workspace, fingerprint, hash, vector_send(vector) FROM vectors_before")
        while rows := cursor.fetchmany(2_000):
            with connection.cursor().copy("COPY vectors(workspace, fingerprint, hash, vector) FROM STDIN") as copy:
                for workspace, fingerprint, digest, sent in rows:  # two counts, then numbers with the high byte first
                    vector = np.frombuffer(sent, ">f4", offset=4).astype(np.float32).tobytes()
                    copy.write_row((workspace, fingerprint, digest, vector))
    connection.execute("DROP TABLE vectors_before")


def migrate(connection: Any, schema: str, shown: str, *, create: bool) -> None:
    """Bring a database to the current schema, in one transaction while others wait; one that a newer Ricordo wrote is
    refused untouched.
    """
    found = _version(connection, schema)
    if found == SCHEMA_VERSION:
        return
    if found is not None and found > SCHEMA_VERSION:
        raise NewerSchema(
            f"the store {shown} has schema {found}, this Ricordo knows up to {SCHEMA_VERSION}",
            hint="Upgrade Ricordo (pip install -U ricordo); the store was not touched.",
        )
    if found not in (None, RELEASED, BEFORE_BLOCKS):
        raise StoreError(
            f"the store {shown} has schema {found}, which no released Ricordo wrote",
            hint="Export it with the program that made it, and import that here.",
        )
    if found is None and not create:
        raise StoreError(f"there is no store at {shown}", hint="Run ‹:init› with the same ‹store› first.")
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
        found = _version(connection, schema)
        if found == SCHEMA_VERSION:
            return  # another process was faster
        if found is None:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
            connection.execute(f"CREATE TABLE {schema}.schema_version(number int NOT NULL)")
            connection.execute(f"INSERT INTO {schema}.schema_version VALUES(0)")
        connection.execute(f"SET LOCAL search_path = {schema}, {_vector_schema(connection)}")
        if found is None:
            _make(connection)
        else:
            _upgrade(connection, found)
        for column in ("readers", "writers", "owners", "backup", "model"):
            connection.execute(f'ALTER TABLE workspaces ADD COLUMN IF NOT EXISTS {column} text COLLATE "C"')
        connection.execute("ALTER TABLE workspaces ADD COLUMN IF NOT EXISTS oldest_client int NOT NULL DEFAULT 0")
        # A program that knows less than these tables must not write to them any more.
        connection.execute("UPDATE workspaces SET oldest_client = %s", (SCHEMA_VERSION,))
        _make_functions(connection, schema)
        for table in separated_tables(connection):
            separate(connection, table)
        connection.execute("UPDATE schema_version SET number = %s", (SCHEMA_VERSION,))
        grant_all(connection, schema)
        grant_application_role(connection, schema)


def _version(connection: Any, schema: str) -> int | None:
    sql = "SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = 'schema_version'"
    if connection.execute(sql, (schema.strip('"'),)).fetchone() is None:
        return None  # asked of the catalogue's rows, which a process that waited for another's tables surely sees
    row = connection.execute(f"SELECT number FROM {schema}.schema_version").fetchone()
    return int(row[0]) if row else 0


def _vector_schema(connection: Any) -> str:
    """Where pgvector is, whose type an upgrade reads; nothing else needs it."""
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


def grant_all(raw: Any, schema: str) -> None:
    """Grant every team of this schema what its roles need, on all tables there are now."""
    rows = raw.execute(
        "SELECT w.readers, w.writers, w.owners, w.backup FROM workspaces w JOIN pg_roles r ON r.rolname = w.readers"
    ).fetchall()
    if not rows:
        return
    database = raw.execute("SELECT quote_ident(current_database())").fetchone()[0]
    tables = separated_tables(raw)
    for readers, writers, owners, backup in rows:
        for group in (readers, backup):
            raw.execute(f"GRANT USAGE ON SCHEMA {schema} TO {group}")
            raw.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {group}")
        raw.execute(f"GRANT SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO {backup}")
        raw.execute(f"GRANT USAGE, CREATE ON SCHEMA {schema} TO {owners}")
        if not raw.execute("SELECT has_database_privilege(%s, current_database(), 'TEMPORARY')", (writers,)).fetchone()[
            0
        ]:
            raw.execute(f"GRANT TEMPORARY ON DATABASE {database} TO {writers}")
        raw.execute(f"GRANT INSERT, UPDATE, DELETE ON {', '.join(tables)} TO {writers}")
        raw.execute(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {writers}")
        raw.execute(f"GRANT INSERT, UPDATE ON {', '.join(UNSEPARATED)} TO {owners}")
        for table in tables:
            # pg_dump names no workspace, and then sees the rows of all.
            raw.execute(f"DROP POLICY IF EXISTS dumped_by_{backup[-_POLICY_TAIL:]} ON {table}")
            raw.execute(
                f"CREATE POLICY dumped_by_{backup[-_POLICY_TAIL:]} ON {table} FOR SELECT TO {backup}"
                " USING (nullif(current_setting('ricordo.workspace', true), '') IS NULL)"
            )
    _hand_over(raw, rows[0][2])


_POLICY_TAIL = 13
"""The end of a backup role's name tells teams apart: six characters of a hash, and the level."""


def _hand_over(raw: Any, owners: str) -> None:
    """Let tables, sequences and functions belong to the owners' group, so that each of them can upgrade."""
    rows = raw.execute(
        "SELECT CASE relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, quote_ident(relname) FROM pg_class c"
        " WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'S')"
        " AND relowner <> %s::regrole"
        " AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'i' AND relkind = 'S')"
        " UNION ALL SELECT 'FUNCTION', oid::regprocedure::text FROM pg_proc"
        " WHERE pronamespace = current_schema()::regnamespace AND proowner <> %s::regrole",
        (owners, owners),
    ).fetchall()
    for kind, name in rows:
        raw.execute(f"ALTER {kind} {name} OWNER TO {owners}")


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
            f"INSERT INTO {schema}.lexical_stats(field, total) SELECT generate_series(-1, 11), 0 ON CONFLICT DO NOTHING"
        )
    return number
