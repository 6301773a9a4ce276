"""SQLite keeps the whole contract of a store; a store of dictionaries keeps that of items and search."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, cast

from tests.store.memory_store import MemoryStore, Tables

from ricordo.store.base import Store
from ricordo.store.sqlite.store import SqliteStore
from ricordo.testing import StoreContract
from ricordo.testing.contract_search import SearchContract


class TestSqlite(StoreContract):
    def open_store(self, folder: Path, **options: Any) -> Store:
        return SqliteStore(folder / "store.db", **options)

    def open_copy(self, target: Path) -> Store:
        return SqliteStore(target, create=False)


class TestInMemory(SearchContract):
    _SAVED: ClassVar[dict[Path, dict[str, Tables]]] = {}

    def open_store(self, folder: Path, **options: Any) -> Store:
        return cast("Store", MemoryStore(self._SAVED.setdefault(folder, {}), **options))
