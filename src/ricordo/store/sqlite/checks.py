"""The checks of ``doctor`` that only a file needs: its pages, its references, and fields that stand twice."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import apsw

from ricordo.digests import hash_of
from ricordo.frozen import frozen
from ricordo.plugin import plugin_tables
from ricordo.store.sql.changes import field_columns, insert_tags
from ricordo.store.sql.items import fields_of
from ricordo.store.sqlite.connection import Connection, Database
from ricordo.store.tables import TABLES, columns_of, index_statement, sqlite_statements
from ricordo.values.items import Fields
from ricordo.values.reports import Check

_POINTERS = {
    "usage": "item",
    "item_tags": "item",
    "item_names": "item",
    "secrets": "item",
    "retrieval_log": "item",
    "links": "source",
}
_UNCHECKED = {
    "links": "target IS NULL AND origin <> 'text'",
    "jobs": "chunk NOT IN (SELECT id FROM chunks)",
}
"""Rows that point at nothing and that the schema itself does not check."""
_DERIVED = ("vectors", "vector_blocks", "jobs")
_SAMPLE = 200
_BATCH = 500


def integrity(database: Database) -> Check:
    """SQLite's own check of pages and indexes; damage found here is reported, not repaired."""
    with database.read() as connection:
        rows = [row[0] for row in connection.rows("PRAGMA integrity_check(5)")]
    if rows == ["ok"]:
        return Check("integrity", True, "pages and indexes are sound")
    return Check("integrity", False, f"{'; '.join(rows)}. Restore a backup, or export what can be read.")


def damaged_logs(database: Database) -> list[str]:
    """The names of the damaged logs that were kept when the store was opened."""
    name = f"{database.path.name}-wal.damaged"
    return sorted(entry.name for entry in database.path.parent.iterdir() if entry.name.startswith(name))


def log(kept: Sequence[str]) -> Check:
    """What to do about damaged logs: nothing in them can be trusted, and only the user knows what is missing."""
    names = ", ".join(kept)
    return Check(
        "log",
        False,
        f"the end of a log was damaged, and changes in it are lost; it is kept as {names}. Look for what is missing, in"
        " a backup or the Markdown files; then delete it.",
    )


def misnamed_columns(connection: Connection) -> dict[str, tuple[list[str], list[str]]]:
    """The tables whose columns are not called as this version calls them: the names that are missing, and those that
    stand there instead. SQLite's own check does not notice a changed letter in a name.
    """
    differing: dict[str, tuple[list[str], list[str]]] = {}
    for name, table in {**TABLES, **plugin_tables()}.items():
        stored = [row[0].lower() for row in connection.rows("SELECT name FROM pragma_table_info(?)", (name,))]
        if not stored and name not in TABLES:
            continue  # the plugin came after the store, and its tables are made when somebody writes
        expected = [column.name for column in columns_of(table)]
        if missing := [column for column in expected if column not in stored]:
            differing[name] = missing, [column for column in stored if column not in expected]
    return differing


def said_of_columns(differing: Mapping[str, tuple[list[str], list[str]]]) -> str:
    """Which columns are not called as they should be, in words."""
    return "; ".join(
        f"{table} has no column {', '.join(missing)}{f' but {others}' if (others := ', '.join(instead)) else ''}"
        for table, (missing, instead) in differing.items()
    )


def odd_tables(connection: Connection) -> tuple[list[str], list[str]]:
    """What else of tables is not as this version makes it (types, defaults), and the indexes that are missing."""
    stored = _makings(connection)
    odd: list[str] = []
    indexes: list[str] = []
    for table, expected in _expected().items():
        if table not in stored:
            odd += [f"the table {table} is missing"] if table in TABLES else []
            continue
        now = stored[table]
        odd += [
            f"{table}.{name} is {now.columns[name]}, not {how}"
            for name, how in expected.columns.items()
            if name in now.columns and now.columns[name] != how
        ]
        indexes += [expected.indexes[made] for made in expected.indexes.keys() - now.indexes.keys()]
    return odd, sorted(indexes)


@frozen
class _Making:
    """How a table is made. An index is known by what it is over: earlier versions called some otherwise."""

    columns: dict[str, str]
    indexes: dict[tuple[object, ...], str]


