"""How the tests of the contract open stores. A subclass only says how a store is opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ricordo.store.base import Store


class StoreFixtures:
    """Opens stores for tests, and closes them."""

    def open_store(self, folder: Path, **options: object) -> Store:
        """A store in an empty folder, or the one that is there already. ``options``: language, keep_versions."""
        raise NotImplementedError

    def open_copy(self, target: Path) -> Store:
        """The store that a backup at ``target`` holds."""
        raise NotImplementedError

    @pytest.fixture
    def opened(self) -> Iterator[list[Store]]:
        """The stores that a test opened; those that are still open are closed after it."""
        stores: list[Store] = []
        yield stores
        for store in stores:
            store.close()

    @pytest.fixture
    def open_again(self, tmp_path: Path, opened: list[Store]) -> Callable[..., Store]:
        """Opens the same store as often as it is called."""

        def open_one(**options: object) -> Store:
            opened.append(self.open_store(tmp_path, **options))
            return opened[-1]

        return open_one

    @pytest.fixture
    def open_elsewhere(self, tmp_path: Path, opened: list[Store]) -> Callable[[], Store]:
        """Opens an empty store beside the first."""

        def open_one() -> Store:
            folder = tmp_path / f"elsewhere-{len(opened)}"
            folder.mkdir()
            opened.append(self.open_store(folder))
            return opened[-1]

        return open_one

    @pytest.fixture
    def open_backup(self, opened: list[Store]) -> Callable[[Path], Store]:
        """Opens a backup that a store made."""

        def open_one(target: Path) -> Store:
            opened.append(self.open_copy(target))
            return opened[-1]

        return open_one

    @pytest.fixture
    def store(self, open_again: Callable[..., Store]) -> Store:
        """An empty store."""
        return open_again()
