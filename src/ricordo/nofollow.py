"""Files in a folder that somebody else may have made, reached without following links.

Every step opens the folders on the way one by one, each relative to the one before and none through a link, and then
works relative to the last. Whoever exchanges a folder for a link in between gains nothing: the step fails. Where the
system has no such calls (Windows), the folders are looked at just before the step.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ricordo.errors import StoreError
from ricordo.frozen import frozen

HAS_HANDLES = hasattr(os, "O_NOFOLLOW") and hasattr(os, "O_DIRECTORY") and os.open in os.supports_dir_fd
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_NO_FOLDER = (errno.ENOTDIR, errno.ELOOP, errno.EMLINK)
"""What opening a link as a folder fails with; which of them depends on the system."""
_LOOKS = 100
"""How often a path is looked at again while somebody exchanges links on it for folders."""


def real_path(path: str | os.PathLike[str]) -> str:
    """Where a path leads through all its links.

    The system's own step asks of each part whether it is a link and then reads the link; if the link turned into a
    folder or went away in between, the reading fails. The path is then looked at again.
    """
    for _ in range(_LOOKS):
        try:
            return os.path.realpath(path)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOENT):
                raise
    return os.path.realpath(path)


class LinkedFolder(StoreError):  # noqa: N818 - named like the others of the tree
    """A folder on the way to a file is a link."""


@contextmanager
def folder_handle(root: Path, folder: str, *, make: bool = False) -> Iterator[int | None]:
    """A descriptor of a folder below ``root``, for calls with ``dir_fd``; None where the system has none.

    With ``make``, folders that are missing are made, readable by their owner alone.
    """
    if make:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not HAS_HANDLES:
        _look_for_links(root, folder, make=make)
        yield None
        return
    handle = _open_folder(root, None, root)
    try:
        so_far = root
        for part in folder.split("/") if folder else ():
            so_far = so_far / part
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=handle)
            inner = _open_folder(part, handle, so_far)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def _open_folder(name: str | Path, within: int | None, path: Path) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=within)
    except OSError as error:
        if error.errno in _NO_FOLDER and stat.S_ISLNK(os.stat(name, dir_fd=within, follow_symlinks=False).st_mode):
            raise _link_error(path) from None
        raise


def _look_for_links(root: Path, folder: str, *, make: bool) -> None:
    so_far = root
    for part in ("", *folder.split("/")):
        so_far = so_far / part
        if so_far.is_symlink():
            raise _link_error(so_far)
        if make:
            so_far.mkdir(exist_ok=True, mode=0o700)


def _link_error(path: Path) -> LinkedFolder:
    return LinkedFolder(
        f"the folder {path} is a link, and links are not followed there",
        hint="Put a real folder in its place. A knowledge folder of your own can be named with knowledge.folder.",
    )


@frozen
class Spot:
    """Where a file is or will be: the root of the folder, and the name below it (``notes/plan.md``)."""

    root: Path
    name: str

    @property
    def folder(self) -> str:
        return self.name.rpartition("/")[0]

    @property
    def base(self) -> str:
        """The last part of the name."""
        return self.name.rpartition("/")[2]

    @property
    def path(self) -> Path:
        return self.root / self.name

    def __str__(self) -> str:
        return str(self.path)

    def beside(self, base: str) -> Spot:
        """Another name in the same folder."""
        return Spot(self.root, f"{self.folder}/{base}" if self.folder else base)

    @contextmanager
    def reached(self) -> Iterator[tuple[str, int | None]]:
        """How a call names the file: a name, and the folder that it is relative to."""
        with folder_handle(self.root, self.folder) as handle:
            yield (self.base if handle is not None else str(self.path)), handle

    def open(self, flags: int, mode: int = 0o600) -> int:
        """A descriptor; a link in the place of the file is not followed."""
        with self.reached() as (name, within):
            return os.open(name, flags | getattr(os, "O_NOFOLLOW", 0), mode, dir_fd=within)

    def lstat(self) -> os.stat_result:
        with self.reached() as (name, within):
            return os.stat(name, dir_fd=within, follow_symlinks=False)

    def is_taken(self) -> bool:
        """Whether anything has this name."""
        try:
            self.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def rename(self, other: Spot) -> None:
        with self.reached() as (name, within), other.reached() as (new, there):
            os.rename(name, new, src_dir_fd=within, dst_dir_fd=there)

    def link_to(self, other: Spot) -> None:
        with self.reached() as (name, within), other.reached() as (new, there):
            os.link(name, new, src_dir_fd=within, dst_dir_fd=there, follow_symlinks=False)

    def unlink(self, *, missing_ok: bool = False) -> None:
        try:
            with self.reached() as (name, within):
                os.unlink(name, dir_fd=within)
        except FileNotFoundError:
            if not missing_ok:
                raise


def open_below(folder: Path, path: Path) -> int:
    """A descriptor to read a file, which may be reached through links that stay below ``folder``, and no others.

    ``folder`` is a real path. What the links lead to is found first, and then opened without following any: a link that
    is put there in between is refused.
    """
    real = real_path(path)
    start = str(folder).rstrip(os.sep) + os.sep
    if not real.startswith(start):
        raise LinkedFolder(
            f"{path} leads out of the folder {folder}, and links that do are not followed",
            hint="Add what it leads to by its own path, or use ‹follow_links›.",
        )
    spot = Spot(folder, real[len(start) :].replace(os.sep, "/"))
    return spot.open(os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
