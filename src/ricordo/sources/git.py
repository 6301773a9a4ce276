"""Runs git to read a repository. Its settings cannot make it run programs or use the network here.

It also says when files of a work tree last changed, because a checkout gives all files its own time: a file that is as
it was committed changed when that commit was made; any other changed when its disk says.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

SECONDS = 5.0
"""How long one answer may take."""
_SAFE = (
    "-c", "core.fsmonitor=false", "-c", "log.showSignature=false", "-c", "core.quotePath=false",
    "-c", "protocol.allow=never", "--no-pager", "--no-optional-locks", "--literal-pathspecs",
)  # fmt: skip


def started(top: Path, *arguments: str) -> subprocess.Popen[bytes] | None:
    """Start git in a repository; None where there is no git. What hooks of git set in the environment is left out."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        return subprocess.Popen(
            ["git", *_SAFE, *arguments],
            cwd=top,
            env={**plain, "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None


def renamed_to(top: Path, path: str, seconds: float) -> str:
    """What a file that is gone is called now, as far as git knows: by a rename that is not committed yet, else by the
    commit that took the file away. Empty if it was not renamed.
    """
    until = time.monotonic() + seconds

    def said(*arguments: str) -> str:
        return output_of(top, until - time.monotonic(), *arguments)

    # The index is compared, not the files: to compare these, git would run the filters that its settings name.
    names = ("--find-renames", "--diff-filter=R", "--name-status", "-z", "--no-ext-diff", "--no-textconv")
    if found := renames_in(said("diff", "--cached", *names, "HEAD")).get(path):
        return found
    commit = said("log", "-1", "--no-renames", "--diff-filter=D", "--format=%H", "--", path).strip()
    return renames_in(said("show", "--format=", *names, commit)).get(path, "") if commit else ""


def earlier_texts(top: Path, path: str, seconds: float, most: int = 30) -> Iterator[str]:
    """What a file held in the last commits that changed it, the newest first."""
    until = time.monotonic() + seconds
    listed = output_of(top, seconds, "log", f"-{most}", "--format=", "--raw", "--no-abbrev", "--no-renames", "--", path)
    for line in listed.splitlines():
        yield output_of(top, until - time.monotonic(), "cat-file", "blob", line.split()[3])


def renames_in(listed: str) -> dict[str, str]:
    """Old names of files and their new ones, from what git lists with ``--name-status -z``."""
    parts = listed.split("\0")
    return {old: new for how, old, new in zip(parts[::3], parts[1::3], parts[2::3], strict=False) if how[:1] == "R"}


def output_of(top: Path, seconds: float, *arguments: str) -> str:
    """What git prints; nothing where it fails or takes too long."""
    process = started(top, *arguments) if seconds > 0 else None
    if process is None:
        return ""
    try:
        output = process.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        output = process.communicate()[0]
    return output.decode("utf-8", "replace") if process.returncode == 0 else ""


HISTORY_SECONDS = 5.0
"""How long the history may be read; files whose last change is older keep the time that they have on disk."""


class GitTimes:
    """Knows the work trees that it was asked about."""

    def __init__(self) -> None:
        self._tops: dict[Path, Path | None] = {}
        self._trees: dict[Path, _Tree] = {}

    def changed(self, path: Path, data: bytes, on_disk: datetime) -> datetime:
        """When a file with these bytes last changed, given the time of its disk."""
        top = self._top(path.parent)
        if top is None:
            return on_disk
        tree = self._trees.get(top)
        if tree is None:
            tree = self._trees[top] = _Tree(top)
        committed = tree.committed(path.relative_to(top).as_posix(), data)
        return on_disk if committed is None else min(on_disk, committed)

    def _top(self, folder: Path) -> Path | None:
        """The work tree that a folder belongs to."""
        if folder not in self._tops:
            if (folder / ".git").exists():
                self._tops[folder] = folder
            else:
                self._tops[folder] = self._top(folder.parent) if folder.parent != folder else None
        return self._tops[folder]


class _Tree:
    """One work tree: what is committed, and when each file was last. The history is read in a thread."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self._index = _index(top)
        self._times: dict[str, int] = {}
        self._news = threading.Condition()
        self._ends = 0.0
        self._is_read = False

    def committed(self, name: str, data: bytes) -> datetime | None:
        """When a file was last committed; None where it differs from what was, or where that is not known."""
        known = self._index.get(name)
        if known is None or known != _blob_hash(data, known):
            return None
        with self._news:
            if not self._ends:
                self._ends = time.monotonic() + HISTORY_SECONDS
                threading.Thread(target=self._read, name="ricordo-git", daemon=True).start()
            while name not in self._times and not self._is_read and time.monotonic() < self._ends:
                self._news.wait(max(0.0, self._ends - time.monotonic()))
            at = self._times.get(name)
        return datetime.fromtimestamp(at, UTC) if at is not None else None

    def _read(self) -> None:
        """Read the history, the newest commit first: what a file's name comes with first is its last change."""
        process = started(self.top, "log", "--no-ext-diff", "--no-renames", "--name-only", "--format=%x01%ct")
        lines = process.stdout if process is not None and process.stdout is not None else ()
        left, at = len(self._index), 0
        for raw in lines:
            line = raw.decode("utf-8", "replace").rstrip("\n")
            if line.startswith("\x01"):
                at = int(line[1:] or 0)
                if time.monotonic() > self._ends or not left:
                    break
            elif line and line not in self._times:
                left -= line in self._index
                with self._news:
                    self._times[line] = at
                    self._news.notify_all()
        if process is not None:
            process.kill()
            process.communicate()
        with self._news:
            self._is_read = True
            self._news.notify_all()


def _index(top: Path) -> dict[str, str]:
    """The files that git knows, each with the hash of its content; empty where git cannot tell."""
    listed = output_of(top, HISTORY_SECONDS, "ls-files", "-s", "-z")
    rows = (row.partition("\t") for row in listed.split("\0") if row)
    return {name: about.split(" ")[1] for about, _, name in rows}


def _blob_hash(data: bytes, like: str) -> str:
    """The hash that git gives to a file's content."""
    whole = b"blob %d\0" % len(data) + data
    return (hashlib.sha1(whole, usedforsecurity=False) if len(like) == 40 else hashlib.sha256(whole)).hexdigest()
