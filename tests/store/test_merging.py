"""Segments of the keyword index are merged while others write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ricordo import Ricordo
from ricordo.store.sqlite import segments
from ricordo.store.sqlite.store import SqliteStore


def test_what_is_removed_or_changed_during_a_merge_stays_so_after_it(
    engine: Ricordo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        engine.save(f"note:/{number}", f"a lantern by the harbour, number {number}")
    combine = segments.combine
    meanwhile = iter([True])

    def interrupted(*given: Any) -> Iterator[Any]:
        if next(meanwhile, False):
            engine.rm("note:/1")
            engine.rm("note:/2")
            engine.save("note:/3", "nothing of that any more", on_conflict="overwrite")
        return combine(*given)

    monkeypatch.setattr(segments, "combine", interrupted)
    assert isinstance(engine.store, SqliteStore)
    segments.maintain(engine.store.database, everything=True)
    assert next(meanwhile, None) is None, "the merge took place"
    found = {hit.ref for hit in engine.search("lantern harbour", track=False).hits}
    assert found == {"note:/0", "note:/4", "note:/5"}
    assert engine.store.index.document_frequencies(["lantern"]) == (4, {"lantern": 3})
    assert all(check.ok for check in engine.doctor().checks if check.name == "keyword index")


def test_what_is_purged_during_a_merge_leaves_no_word_in_the_file(
    engine: Ricordo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        engine.save(f"note:/{number}", f"a lantern by the harbour, number {number}")
    engine.save("note:/secret", "the lantern of zanzibar")
    combine = segments.combine
    meanwhile = iter([True])

    def interrupted(*given: Any) -> Iterator[Any]:
        if next(meanwhile, False):
            engine.rm("note:/secret", purge=True)
        return combine(*given)

    monkeypatch.setattr(segments, "combine", interrupted)
    assert isinstance(engine.store, SqliteStore)
    segments.maintain(engine.store.database, everything=True)
    assert next(meanwhile, None) is None, "the merge took place"
    assert engine.store.index.document_frequencies(["lantern", "zanzibar"]) == (6, {"lantern": 6, "zanzibar": 0})
    with engine.store.database.read() as connection:
        assert connection.rows("SELECT count(*) FROM postings WHERE term LIKE 'zanzibar%'") == [(0,)]
    assert len(engine.search("lantern", track=False).hits) == 6
    assert all(check.ok for check in engine.doctor().checks if check.name == "keyword index")
