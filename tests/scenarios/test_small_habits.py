"""Small things that people expect: a ref says what it names, a folder comes back whole, a search knows "last week"."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ricordo import Filters, NotFound, Ricordo, UsageError


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
    assert [hit.ref for hit in engine.search("keys after:7d").hits] == ["note:/keys"]
    assert not engine.search("keys before:7d").hits
    assert not engine.search("keys", filters=Filters(after=datetime.now(UTC) + timedelta(days=1))).hits


def test_the_one_item_of_a_name_is_found_by_the_name_alone(engine: Ricordo) -> None:
    engine.save("note:/docs/deployment.md", "Deploy on Friday.")
    engine.save("note:/docs/old_deployment.md", "Deploy never.")
    for name in ("deployment.md", "docs/deployment.md"):
        assert str(engine.get(name).ref) == "note:/docs/deployment.md"
        assert engine.history(name)[0].number == 1
    for name in ("deployment", "Deployment.md", "./deployment.md", "%.md", "note:/deployment.md"):
        with pytest.raises(NotFound):
            engine.get(name)


def test_of_several_items_of_a_name_none_is_taken_and_all_are_listed(engine: Ricordo) -> None:
    for folder in ("a", "b"):
        engine.save(f"note:/{folder}/plan.md", "Ship it.")
    with pytest.raises(UsageError, match=r"2 items are named plan\.md: note:/a/plan\.md, note:/b/plan\.md"):
        engine.get("plan.md")
    engine.rm("note:/b/plan.md")
    assert str(engine.get("plan.md").ref) == "note:/a/plan.md"


def test_a_listing_by_filters_says_how_many_items_there_are(engine: Ricordo) -> None:
    for number in range(7):
        engine.save(f"note:/{number}", f"Note number {number}.")
    engine.remember("A memory.")
    assert engine.search("kind:note", limit=2).meta.candidates == 7
    assert engine.search("kind:note", limit=2, offset=4).meta.candidates == 7
    assert engine.search("kind:note -3", limit=9).meta.candidates == 6
    words = engine.search("number", limit=50)
    assert words.meta.candidates >= len(words.hits) == 7


def test_a_tag_is_found_in_capital_and_small_letters_of_every_alphabet(engine: Ricordo) -> None:
    engine.save("note:/a", "One.", fields={"tags": ["Über"]})
    engine.save("note:/b", "Two.", fields={"tags": ["ЁЖ", "ops"]})
    for query, ref in (("tag:über", "note:/a"), ("tag:ÜBER", "note:/a"), ("tag:ёж", "note:/b"), ("tag:OPS", "note:/b")):
        assert [hit.ref for hit in engine.search(query).hits] == [ref]
    assert engine.search("tag:Ёж tag:Ops").meta.candidates == 1


def test_candidates_are_counted_in_items(engine: Ricordo) -> None:
    parts = "\n\n".join(f"# Part {n}\n\n" + f"The heron of part {n} wades through the reeds. " * 30 for n in range(5))
    engine.save("note:/long", parts)
    engine.save("note:/short", "A heron.")
    assert len(engine.search("heron", mode="full").hits) == 2
    assert engine.search("heron").meta.candidates == 2


@pytest.mark.parametrize("ref", ["http://127.0.0.1:9/page", "mine:/page"])
def test_a_text_that_was_written_by_hand_is_not_fetched(engine: Ricordo, ref: str) -> None:
    saved = engine.remember("My own words about that page.", ref=ref, kind="note")
    report = engine.refresh(all=True)
    assert [(one.ref, one.status) for one in report.items] == [(saved.ref, "skipped")]
    assert engine.get(saved.ref).content == "My own words about that page."
