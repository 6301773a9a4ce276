"""The tables of a store, declared once for both databases.

Canonical tables hold what people and sources gave (items, versions, chunks, blobs, roots, manual links); derived ones
(segments, postings, retired, vocabulary, vectors, item names, links from texts, secrets, knowledge files) can be
rebuilt from them. Times are whole microseconds since 1970, UTC.

A column is ``name type``. ``?`` behind a type lets it be empty, ``>table`` says whose rows it goes with. ``serial``
numbers itself, ``reserved`` does so in SQLite, and in PostgreSQL is reserved by ``Connection.reserve_chunks``.
``json`` is text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple


class Table(NamedTuple):
    """One table: its columns, its key, its indexes by name, and whether SQLite keeps its rows in the key's order."""

    columns: str
    key: str
    indexes: Mapping[str, str] = {}
    by_key: bool = False


class TableColumn(NamedTuple):
    """One column; ``of`` is the table whose rows it goes with."""

    name: str
    kind: str
    is_optional: bool
    of: str
    default: str


TABLES = {
    "meta": Table("name text, value any?", "name", by_key=True),
    "items": Table(
        "n serial, id text, drive text, path text, kind text,"
        " state text,"  # live | archived | deleted (in the bin)
        " version int,"
        " hash text,"  # of the current version: content and all fields
        " text_hash text,"  # of the content alone
        " title text, description text, category text?, domain text?, severity text?, importance int?, loading text?,"
        " thread text?, seq int?, source_url text?, metadata json,"
        " fields json,"  # all fields as JSON; the columns above are copies to filter by
        " size int, created_at int, updated_at int, indexed_at int?,"
        " deleted_at int?,"  # when it was put away: into the archive or the bin
        " file_mtime int?, file_size int?,"  # what the file looked like when it was read, to notice changes cheaply
        " file_hash text?, file_fields json?,"  # of its bytes, and what it says of itself
        " provenance json = '',"  # of the current version; empty for unknown
        " vouched int?",  # the newest version that the user wrote or agreed to
        "n",
        {
            "items_id": "unique id",
            "items_ref": "unique drive, path where state <> 'deleted'",
            "items_path": "drive, path",
            "items_updated": "updated_at",
            "items_thread": "thread, seq where thread IS NOT NULL",
            "items_text_hash": "text_hash",
            "items_kind": "kind, state",
            "items_put_away": "deleted_at where deleted_at IS NOT NULL",
            "items_unreviewed": "n where vouched <> version",
        },
    ),
    "item_tags": Table("tag text, item int>items", "tag, item", {"item_tags_item": "item"}, by_key=True),
    "versions": Table(
        "item int>items, number int, previous int?, hash text, text_hash text, drive text, path text, kind text,"
        " state text, fields json,"
        " layout bytes,"  # int64 rows: chunk, first character, first line, last line
        " marks json,"  # [[offset, label], ...]
        " first_line int, size int,"
        " blob text?,"  # hash of the bytes of a file that holds no text
        " created_at int, provenance json = ''",
        "item, number",
        {"versions_created": "created_at"},
    ),
    "blobs": Table("hash text, data bytes", "hash"),
    "chunks": Table(
        "id reserved, item int>items,"
        " state int,"  # 0 live, 1 superseded (searchable as of its time), 2 deleted
        " live_from int, live_until int?,"
        " key bytes,"  # hash of all that is indexed with it: same key, same chunk
        " embed_hash bytes,"  # hash of exactly what is embedded
        " lengths bytes,"  # uint32 terms per field
        " heading text,"
        " prefix text,"  # embedded in front of the text
        " text text,"
        " language text = ''",  # its code; empty for the store's own, and for unknown ones
        "id",
        {
            "chunks_item": "item",
            "chunks_embed": "embed_hash",
            "chunks_language": "language where language <> ''",
        },
    ),
    # ``about`` is what the user said the folder holds.
    "roots": Table("machine text, path text, globs json, added_at int, about text = ''", "machine, path"),
    "segments": Table(
        "id serial,"
        " state int,"  # 0 being built by a merge, 1 in use, 2 replaced and to be cleared
        " docs int,"
        " chunk_ids bytes, item_ids bytes,"  # int64
        " lengths bytes,"  # uint32, field by field
        " states bytes",  # uint8, as of the segment's making; later changes stand in retired
        "id",
    ),
    "postings": Table("segment int, term text, data bytes", "segment, term", by_key=True),
    "retired": Table("seq serial, chunk int, state int", "seq"),
    "vocabulary": Table("word text, term text", "word, term", by_key=True),
    "merges": Table("target int, sources text, owner text, lease_until int", "target"),
    # Field -1 counts the live chunks, 0 to 5 their terms in each field, 6 to 11 the chunks that have the field.
    "lexical_stats": Table("field int, total int", "field"),
    "fingerprints": Table(
        "id serial, name text, dimensions int, active flag = false", "id", {"fingerprints_name": "unique name"}
    ),
    # float32, one per text that was embedded: the truth, and the cache.
    "vectors": Table(
        "id serial, fingerprint int, hash bytes, vector bytes", "id", {"vectors_hash": "unique fingerprint, hash"}
    ),
    # Which chunk has which vector, with its sketch, in the order of embedding.
    "vector_blocks": Table(
        "id serial, fingerprint int, entries int,"
        " chunk_ids bytes, item_ids bytes, vector_ids bytes,"  # int64
        " sketches bytes",  # uint64, word by word: signs of the vector, one bit each
        "id",
        {"vector_blocks_fingerprint": "fingerprint"},
    ),
    # Chunks that wait for their vector: pending, running or failed.
    "jobs": Table(
        "fingerprint int, chunk int, kind text, state text, attempts int = 0, not_before int = 0, lease_until int?,"
        " owner text?, error text?",
        "fingerprint, chunk",
        {"jobs_state": "state, not_before"},
        by_key=True,
    ),
    "usage": Table(
        "item int>items, retrieval_count int = 0, last_retrieved_at int?, access_count int = 0, last_accessed_at int?,"
        " decay_score real = 1.0, decay_at int?",
        "item",
    ),
    "links": Table(
        "id serial, source int>items,"
        " target int?>items,"  # none while no item answers to the name
        " type text,"
        " origin text,"  # manual | text | mention | found
        " text text, name text,"  # the target as the source's text has it, and what it would be called
        " created_at int",
        "id",
        {
            "links_once": "unique source, origin, type, name, text,"
            " (CASE WHEN origin = 'manual' THEN target ELSE 0 END)",
            "links_target": "target where target IS NOT NULL",
            "links_name": "name where origin = 'text'",
        },
    ),
    # What a link in a text may call an item: file name, title, address.
    "item_names": Table("name text, item int>items", "name, item", {"item_names_item": "item"}, by_key=True),
    "query_log": Table(
        "id serial, text text,"
        " tool text,"  # what asked: search, similar, a tool of an agent
        " profile text, results int,"
        " refs json,"  # the best first
        " ms real, at int, asker json = '',"
        " fit real?",  # how well the best hit fitted; empty where it was not measured
        "id",
        {"query_log_at": "at"},
    ),
    "retrieval_log": Table(
        "id serial, item int>items, ref text, version int,"
        " query int?,"  # in query_log; none when the item was opened by its name
        " score real?, at int, asker json = ''",
        "id",
        {"retrieval_log_at": "at", "retrieval_log_item": "item"},
    ),
    "feedback": Table(
        "id serial, query text, item int?>items?, ref text,"
        " verdict text,"  # accepted | modified | dismissed | failed
        " counted flag,"  # whether weights learn from it: not when it failed or learning stood still
        " at int",
        "id",
        {"feedback_item": "item"},
    ),
    # What is in force now; feedback up to ``since`` no longer counts, because it was rolled back.
    "learned": Table("profile text, shift real, since int", "profile", by_key=True),
    "weight_log": Table(
        "id serial, profile text, at int, reason text, before json, after json, shift_before real, shift_after real,"
        " counted int",
        "id",
    ),
    # How many of each kind stand in an item's current text.
    "secrets": Table("item int>items, kind text, count int", "item, kind", by_key=True),
    # The Markdown files that memories, notes and articles live in, as last seen.
    "knowledge_files": Table(
        "name text,"  # below the knowledge folder
        " item int?,"  # the number of its item; none while it cannot be read
        " mtime int,"  # nanoseconds; -1 when it was read too soon after a change to tell the next one
        " size int, hash text,"
        " mark text,"  # hash and state of the version it stands for
        " problem text",  # why it cannot be read; empty when it can
        "name",
        {"knowledge_files_item": "item", "knowledge_files_name": "anycase(name)"},
        by_key=True,
    ),
    # Changes that make no version: archived, removed, erased, accepted, refused. ``item`` is the item's id.
    "audit": Table(
        "id serial, at int, what text, item text, ref text, version int, provenance json",
        "id",
        {"audit_at": "at", "audit_item": "item"},
    ),
    # What sessions seem to teach; those that were decided stay, so as not to come back.
    "proposals": Table(
        "id text, at int,"
        " state text,"  # waiting | accepted | refused
        " kind text,"  # rule | preference | correction | decision | fact | fix | answer
        " way text, text text, quote text,"
        " scope text,"  # file | project | user
        " file text, session text, turn int, branch text,"
        " became text",  # the ref of the memory that an accepted one became
        "id",
        {"proposals_state": "state", "proposals_session": "session"},
        by_key=True,
    ),
    # What one call of a verb did, so that it can be undone.
    "steps": Table(
        "id text, at int, verb text, provenance json,"
        " undone text,"  # the step that undid it; empty while it holds
        " erased int",  # how many items it erased, which nothing brings back
        "id",
        {"steps_at": "at"},
    ),
    "step_items": Table(
        "step text>steps, item int>items,"
        " version int, state text,"  # before the step; version 0 if the step made the item
        " new_version int, new_state text,"
        " vouched int?, provenance json?",  # before it, where the step changed whose words they are
        "step, item",
        {"step_items_item": "item"},
    ),
    "step_links": Table(
        "step text>steps, source int, target int, type text, added int", "step, source, target, type", by_key=True
    ),
}
"""What both databases have."""

