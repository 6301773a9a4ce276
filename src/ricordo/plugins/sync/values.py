"""What sync through folders tells and keeps: folders, machines, what one run did."""

from __future__ import annotations

from collections.abc import Mapping
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

    @property
    def failure(self) -> tuple[str, str, str] | None:
        """The code, message and hint of what a command says if part of the work failed."""
        hint = "'ricordo sync-folder status' shows the folders and machines; 'accept' lets one in."
        return ("incomplete", self.problems[0], hint) if self.problems else None


@frozen
class KnownFolder:
    """A folder through which a store syncs, and the log that this machine writes there."""

    id: int
    path: str
    trust_all: bool
    log: str
    number: int
    digest: str
    upto: int
    is_whole: bool
    stale: int
    """1 if the log must be written anew, 2 while that is being done."""
    key: bytes = b""
    """What its files are encrypted with; empty if they are not."""
    is_complete: bool = False
    """Whether the log says all that this machine has to say, so that earlier logs of it are not needed."""


@frozen
class Taken:
    """What taking in a file of another machine did."""

    entries: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    apart: tuple[str, ...] = ()
