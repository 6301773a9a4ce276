"""How work grows with what it is given: a measure that is the same on a fast, a slow and a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable

LINEAR, QUADRATIC = 4, 16
TOO_MUCH = 10
"""Between the growth of work that is four times as much for four times the size, and of work that is sixteen times."""
_LEAST = 0.02
"""Seconds of the processor below which work is too little to be compared."""


def growth(work: Callable[[int], object], size: int) -> float:
    """How many times the processor's time that the work takes for a size is the time for a quarter of it."""
    quarter = max(_processor_time(work, size // LINEAR), _LEAST)
    whole = _processor_time(work, size)
    if whole / quarter >= TOO_MUCH:  # once more: another program may have emptied the processor's caches
        whole = min(whole, _processor_time(work, size))
    return whole / quarter


def _processor_time(work: Callable[[int], object], size: int) -> float:
    begun = time.process_time()
    work(size)
    return time.process_time() - begun
