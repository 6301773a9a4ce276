"""The knowledge folder on the disk: what is in it, and writing to it without ever losing what somebody else wrote.

A file is written beside its place, flushed, and put there in one step. Where the system can, the two are exchanged, so
that what was there before is at hand afterwards: if it is not what was expected, somebody saved it a moment ago, and it
is put back. Links are not followed, at any level: a folder that somebody checked in could lead anywhere with them. What
the files mean is not known here.
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
"""The time of a file that may have changed again without its time telling."""

_TICK = 20_000_000
_COARSE_TICK = 2_000_000_000
_PAUSE = 0.02
_PATIENCE = 10
_IGNORED = (".", "~", "#")


class FileChanged(Exception):  # noqa: N818 - an event, no error: it is caught, taken in, and tried again
    """Somebody wrote, made or removed a file that was about to be written."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Looks(NamedTuple):
    """A file's time and size."""

    mtime: int
    size: int

    def settled(self, now: int) -> Looks:
        """The same, but without a time when the file could change again without its time changing."""
        tick = _COARSE_TICK if self.mtime % 1_000_000_000 == 0 else _TICK
        return self if now - self.mtime > tick else Looks(UNSETTLED, self.size)


@frozen
class Leftover:
    """A file under a temporary name: where it is, which process made it, and the name it was to have or had."""

    path: Path
    pid: int
    name: str


@frozen
class ReadFile:
    """What a file held, and what it looked like then."""

    data: bytes
    looks: Looks
    changed: int
    """Its time, settled or not."""

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
        """What the last scan saw of files under temporary names."""

    def exists(self) -> bool:
        return self.path.is_dir() and not self.path.is_symlink()

    def place(self, name: str) -> Path:
        """Where a file is; refused when a folder on the way is a link."""
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
        """All files there are, by name. Hidden ones, links and editors' temporary files do not count."""
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
                            continue  # gone since
                        found[f"{folder}/{entry.name}"] = Looks(status.st_mtime_ns, status.st_size)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise StoreError(
                f"the knowledge folder {self.path / folder} cannot be read: {error.strerror}",
                hint="Check its permissions; nothing was changed.",
            ) from error

    def look(self, names: Collection[str]) -> dict[str, Looks]:
        """Those of these files that are there."""
        found: dict[str, Looks] = {}
        for name in names:
            with suppress(FileNotFoundError, NotADirectoryError, StoreError):
                status = self.place(name).lstat()
                found[name] = Looks(status.st_mtime_ns, status.st_size)
        return found

    def read(self, name: str, *, known: str = "") -> ReadFile:
        """A file's bytes. One that is being written just now is waited for a little, unless it is as it was known."""
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
        """Writes that are undone when the block fails."""
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
        """How each step is undone, and the temporary file that is of no use after that."""
        self._replaced: list[Path] = []
        self._left: list[Path] = []
        self._folders: set[Path] = set()

    def put(self, name: str, data: bytes, known: KnownFile | None) -> Looks:
        """Write a file where ``known`` was, or where none was."""
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
        """Remove a file; whatever it holds, when ``known`` is not given."""
        path = self.folder.place(name)
        temporary = temporary_beside(path)
        try:
            path.rename(temporary)
        except FileNotFoundError:
            return  # gone already, as it should be
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
        """See that the names are on the disk too."""
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
        """Put everything back as it was, but never over what somebody else wrote since."""
        for back, temporary in reversed(self._undo):
            with suppress(OSError):  # what cannot be put back stays under its temporary name, and is recovered later
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
                hint="Name another with knowledge.folder, or set knowledge.enabled to false.",
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
        swap(kept, path)  # it was changed in between: that stays


def _unmake(path: Path, written: str) -> None:
    kept = temporary_beside(path)
    path.rename(kept)
    if hash_of(read_regular(kept)) != written:
        place(kept, path)
    kept.unlink(missing_ok=True)


def claim(left: Leftover) -> Path:
    """Take over a leftover: only one process can."""
    mine = temporary_beside(left.path)
    left.path.rename(mine)
    return mine


def _is_known(path: Path, known: KnownFile) -> bool:
    """Whether a file is what was known of it."""
    status = path.lstat()
    if (status.st_mtime_ns, status.st_size) == (known.mtime, known.size):
        return True
    return stat.S_ISREG(status.st_mode) and hash_of(read_regular(path)) == known.hash
