"""Steps on single files of which none loses anything: reading without following links, naming, exchanging.

Which file is whose is decided in ``knowledge_folder``.
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
from pathlib import Path
from typing import Any, BinaryIO

LEFTOVER = re.compile(r"\.ricordo-(\d{1,10})-\d+-(.+)\.tmp")
"""A file under a temporary name: the process that made it, and the name it was to have or had."""
_numbers = count(1)


def temporary_beside(path: Path) -> Path:
    """A name beside a file that tells, after a crash, which process made it and for which file."""
    known = LEFTOVER.fullmatch(path.name)
    return path.with_name(f".ricordo-{os.getpid()}-{next(_numbers)}-{known[2] if known else path.name}.tmp")


def open_regular(path: Path) -> BinaryIO:
    """A file to read; a link is refused, and so is anything else that is no regular file."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(path, flags), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode) or (os.name == "nt" and path.is_symlink()):
        file.close()
        raise OSError(errno.EINVAL, "it is no regular file")
    return file


def read_regular(path: Path) -> bytes:
    """The bytes of a regular file; links are not followed."""
    with open_regular(path) as file:
        return file.read()


def write_new(path: Path, data: bytes, *, durable: bool) -> None:
    """Write a file that only its owner can read, where none is; ``durable`` waits until it is on the disk."""
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        if durable:
            os.fsync(file.fileno())


def place(source: Path, target: Path) -> None:
    """Give a file its name, unless that is taken."""
    if os.name == "nt":
        source.rename(target)  # refuses to replace
        return
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
            raise
        if os.path.lexists(target):  # a system without links to files
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        source.rename(target)
        return
    source.unlink()


def swap(one: Path, other: Path) -> None:
    """Exchange two files; where the system cannot do that at once, the time between is as short as can be."""
    exchange = _exchange()
    if exchange is not None and exchange(os.fsencode(one), os.fsencode(other)):
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
    """The system's call that exchanges two files; answers whether it did."""
    import ctypes

    try:
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            call = library.renamex_np
            return lambda one, other: _done(ctypes, call(one, other, 2))
        call = library.renameat2
        return lambda one, other: _done(ctypes, call(-100, one, -100, other, 2))
    except (OSError, AttributeError, TypeError):
        return None


def _done(ctypes: Any, answer: int) -> bool:
    if answer == 0:
        return True
    number = ctypes.get_errno()
    if number == errno.ENOENT:
        raise FileNotFoundError(number, os.strerror(number))
    return False
