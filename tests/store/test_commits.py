"""What a commit promises: acknowledged writes are on the disk, a failed one leaves nothing, and no id comes twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apsw
import pytest

from ricordo import Entry, Ricordo

FULL, NORMAL = 2, 1


def synchronous_at_commits(engine: Ricordo, write: Callable[[], Any]) -> list[int]:
    """The level of ``synchronous`` that the writer had at each COMMIT of a write."""
    database: Any = engine.store
    writer = database.database._writing_connection()
    seen: list[int] = []

    def statement(cursor: Any, sql: str, bindings: Any) -> bool:
        if sql == "COMMIT":
            seen.append(writer.pragma("synchronous"))
        return True

    writer.exec_trace = statement
    try:
        write()
    finally:
        writer.exec_trace = None
    return seen


@pytest.mark.parametrize(
    "write",
    [
        lambda engine: engine.remember("The keys rotate every quarter."),
        lambda engine: engine.save("note:/plan", "Ship on Friday."),
        lambda engine: engine.edit("note:/old", "Ship on Monday."),
        lambda engine: engine.correct("note:/old", "Ship on Tuesday."),
    ],
    ids=["remember", "save", "edit", "correct"],
)
def test_what_an_agent_is_told_is_saved_has_reached_the_disk(engine: Ricordo, write: Callable[[Ricordo], Any]) -> None:
    engine.save("note:/old", "Ship some day.")
    assert FULL in synchronous_at_commits(engine, lambda: write(engine))


def test_a_bulk_write_does_not_wait_for_the_disk_at_each_commit(engine: Ricordo) -> None:
    entries = [Entry(f"note:/{number}", f"Note {number}.", "note", {}) for number in range(3)]
    levels = synchronous_at_commits(engine, lambda: engine.save_many(entries))
    assert levels
    assert set(levels) == {NORMAL}


def test_a_commit_that_fails_is_rolled_back_and_the_next_write_is_its_own(
    engine: Ricordo, open_engine: Callable[..., Ricordo]
) -> None:
    store: Any = engine.store

    def write_what_cannot_be_committed() -> None:
        with store.database.write() as connection:
            connection.rows("PRAGMA defer_foreign_keys = ON")
            connection.rows("INSERT INTO item_tags(tag, item) VALUES ('of no item', 4711)")

    with pytest.raises(apsw.ConstraintError):
        write_what_cannot_be_committed()
    assert not store.database.is_writing(), "SQLite leaves a transaction open whose COMMIT failed"
    engine.save("note:/next", "Written after the failure.")
    other = open_engine()
    assert other.get("note:/next").content == "Written after the failure."
    assert other.doctor().ok


def test_the_id_of_a_chunk_is_never_given_to_another(engine: Ricordo, open_engine: Callable[..., Ricordo]) -> None:
    def chunk_ids(one: Ricordo) -> set[int]:
        store: Any = one.store
        with store.database.read() as connection:
            return {row[0] for row in connection.rows("SELECT id FROM chunks")}

    engine.save("note:/first", "The first text.")
    engine.save("note:/last", "The last text.")
    before = chunk_ids(engine)
    engine.rm("note:/last", purge=True)
    engine.store.transfer.vacuum(bin_days=engine.config.store.bin_days, full=True)
    assert chunk_ids(engine) < before, "the chunk with the highest id is gone"
    engine.close()
    again = open_engine()
    again.save("note:/new", "Another text.")
    assert not (chunk_ids(again) - {min(before)}) & before
