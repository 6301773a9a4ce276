"""The knowledge folder on disk: lists its files, and writes to it without ever losing what somebody else wrote.

A new file is written under a temporary name, flushed, and exchanged with the old one, which can still be looked at: if
it is not what was expected, somebody saved it a moment ago, and it is put back. Links are never followed (see
``nofollow``), because a folder from a repository could lead anywhere with them. This module does not know what the
files mean.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from itertools import count, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ricordo.digests import hash_of
from ricordo.errors import StoreError
from ricordo.frozen import frozen
from ricordo.memory.files.format import SUFFIX
from ricordo.nofollow import LinkedFolder, Spot, folder_handle
from ricordo.values.items import KnownFile
from ricordo.values.kinds import KNOWLEDGE_FOLDERS

LEFTOVER = re.compile(r"\.ricordo-(\d{1,10})-\d+-(.+)\.tmp")
"""A temporary file name: it holds the process that made it, and the name that the file should get or had."""
_numbers = count(1)


def temporary_beside(spot: Spot) -> Spot:
    """A temporary name beside a file; after a crash it shows which process made it, and for which file."""
    match = LEFTOVER.fullmatch(spot.base)
    return spot.beside(f".ricordo-{os.getpid()}-{next(_numbers)}-{match[2] if match else spot.base}.tmp")


def open_regular(spot: Spot) -> BinaryIO:
    """Open a file to read; a link, and anything else that is not a regular file, is refused."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = os.fdopen(spot.open(flags), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode) or (os.name == "nt" and spot.path.is_symlink()):
        file.close()
        raise OSError(errno.EINVAL, "it is not a regular file")
    return file


def read_regular(spot: Spot) -> bytes:
    """The bytes of a regular file; links are not followed."""
    with open_regular(spot) as file:
        return file.read()


def place(source: Spot, target: Spot) -> None:
    """Rename a file, unless the new name is taken."""
    if os.name == "nt":
        source.rename(target)  # Windows refuses to replace a file
        return
    try:
        source.link_to(target)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
            raise
        if target.is_taken():  # this system has no hard links
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        source.rename(target)
        return
    source.unlink()


def swap(spot: Spot, other: Spot) -> None:
    """Exchange two files in one step, so that an editor never finds ``other`` missing; where the system cannot do that,
    in two. If somebody makes ``other`` anew in between, that is an error, and nothing is overwritten.
    """
    exchange = _exchange()
    with spot.reached() as (name, within), other.reached() as (new, there):
        has_handles = within is not None and there is not None
        if has_handles and exchange is not None and exchange(within, os.fsencode(name), there, os.fsencode(new)):
            return
    aside = temporary_beside(spot)
    other.rename(aside)
    try:
        place(spot, other)
    except (OSError, LinkedFolder):
        with suppress(OSError):
            place(aside, other)
        raise
    aside.rename(spot)


@cache
def _exchange() -> Any:
    """Exchange two files with the system's own call; returns whether it did."""
    import ctypes

    try:
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            call = library.renameatx_np
        else:
            call = library.renameat2
        return lambda within, name, there, new: _done(ctypes, call(within, name, there, new, 2))
    except (OSError, AttributeError, TypeError):
        return None


def _done(ctypes: Any, answer: int) -> bool:
    if answer == 0:
        return True
    number = ctypes.get_errno()
    if number == errno.ENOENT:
        raise FileNotFoundError(number, os.strerror(number))
    return False


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

    def without_fresh_time(self, now: int) -> Looks:
        """The same, but without the time if the file could still change within the same time stamp."""
        tick = _COARSE_TICK if self.mtime % 1_000_000_000 == 0 else _TICK
        return self if now - self.mtime > tick else Looks(UNSETTLED, self.size)


@frozen
class Leftover:
    """A file with a temporary name: its path, the process that made it, and the name that it should get or had."""

    spot: Spot
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