def _makings(connection: apsw.Connection) -> dict[str, _Making]:
    made: dict[str, _Making] = {}
    tables: list[Any] = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    for (table,) in tables:
        info: list[Any] = connection.execute(
            "SELECT name, type, \"notnull\" OR pk, replace(dflt_value, 'false', '0'), pk FROM pragma_table_info(?)",
            (table,),
        ).fetchall()
        columns = {
            name: f"{kind}{' NOT NULL' * bool(needed)} {default or ''}".rstrip()
            for name, kind, needed, default, _ in info
        }
        indexes: dict[tuple[object, ...], str] = {}
        lists: list[Any] = connection.execute(
            "SELECT name, \"unique\", partial FROM pragma_index_list(?) WHERE origin <> 'pk'", (table,)
        ).fetchall()
        for name, unique, partial in lists:
            over = connection.execute("SELECT name FROM pragma_index_info(?)", (name,)).fetchall()
            indexes[unique, partial, *over] = name
        made[table] = _Making(columns, indexes)
    return made


@cache
def _expected() -> dict[str, _Making]:
    """The same for a store that this version makes."""
    made = apsw.Connection(":memory:")
    for name, table in {**TABLES, **plugin_tables()}.items():
        for statement in sqlite_statements(name, table):
            made.execute(statement)
    return {name: making for name, making in _makings(made).items() if not name.startswith("sqlite_")}


def _make_indexes(database: Database, names: Collection[str]) -> None:
    with database.write(durable=True, mirrored=False) as connection:
        for table, making in {**TABLES, **plugin_tables()}.items():
            for name, spec in making.indexes.items():
                if name in names:
                    connection.run(f"DROP INDEX IF EXISTS {name}")
                    connection.run(index_statement(name, table, spec))


def broken_json(connection: Connection) -> dict[tuple[str, str, str], int]:
    """How many values of each column of JSON cannot be read, by table, column and the value that stands for unknown."""
    found = {}
    for name, table in {**TABLES, **plugin_tables()}.items():
        for column in columns_of(table):
            if column.kind == "json":
                where = f"{column.name} <> '' AND NOT json_valid({column.name})"
                with suppress(apsw.SQLError):  # the check of the schema says what is missing
                    if count := connection.rows(f"SELECT count(*) FROM {name} WHERE {where}")[0][0]:
                        found[name, column.name, column.default] = count
    return found


def said_of_json(broken: Mapping[tuple[str, str, str], int]) -> str:
    """Which values cannot be read, in words."""
    return ", ".join(f"{count} of {table}.{column}" for (table, column, _), count in broken.items())


def records(database: Database, repair: bool) -> Check:
    """Every value that is JSON can be read. Who did something is unknown from then on, where only that is damaged."""
    with database.read() as connection:
        broken = broken_json(connection)
    if not broken:
        return Check("records", True, "all can be read")
    may = repair and all(default for _, _, default in broken)
    if may:
        with database.write(durable=True, mirrored=False) as writer:
            for table, column, default in broken:
                where = f"{column} <> '' AND NOT json_valid({column})"
                writer.run(f"UPDATE {table} SET {column}={default} WHERE {where}")
    advice = "" if may else ". Restore a backup, or save what can be read with 'ricordo export --salvage FILE'"
    return Check("records", False, f"values cannot be read: {said_of_json(broken)}{advice}", repaired=may)


def schema(database: Database, repair: bool) -> Check:
    """Tables, columns and indexes are those that this version makes; a single name that is not gets its name back."""
    with database.read() as connection:
        differing = misnamed_columns(connection)
        odd, indexes = ([], []) if differing else odd_tables(connection)
    if odd:
        return Check("schema", False, f"{'; '.join(odd)}. Restore a backup, or export and import what can be read.")
    if indexes:
        if repair:
            _make_indexes(database, indexes)
        advice = "" if repair else ": 'ricordo doctor --repair' makes them"
        return Check("schema", False, f"missing indexes: {', '.join(indexes)}{advice}", repaired=repair)
    if not differing:
        return Check("schema", True, "tables, columns and indexes are those of this version")
    is_sure = all(len(missing) == len(instead) == 1 for missing, instead in differing.values())
    if repair and is_sure:
        with database.write(durable=True, mirrored=False) as connection:
            for table, ([missing], [instead]) in differing.items():
                connection.run(f'ALTER TABLE {table} RENAME COLUMN "{instead}" TO {missing}')
    advice = "'ricordo doctor --repair' names it again" if is_sure else "Restore a backup"
    return Check("schema", False, f"{said_of_columns(differing)}. {advice}.", repaired=repair and is_sure)


