"""The tables of a SQLite store, as ordered migrations: one function, one transaction, one number each.

A new store takes all in one transaction. Canonical tables hold what people and sources gave (items, versions, chunks,
blobs, roots, manual links); derived ones (segments, postings, retired, vocabulary, vectors, item names, links from
texts, secrets, knowledge files) can be rebuilt from them. Times are whole microseconds since 1970, UTC.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

from ricordo.config.machine import this_machine
from ricordo.errors import NewerSchema, ReadOnlyStore
from ricordo.store.sql.machines import HOME_MACHINE
from ricordo.store.sqlite.connection import APPLICATION_ID, Connection, Database
from ricordo.store.sqlite.proposal_tables import make_proposal_tables
from ricordo.store.sqlite.step_tables import make_step_tables
from ricordo.store.sqlite.sync_tables import make_sync_tables

_FIRST = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;

CREATE TABLE items(
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  drive TEXT NOT NULL,
  path TEXT NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,             -- live | archived | deleted (in the bin)
  version INTEGER NOT NULL,
  hash TEXT NOT NULL,              -- of the head version: content and all fields
  text_hash TEXT NOT NULL,         -- of the content alone
  title TEXT NOT NULL,
  description TEXT NOT NULL,
  category TEXT,
  domain TEXT,
  severity TEXT,
  importance INTEGER,
  loading TEXT,
  thread TEXT,
  seq INTEGER,
  source_url TEXT,
  metadata TEXT NOT NULL,
  fields TEXT NOT NULL,            -- all fields as JSON; the columns above are copies to filter by
  size INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  indexed_at INTEGER,
  deleted_at INTEGER,              -- when it was put away: into the archive or the bin
  file_mtime INTEGER,              -- what the file looked like when it was read, to notice changes cheaply
  file_size INTEGER
) STRICT;
CREATE UNIQUE INDEX items_ref ON items(drive, path) WHERE state <> 'deleted';
CREATE INDEX items_path ON items(drive, path);
CREATE INDEX items_updated ON items(updated_at);
CREATE INDEX items_thread ON items(thread, seq) WHERE thread IS NOT NULL;
CREATE INDEX items_text_hash ON items(text_hash);

CREATE TABLE item_tags(
  tag TEXT NOT NULL, item INTEGER NOT NULL REFERENCES items(n) ON DELETE CASCADE, PRIMARY KEY(tag, item)
) STRICT, WITHOUT ROWID;
CREATE INDEX item_tags_item ON item_tags(item);

CREATE TABLE versions(
  item INTEGER NOT NULL REFERENCES items(n) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  previous INTEGER,
  hash TEXT NOT NULL,
  text_hash TEXT NOT NULL,
  drive TEXT NOT NULL,
  path TEXT NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  fields TEXT NOT NULL,
  layout BLOB NOT NULL,            -- int64 rows: chunk, first character, first line, last line
  marks TEXT NOT NULL,             -- JSON [[offset, label], ...]
  first_line INTEGER NOT NULL,
  size INTEGER NOT NULL,
  blob TEXT,                       -- hash of the bytes of a file that holds no text
  created_at INTEGER NOT NULL,
  PRIMARY KEY(item, number)
) STRICT;

CREATE TABLE blobs(hash TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT;

CREATE TABLE chunks(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  item INTEGER NOT NULL REFERENCES items(n) ON DELETE CASCADE,
  state INTEGER NOT NULL,          -- 0 live, 1 superseded (searchable as of its time), 2 deleted
  live_from INTEGER NOT NULL,
  live_until INTEGER,
  key BLOB NOT NULL,               -- hash of all that is indexed with it: same key, same chunk
  embed_hash BLOB NOT NULL,        -- hash of exactly what is embedded
  lengths BLOB NOT NULL,           -- uint32 terms per field
  heading TEXT NOT NULL,
  prefix TEXT NOT NULL,            -- embedded in front of the text
  text TEXT NOT NULL
) STRICT;
CREATE INDEX chunks_item ON chunks(item);
CREATE INDEX chunks_embed ON chunks(embed_hash);

CREATE TABLE roots(path TEXT PRIMARY KEY, globs TEXT NOT NULL, added_at INTEGER NOT NULL) STRICT;

CREATE TABLE segments(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  state INTEGER NOT NULL,          -- 0 being built by a merge, 1 in use, 2 replaced and to be cleared
  docs INTEGER NOT NULL,
  chunk_ids BLOB NOT NULL,         -- int64
  item_ids BLOB NOT NULL,          -- int64
  lengths BLOB NOT NULL,           -- uint32, field by field
  states BLOB NOT NULL             -- uint8, as of the segment's making; later changes stand in retired
) STRICT;
CREATE TABLE postings(
  segment INTEGER NOT NULL, term TEXT NOT NULL, data BLOB NOT NULL, PRIMARY KEY(segment, term)
) STRICT, WITHOUT ROWID;
CREATE TABLE retired(
  seq INTEGER PRIMARY KEY AUTOINCREMENT, chunk INTEGER NOT NULL, state INTEGER NOT NULL
) STRICT;
CREATE TABLE vocabulary(word TEXT PRIMARY KEY, term TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE merges(
  target INTEGER PRIMARY KEY, sources TEXT NOT NULL, owner TEXT NOT NULL, lease_until INTEGER NOT NULL
) STRICT;
CREATE TABLE lexical_stats(field INTEGER PRIMARY KEY, total INTEGER NOT NULL) STRICT;

CREATE TABLE fingerprints(
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, dimensions INTEGER NOT NULL, active INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE vectors(              -- float32, one per text embedded: the truth, and the cache
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  fingerprint INTEGER NOT NULL REFERENCES fingerprints(id),
  hash BLOB NOT NULL,
  vector BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX vectors_hash ON vectors(fingerprint, hash);
CREATE TABLE vector_blocks(        -- which chunk has which vector, with its sketch, in the order of embedding
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  fingerprint INTEGER NOT NULL REFERENCES fingerprints(id),
  entries INTEGER NOT NULL,
  chunk_ids BLOB NOT NULL,         -- int64
  item_ids BLOB NOT NULL,          -- int64
  vector_ids BLOB NOT NULL,        -- int64
  sketches BLOB NOT NULL           -- uint64, word by word: signs of the vector, one bit each
) STRICT;
CREATE TABLE jobs(                 -- chunks that wait for their vector
  fingerprint INTEGER NOT NULL REFERENCES fingerprints(id),
  chunk INTEGER NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,             -- pending | running | failed
  attempts INTEGER NOT NULL DEFAULT 0,
  not_before INTEGER NOT NULL DEFAULT 0,
  lease_until INTEGER,
  owner TEXT,
  error TEXT,
  PRIMARY KEY(fingerprint, chunk)
) STRICT, WITHOUT ROWID;
CREATE INDEX jobs_state ON jobs(state, not_before);

CREATE TABLE usage(
  item INTEGER PRIMARY KEY REFERENCES items(n) ON DELETE CASCADE,
  retrieval_count INTEGER NOT NULL DEFAULT 0,
  last_retrieved_at INTEGER,
  access_count INTEGER NOT NULL DEFAULT 0,
  last_accessed_at INTEGER,
  decay_score REAL NOT NULL DEFAULT 1.0,
  decay_at INTEGER
) STRICT;

CREATE TABLE links(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  source INTEGER NOT NULL REFERENCES items(n) ON DELETE CASCADE,
  target INTEGER REFERENCES items(n) ON DELETE CASCADE,  -- none while no item answers to the name
  type TEXT NOT NULL,
  origin TEXT NOT NULL,            -- manual | text
  text TEXT NOT NULL,              -- the target as the source's text has it; empty for manual links
  name TEXT NOT NULL,              -- what the target would be called; empty for manual links
  created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX links_once ON links(source, origin, type, name, text, iif(origin = 'manual', target, 0));
CREATE INDEX links_target ON links(target) WHERE target IS NOT NULL;
CREATE INDEX links_name ON links(name) WHERE origin = 'text';
CREATE TABLE item_names(           -- what a link in a text may call an item: file name, title, address
  name TEXT NOT NULL, item INTEGER NOT NULL REFERENCES items(n) ON DELETE CASCADE, PRIMARY KEY(name, item)
) STRICT, WITHOUT ROWID;
CREATE INDEX item_names_item ON item_names(item);

CREATE TABLE query_log(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  text TEXT NOT NULL,
  tool TEXT NOT NULL,              -- what asked: search, semantic, similar, a tool of an agent
  profile TEXT NOT NULL,
  results INTEGER NOT NULL,
  refs TEXT NOT NULL,              -- JSON, the best first
  ms REAL NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX query_log_at ON query_log(at);
CREATE TABLE retrieval_log(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  item INTEGER NOT NULL REFERENCES items(n) ON DELETE CASCADE,
  ref TEXT NOT NULL,
  version INTEGER NOT NULL,
  query INTEGER,                   -- in query_log; none when the item was opened by its name
  score REAL,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX retrieval_log_at ON retrieval_log(at);
CREATE INDEX retrieval_log_item ON retrieval_log(item);
CREATE TABLE feedback(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  query TEXT NOT NULL,
  item INTEGER REFERENCES items(n) ON DELETE SET NULL,
  ref TEXT NOT NULL,
  verdict TEXT NOT NULL,           -- accepted | modified | dismissed | failed
  counted INTEGER NOT NULL,        -- whether weights learn from it: not when it failed or learning stood still
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX feedback_item ON feedback(item);
CREATE TABLE learned(              -- what is in force now, one row per profile that learned something
  profile TEXT PRIMARY KEY,
  shift REAL NOT NULL,
  since INTEGER NOT NULL           -- feedback up to this id no longer counts: it was rolled back
) STRICT, WITHOUT ROWID;
CREATE TABLE weight_log(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  profile TEXT NOT NULL,
  at INTEGER NOT NULL,
  reason TEXT NOT NULL,
  before TEXT NOT NULL,            -- JSON: the weights
  after TEXT NOT NULL,
  shift_before REAL NOT NULL,
  shift_after REAL NOT NULL,
  counted INTEGER NOT NULL
) STRICT;
"""


