"""What is known about sync between machines through a folder."""

from __future__ import annotations

from dataclasses import field

from ricordo.frozen import frozen
from ricordo.values.plain import LEFT_OUT_WHEN_EMPTY, Plain

WHAT: dict[str, tuple[str, ...]] = {
    "memories": ("memory", "entity", "resource", "entry"),
    "notes": ("note", "article"),
    "sessions": ("session",),
    "feedback": (),
    "documents": ("document",),
}
"""What can be chosen to travel, and the kinds of items that it means. Verdicts are no items."""
USUALLY = ("memories", "notes", "sessions", "feedback")


@frozen
class SyncMachine(Plain):
    """A machine that writes to a folder. Only what machines say that were let in is taken in."""

    id: str
    name: str
    let_in: bool
    is_this: bool = field(default=False, metadata=LEFT_OUT_WHEN_EMPTY)
    files: int = 0
    """How many files of it are in the folder."""
    waiting: int = 0
    """How many of them were not taken in."""


@frozen
class SyncFolder(Plain):
    """A folder through which this store syncs."""

    path: str
    is_there: bool
    unwritten: int = 0
    """How many changes of this store are not in the folder yet."""
    machines: tuple[SyncMachine, ...] = ()
    problems: tuple[str, ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)
    is_encrypted: bool = field(default=False, metadata=LEFT_OUT_WHEN_EMPTY)


@frozen
class SyncState(Plain):
    """The folders of a store, and what travels through them."""

    what: tuple[str, ...]
    folders: tuple[SyncFolder, ...]


@frozen
class SyncRun(Plain):
    """What one sync did."""

    written: int = 0
    """How many changes of this machine were written to folders."""
    taken: int = 0
    """How many changes of other machines were taken in."""
    created: int = 0
    updated: int = 0
    archived: int = 0
    removed: int = 0
    erased: int = 0
    apart: tuple[str, ...] = ()
    """The items that were changed on two machines; both are kept as versions."""
    problems: tuple[str, ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)
