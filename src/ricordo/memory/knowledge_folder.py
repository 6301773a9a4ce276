"""The knowledge folder on disk: lists its files, and writes to it without ever losing what somebody else wrote.

A new file is written under a temporary name, flushed, and put in place in one step. If the system allows, the old and
the new file are exchanged, so that the old one can still be looked at: if it is not what was expected, somebody saved
it a moment ago, and it is put back. Links are never followed, because a folder from a repository could lead anywhere
with them. This module does not know what the files mean.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ricordo.errors import StoreError
from ricordo.frozen import frozen
from ricordo.memory.file_exchange import LEFTOVER, open_regular, place, read_regular, swap, temporary_beside, write_new
from ricordo.memory.knowledge_files import SUFFIX
from ricordo.values.items import KnownFile
from ricordo.values.kinds import KNOWLEDGE_FOLDERS

UNSETTLED = -1
"""Stands for the time of a file that may have changed again within the same time stamp."""

_TICK = 20_000_000
_COARSE_TICK = 2_000_000_000
_PAUSE = 0.02
_PATIENCE = 10
_IGNORED = (".", "~", "#")


class FileChanged(Exception):  # noqa: N818 - an event, no error: it is caught, taken in, and tried again
    """Raised when somebody else changed, made or removed a file that was about to be written."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Looks(NamedTuple):
    """A file's time and size."""

    mtime: int
    size: int

    def settled(self, now: int) -> Looks:
        """The same, but without the time if the file could still change within the same time stamp."""
        tick = _COARSE_TICK if self.mtime % 1_000_000_000 == 0 else _TICK
        return self if now - self.mtime > tick else Looks(UNSETTLED, self.size)


@frozen
class Leftover:
    """A file with a temporary name: its path, the process that made it, and the name that it should get or had."""

    path: Path
    pid: int
    name: str


@frozen
class ReadFile:
    """The content of a file, and its time and size when it was read."""

    data: bytes
    looks: Looks
    changed: int
    """Its time, even if it may still change within the same time stamp."""

    @property
    def hash(self) -> str:
        return hash_of(self.data)


def hash_of(data: bytes) -> str:
    """SHA-256 of a file's bytes."""
    return hashlib.sha256(data).hexdigest()


class KnowledgeFolder:
    """One folder with ``memories/``, ``notes/`` and ``articles/`` in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.leftovers: list[Leftover] = []
        """The files with temporary names that the last scan found."""

    def exists(self) -> bool:
        return self.path.is_dir() and not self.path.is_symlink()

    def place(self, name: str) -> Path:
        """The path of a file; an error if one of its folders is a link."""
        folder = self.path
        for part in ("", *name.split("/")[:-1]):
            folder = folder / part
            if folder.is_symlink():
                raise StoreError(
                    f"the knowledge folder {folder} is a link, and links are not followed there",
                    hint="Put a real folder in its place, or set knowledge.folder to where it leads.",
                )
        return self.path / name

    def scan(self) -> dict[str, Looks]:
        """All files by name, without hidden files, links and editors' temporary files."""
        found: dict[str, Looks] = {}
        self.leftovers = []
        if self.exists():
            for folder in KNOWLEDGE_FOLDERS.values():
                if not (self.path / folder).is_symlink():
                    self._walk(folder, found)
        return found

    def _walk(self, folder: str, found: dict[str, Looks]) -> None:
        try:
            with os.scandir(self.path / folder) as entries:
                for entry in entries:
                    if entry.name.startswith(_IGNORED):
                        left = LEFTOVER.fullmatch(entry.name)
                        if left and entry.is_file(follow_symlinks=False):
                            self.leftovers.append(Leftover(Path(entry.path), int(left[1]), f"{folder}/{left[2]}"))
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        self._walk(f"{folder}/{entry.name}", found)
                    elif entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False):
                        try:
                            status = entry.stat(follow_symlinks=False)
                        except FileNotFoundError:
                            continue  # it was removed in the meantime
                        found[f"{folder}/{entry.name}"] = Looks(status.st_mtime_ns, status.st_size)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise StoreError(
                f"the knowledge folder {self.path / folder} cannot be read: {error.strerror}",
                hint="Check its permissions; nothing was changed.",
            ) from error

    def look(self, names: Collection[str]) -> dict[str, Looks]:
        """The files of these names that exist."""
        found: dict[str, Looks] = {}
        for name in names:
            with suppress(FileNotFoundError, NotADirectoryError, StoreError):
                status = self.place(name).lstat()
                found[name] = Looks(status.st_mtime_ns, status.st_size)
        return found

    def read(self, name: str, *, known: str = "") -> ReadFile:
        """A file's bytes. If it is being written just now, it waits a little, unless the file is as it was known."""
        for attempt in range(_PATIENCE):
            with open_regular(self.place(name)) as file:
                data = file.read()
                status = os.fstat(file.fileno())
            now = time.time_ns()
            looks = Looks(status.st_mtime_ns, status.st_size)
            ready = looks.settled(now).mtime != UNSETTLED or looks.mtime > now + _COARSE_TICK
            if ready or attempt == _PATIENCE - 1 or hash_of(data) == known:
                return ReadFile(data, looks.settled(now), looks.mtime)
            time.sleep(_PAUSE)
        raise AssertionError("the last attempt returns")

    @contextmanager
    def changes(self, *, durable: bool) -> Iterator[FileChanges]:
        """Changes to files that are undone if the block fails."""
        made = FileChanges(self, durable=durable)
        succeeded = False
        try:
            yield made
            succeeded = True
        finally:
            if not succeeded:
                made.undo()
        made.finish()