_COLUMN = re.compile(r"\s*(\w+) (\w+)(\??)(?:>(\w+\??))?(?: = (.+))?")
_SQLITE = {
    "serial": "INTEGER", "reserved": "INTEGER", "int": "INTEGER", "flag": "INTEGER", "text": "TEXT", "bytes": "BLOB",
    "real": "REAL", "any": "ANY", "json": "TEXT",
}  # fmt: skip


def columns_of(table: Table) -> list[TableColumn]:
    """The columns of a table, in order."""
    columns = []
    for part in table.columns.split(","):
        matched = _COLUMN.fullmatch(part)
        assert matched is not None, part
        name, kind, optional, of, default = matched.groups(default="")
        columns.append(TableColumn(name=name, kind=kind, is_optional=bool(optional), of=of, default=default))
    return columns


def column_names(table: str) -> tuple[str, ...]:
    """The names of a table's columns, without that of a number which it gives itself."""
    return tuple(column.name for column in columns_of(TABLES[table]) if column.kind != "serial")


def sqlite_statements(name: str, table: Table) -> list[str]:
    """What makes a table and its indexes in SQLite."""
    columns = columns_of(table)
    parts = []
    for column in columns:
        key = column.kind in ("serial", "reserved")
        of = f" REFERENCES {target_of(column)} ON DELETE {when_gone(column)}" if column.of else ""
        parts.append(
            f"{column.name} {_SQLITE[column.kind]}{' PRIMARY KEY AUTOINCREMENT' if key else ''}"
            f"{'' if column.is_optional or key else ' NOT NULL'}"
            f"{f' DEFAULT {column.default}' if column.default else ''}{of}"
        )
    if not any(column.kind in ("serial", "reserved") for column in columns):
        parts.append(f"PRIMARY KEY({table.key})")
    made = f"CREATE TABLE {name}({', '.join(parts)}) STRICT{', WITHOUT ROWID' if table.by_key else ''}"
    return [made, *(index_statement(index, name, spec) for index, spec in table.indexes.items())]


def target_of(column: TableColumn) -> str:
    """The key of the table whose rows a column goes with."""
    table = column.of.removesuffix("?")
    return f"{table}({TABLES[table].key})"


def when_gone(column: TableColumn) -> str:
    """What becomes of a row when the one is gone that it belongs to."""
    return "SET NULL" if column.of.endswith("?") else "CASCADE"


def index_statement(name: str, table: str, spec: str, *, ignoring_case: str = r"\1 COLLATE NOCASE") -> str:
    """What makes an index; ``ignoring_case`` says how a column is compared in which letters may be capital or small."""
    columns, _, condition = spec.removeprefix("unique ").partition(" where ")
    columns = re.sub(r"anycase\((\w+)\)", ignoring_case, columns)
    unique = "UNIQUE " if spec.startswith("unique ") else ""
    return f"CREATE {unique}INDEX {name} ON {table}({columns}){f' WHERE {condition}' if condition else ''}"
