"""Entities know how often they are named: whole words, whatever the case, as the texts are now."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ricordo import Ricordo
from ricordo.text.links import mentioned


@pytest.fixture
def mind(opens: Callable[..., Ricordo]) -> Ricordo:
    engine = opens()
    engine.remember("Runs the search team.", kind="entity", title="Ada Lovelace")
    return engine


def count(mind: Ricordo, ref: str = "entity:/ada-lovelace") -> int:
    return mind.get(ref).mention_count


@pytest.mark.parametrize(
    ("text", "title", "found"),
    [
        ("met ADA   lovelace today", "Ada Lovelace", True),
        ("Ada Lovelace's plan", "Ada Lovelace", True),
        ("(Ada Lovelace)", "Ada Lovelace", True),
        ("Ada Lovelaces", "Ada Lovelace", False),
        ("Canada Lovelace", "Ada Lovelace", False),
        ("we use C++ here", "C++", True),
        ("we use C++here", "C++", True),
        ("node.js is fine", "Node.js", True),
        ("do it now", "IT", False),
        ("the IT department", "IT", True),
        ("我在东京工作", "东京", True),
        ("x", "x", False),
    ],
)
def test_a_title_counts_where_it_stands_by_itself(text: str, title: str, found: bool) -> None:
    assert bool(mentioned(text, [(1, title)])) is found


def test_a_memory_that_names_an_entity_is_counted_and_linked(mind: Ricordo) -> None:
    saved = mind.remember("Lunch with ada lovelace.")
    assert count(mind) == 1
    assert [(link.type, link.ref, link.origin) for link in mind.links(saved.ref).links] == [
        ("mentions", "entity:/ada-lovelace", "mention")
    ]
    mind.remember("Ada Lovelace again, and Ada Lovelace once more.", kind="note")
    assert count(mind) == 2
    assert mind.get("entity:/ada-lovelace").to_dict()["mention_count"] == 2
    assert len(mind.history("entity:/ada-lovelace")) == 1, "being named is no change of the entity"


def test_files_are_not_read_for_mentions(mind: Ricordo) -> None:
    mind.save("disk:/a.md", "Ada Lovelace wrote this file.")
    assert count(mind) == 0


def test_the_count_follows_edits_removal_and_return(mind: Ricordo) -> None:
    ref = mind.remember("Lunch with Ada Lovelace.").ref
    mind.edit(ref, "Lunch with nobody.")
    assert count(mind) == 0
    mind.restore(ref, version=1)
    assert count(mind) == 1
    mind.forget(ref)
    assert count(mind) == 0
    mind.restore(ref)
    assert count(mind) == 1
    mind.rm(ref)
    assert count(mind) == 0


def test_texts_saved_before_the_entity_are_found_when_it_comes(mind: Ricordo) -> None:
    mind.remember("Charles Babbage builds engines.")
    mind.remember("Charles has no other name here.")
    mind.remember("Builds engines.", kind="entity", title="Charles Babbage")
    assert count(mind, "entity:/charles-babbage") == 1


def test_a_written_link_and_a_mention_count_once_and_show_once(mind: Ricordo) -> None:
    saved = mind.remember("See [[Ada Lovelace]].")
    assert count(mind) == 1
    assert len(mind.links(saved.ref).links) == 1


def test_another_title_is_looked_for_in_the_texts_there_are(mind: Ricordo) -> None:
    mind.remember("Lunch with Ada Lovelace.")
    mind.remember("Tea with Augusta King.")
    mind.remember("More tea with Augusta King, in July.", on_duplicate="save")
    mind.edit("entity:/ada-lovelace", fields={"title": "Augusta King"})
    assert count(mind) == 2
    mind.edit("entity:/ada-lovelace", fields={"title": "Ada Lovelace"})
    assert count(mind) == 1


def test_relinking_finds_the_same_mentions_again(mind: Ricordo) -> None:
    ref = mind.remember("Lunch with Ada Lovelace.").ref
    entity = mind.store.items.require(mind.resolve("entity:/ada-lovelace"))
    with mind.store.opened.database.write() as connection:
        connection.run("DELETE FROM links WHERE target=?", (entity,))
    assert count(mind) == 0
    mind.store.links.relink()
    assert count(mind) == 1
    assert [link.origin for link in mind.links(ref).links] == ["mention"]
    assert mind.doctor().ok


def test_being_named_often_stands_in_for_importance(mind: Ricordo) -> None:
    mind.remember("Runs the other team.", kind="entity", title="Bob Smith")
    for number in range(3):
        mind.remember(f"Meeting {number * 7919} with Bob Smith.")
    mind.remember("Meeting 1 with Ada Lovelace.")
    answer = mind.search("team", profile="brain", weights={"importance": 1, "fts": 0, "recency": 0}, explain=True)
    assert [hit.ref for hit in answer.hits if hit.kind == "entity"] == ["entity:/bob-smith", "entity:/ada-lovelace"]


def test_mentions_and_importance_each_count_relative_to_their_own_largest(opens: Callable[..., Ricordo]) -> None:
    mind = opens()
    for title, work, importance, mentions in (
        ("Ada", "leads", 4, 100), ("Bob", "feeds and houses", 2, 0), ("Cid", "advises", None, 20),
        ("Dan", "left, long ago,", None, 5),
    ):  # fmt: skip
        fields = {"importance": importance, "metadata": {"mention_count": mentions}}
        mind.save(f"entity:/{title}", f"{title} {work} the team.", fields={"title": title, **fields})
    hits = mind.search("team", profile="brain", explain=True, track=False).hits
    values = {
        hit.title: signal.value
        for hit in hits
        for signal in (hit.explain.signals if hit.explain else ())
        if signal.name == "importance"
    }
    assert values == {"Ada": 1.0, "Bob": 0.5, "Cid": 1.0, "Dan": 0.25}
