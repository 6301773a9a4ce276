"""Keeps the stores open that hooks use; those of all projects of the user ask the same server.

Before each use it checks that a new process would open the same store with the same settings. Otherwise the store is
opened again.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy  # noqa: F401 - two threads that import it at the same time get in each other's way

from ricordo.config.files import nearest_project
from ricordo.config.loading import Config, ConfigProvider
from ricordo.config.places import locate, places

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo

STORES_KEPT_OPEN = 8
"""How many stores stay open; the one that was used longest ago is closed first."""
FOLDERS_REMEMBERED = 200
"""How many folders' settings are kept."""


@dataclass(slots=True)
class _Open:
    engine: Ricordo
    made_from: tuple[Any, ...]
    used: float
    users: int = 0


class OpenStores:
    """The stores that were asked for, kept open, with the settings as ``change`` makes them."""

    def __init__(self, change: Callable[[Config], Config]) -> None:
        self._change = change
        self._embedders: dict[Any, Any] = {}
        self._lock = threading.Lock()
        self._open: dict[tuple[str, ...], _Open] = {}
        self._settings: dict[Path, ConfigProvider] = {}

    @contextmanager
    def opened(self, folder: Path, store: str | None, tier: str | None) -> Iterator[Ricordo]:
        """The store that is meant in a folder. It stays open afterwards."""
        provider = self._provider(folder)
        key = (store or "", tier or "", str(folder if store else nearest_project(folder) or ""))
        with self._lock:
            made_from = _made_from(provider(), folder, store, tier)
            entry = self._open.get(key)
            if entry is not None and entry.made_from != made_from:
                self._retire(key)
                entry = None
            if entry is None:
                self._close_oldest()
                engine = self._make(provider, folder, store, tier)
                entry = self._open[key] = _Open(engine, made_from, time.monotonic())
            entry.users += 1
        try:
            yield entry.engine
        finally:
            with self._lock:
                entry.users -= 1
                entry.used = time.monotonic()
                if not entry.users and self._open.get(key) is not entry:
                    entry.engine.close()  # another one took its place meanwhile

    def close(self) -> None:
        with self._lock:
            for entry in self._open.values():
                entry.engine.close()
            self._open.clear()

    def _provider(self, folder: Path) -> ConfigProvider:
        provider = self._settings.get(folder)
        if provider is None:
            if len(self._settings) >= FOLDERS_REMEMBERED:
                self._settings.clear()
            provider = self._settings[folder] = ConfigProvider(start=folder)
        return provider

    def _make(self, provider: ConfigProvider, folder: Path, store: str | None, tier: str | None) -> Ricordo:
        from ricordo.engine.ricordo import Ricordo
        from ricordo.registry import embedder_ahead

        settings = provider()
        if settings.embedding not in self._embedders:  # stores with the same settings share a model
            self._embedders[settings.embedding] = embedder_ahead(settings)
        return Ricordo.open(
            store,
            config=lambda: self._change(provider()),
            create=False,
            start=folder,
            tier=tier,
            embedder=self._embedders[settings.embedding],
        )

    def _retire(self, key: tuple[str, ...]) -> None:
        """Close a store that is not the right one any more; one that is in use is closed by its last user."""
        entry = self._open.pop(key)
        if not entry.users:
            entry.engine.close()

    def _close_oldest(self) -> None:
        """Make room for one more store."""
        idle = [key for key, entry in self._open.items() if not entry.users]
        idle.sort(key=lambda key: self._open[key].used)
        for key in idle[: max(0, len(self._open) + 1 - STORES_KEPT_OPEN)]:
            self._retire(key)


def _made_from(config: Config, folder: Path, store: str | None, tier: str | None) -> tuple[Any, ...]:
    """All that decides what a fresh process would open: settings, places, and which files are there now."""
    located = locate(store, config, folder, tier)
    tiers = places(located, config)
    files = (str(located.location.path), *(place.store for place in tiers))
    return (config, located, tiers, *map(_identity, files))


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - called for every hook, and Path adds more than the call costs
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino
