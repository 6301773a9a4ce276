"""The tables of proposals, and of what finding them cost."""

from __future__ import annotations

from ricordo.store.sqlite.connection import Connection

_TABLES = """
CREATE TABLE proposals(            -- what sessions seem to teach; those that were decided stay, so as not to come back
  id TEXT PRIMARY KEY,
  at INTEGER NOT NULL,             -- when the turn was said
  state TEXT NOT NULL,             -- waiting | accepted | refused
  kind TEXT NOT NULL,              -- rule | correction | decision | fix | answer
  way TEXT NOT NULL,               -- pattern | model
  text TEXT NOT NULL,
  quote TEXT NOT NULL,
  scope TEXT NOT NULL,             -- file | project | user
  file TEXT NOT NULL,
  session TEXT NOT NULL,
  turn INTEGER NOT NULL,
  branch TEXT NOT NULL,
  became TEXT NOT NULL             -- the ref of the memory that an accepted one became
) STRICT, WITHOUT ROWID;
CREATE INDEX proposals_state ON proposals(state);
CREATE INDEX proposals_session ON proposals(session);
CREATE TABLE proposal_reads(       -- up to which turn a language model has read a session
  session TEXT PRIMARY KEY, turn INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE spending(             -- one row for each call that costs something
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  purpose TEXT NOT NULL,
  session TEXT NOT NULL,
  calls INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  dollars REAL                     -- none where the price is not known
) STRICT;
CREATE INDEX spending_at ON spending(at);
"""


def make_proposal_tables(connection: Connection) -> None:
    """Proposals, how far sessions were read for them, and what that cost."""
    connection.run(_TABLES)
