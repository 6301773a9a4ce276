"""What reading one item costs a file of SQLite, counted in its steps: the same on every machine."""

from __future__ import annotations

from pathlib import Path

from ricordo import Ricordo
from ricordo.store.sql.items import by_number
from ricordo.store.sqlite.connection import Connection


def steps_of_reading(file: Path) -> int:
    """How many steps SQLite takes to read the first item."""
    connection, steps = Connection(str(file)), 0

    def count() -> bool:
        nonlocal steps
        steps += 1
        return False

    try:
        connection.set_progress_handler(count, 1)
        item = by_number(connection, 1)
    finally:
        connection.close()
    assert item is not None
    assert item.has_embedding
    return steps


def test_reading_an_item_does_not_look_through_the_vectors_of_others(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    with Ricordo.open(file, create=True) as engine:
        engine.save("note:/tide", "High tide is at noon.", wait=True)
    before = steps_of_reading(file)
    writer = Connection(str(file))
    [(model,)] = writer.rows("SELECT id FROM fingerprints WHERE active")
    writer.insert("vectors", ("fingerprint", "hash", "vector"), [(model, b"%04d" % n, b"") for n in range(1000)])
    writer.close()
    assert steps_of_reading(file) < before + 500
