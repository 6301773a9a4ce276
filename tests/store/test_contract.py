"""SQLite keeps the contract of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ricordo.store.base import Store
from ricordo.store.sqlite.store import SqliteStore
from ricordo.testing import StoreContract


class TestSqlite(StoreContract):
    def open_store(self, folder: Path, **options: Any) -> Store:
        return SqliteStore(folder / "store.db", **options)

    def open_copy(self, target: Path) -> Store:
        return SqliteStore(target, create=False)
