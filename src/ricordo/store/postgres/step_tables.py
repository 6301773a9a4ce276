"""The tables of steps, which say what each call of a verb changed."""

from __future__ import annotations

TABLES = {
    "steps": (
        "id T NOT NULL, at bigint NOT NULL, verb T NOT NULL, provenance T NOT NULL, undone T NOT NULL,"
        " erased bigint NOT NULL",
        "id",
    ),
    "step_items": (
        "step T NOT NULL, item bigint NOT NULL, version bigint NOT NULL, state T NOT NULL, new_version bigint NOT NULL,"
        " new_state T NOT NULL, vouched bigint, provenance T",
        "step, item",
    ),
    "step_links": (
        "step T NOT NULL, source bigint NOT NULL, target bigint NOT NULL, type T NOT NULL, added bigint NOT NULL",
        "step, source, target, type",
    ),
}
INDEXES = (
    "CREATE INDEX ON steps(workspace, at)",
    "CREATE INDEX ON step_items(workspace, item)",
)
