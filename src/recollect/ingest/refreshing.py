"""Reading items again from where they came from: what changed, what is new, what moved, what is gone.

A file with the same time and size is not opened; one with the same content writes nothing. A file that vanished while
another with its content appeared was renamed, and keeps its history. Items without an origin are left alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from recollect.errors import Error, UsageError
from recollect.ingest.parse import Limits, parse_file
from recollect.ingest.pipeline import Incoming, Pipeline, merged_fields
from recollect.settings import Config
from recollect.sources.disk import Found, disk_ref, ref_path, walk
from recollect.store.base import Backlog, Store, text_hash
from recollect.values import Fields, Item, Progress, Ref

T = TypeVar("T")
NO_ORIGIN = frozenset({"agent", "memory", "note", "article", "entity", "resource", "entry", "skill", "session"})


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What became of one item: updated, unchanged, created, moved, missing, removed, skipped or failed."""

    ref: str
    status: str
    error: Mapping[str, str] | None = None
    chunks: int = 0

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = {"ref": self.ref, "status": self.status}
        return plain | ({"error": dict(self.error)} if self.error else {})


@dataclass(frozen=True, slots=True)
class RefreshReport:
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
        return {
            "checked": len(self.items),
            "updated": self.count("updated"),
            "unchanged": self.count("unchanged"),
            "created": self.count("created"),
            "moved": self.count("moved"),
            "missing": self.count("missing"),
            "removed": self.count("removed"),
            "skipped": self.count("skipped"),
            "reembedded": self.reembedded,
            "chunks": sum(item.chunks for item in self.items),
            "failed": self.failed,
            "items": [item.to_dict() for item in self.items],
            "notes": list(self.notes),
        }


@dataclass(slots=True)
class Work:
    """What to look at: known items by number, and files that may be new."""

    items: dict[int, Ref] = field(default_factory=dict)
    files: dict[Path, Found] = field(default_factory=dict)


