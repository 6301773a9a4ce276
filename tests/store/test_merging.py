"""Segments of the keyword index are merged while others write."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ricordo import Ricordo
from ricordo.store.index import segments
from ricordo.store.index.postings import combine
from ricordo.store.sqlite.store import SqliteStore


def test_what_is_removed_or_changed_during_a_merge_stays_so_after_it(
    engine: Ricordo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        engine.save(f"note:/{number}", f"a lantern by the harbour, number {number}")
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


@pytest.mark.parametrize("seconds", [0, 60, 200])
@pytest.mark.parametrize("step", ["copying", "swapping"])
def test_of_two_processes_that_merge_the_same_segments_one_does_it(
    open_engine: Callable[..., Ricordo], monkeypatch: pytest.MonkeyPatch, step: str, seconds: int
) -> None:
    """A process that takes longer than its lease is overtaken by another, and then leaves everything as it is."""
    here, there = open_engine("shared"), open_engine("shared")
    for number in range(6):
        here.save(f"note:/{number}", f"a lantern by the harbour, number {number}")
    owner, name = (segments, "combine") if step == "copying" else (segments.Merge, "_swap")
    original, present = getattr(owner, name), time.time
    meanwhile = iter([True])
    merged_there: list[int] = []

    def interrupted(*given: Any) -> Any:
        if next(meanwhile, False):
            monkeypatch.setattr(time, "time", lambda: present() + seconds)
            assert isinstance(there.store, SqliteStore)
            merged_there.append(segments.maintain(there.store.database, everything=True))
            there.rm("note:/1")
        return original(*given)

    monkeypatch.setattr(owner, name, interrupted)
    assert isinstance(here.store, SqliteStore)
    segments.maintain(here.store.database, everything=True)
    assert merged_there == [1 if seconds > segments.LEASE_SECONDS else 0]
    with here.store.database.read() as connection:
        assert connection.rows("SELECT count(*) FROM segments WHERE state=?", (segments.READY,)) == [(1,)]
    for engine in (here, there):
        hits = engine.search("lantern harbour", track=False).hits
        assert sorted(hit.ref for hit in hits) == [f"note:/{number}" for number in (0, 2, 3, 4, 5)]
    assert here.store.index.document_frequencies(["lantern"]) == (5, {"lantern": 5})
    assert all(check.ok for check in here.doctor().checks if check.name == "keyword index")
