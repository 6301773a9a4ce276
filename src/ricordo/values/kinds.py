"""The kinds of items, their drives, and the words a caller may choose from, each list once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

KINDS = ("document", "article", "memory", "note", "entity", "resource", "entry", "skill", "session", "tool", "api")
REMEMBERED_KINDS = ("memory", "note", "entity", "resource", "entry")
"""What people and agents save with verbs of memory; it is one chunk while it fits the model's window."""
REDACTED_KINDS = frozenset({*REMEMBERED_KINDS, "session"})
"""Kinds from which secrets are removed by default."""
MENTIONING_KINDS = frozenset({"memory", "note", "entry", "session"})
"""Kinds whose texts are linked to the entities that they name."""
KNOWLEDGE_FOLDERS = {"article": "articles", "memory": "memories", "note": "notes"}
"""The kinds that have Markdown files, and their folders in the knowledge folder."""

_READ_AGAIN = ("disk", "url", "github", "google-docs")
"""Drives whose items ``refresh`` reads again from where they came."""
KIND_DRIVES = frozenset(KINDS) - {"document"}
"""Drives that are named after the kind of their items."""
DRIVES = (*_READ_AGAIN, "git", "agent", *KINDS[1:], "program")
DRIVES_WITHOUT_ORIGIN = frozenset(DRIVES).difference(_READ_AGAIN)
OUTSIDE_DRIVES = frozenset({"url", "github", "google-docs", "git", "session", "tool", "program", "api"})
"""Drives whose texts come from outside: an agent sees them fenced, as data."""
RECORD_DRIVES = frozenset({"git", "session"})
"""Drives of records of what was done and said, which are no sources."""
DRIVES_APART = ("api",)
"""Drives whose items are archived from the start, so that other searches do not see them or get slower. A search finds
them if it asks for their kind, or if a step of their plugin brings them.
"""
DRIVES_WITH_FILES = frozenset({"agent", "article", *REMEMBERED_KINDS})
"""Drives whose items may have a file in the knowledge folder."""

CHECKPOINT = "checkpoint"
"""The category of checkpoints (points in sessions to fork from); a search finds them only if it asks for them."""
SESSION = "session"
"""The category of the item that describes a whole session; the items of its turns have none."""
WROTE = "wrote"
"""In the metadata of a turn: by file, the marks of the lines that it wrote (``text.line_marks``)."""
FACETS = ("correction", "frustration", "praise")
"""What a turn of a session may be."""


def kind_of_drive(drive: str) -> str:
    """The kind of a new item on a drive, unless another is given."""
    return drive if drive in KIND_DRIVES else "document"


Mode = Literal["scan", "full"]
By = Literal["both", "words", "meaning", "text"]
OnConflict = Literal["skip", "overwrite", "error"]
OnDuplicate = Literal["save", "skip", "merge", "supersede"]
Verdict = Literal["accepted", "modified", "dismissed", "failed"]
ReviewDecision = Literal["accept", "refuse", "always", "never", "ask"]
Writer = Literal["user", "agent"]
LogWhat = Literal["asked", "changed", "told"]
LogSummary = Literal["query", "tool", "day"]

ON_CONFLICT: tuple[str, ...] = get_args(OnConflict)
"""What to do when a ref is taken already."""
ON_DUPLICATE: tuple[str, ...] = get_args(OnDuplicate)
"""What to do when nearly the same is known already."""
VERDICTS: Mapping[str, float | None] = {"accepted": 1.0, "modified": 0.5, "dismissed": 0.0, "failed": None}
"""The value of each verdict; ``failed`` has none, because it says that something broke, not whether the item helped."""