class Refresher:
    """One refresh: its options, and the report it builds up."""

    def __init__(
        self,
        store: Store,
        pipeline: Pipeline,
        config: Config,
        backlog: Backlog | None,
        progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self.store = store
        self.pipeline = pipeline
        self.config = config
        self.backlog = backlog
        self.progress = progress
        self.limits = Limits(seconds=config.ingest.parse_seconds, memory_mb=config.ingest.parse_memory_mb)
        self.done: list[Refreshed] = []
        self.notes: list[str] = []
        self.started = time.monotonic()

    def everything(self) -> Work:
        """Every item, and every file below the roots."""
        work = Work({n: ref for n, ref, _ in self.store.refs_below(None, "/")})
        for root, globs in self.store.roots():
            self._add_files(work, Path(root), globs)
        return work

    def named(self, refs: Iterable[Ref]) -> Work:
        """The items at these refs, or below them; and new files below folders that were added before."""
        work = Work()
        for ref in refs:
            n = self.store.number(ref)
            if n is not None and self.store.item(n).state == "live":
                work.items[n] = ref
                continue
            below = self.store.refs_below(ref.drive, ref.path)
            work.items |= {number: found for number, found, _ in below}
            if ref.drive == "disk":
                self._add_new_files(work, ref_path(ref))
            if not below and not work.files:
                self.store.require(ref)  # says not found, with the nearest refs
        return work

    def below(self, paths: Iterable[Path]) -> Work:
        """The items at or below these paths and the files there, however many there are."""
        work = Work()
        for path in paths:
            work.items |= {n: found for n, found, _ in self.store.refs_below("disk", disk_ref(path).path)}
            self._add_new_files(work, path)
        return work

    def _add_new_files(self, work: Work, folder: Path) -> None:
        for root, globs in self.store.roots():
            if folder == Path(root) or Path(root) in folder.parents:
                self._add_files(work, folder, globs)

    def _add_files(self, work: Work, folder: Path, globs: Sequence[str]) -> None:
        if not folder.is_dir():
            return
        limit = int(self.config.ingest.max_file_mb * 1_000_000)
        for entry in walk(folder, max_bytes=limit, globs=globs, follow_symlinks=self.config.ingest.follow_symlinks):
            if isinstance(entry, Found):
                work.files[entry.path] = entry

    def run(self, work: Work, *, prune: bool = False) -> RefreshReport:
        """Look at all of it. Nothing is dropped silently: a missing file is reported, and removed only to prune."""
        missing: dict[int, Ref] = {}
        total = len(work.items)
        self._save((self._look(n, ref, missing) for n, ref in work.items.items()), "overwrite", total)
        known = {ref.path for ref in work.items.values() if ref.drive == "disk"} | set(self.store.known_files())
        fresh = [entry for path, entry in work.files.items() if disk_ref(path).path not in known]
        by_hash = {self.store.item_text_hash(n): n for n in missing}
        self._save((self._take(entry, by_hash, missing) for entry in fresh), "skip", total + len(fresh))
        for n, ref in missing.items():
            if prune:
                self._try(ref, partial(self._remove, n))
            else:
                self.done.append(Refreshed(str(ref), "missing"))
        return RefreshReport(tuple(self.done), notes=tuple(self.notes))

    def _save(self, incoming: Iterable[Incoming | None], policy: str, total: int) -> None:
        """Write what has to be written, a batch per transaction."""
        wanted = (one for one in incoming if one is not None)
        for saved in self.pipeline.save_all(wanted, on_conflict=policy, durable=False, backlog=self.backlog):
            status = "unchanged" if saved.status == "skipped" else saved.status
            self.done.append(Refreshed(saved.ref, status, saved.error, saved.chunks))
            self._tell(total, saved.ref)

    def _look(self, n: int, ref: Ref, missing: dict[int, Ref]) -> Incoming | None:
        """The item's file as it is now, if it has to be read again."""
        if ref.drive != "disk":
            self._elsewhere(ref)
            return None
        try:
            stat = ref_path(ref).stat()
        except FileNotFoundError:
            missing[n] = ref
            return None
        except OSError as error:
            self.done.append(Refreshed(str(ref), "failed", _unreadable(error)))
            return None
        if self.store.file_state(n) == (stat.st_mtime_ns, stat.st_size):
            self.done.append(Refreshed(str(ref), "unchanged"))
            return None
        entry = Found(ref_path(ref), stat.st_size, stat.st_mtime_ns)
        return self._try(ref, lambda: self._incoming(ref, entry, self.store.item(n)))

    def _elsewhere(self, ref: Ref) -> None:
        if ref.drive in NO_ORIGIN:
            self.done.append(Refreshed(str(ref), "skipped"))
            return
        problem = UsageError(
            f"{ref} cannot be read again: its source URL is not known", hint="Add it again by its URL."
        )
        self.done.append(Refreshed(str(ref), "failed", problem.to_dict()))

    def _incoming(self, ref: Ref, entry: Found, item: Item | None) -> Incoming:
        """The file as it is now; what a person set on the item stays where the file itself says nothing."""
        parsed = parse_file(entry.path, limits=self.limits)
        blob = None if parsed.is_textual else entry.path.read_bytes()
        self.notes += [f"{ref}: {warning}" for warning in parsed.warnings]
        fields: dict[str, Any] = {"source": "file"}
        incoming = Incoming(ref, parsed, "document", fields, blob, entry.mtime_ns, entry.size)
        if item is None:
            return incoming
        if not parsed.fields:
            said = merged_fields(incoming).to_dict()
            empty = Fields().to_dict()
            fields |= {
                name: value
                for name, value in item.fields.to_dict().items()
                if said[name] == empty[name] and value != empty[name] and name not in ("mime_type", "is_textual")
            }
        return replace(incoming, kind=item.kind, fields=fields)

    def _take(self, entry: Found, by_hash: dict[str, int], missing: dict[int, Ref]) -> Incoming | None:
        """A new file: one with the content of a missing one was renamed, any other is to be created."""
        ref = disk_ref(entry.path)
        incoming = self._try(ref, lambda: self._incoming(ref, entry, None))
        if incoming is None:
            return None
        n = by_hash.get(text_hash(incoming.parsed.text, incoming.blob))
        if n is None or n not in missing:
            return incoming
        self._try(ref, lambda: self._move(n, ref, entry))
        del missing[n]
        return None

    def _move(self, n: int, ref: Ref, entry: Found) -> None:
        draft = replace(self.store.draft(n, self.store.item(n).version), ref=ref)
        prepared = self.pipeline.prepare_draft(draft, entry.mtime_ns, entry.size)
        saved = self.store.rewrite(n, prepared, backlog=self.backlog)
        self.done.append(Refreshed(str(ref), "moved", chunks=saved.chunks))

    def _remove(self, n: int) -> None:
        ref = self.store.item(n).ref
        self.store.remove(n)
        self.done.append(Refreshed(str(ref), "removed"))

    def _try(self, ref: Ref, action: Callable[[], T]) -> T | None:
        """One bad file never stops the rest."""
        try:
            return action()
        except Error as error:
            self.done.append(Refreshed(str(ref), "failed", error.to_dict()))
        except OSError as error:
            self.done.append(Refreshed(str(ref), "failed", _unreadable(error)))
        return None

    def _tell(self, total: int | None, label: str) -> None:
        if self.progress is not None:
            rate = len(self.done) / max(time.monotonic() - self.started, 1e-6)
            left = (total - len(self.done)) / rate if total and rate else None
            self.progress(Progress(len(self.done), total, label, "refreshing", rate, left))


def _unreadable(error: OSError) -> dict[str, str]:
    return {"code": "unreadable", "message": f"cannot be read: {error.strerror or error}", "hint": ""}
