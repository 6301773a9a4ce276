"""Operations on single files that never lose anything: reading without following links, naming, exchanging.

``knowledge_folder`` decides which file belongs to which item.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from contextlib import suppress
from functools import cache
from itertools import count
from typing import Any, BinaryIO

from ricordo.nofollow import Spot

LEFTOVER = re.compile(r"\.ricordo-(\d{1,10})-\d+-(.+)\.tmp")
"""A temporary file name: it holds the process that made it, and the name that the file should get or had."""
_numbers = count(1)


def temporary_beside(spot: Spot) -> Spot:
    """A temporary name beside a file; after a crash it shows which process made it, and for which file."""
    known = LEFTOVER.fullmatch(spot.base)
    return spot.beside(f".ricordo-{os.getpid()}-{next(_numbers)}-{known[2] if known else spot.base}.tmp")


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


def write_new(spot: Spot, data: bytes, *, durable: bool) -> None:
    """Write a new file that only its owner can read; ``durable`` waits until it is on the disk."""
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    with os.fdopen(spot.open(flags), "wb") as file:
        file.write(data)
        file.flush()
        if durable:
            os.fsync(file.fileno())


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


def swap(one: Spot, other: Spot) -> None:
    """Exchange two files; if the system cannot do it in one step, it takes two steps right after each other."""
    exchange = _exchange()
    with one.reached() as (name, within), other.reached() as (new, there):
        has_handles = within is not None and there is not None
        if has_handles and exchange is not None and exchange(within, os.fsencode(name), there, os.fsencode(new)):
            return
    aside = temporary_beside(one)
    other.rename(aside)
    placed = False
    try:
        place(one, other)
        placed = True
    finally:
        if not placed:
            with suppress(OSError):
                place(aside, other)
    aside.rename(one)


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
        return lambda within, one, there, other: _done(ctypes, call(within, one, there, other, 2))
    except (OSError, AttributeError, TypeError):
        return None


def _done(ctypes: Any, answer: int) -> bool:
    if answer == 0:
        return True
    number = ctypes.get_errno()
    if number == errno.ENOENT:
        raise FileNotFoundError(number, os.strerror(number))
    return False