class FileChanges:
    """Files written and removed together with a transaction."""

    def __init__(self, folder: KnowledgeFolder, *, durable: bool) -> None:
        self.folder = folder
        self.durable = durable
        self._undo: list[tuple[Callable[[], object], Path | None]] = []
        """How each step is undone, and the temporary file that is not needed afterwards."""
        self._replaced: list[Path] = []
        self._left: list[Path] = []
        self._folders: set[Path] = set()

    def put(self, name: str, data: bytes, known: KnownFile | None) -> Looks:
        """Write a file in place of ``known``, or a new one."""
        path = self.folder.place(name)
        self._make_folder(path.parent)
        temporary = temporary_beside(path)
        try:
            write_new(temporary, data, durable=self.durable)
            if known is None:
                place(temporary, path)
                self._undo.append((partial(_unmake, path, hash_of(data)), None))
            else:
                swap(temporary, path)
                self._replaced.append(temporary)
                self._undo.append((partial(_swap_back, temporary, path, hash_of(data)), temporary))
        except (FileExistsError, FileNotFoundError, IsADirectoryError):
            temporary.unlink(missing_ok=True)
            raise FileChanged(name) from None
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise StoreError(
                f"{path} cannot be written: {error.strerror}", hint="Nothing was saved. Check its folder and the disk."
            ) from error
        if known is not None and not _is_known(temporary, known):
            raise FileChanged(name)
        self._folders.add(path.parent)
        status = path.lstat()
        return Looks(status.st_mtime_ns, status.st_size).settled(time.time_ns())

    def take(self, name: str, known: KnownFile | None) -> None:
        """Remove a file; without ``known``, whatever its content."""
        path = self.folder.place(name)
        temporary = temporary_beside(path)
        try:
            path.rename(temporary)
        except FileNotFoundError:
            return  # it is gone already
        except OSError as error:
            raise StoreError(f"{path} cannot be removed: {error.strerror}", hint="Check its folder.") from error
        self._replaced.append(temporary)
        self._undo.append((partial(place, temporary, path), None))
        self._left.append(path.parent)
        self._folders.add(path.parent)
        if known is not None and not _is_known(temporary, known):
            raise FileChanged(name)

    def move(self, name: str, new_name: str) -> None:
        """Give a file another name."""
        path, target = self.folder.place(name), self.folder.place(new_name)
        self._make_folder(target.parent)
        if os.path.lexists(target):
            raise FileChanged(new_name)
        try:
            path.rename(target)
        except FileNotFoundError:
            raise FileChanged(name) from None
        self._undo.append((partial(target.rename, path), None))
        self._left.append(path.parent)
        self._folders |= {path.parent, target.parent}

    def settle(self) -> None:
        """Make sure that the names are on the disk, too."""
        if self.durable and os.name == "posix":
            for folder in self._folders:
                handle = os.open(folder, os.O_RDONLY)
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)

    def finish(self) -> None:
        """Drop what was replaced, and folders that became empty."""
        for path in self._replaced:
            path.unlink(missing_ok=True)
        for folder in self._left:
            self._drop_empty(folder)

    def undo(self) -> None:
        """Put everything back as it was, except where somebody else wrote in the meantime."""
        for back, temporary in reversed(self._undo):
            with suppress(OSError):  # a file that cannot be put back keeps its temporary name, and is recovered later
                back()
                if temporary is not None:
                    temporary.unlink(missing_ok=True)

    def _make_folder(self, folder: Path) -> None:
        """Make this folder; at first the folders of all kinds, so that people see where to put files of their own."""
        try:
            if not self.folder.path.exists():
                for name in KNOWLEDGE_FOLDERS.values():
                    (self.folder.path / name).mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise StoreError(
                f"the knowledge folder {folder} cannot be made: {error.strerror}",
                hint="Set knowledge.folder to another folder, or knowledge.enabled to false.",
            ) from error

    def _drop_empty(self, folder: Path) -> None:
        roots = {self.folder.path / name for name in KNOWLEDGE_FOLDERS.values()}
        while folder not in roots and self.folder.path in folder.parents:
            try:
                folder.rmdir()
            except OSError:
                return
            folder = folder.parent


def _swap_back(kept: Path, path: Path, written: str) -> None:
    swap(kept, path)
    if hash_of(read_regular(kept)) != written:
        swap(kept, path)  # somebody changed it in between, and that is kept


def _unmake(path: Path, written: str) -> None:
    kept = temporary_beside(path)
    path.rename(kept)
    if hash_of(read_regular(kept)) != written:
        place(kept, path)
    kept.unlink(missing_ok=True)


def claim(left: Leftover) -> Path:
    """Take over a leftover; only one process succeeds."""
    mine = temporary_beside(left.path)
    left.path.rename(mine)
    return mine


def _is_known(path: Path, known: KnownFile) -> bool:
    """Whether a file has the content that is known."""
    status = path.lstat()
    if (status.st_mtime_ns, status.st_size) == (known.mtime, known.size):
        return True
    return stat.S_ISREG(status.st_mode) and hash_of(read_regular(path)) == known.hash