class KnowledgeFolder:
    """One folder with ``memories/``, ``notes/`` and ``articles/`` in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.leftovers: list[Leftover] = []
        """The files with temporary names that the last scan found."""

    def exists(self) -> bool:
        return self.path.is_dir() and not self.path.is_symlink()

    def spot(self, name: str) -> Spot:
        """Where a file is or will be."""
        return Spot(self.path, name)

    def place(self, name: str) -> Path:
        """The path of a file, to show it; an error if one of its folders is a link."""
        spot = self.spot(name)
        with suppress(FileNotFoundError, NotADirectoryError), spot.reached():
            pass
        return spot.path

    def scan(self) -> dict[str, Looks]:
        """All files by name, without hidden files, links and editors' temporary files."""
        files: dict[str, Looks] = {}
        self.leftovers = []
        waiting = list(KNOWLEDGE_FOLDERS.values()) if self.exists() else []
        while waiting:
            folder = waiting.pop()
            try:
                waiting += self._list(folder, files)
            except (FileNotFoundError, NotADirectoryError, LinkedFolder):
                continue
            except OSError as error:
                raise StoreError(
                    f"the knowledge folder {self.path / folder} cannot be read: {error.strerror}",
                    hint="Check its permissions; nothing was changed.",
                ) from error
        return files

    def _list(self, folder: str, files: dict[str, Looks]) -> list[str]:
        """Note the files of one folder in ``found``; returns the folders in it."""
        inside: list[str] = []
        with (
            folder_handle(self.path, folder) as handle,
            os.scandir(handle if handle is not None else self.path / folder) as entries,
        ):
            for entry in entries:
                name = f"{folder}/{entry.name}"
                if entry.name.startswith(_IGNORED):
                    left = LEFTOVER.fullmatch(entry.name)
                    if left and entry.is_file(follow_symlinks=False):
                        self.leftovers.append(Leftover(self.spot(name), int(left[1]), f"{folder}/{left[2]}"))
                elif entry.is_dir(follow_symlinks=False):
                    inside.append(name)
                elif entry.name.lower().endswith(SUFFIX) and entry.is_file(follow_symlinks=False):
                    with suppress(FileNotFoundError):  # it was removed in the meantime
                        status = entry.stat(follow_symlinks=False)
                        files[name] = Looks(status.st_mtime_ns, status.st_size)
        return inside

    def look(self, names: Collection[str]) -> dict[str, Looks]:
        """The files of these names that exist."""
        files: dict[str, Looks] = {}
        by_folder = attrgetter("folder")
        for folder, inside in groupby(sorted(map(self.spot, names), key=by_folder), by_folder):
            with (
                suppress(FileNotFoundError, NotADirectoryError, LinkedFolder),
                folder_handle(self.path, folder) as handle,
            ):
                for spot in inside:
                    with suppress(FileNotFoundError):
                        name = spot.base if handle is not None else spot.path
                        status = os.stat(name, dir_fd=handle, follow_symlinks=False)
                        files[spot.name] = Looks(status.st_mtime_ns, status.st_size)
        return files

    def read(self, name: str, *, stored_hash: str = "") -> ReadFile:
        """A file's bytes. If it is being written just now, it waits a little, unless the file is as it was known."""
        for attempt in range(_PATIENCE):
            with open_regular(self.spot(name)) as file:
                data = file.read()
                status = os.fstat(file.fileno())
            now = time.time_ns()
            looks = Looks(status.st_mtime_ns, status.st_size)
            ready = looks.without_fresh_time(now).mtime != UNSETTLED or looks.mtime > now + _COARSE_TICK
            if ready or attempt == _PATIENCE - 1 or hash_of(data) == stored_hash:
                return ReadFile(data, looks.without_fresh_time(now), looks.mtime)
            time.sleep(_PAUSE)
        raise AssertionError("the last attempt returns")

    def holds(self, name: str, read: ReadFile) -> bool:
        """Whether a file is still what was read of it."""
        looks = self.look([name]).get(name)
        if looks is None or looks.size != read.looks.size:
            return False
        try:
            return looks == read.looks or hash_of(read_regular(self.spot(name))) == read.hash
        except OSError:
            return False

    @contextmanager
    def changes(self, *, durable: bool) -> Iterator[FileChanges]:
        """Changes to files that are undone if the block fails."""
        made = FileChanges(self, durable=durable)
        with ExitStack() as stack:
            stack.callback(made.undo)
            yield made
            stack.pop_all()
        made.finish()