def _first(connection: Connection) -> None:
    connection.run(_FIRST)
    connection.run("INSERT INTO meta VALUES('index_epoch', 0), ('vector_epoch', 0), ('jobs_done', 0)")
    # field -1 holds the number of live chunks, 0..5 the live terms per field
    connection.run_many("INSERT INTO lexical_stats VALUES(?, 0)", [(field,) for field in range(-1, 6)])


def _second(connection: Connection) -> None:
    """What a file said when it was read: the hash of its bytes, and what it says of itself."""
    connection.run("ALTER TABLE items ADD COLUMN file_hash TEXT")
    connection.run("ALTER TABLE items ADD COLUMN file_fields TEXT")


_THIRD = """
CREATE INDEX items_kind ON items(kind, state);
CREATE TABLE secrets(              -- how many of each kind stand in an item's current text
  item INTEGER NOT NULL REFERENCES items(n) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY(item, kind)
) STRICT, WITHOUT ROWID;
"""


def _third(connection: Connection) -> None:
    """Items by kind, and the secrets that stand in texts."""
    connection.run(_THIRD)


_FOURTH = """
CREATE INDEX versions_created ON versions(created_at);
CREATE INDEX items_put_away ON items(deleted_at) WHERE deleted_at IS NOT NULL;
"""


