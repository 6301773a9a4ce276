"""The results of long jobs: refreshing, watching, embedding, exporting, importing, backing up, vacuuming."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ricordo.frozen import frozen
from ricordo.values.items import Saved
from ricordo.values.plain import LEFT_OUT_WHEN_EMPTY, NOT_SHOWN, Plain, rounded


@frozen
class ExportReport(Plain):
    """What an export wrote; ``records`` counts by type, items among them."""

    file: str
    bytes: int
    records: Mapping[str, int]
    left_out: tuple[str, ...] = ()
    """With ``salvage``: what could not be read, and what is no longer as it was saved."""


@frozen
class ImportReport:
    """What an import did, item by item; ``records`` counts what came with them and was new: links, verdicts, …"""

    saved: AddReport
    records: Mapping[str, int] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        return self.saved.failed

    def to_dict(self) -> dict[str, Any]:
        return self.saved.to_dict() | {"records": dict(self.records)}


@frozen
class BackupReport(Plain):
    """A copy of a store as it was at one moment."""

    file: str
    bytes: int
    seconds: float = field(metadata=rounded(3))
    items: int = 0
    damaged: tuple[str, ...] = ()
    """What the check of the copy found damaged; it was damaged in the store already."""


@frozen
class MigrateReport(Plain):
    """A store that was copied into another one, and compared with it."""

    source: str
    target: str
    items: int
    written: int
    """How many items were copied now; the others were there from an earlier run."""
    records: Mapping[str, int]
    vectors: int
    seconds: float = field(metadata=rounded(3))


@frozen
class VacuumReport(Plain):
    """What was erased, and how much disk space the store took before and after."""

    bytes_before: int
    bytes_after: int
    emptied: int = 0
    """Items erased from the bin, past the days they are kept there."""
    vectors: int = 0
    """Vectors of texts that no version holds any more."""
    blobs: int = 0
    segments_before: int = 0
    segments_after: int = 0
    rewritten: bool = False
    """Whether the file was rewritten; it is not if that would free next to nothing."""
    seconds: float = field(default=0.0, metadata=rounded(3))


@frozen
class Refreshed(Plain):
    """What became of one item: updated, unchanged, created, moved, missing, removed, skipped or failed."""

    ref: str
    status: str
    error: Mapping[str, str] | None = field(default=None, metadata=LEFT_OUT_WHEN_EMPTY)
    chunks: int = field(default=0, metadata=NOT_SHOWN)


@frozen
class RefreshReport(Plain):
    """What a refresh found, item by item."""

    items: tuple[Refreshed, ...]
    reembedded: int = 0
    notes: tuple[str, ...] = ()

    def count(self, *statuses: str) -> int:
        return sum(item.status in statuses for item in self.items)

    @property
    def failed(self) -> int:
        return self.count("failed")

    def to_dict(self) -> dict[str, Any]:
        names = ("updated", "unchanged", "created", "moved", "missing", "removed", "skipped", "failed")
        counts: dict[str, Any] = {name: self.count(name) for name in names}
        return {
            "checked": len(self.items),
            "chunks": sum(item.chunks for item in self.items),
            **counts,
        } | Plain.to_dict(self)


@frozen
class Synced(Plain):
    """What became of one knowledge file: created, updated, moved, removed, conflict, written, unchanged or failed."""

    ref: str
    status: str
    file: str
    version: int | None = None
    reason: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    error: Mapping[str, str] | None = field(default=None, metadata=LEFT_OUT_WHEN_EMPTY)


@frozen
class SyncReport(Plain):
    """What a look at the knowledge folder found. Files that are as they were are counted, not listed."""

    folder: str
    items: tuple[Synced, ...] = ()
    unchanged: int = 0
    notes: tuple[str, ...] = ()

    def count(self, *statuses: str) -> int:
        return sum(item.status in statuses for item in self.items)

    @property
    def failed(self) -> int:
        return self.count("failed")

    def to_dict(self) -> dict[str, Any]:
        names = ("created", "updated", "moved", "removed", "written", "failed")
        counts: dict[str, Any] = {name: self.count(name) for name in names}
        counts |= {"checked": len(self.items) + self.unchanged, "conflicts": self.count("conflict")}
        return counts | Plain.to_dict(self)


@frozen
class WatchEvent:
    """The result of a batch of changes."""

    report: RefreshReport
    paths: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        counts = self.report.to_dict()
        names = ("created", "updated", "moved", "removed", "failed")
        said = [f"{counts[name]} {name}" for name in names if counts[name]]
        return ", ".join(said) or "nothing to do"

    def to_dict(self) -> dict[str, Any]:
        return self.report.to_dict()


@frozen
class EmbedReport(Plain):
    """What was done: texts embedded, taken from the cache, failed, and why it stopped early if it did."""

    embedded: int = 0
    cached: int = 0
    failed: int = 0
    seconds: float = field(default=0.0, metadata=rounded(3))
    stopped: str = ""
    enqueued: int = 0
    fallback: int = 0
    """Texts that got a vector from the fallback because the first embedder could not be used."""

    def to_dict(self) -> dict[str, Any]:
        return Plain.to_dict(self) | {"rate": round(self.embedded / self.seconds if self.seconds else 0.0, 1)}


@frozen
class JobsReport:
    """The backlog as it is now."""

    summary: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return dict(self.summary)


@frozen
class Progress(Plain):
    """How far a long job is: handed to a progress callback, drawn by the CLI."""

    done: float
    total: float | None
    label: str = ""
    phase: str = "reading"
    rate: float = 0.0
    eta: float | None = None
    size: int = 0
    """How many bytes there are to read in all, where that is known."""


@frozen
class AddReport(Plain):
    """What an ``add`` did, item by item."""

    items: tuple[Saved, ...]
    notes: tuple[str, ...] = ()

    def count(self, status: str) -> int:
        return sum(saved.status == status for saved in self.items)

    @property
    def failed(self) -> int:
        return self.count("failed")

    def to_dict(self) -> dict[str, Any]:
        counts: dict[str, Any] = {name: self.count(name) for name in ("created", "updated", "skipped", "failed")}
        return counts | Plain.to_dict(self)


@frozen
class Root(Plain):
    """A folder that was added: its items are kept current, and new files in it are found by ``refresh``."""

    path: str
    globs: tuple[str, ...] = ()
    items: int = 0
    is_there: bool = True
    machine: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """The name of the other machine that it was added on; empty for this one."""


@frozen
class KnownMachine(Plain):
    """A machine that has files in a store: its id, which stays, the name that people gave it, and how many files."""

    id: str
    name: str
    files: int = 0
    is_here: bool = False


@frozen
class TierState(Plain):
    """One of the stores that are searched together; ``detail`` says why it cannot be reached."""

    name: str
    location: str
    weight: float
    reachable: bool
    items: int | None = None
    detail: str = ""
    is_written: bool = False


@frozen
class Check(Plain):
    """One thing ``doctor`` looked at."""

    name: str
    ok: bool
    detail: str = ""
    repaired: bool = False


@frozen
class Damage(Plain):
    """A version of an item that is no longer what was saved; ``sound`` is the newest one that is, if there is one."""

    n: int
    ref: str
    number: int
    is_head: bool
    problem: str
    sound: int | None = None


@frozen
class DoctorReport(Plain):
    """All checks of a store; ``ok`` if each found nothing wrong or was repaired."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        return all(check.ok or check.repaired for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        return {"ok": self.ok} | Plain.to_dict(self)
