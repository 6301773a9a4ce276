"""The tables of proposals."""

from __future__ import annotations

TABLES = {
    "proposals": (
        "id T NOT NULL, at bigint NOT NULL, state T NOT NULL, kind T NOT NULL, way T NOT NULL, text T NOT NULL,"
        " quote T NOT NULL, scope T NOT NULL, file T NOT NULL, session T NOT NULL, turn bigint NOT NULL,"
        " branch T NOT NULL, became T NOT NULL",
        "id",
    ),
}
INDEXES = (
    "CREATE INDEX ON proposals(workspace, state)",
    "CREATE INDEX ON proposals(workspace, session)",
)
