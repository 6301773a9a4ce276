"""A store in PostgreSQL keeps the whole contract of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from tests.plugins.postgres import server as postgres_server
from tests.store.test_contract import StoreContract

from ricordo.exchange.records import ItemRecord
from ricordo.plugins.transfer.export_file import Row, read
from ricordo.plugins.transfer.imports import Importer
from ricordo.store.base import Store


class TestPostgres(StoreContract):
    _PLACES: ClassVar[dict[Path, str]] = {}

    def open_store(self, folder: Path, **options: Any) -> Store:
        if folder not in self._PLACES:
            self._PLACES[folder] = postgres_server.unused()
        return postgres_server.open_store(self._PLACES[folder], **options)

    def open_copy(self, target: Path) -> Store:
        store = self.open_store(target)
        importer = Importer(store.opened, "error", None)
        with target.open("rb") as source:
            records = list(read(source, str(target)))
        importer.items([record for record in records if isinstance(record, ItemRecord)])
        importer.others([record for record in records if isinstance(record, Row)])
        return store
