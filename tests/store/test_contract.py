"""SQLite and PostgreSQL keep the whole contract of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from tests.store import postgres_server
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


class TestPostgres(StoreContract):
    _PLACES: ClassVar[dict[Path, str]] = {}

    def open_store(self, folder: Path, **options: Any) -> Store:
        from ricordo.store.postgres.store import PostgresStore

        if folder not in self._PLACES:
            self._PLACES[folder] = postgres_server.workspace()
        return PostgresStore(self._PLACES[folder], **options)

    def open_copy(self, target: Path) -> Store:
        from ricordo.exchange.records import ItemRecord, Row, read

        store = self.open_store(target)
        importer = store.transfer.importer("error", None)
        with target.open("rb") as source:
            records = list(read(source, str(target)))
        importer.items([record for record in records if isinstance(record, ItemRecord)])
        importer.others([record for record in records if isinstance(record, Row)])
        return store
