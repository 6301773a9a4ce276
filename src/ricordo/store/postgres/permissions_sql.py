"""Who may read and write which workspace, decided by the server: functions, and row-level security that asks them.

A workspace without a team is open to every role that was granted the tables. A workspace with a team has group roles:
its readers, its writers (who are readers, too), its owners (who own the tables), and a backup role that reads
everything. A connection says which workspace it means (``ricordo.workspace``) and how new its program is
(``ricordo.client``). Whether it may is asked of the role that logged in, at each statement, so that a member who is
removed sees nothing from then on.
"""

from __future__ import annotations

from typing import Any

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
_MAKE_INDEX = """
CREATE OR REPLACE FUNCTION make_vector_index(number int, dimensions int) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {schema}, {vectors}, pg_temp AS $$
BEGIN
  PERFORM refuse_writing();
  EXECUTE format('CREATE INDEX IF NOT EXISTS vectors_near_%s ON vectors USING hnsw'
    ' ((binary_quantize(vector)::bit(%s)) bit_hamming_ops) WHERE workspace = %s AND fingerprint = %s',
    number, dimensions, {workspace}, number);
END $$"""
_DROP_INDEX = """
CREATE OR REPLACE FUNCTION drop_vector_index(number int) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {schema}, pg_temp AS $$
BEGIN
  PERFORM refuse_writing();
  IF EXISTS (SELECT 1 FROM vectors WHERE fingerprint = number) THEN RETURN; END IF;
  EXECUTE format('DROP INDEX IF EXISTS vectors_near_%s', number);
END $$"""
_POLICIES = {
    "own_workspace": "FOR SELECT USING (workspace = (SELECT may_read()))",
    "own_workspace_new": "FOR INSERT WITH CHECK (workspace = (SELECT may_write()))",
    "own_workspace_changed": "FOR UPDATE USING (workspace = (SELECT may_write()))",
    "own_workspace_gone": "FOR DELETE USING (workspace = (SELECT may_write()))",
}
UNSEPARATED = ("workspaces", "schema_version")
"""Tables that belong to no workspace; only their owner writes to them."""


def make_functions(connection: Any, schema: str, vectors: str) -> None:
    """Make the functions that decide, and those by which a writer makes the index over vectors, owned or not."""
    workspace, client = (_GIVEN.format(name=name) for name in ("workspace", "client"))
    values = {"schema": schema, "vectors": vectors, "workspace": workspace, "client": client}
    connection.execute(_IN_GROUP.format(**values))
    connection.execute(_MAY.format(name="may_read", group_column="readers", condition="", **values))
    too_old = f"OR coalesce({client}, 0) < asked.oldest"
    connection.execute(_MAY.format(name="may_write", group_column="writers", condition=too_old, **values))
    connection.execute(_REFUSE.format(old=OLD_CLIENT, no=NO_WRITER, **values))
    connection.execute(_MAKE_INDEX.format(**values))
    connection.execute(_DROP_INDEX.format(**values))


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
    """The tables whose rows belong to workspaces, without the partitions of any."""
    rows = connection.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')"
        " AND NOT relispartition AND relname <> ALL(%s) ORDER BY relname",
        (list(UNSEPARATED),),
    ).fetchall()
    return [row[0] for row in rows]
