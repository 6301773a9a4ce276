"""Keeps the stores open that hooks use; hooks of all projects of the user ask the same server."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy  # noqa: F401 - two threads that import it at the same time get in each other's way

from ricordo.cli.hook_answers import for_hooks
from ricordo.config.files import nearest_project
from ricordo.config.loading import ConfigProvider

if TYPE_CHECKING:
    from ricordo.engine import Ricordo

MOST_STORES = 8
"""How many stores stay open for hooks; the one that was used longest ago is closed first."""


@dataclass(slots=True)
class _Open:
    engine: Ricordo
    used: float
    users: int = 0


class HookStores:
    """The stores that hooks asked for, kept open; all of them share one model."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[tuple[str, ...], _Open] = {}
        self._embedders: dict[Any, Any] = {}

    @contextmanager
    def opened(self, folder: Path, store: str | None, tier: str | None) -> Iterator[Ricordo]:
        """The store that belongs to a folder. It stays open afterwards."""
        key = (store or "", tier or "", str(nearest_project(folder) or ""))
        with self._lock:
            found = self._open.get(key)
            if found is None:
                self._close_oldest()
                found = self._open[key] = _Open(self._make(folder, store, tier), time.monotonic())
            found.users += 1
        try:
            yield found.engine
        finally:
            with self._lock:
                found.users -= 1
                found.used = time.monotonic()

    def close(self) -> None:
        """Close all stores."""
        with self._lock:
            for one in self._open.values():
                one.engine.close()
            self._open.clear()

    def _make(self, folder: Path, store: str | None, tier: str | None) -> Ricordo:
        from ricordo import registry
        from ricordo.engine import Ricordo

        provider = ConfigProvider(start=folder)
        settings = provider().embedding
        if settings not in self._embedders:
            self._embedders[settings] = registry.embedder_ahead(provider())
        return Ricordo.open(
            store,
            config=lambda: for_hooks(provider()),
            create=False,
            start=folder,
            tier=tier,
            embedder=self._embedders[settings],
        )

    def _close_oldest(self) -> None:
        """Make room for one more store."""
        idle = [key for key, one in self._open.items() if not one.users]
        idle.sort(key=lambda key: self._open[key].used)
        for key in idle[: max(0, len(self._open) + 1 - MOST_STORES)]:
            self._open.pop(key).engine.close()