def _fourth(connection: Connection) -> None:
    """What happened when, for timelines."""
    connection.run(_FOURTH)


_FIFTH = """
CREATE TABLE knowledge_files(      -- the Markdown files that memories, notes and articles live in, as last seen
  name TEXT PRIMARY KEY,           -- below the knowledge folder
  item INTEGER,                    -- the number of its item; none while it cannot be read
  mtime INTEGER NOT NULL,          -- nanoseconds; -1 when it was read too soon after a change to tell the next one
  size INTEGER NOT NULL,
  hash TEXT NOT NULL,              -- of its bytes
  mark TEXT NOT NULL,              -- hash and state of the version it stands for
  problem TEXT NOT NULL            -- why it cannot be read; empty when it can
) STRICT, WITHOUT ROWID;
CREATE INDEX knowledge_files_item ON knowledge_files(item);
CREATE INDEX knowledge_files_name ON knowledge_files(name COLLATE NOCASE);
"""


def _fifth(connection: Connection) -> None:
    """What the files of a knowledge folder looked like."""
    connection.run(_FIFTH)


def _sixth(connection: Connection) -> None:
    """How many live chunks have each field at all, for the average lengths of BM25."""
    import numpy as np

    rows = connection.rows("SELECT lengths FROM chunks WHERE state=0")
    lengths = np.frombuffer(b"".join(stored for (stored,) in rows), np.uint32).reshape(-1, 6)
    filled = (lengths > 0).sum(axis=0).tolist()
    connection.run_many("INSERT INTO lexical_stats VALUES(?, ?)", [(6 + at, int(n)) for at, n in enumerate(filled)])


