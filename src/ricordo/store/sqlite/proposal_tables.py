"""The tables of proposals."""

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
"""


def make_proposal_tables(connection: Connection) -> None:
    """Proposals and what was decided about them."""
    connection.run(_TABLES)
