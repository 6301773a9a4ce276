"""The files of a project as one look at it sees them: each is read once at most, and searching them ends in time."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from ricordo.frozen import frozen
from ricordo.nofollow import real_path
from ricordo.sources.git import renamed_to

LARGEST = 4_000_000
"""Larger files are told by their size alone."""
MOST_LISTED = 20_000
LONGEST_CHAIN = 5
_LEFT_OUT = frozenset({".git", ".hg", ".venv", "node_modules", "__pycache__", ".ricordo"})


def digest(data: bytes) -> str:
    """The hash that a citation keeps."""
    return hashlib.sha256(data).hexdigest()[:24]


@frozen
class FileNow:
    """A file as it is: its hash, the name that git has for such a content, and its text (none if it is not text)."""

    hash: str
    blob: str
    text: str | None


class ProjectFiles:
    """The files below one folder. ``until`` ends the search for what is not where it was; reading known files is not
    limited.
    """

    def __init__(self, project: Path, until: float) -> None:
        self.project = project
        self._until = until
        self._top = project.resolve()
        self._read: dict[str, FileNow | None] = {}
        self._listed: list[str] | None = None
        self._renamed: dict[str, str] = {}

    @property
    def is_late(self) -> bool:
        return time.monotonic() > self._until

    def file(self, path: str) -> FileNow | None:
        """A file of the project; None if there is none that can be read, or it lies outside."""
        if path not in self._read:
            self._read[path] = self._looked_at(path)
        return self._read[path]

    def _looked_at(self, path: str) -> FileNow | None:
        file = self.project / path
        try:
            if ".." in Path(path).parts or not file.is_file() or not Path(real_path(file)).is_relative_to(self._top):
                return None
            size = file.stat().st_size
            if size > LARGEST:
                return FileNow(f"size-{size}", "", None)
            data = file.read_bytes()
        except (OSError, ValueError):
            return None
        blob = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
        return FileNow(digest(data), blob, None if b"\0" in data[:8_000] else data.decode("utf-8", "replace"))

    def paths(self) -> Iterator[str]:
        """The files of the project, those near its top first, as far as they are found in time."""
        if self._listed is None:
            self._listed = sorted(self._walked(), key=lambda path: (path.count("/"), path))
        return iter(self._listed)

    def _walked(self) -> Iterator[str]:
        found = 0
        for place, folders, names in os.walk(self.project):
            folders[:] = sorted(one for one in folders if one not in _LEFT_OUT)
            below = Path(place).relative_to(self.project)
            for name in names:
                found += 1
                if found > MOST_LISTED or self.is_late:
                    return
                yield (below / name).as_posix()

    def moved(self, path: str, content: str) -> str:
        """Where a file that is not at its path is now; empty if it is found nowhere.

        It is the one with the same content, best under the same name, or the one that git says it was renamed to.
        """
        if path not in self._renamed:
            self._renamed[path] = self._same_content(path, content) or self._by_git(path)
        return self._renamed[path]

    def _same_content(self, path: str, content: str) -> str:
        wanted = Path(path)
        alike = [one for one in self.paths() if Path(one).suffix == wanted.suffix]
        for one in sorted(alike, key=lambda one: Path(one).name != wanted.name):
            if self.is_late:
                return ""
            if (found := self.file(one)) is not None and found.hash == content:
                return one
        return ""

    def _by_git(self, path: str) -> str:
        for _ in range(LONGEST_CHAIN):
            if not (left := self._until - time.monotonic()) > 0:
                return ""
            path = renamed_to(self.project, path, left)
            if not path or self.file(path) is not None:
                return path
        return ""
