"""A store in a file keeps the whole contract of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.store.contract_languages import LanguageContract
from tests.store.contract_records import RecordsContract

from ricordo.store.base import Store
from ricordo.store.sqlite.store import SqliteStore


class StoreContract(LanguageContract, RecordsContract):
    """All tests that a store must pass; a subclass says how one is opened."""


class TestSqlite(StoreContract):
    def open_store(self, folder: Path, **options: Any) -> Store:
        return SqliteStore(folder / "store.db", **options)

    def open_copy(self, target: Path) -> Store:
        return SqliteStore(target, create=False)