_SEVENTH = """
ALTER TABLE versions ADD COLUMN provenance TEXT NOT NULL DEFAULT '';  -- JSON; empty for unknown
ALTER TABLE items ADD COLUMN provenance TEXT NOT NULL DEFAULT '';     -- that of the current version
ALTER TABLE items ADD COLUMN vouched INTEGER;     -- the newest version that the user wrote or agreed to
ALTER TABLE query_log ADD COLUMN asker TEXT NOT NULL DEFAULT '';      -- JSON: who asked
ALTER TABLE retrieval_log ADD COLUMN asker TEXT NOT NULL DEFAULT '';  -- who opened it, where no query says it
CREATE TABLE audit(                -- changes that make no version
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  what TEXT NOT NULL,              -- archived | removed | erased | accepted | refused
  item TEXT NOT NULL,              -- the item's id; its ref is empty once it was erased
  ref TEXT NOT NULL,
  version INTEGER NOT NULL,
  provenance TEXT NOT NULL
) STRICT;
CREATE INDEX items_unreviewed ON items(n) WHERE vouched <> version;
CREATE INDEX audit_at ON audit(at);
CREATE INDEX audit_item ON audit(item);
ALTER TABLE roots RENAME TO roots_before;
CREATE TABLE roots(
  machine TEXT NOT NULL,           -- the id of the machine that it was added on
  path TEXT NOT NULL, globs TEXT NOT NULL, added_at INTEGER NOT NULL, PRIMARY KEY(machine, path)
) STRICT;
INSERT INTO roots SELECT '', path, globs, added_at FROM roots_before;
DROP TABLE roots_before;
UPDATE items SET vouched = version WHERE loading = 'always' OR json_extract(fields, '$.source') = 'user';
"""


def _seventh(connection: Connection) -> None:
    """Who wrote each version, and whose files they are. What was trusted before this was recorded stays so.

    The files of a store belong to the machine that makes it, or first brings it to this schema.
    """
    connection.run(_SEVENTH)
    connection.set_meta(HOME_MACHINE, this_machine().id)
    connection.run("UPDATE roots SET machine=?", (this_machine().id,))


_ELEVENTH = """
ALTER TABLE chunks ADD COLUMN language TEXT NOT NULL DEFAULT '';  -- its code; empty for the store's, and unknown ones
CREATE INDEX chunks_language ON chunks(language) WHERE language <> '';
"""


def _eleventh(connection: Connection) -> None:
    """Which language each passage is in. Those of passages from before are found when the store is opened."""
    connection.run(_ELEVENTH)


_TWELFTH = """
ALTER TABLE query_log ADD COLUMN fit REAL;
ALTER TABLE vocabulary RENAME TO vocabulary_before;
CREATE TABLE vocabulary(word TEXT NOT NULL, term TEXT NOT NULL, PRIMARY KEY(word, term)) STRICT, WITHOUT ROWID;
INSERT INTO vocabulary SELECT word, term FROM vocabulary_before;
DROP TABLE vocabulary_before;
"""


def _twelfth(connection: Connection) -> None:
    """How well the best hit of a question fitted (unknown of those from before), and all terms of a word."""
    connection.run(_TWELFTH)


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (
    _first, _second, _third, _fourth, _fifth, _sixth, _seventh, make_proposal_tables, make_step_tables,
    make_sync_tables, _eleventh, _twelfth,
)  # fmt: skip
SCHEMA_VERSION = len(MIGRATIONS)


def migrate(database: Database) -> None:
    """Bring a store to the current schema; a store written by a newer Ricordo is refused untouched."""
    found = int(database.connection().pragma("user_version"))
    if found > SCHEMA_VERSION:
        raise NewerSchema(
            f"the store {database.path} has schema {found}, this Ricordo knows up to {SCHEMA_VERSION}",
            hint="Upgrade Ricordo (pip install -U ricordo); the store was not touched.",
        )
    if found == SCHEMA_VERSION:
        return
    if database.read_only:
        raise ReadOnlyStore(
            f"the store {database.path} needs a migration, but can only be read", hint="Make it writable once."
        )
    with nullcontext() if found else database.write(durable=True):  # a new store keeps all steps or none
        for number, step in enumerate(MIGRATIONS, start=1):
            with database.write(durable=True) as connection:
                if int(connection.pragma("user_version")) >= number:
                    continue  # another process was faster
                step(connection)
                connection.pragma("application_id", APPLICATION_ID)
                connection.pragma("user_version", number)
