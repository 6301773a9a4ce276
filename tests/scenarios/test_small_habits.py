"""Small things that people expect: a ref says what it names, a folder comes back whole, a search knows "last week"."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ricordo import NotFound, Ricordo


@pytest.mark.parametrize(("ref", "kind"), [("note:/plan", "note"), ("article:/how", "article"), ("plan", "memory")])
def test_a_ref_says_what_is_saved_under_it(engine: Ricordo, ref: str, kind: str) -> None:
    saved = engine.remember("Ship on Friday.", ref=ref)
    item = engine.get(saved.ref)
    assert (item.kind, item.ref.drive) == (kind, kind)


def test_a_kind_that_is_given_counts_more_than_the_drive(engine: Ricordo) -> None:
    assert engine.get(engine.remember("Ada", kind="entity", ref="agent:/ada").ref).kind == "entity"


def test_a_folder_comes_back_from_the_bin_with_all_that_was_removed_below_it(engine: Ricordo) -> None:
    for name in ("a", "b/c"):
        engine.save(f"note:/trip/{name}", f"Pack the {name}.")
    engine.save("note:/tripod", "Three legs.")
    engine.rm("note:/trip/", "note:/tripod")
    saved = engine.restore("note:/trip/")
    assert (saved.ref, saved.status, saved.reason) == ("note:/trip/", "restored", "2 items")
    assert sorted(str(item.ref) for item in engine.list()) == ["note:/trip/a", "note:/trip/b/c"]
    with pytest.raises(NotFound, match="nothing below"):
        engine.restore("note:/trip/")


def test_a_search_takes_a_span_of_time_as_people_say_it(engine: Ricordo) -> None:
    engine.save("note:/keys", "Rotate the keys.")
    assert [hit.ref for hit in engine.search("keys", since="7d").hits] == ["note:/keys"]
    assert not engine.search("keys", until="7d").hits
    assert not engine.search("keys", since=datetime.now(UTC) + timedelta(days=1)).hits
