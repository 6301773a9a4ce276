"""What stores write of an item's fields: those that it has, read and exported as if all were written."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from tests.plugins.postgres import server as postgres_server

from ricordo import Ricordo
from ricordo.plugins.postgres.store import PostgresStore
from ricordo.store.sql.items import all_fields
from ricordo.store.sqlite.store import SqliteStore
from ricordo.values.items import FIELD_NAMES, Fields

WRITTEN: dict[str, object] = {"mime_type": "text/plain", "is_textual": True}
"""What every note has."""
ROWS = ("SELECT fields FROM items ORDER BY n", "SELECT fields FROM versions ORDER BY item, number")


@pytest.fixture(params=["file", "server"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "store.db") if request.param == "file" else postgres_server.unused()


def _opened(place: str) -> SqliteStore | PostgresStore:
    return SqliteStore(Path(place)) if place.endswith(".db") else postgres_server.open_store(place)


def _written(place: str) -> list[str]:
    """The fields of all items and versions, as they are stored."""
    store = _opened(place)
    with closing(store), store.database.read() as connection:
        return [row[0] for sql in ROWS for row in connection.rows(sql)]


def test_fields_that_nobody_set_take_no_place(place: str) -> None:
    with Ricordo.open(place) as engine:
        engine.save("note:/plain", "A text.")
        engine.save("note:/told", "Another.", fields={"title": "Keys", "tags": ["a"], "immutable": True})
        assert engine.get("note:/plain").fields == Fields(mime_type="text/plain")
        told = engine.get("note:/told").fields
        assert (told.title, told.tags, told.immutable, told.is_textual) == ("Keys", ("a",), True, True)
    plain, full, *versions = map(json.loads, _written(place))
    assert plain == WRITTEN
    assert full == WRITTEN | {"title": "Keys", "tags": ["a"], "immutable": True}
    assert versions == [plain, full]


def test_an_export_names_every_field_and_another_store_keeps_them_short(place: str, tmp_path: Path) -> None:
    with Ricordo.open(place) as engine:
        engine.save("note:/plain", "A text.", fields={"category": "warning"})
        engine.export(tmp_path / "all.jsonl")
    [told] = [
        version["fields"]
        for record in map(json.loads, (tmp_path / "all.jsonl").read_text().splitlines())
        for version in record.get("versions", ())
    ]
    assert tuple(told) == FIELD_NAMES
    assert told == Fields(category="warning", mime_type="text/plain").to_dict()
    with Ricordo.open(tmp_path / "copy.db") as copy:
        copy.import_(tmp_path / "all.jsonl")
        assert copy.get("note:/plain").fields.category == "warning"
        assert copy.doctor().ok
    assert list(map(json.loads, _written(str(tmp_path / "copy.db")))) == 2 * [WRITTEN | {"category": "warning"}]


def test_rows_in_which_an_earlier_program_wrote_every_field_are_read_and_changed(place: str) -> None:
    with Ricordo.open(place) as engine:
        engine.save("note:/keys", "A text.", fields={"title": "Keys"})
    every = json.dumps(all_fields(json.dumps(WRITTEN | {"title": "Keys"})))
    store = _opened(place)
    with closing(store), store.database.write() as connection:
        for table in ("items", "versions"):
            connection.run(f"UPDATE {table} SET fields=?", (every,))
    with Ricordo.open(place) as engine:
        assert engine.get("note:/keys").fields == Fields(title="Keys", mime_type="text/plain")
        assert engine.doctor().ok
        engine.save("note:/keys", "A text.", on_conflict="overwrite", fields={"category": "info"})
        assert engine.get("note:/keys").fields == Fields(title="Keys", category="info", mime_type="text/plain")
        assert engine.doctor().ok