class FileChanges:
    """Files written and removed together with a transaction."""

    def __init__(self, folder: KnowledgeFolder, *, durable: bool) -> None:
        self.folder = folder
        self.durable = durable
        self._undo: list[tuple[Callable[[], object], Spot | None]] = []
        """How each step is undone, and the temporary file that is not needed afterwards."""
        self._replaced: list[Spot] = []
        self._left: list[str] = []
        self._folders: set[str] = set()

    def put(self, name: str, data: bytes, expected: KnownFile | None) -> Looks:
        """Write a file in place of ``known``, or a new one."""
        spot = self.folder.spot(name)
        self._make_folder(spot.folder)
        temporary = temporary_beside(spot)
        with _explained(spot, "written"):
            try:
                # Only its owner can read it.
                flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
                with os.fdopen(temporary.open(flags), "wb") as file:
                    file.write(data)
                    file.flush()
                    if self.durable:
                        os.fsync(file.fileno())
                if expected is None:
                    place(temporary, spot)
                    self._undo.append((partial(_unmake, spot, hash_of(data)), None))
                else:
                    swap(temporary, spot)
                    self._replaced.append(temporary)
                    self._undo.append((partial(_swap_back, temporary, spot, hash_of(data)), temporary))
            except OSError:
                temporary.unlink(missing_ok=True)
                raise
            if expected is not None and not _is_as_expected(temporary, expected):
                raise _changed(name, temporary)
            self._folders.add(spot.folder)
            status = spot.lstat()
        return Looks(status.st_mtime_ns, status.st_size).without_fresh_time(time.time_ns())

    def take(self, name: str, expected: KnownFile | None) -> None:
        """Remove a file; without ``known``, whatever its content."""
        spot = self.folder.spot(name)
        temporary = temporary_beside(spot)
        if _is_folder(spot):
            return  # somebody made it in the place of the file, and what is in it is theirs
        with _explained(spot, "removed"):
            try:
                spot.rename(temporary)
            except FileNotFoundError:
                return  # it is gone already
            self._replaced.append(temporary)
            self._undo.append((partial(place, temporary, spot), None))
            self._left.append(spot.folder)
            self._folders.add(spot.folder)
            if expected is not None and not _is_as_expected(temporary, expected):
                raise FileChanged(name)

    def move(self, name: str, new_name: str) -> None:
        """Give a file another name."""
        spot, target = self.folder.spot(name), self.folder.spot(new_name)
        self._make_folder(target.folder)
        with _explained(spot, "renamed"):
            if target.is_taken():
                raise _changed(new_name, target)
            spot.rename(target)
        self._undo.append((partial(target.rename, spot), None))
        self._left.append(spot.folder)
        self._folders |= {spot.folder, target.folder}

    def flush_names(self) -> None:
        """Make sure that the names are on the disk, too."""
        if self.durable and os.name == "posix":
            for folder in self._folders:
                with (
                    _explained(self.folder.spot(folder), "written"),
                    folder_handle(self.folder.path, folder) as handle,
                ):
                    if handle is not None:
                        os.fsync(handle)

    def finish(self) -> None:
        """Drop what was replaced, and folders that became empty."""
        for spot in self._replaced:
            # The change is saved by now. A file that cannot be dropped is found and dropped later.
            with suppress(OSError, LinkedFolder):
                spot.unlink(missing_ok=True)
        for folder in self._left:
            while "/" in folder:
                spot = self.folder.spot(folder)
                try:
                    with spot.reached() as (name, within):
                        os.rmdir(name, dir_fd=within)
                except (OSError, LinkedFolder):
                    break
                folder = spot.folder

    def undo(self) -> None:
        """Put everything back as it was, except where somebody else wrote in the meantime."""
        for back, temporary in reversed(self._undo):
            # A file that cannot be put back keeps its temporary name, and is recovered later.
            with suppress(OSError, LinkedFolder):
                back()
                if temporary is not None:
                    temporary.unlink(missing_ok=True)

    def _make_folder(self, folder: str) -> None:
        """Make this folder; at first the folders of all kinds, so that people see where to put files of their own."""
        try:
            is_first = not self.folder.path.exists()
            for name in (*(KNOWLEDGE_FOLDERS.values() if is_first else ()), folder):
                with folder_handle(self.folder.path, name, make=True):
                    pass
        except OSError as error:
            raise StoreError(
                f"the knowledge folder {self.folder.path / folder} cannot be made: {error.strerror}",
                hint="Set knowledge.folder to another folder, or knowledge.enabled to false.",
            ) from error


@contextmanager
def _explained(spot: Spot, done: str) -> Iterator[None]:
    """Say why a file could not be ``done``; a file or folder that came or went meanwhile was changed by somebody."""
    try:
        yield
    except (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise _changed(spot.name, spot) from None
    except OSError as error:
        raise StoreError(
            f"{spot} cannot be {done}: {error.strerror}", hint="Nothing was saved. Check its folder and the disk."
        ) from error


def _changed(name: str, found: Spot) -> FileChanged | StoreError:
    """What to raise of a file that is not as it was: it is looked at again, unless a folder has its place."""
    if _is_folder(found):
        return StoreError(f"a folder has the place of the file {name}", hint="Give the folder another name.")
    return FileChanged(name)


def _is_folder(spot: Spot) -> bool:
    try:
        return stat.S_ISDIR(spot.lstat().st_mode)
    except (OSError, LinkedFolder):
        return False


def _swap_back(backup: Spot, spot: Spot, written: str) -> None:
    swap(backup, spot)
    if hash_of(read_regular(backup)) != written:
        swap(backup, spot)  # somebody changed it in between, and that is kept


def _unmake(spot: Spot, written: str) -> None:
    aside = temporary_beside(spot)
    spot.rename(aside)
    if hash_of(read_regular(aside)) != written:
        place(aside, spot)
    aside.unlink(missing_ok=True)


def _is_as_expected(spot: Spot, expected: KnownFile) -> bool:
    """Whether a file has the content that is known."""
    status = spot.lstat()
    if (status.st_mtime_ns, status.st_size) == (expected.mtime, expected.size):
        return True
    return stat.S_ISREG(status.st_mode) and hash_of(read_regular(spot)) == expected.hash
