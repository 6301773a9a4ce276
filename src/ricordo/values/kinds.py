"""The kinds of items, and the words a caller may choose from, each list once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ricordo.frozen import frozen


@frozen
class Kind:
    """What is special about the items of one kind. Each lives on a drive of its own name, but for ``document``."""

    name: str
    folder: str = ""
    """The folder of its Markdown files in the knowledge folder; empty for kinds that have none."""
    is_remembered: bool = False
    """Whether people and agents save it with verbs of memory; it is one chunk while it fits the model's window."""
    is_redacted: bool = False
    """Whether secrets are removed from it by default."""
    mentions: bool = False
    """Whether entities that its text names are linked to it."""


@frozen
class DriveTraits:
    """What is special about a drive."""

    name: str
    has_origin: bool = False
    """Whether ``refresh`` can read its items again from where they came."""
    is_outside: bool = False
    """Whether its texts come from outside: an agent sees them fenced, as data."""
    has_files: bool = False
    """Whether an item on it may have a file in the knowledge folder."""


_KINDS: tuple[Kind, ...] = (
    Kind("document"),
    Kind("article", folder="articles"),
    Kind("memory", folder="memories", is_remembered=True, is_redacted=True, mentions=True),
    Kind("note", folder="notes", is_remembered=True, is_redacted=True, mentions=True),
    Kind("entity", is_remembered=True, is_redacted=True),
    Kind("resource", is_remembered=True, is_redacted=True),
    Kind("entry", is_remembered=True, is_redacted=True, mentions=True),
    Kind("skill"),
    Kind("session", is_redacted=True, mentions=True),
    Kind("tool"),
)

_DRIVES: tuple[DriveTraits, ...] = (
    DriveTraits("disk", has_origin=True),
    DriveTraits("url", has_origin=True, is_outside=True),
    DriveTraits("github", has_origin=True, is_outside=True),
    DriveTraits("google-docs", has_origin=True, is_outside=True),
    DriveTraits("git", is_outside=True),
    DriveTraits("agent", has_files=True),
    DriveTraits("article", has_files=True),
    DriveTraits("memory", has_files=True),
    DriveTraits("note", has_files=True),
    DriveTraits("entity", has_files=True),
    DriveTraits("resource", has_files=True),
    DriveTraits("entry", has_files=True),
    DriveTraits("skill"),
    DriveTraits("session", is_outside=True),
    DriveTraits("tool", is_outside=True),
    DriveTraits("program", is_outside=True),
)

KINDS: tuple[str, ...] = tuple(kind.name for kind in _KINDS)
REMEMBERED_KINDS = tuple(kind.name for kind in _KINDS if kind.is_remembered)
REDACTED_KINDS = frozenset(kind.name for kind in _KINDS if kind.is_redacted)
MENTIONING_KINDS = frozenset(kind.name for kind in _KINDS if kind.mentions)
KNOWLEDGE_FOLDERS: dict[str, str] = {kind.name: kind.folder for kind in _KINDS if kind.folder}

DRIVES: tuple[str, ...] = tuple(drive.name for drive in _DRIVES)
KIND_DRIVES = frozenset(DRIVES) & frozenset(KINDS)
"""Drives that are named after the kind of their items."""
DRIVES_WITHOUT_ORIGIN = frozenset(drive.name for drive in _DRIVES if not drive.has_origin)
OUTSIDE_DRIVES = frozenset(drive.name for drive in _DRIVES if drive.is_outside)
DRIVES_WITH_FILES = frozenset(drive.name for drive in _DRIVES if drive.has_files)

CHECKPOINT = "checkpoint"
"""The category of checkpoints (points in sessions to fork from); a search finds them only if it asks for them."""
SESSION = "session"
"""The category of the item that describes a whole session; the items of its turns have none."""


def kind_of_drive(drive: str) -> str:
    """The kind of a new item on a drive, unless another is given."""
    return drive if drive in KIND_DRIVES else "document"


FACETS = ("correction", "frustration", "praise")
"""What a turn of a session may be."""


Mode = Literal["scan", "full"]
By = Literal["both", "words", "meaning", "text"]
OnConflict = Literal["skip", "overwrite", "error"]
OnDuplicate = Literal["save", "skip", "merge", "supersede"]
Verdict = Literal["accepted", "modified", "dismissed", "failed"]
ReviewDecision = Literal["accept", "refuse", "always", "never", "ask"]
Writer = Literal["user", "agent"]
LogWhat = Literal["asked", "changed", "told"]
LogSummary = Literal["query", "tool", "day"]

ON_CONFLICT: tuple[str, ...] = ("skip", "overwrite", "error")
"""What to do when a ref is taken already."""
ON_DUPLICATE: tuple[str, ...] = ("save", "skip", "merge", "supersede")
"""What to do when nearly the same is known already."""
VERDICTS: Mapping[str, float | None] = {"accepted": 1.0, "modified": 0.5, "dismissed": 0.0, "failed": None}
"""The value of each verdict; ``failed`` has none, because it says that something broke, not whether the item helped."""
IMPORT_FORMATS = ("ricordo", "obsidian", "basic-memory", "mem0", "memory-server", "claude", "chatgpt")
"""The programs whose files ``import`` reads."""
