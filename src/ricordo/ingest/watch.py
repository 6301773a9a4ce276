"""Keeps the store up to date while files change: each batch of changes becomes one small refresh.

Many quick changes come together in one batch. Vectors are made in the pauses, a few at a time, so that a long backlog
never keeps a saved file out of the search.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ricordo.errors import NotFound, Unavailable
from ricordo.ingest.refresh import Refresher
from ricordo.nofollow import real_path
from ricordo.sources.disk import IGNORE_FILES, expand
from ricordo.store.base import Store
from ricordo.values.reports import RefreshReport, WatchEvent

SETTLE_MS = 400
"""A batch ends when nothing changed for STEP_MS, and after SETTLE_MS at the latest."""
STEP_MS = 80
PAUSE_MS = 500
"""An empty batch comes at least this often; the first one means that watching has begun."""


def changes(folders: Sequence[Path], files: Sequence[Path], stop: threading.Event) -> Iterator[set[Path]]:
    """Sets of paths that were created, changed or deleted, until ``stop`` is set; empty ones when nothing happens.

    Folders are watched with everything below them. Single files are checked in every pause, because the system stops
    watching a file when an editor replaces it.
    """
    seen = {file: _look(file) for file in files}
    for batch in _below(folders, stop) if folders else _pauses(stop):
        now = {file: _look(file) for file in files}
        yield batch | {file for file in files if now[file] != seen[file]}
        seen = now


def _below(folders: Sequence[Path], stop: threading.Event) -> Iterator[set[Path]]:
    from watchfiles import watch
    from watchfiles._rust_notify import WatchfilesRustInternalError

    given = {real_path(folder): str(folder) for folder in folders}
    following = watch(
        *folders,
        watch_filter=None,
        debounce=SETTLE_MS,
        step=STEP_MS,
        stop_event=stop,
        raise_interrupt=True,
        rust_timeout=PAUSE_MS,
        yield_on_timeout=True,
        ignore_permission_denied=True,
    )
    try:
        for batch in following:
            yield {_as_given(name, given) for _, name in batch if _is_text(name)}
    except (OSError, WatchfilesRustInternalError) as error:
        raise Unavailable(
            f"the folders cannot be watched: {error}",
            hint="Raise the system's limit of watched files (fs.inotify.max_user_watches), or set"
            " WATCHFILES_FORCE_POLLING=1.",
        ) from error


def _pauses(stop: threading.Event) -> Iterator[set[Path]]:
    yield set()
    while not stop.wait(PAUSE_MS / 1000):
        yield set()


def _look(file: Path) -> tuple[int, int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _as_given(name: str, given: dict[str, str]) -> Path:
    """The path below the folder as it was given; some systems report the path with all links resolved."""
    for real, folder in given.items():
        if real != folder and (name == real or name.startswith(real + os.sep)):
            return Path(folder + name[len(real) :])
    return Path(name)


def _is_text(name: str) -> bool:
    """Whether the name can be a ref; bytes that are not UTF-8 cannot."""
    return "\ufffd" not in name and not any("\ud800" <= letter <= "\udfff" for letter in name)


EMBEDDED_AT_ONCE = 32
"""How many texts are embedded in one pause: about half a second of work."""


class Watcher:
    """Watches files and folders until it is stopped.

    ``embed(n)`` makes up to n vectors and returns how many it made; it is called in pauses until none are left.
    ``knowledge`` is the folder of knowledge files, which is watched, too. ``sync`` returns what was taken in there; if
    it is asked to look, it first takes in what has changed by now.
    """

    def __init__(
        self,
        store: Store,
        refresher: Callable[[], Refresher],
        embed: Callable[[int], int],
        knowledge: Path | None = None,
        *,
        sync: Callable[[bool], RefreshReport] | None = None,
    ) -> None:
        self.store = store
        self.refresher = refresher
        self.embed = embed
        self.knowledge = knowledge
        self.sync = sync
        self.owes_vectors = True
        self.owes_sync = False
        self.pending: set[Path] = set()

    def run(self, names: Sequence[str | Path], stop: threading.Event, on_batch: Callable[[WatchEvent], None]) -> None:
        """Start to watch, then check what changed before, so that no change is missed."""
        self.store.machines.note_this()
        paths: list[Path] = []
        for name in map(str, names):
            if not (found := expand(name, self.store.machines.refs())):
                raise NotFound(f"there is no file or folder {name}", hint="Check the spelling.")
            paths += found
        folders = [path for path in paths if path.is_dir()]
        files = [path for path in paths if path not in folders]
        for folder in folders:
            if str(folder) not in dict(self.store.files.roots()):
                self.store.files.remember_root(str(folder), ())
        followed = [*folders, self.knowledge] if self.knowledge is not None else folders
        caught_up = False
        for batch in changes(followed, files, stop):
            known = {path for path in batch if self.knowledge in path.parents}
            self._take_in(on_batch, look=bool(known) or not caught_up or self.owes_sync)
            batch -= known
            if not caught_up:
                caught_up = self._refresh(set(paths), files, on_batch, always=True)
            self.pending |= batch | {path.parent for path in batch if path.name in IGNORE_FILES}
            if self.pending:
                self._refresh(self.pending, files, on_batch)
            elif self.owes_vectors:
                self._embed(on_batch)

    def _take_in(self, on_batch: Callable[[WatchEvent], None], *, look: bool) -> None:
        """Sync knowledge files that were changed, and report the result; if the store is busy, try again later."""
        try:
            report = self.sync(look) if self.sync is not None else RefreshReport(())
        except Unavailable as error:
            if not self.owes_sync:
                on_batch(WatchEvent(RefreshReport((), notes=(f"{error.message}; trying again",))))
            self.owes_sync = True
            return
        self.owes_sync = self.owes_sync and not look
        if report.count("created", "updated", "moved", "conflict"):
            self.owes_vectors = True
        if report.items:
            on_batch(WatchEvent(report))

    def _embed(self, on_batch: Callable[[WatchEvent], None]) -> None:
        try:
            self.owes_vectors = self.embed(EMBEDDED_AT_ONCE) > 0
        except Unavailable as error:
            self.owes_vectors = False  # the next change tries again
            on_batch(WatchEvent(RefreshReport((), notes=(f"{error.message}; trying again",))))

    def _refresh(
        self, paths: set[Path], files: Sequence[Path], on_batch: Callable[[WatchEvent], None], *, always: bool = False
    ) -> bool:
        """Refresh these paths and report the result; if the store is busy, try again later."""
        refresher = self.refresher()
        try:
            report = refresher.run(refresher.below(paths, [file for file in files if file in paths]), prune=True)
        except Unavailable as error:
            on_batch(WatchEvent(RefreshReport((), notes=(f"{error.message}; trying again",))))
            return False
        names = tuple(sorted(map(str, paths))) if not always else ()
        self.pending -= paths
        if report.count("created", "updated", "moved"):
            self.owes_vectors = True
        if always or any(item.status != "unchanged" for item in report.items):
            on_batch(WatchEvent(report, names))
        return True
