"""Lets numpy multiply matrices in one thread for a while.

OpenBLAS, which numpy's packages bring, hands every product to threads that wait busily for each other and for what
comes next. For a question that takes far more of the processor than the products themselves, and on a busy machine
much longer. It has no setting for one thread of a program, so the whole process computes in one until the last is done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

_FOLDERS = ("../numpy.libs", ".dylibs")
"""Where numpy's packages keep OpenBLAS: on Linux and Windows, and on macOS."""
_NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads")

_lock = threading.Lock()
_inside = 0
_before = 0


@contextmanager
def one_thread() -> Iterator[None]:
    """Within this, products are computed in one thread; nothing happens where numpy uses another library."""
    global _inside, _before
    found = _threads_of_openblas()
    if found is None:
        yield
        return
    read, write = found
    with _lock:
        if not _inside:
            _before = read()
            write(1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                write(_before)


@cache
def _threads_of_openblas() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """What tells, and what sets, the number of its threads."""
    import ctypes

    import numpy as np

    beside = Path(str(np.__file__)).parent
    for file in (one for folder in _FOLDERS for one in sorted((beside / folder).glob("*openblas*"))):
        try:
            library: Any = ctypes.CDLL(str(file.resolve()))
        except OSError:
            continue
        for name in _NAMES:
            read, write = (getattr(library, name.format(verb), None) for verb in ("get", "set"))
            if read is not None and write is not None:
                write.restype = None
                return read, write
    return None
