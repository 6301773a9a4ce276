"""Keeping the store current while files change: each batch of changes becomes one small refresh."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recollect.ingest.refreshing import Refresher, RefreshReport, Work
from recollect.sources.disk import Found, disk_ref, walk
from recollect.sources.watch import changes
from recollect.store.base import Store


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """What a batch of changes came to."""

    report: RefreshReport
    paths: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        counts = self.report.to_dict()
        names = ("created", "updated", "moved", "removed", "failed")
        said = [f"{counts[name]} {name}" for name in names if counts[name]]
        return ", ".join(said) or "nothing to do"

    def to_dict(self) -> dict[str, Any]:
        return self.report.to_dict()


class Watcher:
    """Follows folders until told to stop."""

    def __init__(self, store: Store, refresher: Callable[[], Refresher], max_bytes: int) -> None:
        self.store = store
        self.refresher = refresher
        self.max_bytes = max_bytes

    def run(self, paths: Sequence[Path], stop: threading.Event, on_batch: Callable[[WatchEvent], None]) -> None:
        """Follow; once that has begun, catch up with what changed before, so that nothing falls between."""
        caught_up = False
        for batch in changes(paths, stop):
            if not caught_up:
                caught_up = True
                refresher = self.refresher()
                on_batch(WatchEvent(refresher.run(refresher.below(paths), prune=True)))
            if not batch:
                continue
            refresher = self.refresher()
            work = self._work(batch)
            if work.items or work.files:
                report = refresher.run(work, prune=True)
                if any(item.status != "unchanged" for item in report.items):
                    on_batch(WatchEvent(report, tuple(sorted(map(str, batch)))))

    def _work(self, batch: set[Path]) -> Work:
        """Known items at or below the changed paths, and files there that the walk would take."""
        work = Work()
        wanted: dict[Path, set[Path]] = {}
        for path in batch:
            ref = disk_ref(path)
            work.items |= {n: found for n, found, _ in self.store.refs_below("disk", ref.path)}
            for root, _ in self.store.roots():
                if Path(root) == path or Path(root) in path.parents:
                    wanted.setdefault(Path(root), set()).add(path)
        for root, globs in self.store.roots():
            if Path(root) in wanted:
                self._take_files(work, wanted[Path(root)], Path(root), globs)
        return work

    def _take_files(self, work: Work, paths: set[Path], root: Path, globs: Sequence[str]) -> None:
        """New files among the changed ones, by the same rules as the walk that added their root."""
        known = self.store.known_files()
        fresh = {path for path in paths if disk_ref(path).path not in known and path.exists()}
        if not fresh:
            return
        folders = {path for path in fresh if path.is_dir()}
        for entry in walk(root, max_bytes=self.max_bytes, globs=globs):
            if isinstance(entry, Found) and (entry.path in fresh or folders & set(entry.path.parents)):
                work.files[entry.path] = entry
