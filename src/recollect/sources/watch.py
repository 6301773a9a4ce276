"""Noticing changes below folders as they happen, in batches: bursts come as one, editors' detours as their outcome."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

SETTLE_MS = 400
"""A burst is over when nothing changed for STEP_MS, and is handed on after SETTLE_MS at the latest."""
STEP_MS = 80
FIRST_MS = 500
"""An empty batch comes at least this often: the first says that watching has begun."""


def changes(paths: Sequence[Path], stop: threading.Event) -> Iterator[set[Path]]:
    """Sets of paths that were created, changed or deleted, until ``stop`` is set; empty ones when nothing happens."""
    from watchfiles import watch

    following = watch(
        *paths,
        watch_filter=None,
        debounce=SETTLE_MS,
        step=STEP_MS,
        stop_event=stop,
        raise_interrupt=True,
        rust_timeout=FIRST_MS,
        yield_on_timeout=True,
    )
    for batch in following:
        yield {Path(name) for _, name in batch}
