"""The tables of sync through folders, as the migration makes them that first has them."""

from __future__ import annotations

from ricordo.store.sqlite.connection import Connection

_TABLES = """
CREATE TABLE sync_entries(         -- what machines said that sync through a folder, this one among them
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uid TEXT NOT NULL UNIQUE,        -- its name, which follows from what it says
  kind TEXT NOT NULL,              -- version | state | erase | link | feedback | word
  item TEXT NOT NULL,              -- the item's id
  clock INTEGER NOT NULL,          -- the logical time of its writer
  writer TEXT NOT NULL,            -- the id of the machine
  parents TEXT NOT NULL,           -- JSON: the uids of what it was made on top of
  body BLOB NOT NULL,              -- compressed JSON; empty once it was erased
  folder INTEGER                   -- the folder that it came through; none for what was done here
) STRICT;
CREATE INDEX sync_entries_item ON sync_entries(item);
CREATE INDEX sync_entries_clock ON sync_entries(clock);
CREATE INDEX sync_entries_others ON sync_entries(kind) WHERE kind IN ('link', 'feedback');
CREATE TABLE sync_erased(uid TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE sync_items(           -- the items that sync, as they were when files and store last agreed
  item TEXT PRIMARY KEY,
  seen TEXT NOT NULL,              -- version, hash, state, the user's word and ref
  wanted TEXT NOT NULL,            -- the ref that it has unless another item has it; empty in the bin
  apart TEXT NOT NULL              -- JSON: versions that were written apart from each other, the current one last
) STRICT, WITHOUT ROWID;
CREATE INDEX sync_items_wanted ON sync_items(wanted);
CREATE TABLE sync_versions(        -- which entry each version is
  item TEXT NOT NULL, number INTEGER NOT NULL, uid TEXT NOT NULL, hash TEXT NOT NULL, created_at INTEGER NOT NULL,
  PRIMARY KEY(item, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE sync_machines(        -- the machines that the user let in
  machine TEXT PRIMARY KEY, name TEXT NOT NULL, let_in_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE sync_folders(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  machine TEXT NOT NULL,           -- the id of the machine that has this path
  path TEXT NOT NULL,
  trust_all INTEGER NOT NULL,      -- whether every machine in it is let in
  log TEXT NOT NULL,               -- the log that this machine writes there
  number INTEGER NOT NULL,         -- the last file of the log
  digest TEXT NOT NULL,
  upto INTEGER NOT NULL,           -- entries up to this id are in the log
  is_whole INTEGER NOT NULL,       -- whether entries that came through this folder are in the log, too
  stale INTEGER NOT NULL,          -- 1 if the log must be written anew (texts were erased, files are gone), 2 meanwhile
  added_at INTEGER NOT NULL,
  UNIQUE(machine, path)
) STRICT;
CREATE TABLE sync_files(           -- the files of logs that were written or taken in
  folder INTEGER NOT NULL, place TEXT NOT NULL, PRIMARY KEY(folder, place)
) STRICT, WITHOUT ROWID;
"""


def make_sync_tables(connection: Connection) -> None:
    """What machines that sync through a folder told each other."""
    connection.run(_TABLES)
