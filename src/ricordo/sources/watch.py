"""Watches files and folders and reports changes in batches, so that many quick changes come together."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from ricordo.errors import Unavailable
from ricordo.nofollow import real_path

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