def references(database: Database, repair: bool) -> Check:
    """Every row that refers to an item or a fingerprint refers to an existing one."""
    with database.read() as connection:
        broken: dict[str, int] = {}
        for table, *_ in connection.rows("PRAGMA foreign_key_check"):
            broken[table] = broken.get(table, 0) + 1
        for table, condition in _UNCHECKED.items():
            if count := connection.rows(f"SELECT count(*) FROM {table} WHERE {condition}")[0][0]:
                broken[table] = count
    if not broken:
        return Check("references", True, "all lead somewhere")
    detail = ", ".join(f"{count} in {table}" for table, count in sorted(broken.items()))
    lost = broken.keys() & {"versions", "chunks"}
    if repair and not lost:
        with database.write() as connection:
            _drop_pointers(connection)
    return Check("references", False, f"rows that point at nothing: {detail}", repaired=repair and not lost)


def _drop_pointers(connection: Connection) -> None:
    for table, column in _POINTERS.items():
        connection.run(f"DELETE FROM {table} WHERE {column} NOT IN (SELECT n FROM items)")
    connection.run(
        "DELETE FROM links WHERE origin <> 'text' AND (target IS NULL OR target NOT IN (SELECT n FROM items))"
    )
    connection.run("UPDATE links SET target=NULL WHERE target NOT IN (SELECT n FROM items)")
    connection.run("UPDATE feedback SET item=NULL WHERE item NOT IN (SELECT n FROM items)")
    for table in _DERIVED:
        connection.run(f"DELETE FROM {table} WHERE fingerprint NOT IN (SELECT id FROM fingerprints)")
    connection.run("DELETE FROM jobs WHERE chunk NOT IN (SELECT id FROM chunks)")


def blobs(database: Database, repair: bool) -> Check:
    """The bytes of files without text: every version has its bytes, they match their hash, and no others are stored."""
    with database.read() as connection:
        missing = connection.rows(
            "SELECT count(*) FROM versions WHERE blob IS NOT NULL AND blob NOT IN (SELECT hash FROM blobs)"
        )[0][0]
        unused = connection.rows(
            "SELECT count(*) FROM blobs WHERE hash NOT IN (SELECT blob FROM versions WHERE blob IS NOT NULL)"
        )[0][0]
        hashes = [row[0] for row in connection.rows("SELECT hash FROM blobs ORDER BY hash")]
        changed = sum(
            hash_of(data) != digest
            for digest in hashes[:: max(1, len(hashes) // _SAMPLE)]
            for (data,) in connection.rows("SELECT data FROM blobs WHERE hash=?", (digest,))
        )
    if missing or changed:
        return Check("files without text", False, f"{missing} are missing and {changed} are not what they were")
    if not unused:
        return Check("files without text", True, f"{len(hashes)}, all whole" if hashes else "none")
    if repair:
        with database.write() as connection:
            connection.run("DELETE FROM blobs WHERE hash NOT IN (SELECT blob FROM versions WHERE blob IS NOT NULL)")
    return Check("files without text", False, f"{unused} belong to no version", repaired=repair)


def copies(database: Database, repair: bool) -> Check:
    """What is copied out of an item's fields to filter and sort by is what its current version says."""
    stale: list[int] = []
    with database.read() as connection:
        tags: dict[int, set[str]] = {}
        for n, tag in connection.stream("SELECT item, tag FROM item_tags"):
            tags.setdefault(n, set()).add(tag)
        for n, state, stored, version, *copied in connection.stream(
            f"SELECT i.n, i.state, i.fields, v.fields, {', '.join(f'i.{name}' for name in field_columns(Fields()))}"
            " FROM items i JOIN versions v ON v.item = i.n AND v.number = i.version"
        ):
            fields = fields_of(version)
            expected_tags = set(fields.tags) if state != "deleted" else set()
            if stored != version or copied != [*field_columns(fields).values()] or tags.get(n, set()) != expected_tags:
                stale.append(n)
    if not stale:
        return Check("fields", True, "are those of the current versions")
    if repair:
        for at in range(0, len(stale), _BATCH):
            with database.write() as connection:
                for n in stale[at : at + _BATCH]:
                    _copy_again(connection, n)
    return Check("fields", False, f"{len(stale)} items are listed by other fields than they have", repaired=repair)


def _copy_again(connection: Connection, n: int) -> None:
    rows = connection.rows(
        "SELECT v.fields, i.state FROM items i JOIN versions v ON v.item = i.n AND v.number = i.version WHERE i.n=?",
        (n,),
    )
    if not rows:
        return
    fields = fields_of(rows[0][0])
    row = field_columns(fields) | {"fields": rows[0][0]}
    connection.run(f"UPDATE items SET {'=?, '.join(row)}=? WHERE n=?", (*row.values(), n))
    connection.add_to_meta("index_epoch", 1)
    connection.run("DELETE FROM item_tags WHERE item=?", (n,))
    if rows[0][1] != "deleted":
        insert_tags(connection, n, fields)
