"""What verbs report: long jobs (refresh, backup), models, sync, teams, and an overview of a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any, ClassVar

from ricordo.frozen import frozen
from ricordo.values.items import Saved
from ricordo.values.log import AuditEntry
from ricordo.values.plain import LEFT_OUT_WHEN_EMPTY, NOT_SHOWN, NULL_WHEN_EMPTY, Plain, named, rounded
from ricordo.values.provenance import Provenance
from ricordo.values.use import Retrieval, StatsReport


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


class _ItemsReport(Plain):
    """A report on items, each with a status; its JSON says how many have each of those in ``COUNTED``."""

    __slots__ = ()
    COUNTED: ClassVar[tuple[str, ...]]
    items: tuple[Any, ...]

    def count(self, *statuses: str) -> int:
        return sum(item.status in statuses for item in self.items)

    @property
    def failed(self) -> int:
        return self.count("failed")

    def to_dict(self) -> dict[str, Any]:
        return {name: self.count(name) for name in self.COUNTED} | Plain.to_dict(self)


@frozen
class AddReport(_ItemsReport):
    """What an ``add`` did, item by item."""

    COUNTED: ClassVar = ("created", "updated", "skipped", "failed")
    items: tuple[Saved, ...]
    notes: tuple[str, ...] = ()


@frozen
class RemovalReport(AddReport):
    """What was put away, or would be, item by item; ``how`` is archived, removed or purged."""

    how: str = field(default="removed", metadata=NOT_SHOWN)
    dry_run: bool = False

    def to_dict(self) -> dict[str, Any]:
        done = 0 if self.dry_run else len(self.items) - self.failed
        return {"archived" if self.how == "archived" else "removed": done} | AddReport.to_dict(self)


@frozen
class RefreshReport(_ItemsReport):
    """What a refresh found, item by item."""

    COUNTED: ClassVar = ("updated", "unchanged", "created", "moved", "missing", "removed", "skipped", "failed")
    items: tuple[Refreshed, ...]
    reembedded: int = 0
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        chunks = sum(item.chunks for item in self.items)
        return {"checked": len(self.items), "chunks": chunks} | _ItemsReport.to_dict(self)


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
class SyncReport(_ItemsReport):
    """What a look at the knowledge folder found. Files that are as they were are counted, not listed."""

    COUNTED: ClassVar = ("created", "updated", "moved", "removed", "written", "failed")
    folder: str
    items: tuple[Synced, ...] = ()
    unchanged: int = 0
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        checked = len(self.items) + self.unchanged
        return {"checked": checked, "conflicts": self.count("conflict")} | _ItemsReport.to_dict(self)


@frozen
class WatchEvent:
    """The result of a batch of changes."""

    report: RefreshReport
    paths: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        counts = self.report.to_dict()
        names = ("created", "updated", "moved", "removed", "failed")
        parts = [f"{counts[name]} {name}" for name in names if counts[name]]
        return ", ".join(parts) or "nothing to do"

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
    backlog: Mapping[str, Any] | None = None
    """What waits and what failed, if that was asked for."""

    def to_dict(self) -> dict[str, Any]:
        if self.backlog is not None:
            return dict(self.backlog)
        plain = Plain.to_dict(self) | {"rate": round(self.embedded / self.seconds if self.seconds else 0.0, 1)}
        return {name: value for name, value in plain.items() if name != "backlog"}


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
class Root(Plain):
    """A folder that was added: its items are kept current, and new files in it are found by ``refresh``."""

    path: str
    globs: tuple[str, ...] = ()
    items: int = 0
    is_there: bool = True
    machine: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """The name of the other machine that it was added on; empty for this one."""
    about: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """What it holds, as the user said it: told with every hit in it."""


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


@frozen
class ModelState(Plain):
    """A provider and the model it would use.

    ``role`` is ``in use``, ``fallback``, ``rerank`` or nothing; ``lacks`` says what is missing before it can be used:
    a key, an extra, a download.
    """

    provider: str
    model: str
    dimensions: int | None
    batch: int | None
    key_variable: str = field(metadata=NULL_WHEN_EMPTY)
    has_key: bool | None
    role: str = field(default="", metadata=NULL_WHEN_EMPTY)
    lacks: str = field(default="", metadata=NULL_WHEN_EMPTY)
    about: str = ""


@frozen
class ModelSwitch(Plain):
    """What switching to a model takes: ``chunks`` to embed, and about how many ``tokens`` and ``seconds`` that is.

    ``settings`` are written to the file (None removes one), ``is_written`` says whether that was done, and
    ``embedding`` is the report of embedding, if it was asked for.
    """

    provider: str
    model: str
    dimensions: int | None
    fingerprint: str = field(metadata=NULL_WHEN_EMPTY)
    settings: Mapping[str, str | None]
    chunks: int = 0
    tokens: int = 0
    rate: float | None = field(default=None, metadata=rounded(1))
    notes: tuple[str, ...] = ()
    is_written: bool = field(default=False, metadata=named("written"))
    embedding: EmbedReport | None = field(default=None)

    @property
    def seconds(self) -> float | None:
        return self.chunks / self.rate if self.rate else None

    def to_dict(self) -> dict[str, Any]:
        seconds = self.seconds
        return Plain.to_dict(self) | {"seconds": round(seconds, 1) if seconds is not None else None}


@frozen
class ShownHit(Plain):
    """An item that a question was answered with, and what became of it."""

    ref: str
    title: str
    opened: bool = False
    """Whether it was opened soon after it was shown."""
    verdict: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """What was said of it for this question: accepted, modified, dismissed or failed."""


@frozen
class AskedQuestion(Plain):
    """Something that was asked: by whom and when, how much was found, what was shown, and whether it fitted."""

    at: datetime
    text: str
    tool: str
    asker: Provenance
    results: int
    milliseconds: float = field(metadata=rounded(3))
    shown: tuple[ShownHit, ...] = ()
    """The best hits that are still kept in this store."""
    fit: float | None = field(default=None, metadata=rounded(3))
    """How well the best hit fitted when it was asked; None where that was not judged or not recorded yet."""
    fit_now: float | None = field(default=None, metadata=rounded(3))
    """How well the best hit fits now, where the question was asked again for this report."""


@frozen
class LogReport(Plain):
    """What a log holds, the latest first; ``more`` says that the limit left some out."""

    what: str
    questions: tuple[AskedQuestion, ...] = ()
    entries: tuple[AuditEntry, ...] = ()
    retrievals: tuple[Retrieval, ...] = ()
    """When an item was found and opened, if one was named."""
    summary: StatsReport | None = None
    erased: int | None = None
    more: bool = False


@frozen
class TagCount(Plain):
    """A tag, and how many live items have it."""

    tag: str
    count: int


@frozen
class GraphNode(Plain):
    """An item in a graph."""

    ref: str
    title: str
    kind: str
    at: datetime
    """When the item was made."""


@frozen
class GraphEdge(Plain):
    """A link in a graph, between two nodes by their places in the list of nodes."""

    source: int
    target: int
    type: str


@frozen
class LinkGraph(Plain):
    """Items and the links between them, those with the most links first; ``more`` says how many were left out."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    more: int = 0
