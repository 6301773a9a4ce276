"""Noticing changes below folders as they happen, in batches: bursts come as one, editors' detours as their outcome."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

SETTLE_MS = 400
"""A burst is over when nothing changed for STEP_MS, and is handed on after SETTLE_MS at the latest."""
STEP_MS = 80


def changes(paths: Sequence[Path], stop: threading.Event) -> Iterator[set[Path]]:
    """Sets of paths that were created, changed or deleted, until ``stop`` is set."""
    from watchfiles import watch

    for batch in watch(
        *paths, watch_filter=None, debounce=SETTLE_MS, step=STEP_MS, stop_event=stop, raise_interrupt=False
    ):
        yield {Path(name) for _, name in batch}
