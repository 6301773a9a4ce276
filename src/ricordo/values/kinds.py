"""The kinds of items, in one table."""

from __future__ import annotations

KINDS: tuple[str, ...] = (
    "document", "article", "memory", "note", "entity", "resource", "entry", "skill", "session",
)  # fmt: skip
CHECKPOINT = "checkpoint"
"""The category of points in sessions to fork from: kept beside everything else, found only when it is asked for."""
SESSION = "session"
"""The category of the item that stands for a whole session; its turns have none."""
