"""Notes beside the store how long the write-ahead log is, so that a log that lost its end is noticed.

SQLite ends the log at the first frame whose checksum is wrong. After a crash that is a frame that was never finished;
after a flipped bit it hides writes that were acknowledged, and nothing in the log tells the two apart. So after every
write that waited for the disk, the number of frames is noted in a small file. It is not flushed itself: after a power
cut it may name fewer frames than there are, never more. The number is compared when the store is opened.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

END = "-mark"
_FORM = struct.Struct("<4s8sIIQ")
_MAGIC = b"Ric1"
_INDEX_HEADER = 48
"""Bytes of the header of SQLite's index of the log, which stands there twice."""
_LOG_HEADER = 32
_WORD = 0xFFFFFFFF


class LogMark(NamedTuple):
    """Which log it is about, how many frames it has, and how many were found missing, and when (in microseconds)."""

    salt: bytes
    frames: int
    lost: int = 0
    noticed: int = 0


def note(store: Path) -> None:
    """Note how far the log reaches now. A mark that cannot be written is no reason to fail a write."""
    now, before = _reached(store), read(store)
    if now is None or (before is not None and before.salt == now.salt and before.frames >= now.frames):
        return  # another process was faster
    with suppress(OSError):
        _write(store, now if before is None else now._replace(lost=before.lost, noticed=before.noticed))


def look(store: Path) -> None:
    """Compare the log, as SQLite found it, with what was noted; frames that are missing are written down."""
    mark = read(store)
    now = _reached(store) if mark is not None and mark.frames else None
    if mark is None or now is None:
        return
    if now.salt == mark.salt:
        missing = mark.frames - now.frames
    elif _is_head_damaged(Path(f"{store}-wal")):
        missing = mark.frames  # then SQLite reads none of it
    else:
        return  # the log was written into the store and started again
    if missing > 0:
        with suppress(OSError):
            _write(store, LogMark(now.salt, now.frames, mark.lost + missing, time.time_ns() // 1000))


def tidy(store: Path) -> None:
    """Remove the mark once the log is gone, unless frames were missing."""
    mark = read(store)
    if mark is not None and not mark.lost and not Path(f"{store}-wal").exists():
        with suppress(OSError):
            Path(f"{store}{END}").unlink()


def forget(store: Path) -> None:
    """Forget what was reported as lost."""
    mark = read(store)
    if mark is not None and mark.lost:
        _write(store, mark._replace(lost=0, noticed=0))


def read(store: Path) -> LogMark | None:
    """The mark; None when there is none that can be read."""
    try:
        magic, salt, frames, lost, noticed = _FORM.unpack(Path(f"{store}{END}").read_bytes())
    except (OSError, struct.error):
        return None
    return LogMark(salt, frames, lost, noticed) if magic == _MAGIC else None


def _reached(store: Path) -> LogMark | None:
    """How far the log reaches, as the index says that all processes share; None when it is just being changed.

    The index is read through the descriptor that SQLite holds itself. It must not be opened here: closing any
    descriptor of a file ends all locks that the process has on it, and SQLite's are among them.
    """
    handle = _index_handle(f"{os.path.realpath(store)}-shm")
    if handle is None:
        return None
    try:
        head = os.pread(handle, 2 * _INDEX_HEADER, 0)
    except OSError:
        return None
    first = head[:_INDEX_HEADER]
    if len(head) < 2 * _INDEX_HEADER or first != head[_INDEX_HEADER:] or not first[12]:
        return None
    return LogMark(first[32:40], struct.unpack_from("=I", first, 16)[0])


def _index_handle(path: str) -> int | None:
    """The descriptor under which this process has a file open; None where the system does not tell."""
    if sys.platform.startswith("linux"):
        for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - this is done for every write
            with suppress(OSError):
                if os.readlink(f"/proc/self/fd/{name}") == path:  # noqa: PTH115 - the same
                    return int(name)
    elif sys.platform == "darwin":
        import fcntl

        for handle in range(3, 256):
            with suppress(OSError):
                if fcntl.fcntl(handle, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0") == os.fsencode(path):
                    return handle
    return None


def _write(store: Path, mark: LogMark) -> None:
    handle = os.open(f"{store}{END}", os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    try:
        os.write(handle, _FORM.pack(_MAGIC, *mark))
    finally:
        os.close(handle)


def _is_head_damaged(log: Path) -> bool:
    """Whether the first bytes of a log are not what SQLite wrote: they carry a checksum of their own."""
    try:
        with log.open("rb") as file:
            head = file.read(_LOG_HEADER)
            is_longer = bool(file.read(1))
    except OSError:
        return False
    if not is_longer:
        return False
    order = ">" if head[3] & 1 else "<"
    first = second = 0
    for one, other in struct.iter_unpack(f"{order}II", head[:24]):
        first = (first + one + second) & _WORD
        second = (second + other + first) & _WORD
    return (first, second) != struct.unpack(">II", head[24:])
