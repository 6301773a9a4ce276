"""The tables of a SQLite store: a new one is made whole, one of an earlier release takes one step."""

from __future__ import annotations

from collections.abc import Mapping

from ricordo.config.machine import this_machine
from ricordo.errors import NewerSchema, ReadOnlyStore, StoreError
from ricordo.plugin import plugin_tables
from ricordo.store.sql.database import marks
from ricordo.store.sql.files import HOME_MACHINE
from ricordo.store.sqlite.connection import APPLICATION_ID, Connection, Database
from ricordo.store.tables import TABLES, Table, sqlite_statements

SCHEMA_VERSION = 12
RELEASED = 6
"""The schema of version 0.1.0; those in between were never released."""
_SINCE_RELEASE = """
ALTER TABLE versions ADD COLUMN provenance TEXT NOT NULL DEFAULT '';
ALTER TABLE items ADD COLUMN provenance TEXT NOT NULL DEFAULT '';
ALTER TABLE items ADD COLUMN vouched INTEGER;
ALTER TABLE query_log ADD COLUMN asker TEXT NOT NULL DEFAULT '';
ALTER TABLE query_log ADD COLUMN fit REAL;
ALTER TABLE retrieval_log ADD COLUMN asker TEXT NOT NULL DEFAULT '';
ALTER TABLE chunks ADD COLUMN language TEXT NOT NULL DEFAULT '';
ALTER TABLE roots RENAME TO roots_before;
ALTER TABLE vocabulary RENAME TO vocabulary_before;
CREATE INDEX items_unreviewed ON items(n) WHERE vouched <> version;
CREATE INDEX chunks_language ON chunks(language) WHERE language <> '';
CREATE INDEX IF NOT EXISTS vector_blocks_fingerprint ON vector_blocks(fingerprint);
UPDATE items SET vouched = version WHERE loading = 'always' OR json_extract(fields, '$.source') = 'user';
"""
_NEW_TABLES = (
    "audit",
    "proposals",
    "steps",
    "step_items",
    "step_links",
    "roots",
    "vocabulary",
)
_COPY_ROWS = """
INSERT INTO roots SELECT '', path, globs, added_at FROM roots_before;
INSERT INTO vocabulary SELECT word, term FROM vocabulary_before;
DROP TABLE roots_before;
DROP TABLE vocabulary_before;
"""


def _make(connection: Connection) -> None:
    """The tables of a new store. Its files belong to the machine that makes it."""
    _make_tables(connection, {**TABLES, **plugin_tables()})
    connection.run("INSERT INTO meta VALUES('index_epoch', 0), ('vector_epoch', 0), ('jobs_done', 0)")
    connection.run_many("INSERT INTO lexical_stats VALUES(?, 0)", [(field,) for field in range(-1, 12)])
    connection.set_meta(HOME_MACHINE, this_machine().id)


def _make_tables(connection: Connection, tables: Mapping[str, Table]) -> None:
    for name, table in tables.items():
        for statement in sqlite_statements(name, table):
            connection.run(statement)


def _upgrade(connection: Connection) -> None:
    """From the tables of 0.1.0. What was trusted before authors were recorded stays so, and files belong to this
    machine. The languages of passages are found when the store is opened.
    """
    connection.run(_SINCE_RELEASE)
    _make_tables(connection, {**{name: TABLES[name] for name in _NEW_TABLES}, **plugin_tables()})
    connection.run(_COPY_ROWS)
    connection.set_meta(HOME_MACHINE, this_machine().id)
    connection.run("UPDATE roots SET machine=?", (this_machine().id,))


STEPS = {0: _make, RELEASED: _upgrade}
"""By the schema that is found."""


def _add_plugin_tables(database: Database) -> None:
    """Make the tables of plugins that were not installed when the store was made."""
    tables = plugin_tables()
    rows = database.connection().rows(f"SELECT name FROM sqlite_schema WHERE name IN ({marks(tables)})", tuple(tables))
    if len(rows) == len(tables) or database.read_only:
        return
    with database.write(durable=True) as connection:
        existing = {name for (name,) in connection.rows("SELECT name FROM sqlite_schema WHERE type='table'")}
        _make_tables(connection, {name: table for name, table in tables.items() if name not in existing})


def migrate(database: Database) -> None:
    """Bring a store to the current schema; a store written by a newer Ricordo is refused untouched."""
    version = int(database.connection().pragma("user_version"))
    if version == SCHEMA_VERSION:
        _add_plugin_tables(database)
        return
    if version > SCHEMA_VERSION:
        raise NewerSchema(
            f"the store {database.path} has schema {version}, this Ricordo knows up to {SCHEMA_VERSION}",
            hint="Upgrade Ricordo (pip install -U ricordo); the store was not touched.",
        )
    if version not in STEPS:
        raise StoreError(
            f"the store {database.path} has schema {version}, which no released Ricordo wrote",
            hint="Export it with the program that made it, and import that here.",
        )
    if database.read_only:
        raise ReadOnlyStore(
            f"the store {database.path} needs a migration, but can only be read", hint="Make it writable once."
        )
    with database.write(durable=True) as connection:
        version = int(connection.pragma("user_version"))
        if version < SCHEMA_VERSION:  # no other process was faster
            STEPS[version](connection)
            connection.pragma("application_id", APPLICATION_ID)
            connection.pragma("user_version", SCHEMA_VERSION)
