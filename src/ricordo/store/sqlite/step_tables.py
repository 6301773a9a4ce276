"""The tables of steps, which say what each call of a verb changed."""

from __future__ import annotations

from ricordo.store.sqlite.connection import Connection

_TABLES = """
CREATE TABLE steps(                -- what one call of a verb did, so that it can be undone
  id TEXT PRIMARY KEY,
  at INTEGER NOT NULL,
  verb TEXT NOT NULL,
  provenance TEXT NOT NULL,
  undone TEXT NOT NULL,            -- the step that undid it; empty while it holds
  erased INTEGER NOT NULL          -- how many items it erased, which nothing brings back
) STRICT;
CREATE INDEX steps_at ON steps(at);
CREATE TABLE step_items(
  step TEXT NOT NULL REFERENCES steps(id) ON DELETE CASCADE,
  item INTEGER NOT NULL REFERENCES items(n) ON DELETE CASCADE,
  version INTEGER NOT NULL,        -- before the step; 0 if the step made the item
  state TEXT NOT NULL,
  new_version INTEGER NOT NULL,    -- after it
  new_state TEXT NOT NULL,
  vouched INTEGER,                 -- before it, where the step changed whose words they are
  provenance TEXT,
  PRIMARY KEY(step, item)
) STRICT;
CREATE INDEX step_items_item ON step_items(item);
CREATE TABLE step_links(           -- links by hand that were made or removed
  step TEXT NOT NULL REFERENCES steps(id) ON DELETE CASCADE,
  source INTEGER NOT NULL, target INTEGER NOT NULL, type TEXT NOT NULL, added INTEGER NOT NULL,
  PRIMARY KEY(step, source, target, type)
) STRICT, WITHOUT ROWID;
"""


def make_step_tables(connection: Connection) -> None:
    """What each step changed, so that it can be undone."""
    connection.run(_TABLES)
