"""Forgetting puts items away without losing them, one by one or by age and disuse; protected ones stay."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from ricordo import Conflict, NotFound, Ricordo, UsageError
from ricordo.values.times import parse_duration

from ..figures import figures

Opens = Callable[..., Ricordo]
Later = Callable[[float], None]


@pytest.fixture
def aged(opens: Opens, later: Later) -> Ricordo:
    """Memories of 100 and 40 days ago and of today; two of the oldest are protected, one was found 10 days ago."""
    engine = opens()
    later(-100)
    engine.save("memory:/old", "an old memory of apples", fields={"tags": ["fruit"]})
    engine.save("memory:/used", "an old memory of pears", fields={"tags": ["fruit"]})
    engine.save("memory:/kept", "an old memory of plums", fields={"decay_protected": True})
    engine.save("memory:/law", "an old memory of limes", fields={"immutable": True})
    engine.save("note:/old", "an old note of grapes")
    later(60)
    engine.save("memory:/middle", "a memory of nuts")
    later(30)
    engine.search("pears")
    figures(engine)  # what was found is written down by now
    later(10)
    engine.save("memory:/new", "a memory of today")
    return engine


def refs(report: object) -> list[str]:
    return sorted(saved.ref for saved in report.items)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "days"), [("90d", 90), ("12w", 84), ("6m", 180), ("1y", 365), ("36h", 1.5), ("1.5 years", 547.5)]
)
def test_spans_of_time_are_read_as_people_write_them(text: str, days: float) -> None:
    assert parse_duration(text) == timedelta(days=days)


@pytest.mark.parametrize("text", ["", "90", "d", "-3d", "3x", "1000y", "ninety days", "1d2h"])
def test_what_is_no_span_of_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="span of time"):
        parse_duration(text)


def test_a_forgotten_item_is_out_of_search_by_word_by_meaning_and_by_link(open_engine: Opens) -> None:
    engine = open_engine(vectors=True)
    ref = engine.remember("The harbour master is called Ines.").ref
    other = engine.remember("Boats moor at the western pier.", links=[("supports", ref)]).ref
    report = engine.forget(ref)
    assert [saved.status for saved in report.items] == ["archived"]
    assert [hit.ref for hit in engine.search("harbour master", by="words").hits] == []
    assert ref not in [hit.ref for hit in engine.search("who is the harbour master", by="meaning").hits]
    assert ref not in [hit.ref for hit in engine.similar(other).hits]
    assert ref not in [str(item.ref) for item in engine.list()]
    assert engine.get(ref).state == "archived"
    assert len(engine.history(ref)) == 1
    assert engine.status()["archived"] == 1
    assert engine.doctor().ok
    assert engine.forget(ref).items[0].status == "skipped"
    restored = engine.restore(ref)
    assert (restored.status, restored.version) == ("updated", 2)
    assert engine.search("who is the harbour master", by="meaning").hits[0].ref == ref
    assert engine.doctor().ok


def test_the_counts_of_the_keyword_index_leave_archived_texts_out(aged: Ricordo) -> None:
    total, frequencies = aged.store.index.document_frequencies(["memori"])
    assert (total, frequencies["memori"]) == (7, 6)
    aged.forget("memory:/old")
    total, frequencies = aged.store.index.document_frequencies(["memori"])
    assert (total, frequencies["memori"]) == (6, 5)


def test_an_archived_item_is_neither_edited_nor_moved_before_it_is_restored(aged: Ricordo) -> None:
    aged.forget("memory:/old")
    attempts: tuple[Callable[[], object], ...] = (
        lambda: aged.edit("memory:/old", "changed"),
        lambda: aged.mv("memory:/old", "memory:/elsewhere"),
    )
    for attempt in attempts:
        with pytest.raises(Conflict, match="archived"):
            attempt()
    aged.restore("memory:/old")
    assert aged.edit("memory:/old", "changed").status == "updated"


def test_an_archived_item_can_be_removed_and_restored(aged: Ricordo) -> None:
    aged.forget("memory:/old")
    aged.rm("memory:/old")
    with pytest.raises(NotFound):
        aged.forget("memory:/old")
    aged.restore("memory:/old")
    assert [hit.ref for hit in aged.search("apples").hits] == ["memory:/old"]


def test_age_and_disuse_say_which_and_protected_ones_are_spared(aged: Ricordo) -> None:
    assert refs(aged.forget(older_than="90d", dry_run=True)) == ["memory:/old", "memory:/used", "note:/old"]
    assert refs(aged.forget(unused_since="30d", dry_run=True)) == ["memory:/middle", "memory:/old", "note:/old"]
    report = aged.forget(older_than="90d", unused_since=timedelta(days=30), kinds=["memory"], dry_run=True)
    assert refs(report) == ["memory:/old"]
    assert report.items[0].status == "would be archived"
    assert report.notes == ("2 protected items left alone",)
    assert refs(aged.forget(tags=["fruit"], dry_run=True)) == ["memory:/old", "memory:/used"]
    assert refs(aged.forget("memory:/used", "memory:/new", older_than="90d", dry_run=True)) == ["memory:/used"]
    assert refs(aged.forget("note:/", older_than="90d", dry_run=True)) == ["note:/old"]
    assert aged.status()["archived"] == 0


def test_what_the_dry_run_named_is_what_is_forgotten(aged: Ricordo) -> None:
    named = refs(aged.forget(older_than="90d", dry_run=True))
    assert refs(aged.forget(older_than="90d")) == named
    assert {aged.get(ref).state for ref in named} == {"archived"}
    assert aged.get("memory:/kept").state == "live"
    assert aged.doctor().ok


def test_rm_takes_the_same_criteria(aged: Ricordo) -> None:
    assert refs(aged.rm(older_than="90d", kinds=["note"], dry_run=True)) == ["note:/old"]
    assert [saved.status for saved in aged.rm(older_than="90d", kinds=["note"]).items] == ["removed"]
    with pytest.raises(NotFound, match="in the bin"):
        aged.get("note:/old")


@pytest.mark.parametrize("age", [timedelta(days=-5), -1, 90])
def test_an_age_that_is_negative_or_no_span_is_refused_and_nothing_is_taken(aged: Ricordo, age: Any) -> None:
    before = aged.count()
    for name in ("older_than", "unused_since"):
        with pytest.raises(UsageError, match="an age cannot be"):
            aged.rm(**{name: age}, purge=True)
        with pytest.raises(UsageError, match="an age cannot be"):
            aged.forget(**{name: age})
    assert aged.count() == before


def test_naming_nothing_is_not_naming_everything(aged: Ricordo) -> None:
    attempts: tuple[Callable[[], object], ...] = (aged.forget, aged.rm, lambda: aged.forget(dry_run=True))
    for attempt in attempts:
        with pytest.raises(UsageError, match="nothing was named"):
            attempt()
    assert aged.count() == 7


def test_a_protected_memory_is_forgotten_by_its_own_name_alone(aged: Ricordo) -> None:
    assert aged.forget("memory:/kept").items[0].status == "archived"
    with pytest.raises(Conflict, match="immutable"):
        aged.forget("memory:/law")


def test_one_refusal_leaves_all_as_it_was(aged: Ricordo) -> None:
    with pytest.raises(Conflict):
        aged.forget("memory:/old", "memory:/law")
    assert aged.get("memory:/old").state == "live"


def test_superseding_archives_links_and_asks_for_two_live_items(aged: Ricordo) -> None:
    saved = aged.correct("memory:/old", replacement="memory:/new")
    assert (saved.ref, saved.status, saved.reason) == ("memory:/old", "archived", "superseded by memory:/new")
    assert [(link.type, link.direction) for link in aged.links("memory:/old").links] == [("supersedes", "in")]
    attempts: tuple[Callable[[], object], ...] = (
        lambda: aged.correct("memory:/new", replacement="memory:/new"),
        lambda: aged.correct("memory:/new", replacement="memory:/old"),
    )
    for attempt in attempts:
        with pytest.raises(UsageError):
            attempt()


def test_a_correction_takes_over_the_fields_that_are_not_given(aged: Ricordo) -> None:
    saved = aged.correct("memory:/old", "It was about oranges.", importance=4)
    item = aged.get(saved.ref)
    assert (item.kind, item.fields.tags, item.fields.importance) == ("memory", ("fruit",), 4)
    assert saved.reason == "corrects memory:/old"
    assert aged.get("memory:/old").state == "archived"
    assert aged.correct(saved.ref, "It was about oranges.").status == "skipped"
