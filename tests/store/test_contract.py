"""SQLite and PostgreSQL, partitioned or not, keep the whole contract of a store; a store of dictionaries that of items
and search.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, cast

from tests.store import postgres_server
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


class TestPostgres(StoreContract):
    _PLACES: ClassVar[dict[Path, str]] = {}

    def open_store(self, folder: Path, **options: Any) -> Store:
        from ricordo.store.postgres.store import PostgresStore

        if folder not in self._PLACES:
            self._PLACES[folder] = postgres_server.workspace()
        return PostgresStore(self._PLACES[folder], **options)

    def open_copy(self, target: Path) -> Store:
        from ricordo.exchange import lines
        from ricordo.exchange.records import Header, ItemRecord

        store = self.open_store(target)
        importer = store.transfer.importer("error", None)
        with target.open("rb") as source:
            records = list(lines.read(source, str(target)))
        importer.items([record for record in records if isinstance(record, ItemRecord)])
        importer.others([record for record in records if not isinstance(record, Header | ItemRecord)])
        return store


class TestPartitioned(TestPostgres):
    """The same on tables that are hash-partitioned by workspace."""

    _PLACES: ClassVar[dict[Path, str]] = {}

    def open_store(self, folder: Path, **options: Any) -> Store:
        from ricordo.store.postgres.store import PostgresStore

        if folder not in self._PLACES:
            self._PLACES[folder] = postgres_server.workspace(schema="ricordo_parted")
        return PostgresStore(self._PLACES[folder], partitions=2, **options)


class TestInMemory(SearchContract):
    _SAVED: ClassVar[dict[Path, dict[str, Tables]]] = {}

    def open_store(self, folder: Path, **options: Any) -> Store:
        return cast("Store", MemoryStore(self._SAVED.setdefault(folder, {}), **options))
