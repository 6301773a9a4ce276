"""How often a search asks its store: over a network every call is a trip, so a plain search makes at most three."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ricordo import Filters, Ricordo
from ricordo.search.profiles import built_in
from ricordo.store.sql import items

PARTS = ("items", "changes", "index", "vectors", "jobs", "links", "lessons", "threads", "files", "secrets", "knowledge")
QUERIES: dict[str, tuple[str, dict[str, Any]]] = {
    "plain words": ("harbour lantern", {}),
    "a phrase": ('"harbour lantern"', {}),
    "a prefix": ("harb*", {}),
    "a word and a prefix": ("lantern harb*", {}),
    "an excluded word": ("lantern -alpha", {}),
    "an excluded phrase": ('lantern -"lantern 7"', {}),
    "inline filters": ("kind:note tag:red lantern path:/boat", {}),
    "filters": ("lantern", {"filters": Filters(kinds=("note", "memory"), tags_any=("red",), paths=("/boat",))}),
    "a moment": ("lantern", {"as_of": datetime.now(UTC) + timedelta(days=1)}),
    "everything at once": (
        'lantern harb* "lantern 12" -gamma -"no such" tag:red',
        {"as_of": datetime.now(UTC) + timedelta(days=1), "filters": Filters(kinds=("note",)), "explain": True},
    ),
    "an explanation": ("harbour lantern", {"explain": True}),
    "whole texts": ("harbour lantern", {"mode": "full", "explain": True}),
    "a later page": ("lantern", {"offset": 10}),
    "words alone": ("lantern", {"by": "words"}),
    "meaning alone": ("lantern", {"by": "meaning"}),
    "nothing but a filter": ("tag:red", {}),
    "nothing but an exclusion": ("-alpha", {}),
    "a substring": ("antern 1", {"by": "text"}),
    "a word that stands nowhere": ("anter", {}),
}


class Counting:
    """A part of a store that writes down every call; opening a snapshot is none."""

    def __init__(self, part: Any, name: str, calls: list[str]) -> None:
        self._part = part
        self._name = name
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._part, name)
        if name == "snapshot" or not callable(found):
            return found

        def called(*given: Any, **options: Any) -> Any:
            self._calls.append(f"{self._name}.{name}")
            return found(*given, **options)

        return called


@pytest.fixture
def calls(compass: Callable[..., Ricordo]) -> tuple[Ricordo, list[str]]:
    """A store with more items than a pool holds, threads and links, and the list of calls of its parts."""
    engine = compass()
    markers = ("alpha", "beta", "gamma", "delta")
    for number in range(90):
        fields = {"title": f"Boat {number}", "tags": ["red" if number % 2 else "blue"], "importance": number % 5 + 1}
        text = f"harbour lantern {number} {markers[number % 4]} near the quay"
        engine.save(f"note:/boat/{number}", text, fields=fields, wait=False)
    for number in range(6):
        fields = {"thread": "talk", "seq": number + 1}
        engine.save(f"session:/talk/{number}", f"lantern talk {number}", kind="session", fields=fields, wait=False)
    engine.link("note:/boat/1", "note:/boat/2")
    engine.feedback("lantern", "note:/boat/3", "accepted")
    engine.embed()
    seen: list[str] = []
    for name in PARTS:
        setattr(engine.store, name, Counting(getattr(engine.store, name), name, seen))
    return engine, seen


def test_a_plain_search_makes_at_most_three_calls_whatever_it_asks_for(calls: tuple[Ricordo, list[str]]) -> None:
    engine, seen = calls
    most = empty = 0
    for profile in built_in():
        for what, (query, options) in QUERIES.items():
            seen.clear()
            answer = engine.search(query, profile=profile, track=False, **options)
            assert len(seen) <= 3, f"{what}, profile {profile}: {seen}"
            assert {call.partition(".")[0] for call in seen} == {"index"}, f"{what}, profile {profile}: {seen}"
            most = max(most, len(seen))
            empty += not answer.hits
    assert most == 3
    assert empty < len(built_in()) * len(QUERIES) / 4, "most of the searches find something"


def test_the_default_ranking_asks_for_candidates_cosines_and_passages(calls: tuple[Ricordo, list[str]]) -> None:
    engine, seen = calls
    engine.search("harbour lantern", track=False)
    assert seen == ["index.candidates", "index.cosines", "index.passages"]


def test_items_similar_to_one_are_found_with_two_calls(calls: tuple[Ricordo, list[str]]) -> None:
    engine, seen = calls
    assert engine.similar("note:/boat/1", limit=5, track=False).hits
    assert [call for call in seen if call.startswith("index")] == ["index.similar", "index.passages"]


def test_a_store_that_got_its_first_vectors_meanwhile_is_asked_again(compass: Callable[..., Ricordo]) -> None:
    engine = compass()
    engine.save("note:/near", "alpha is near", wait=False)
    engine.save("note:/far", "a word", wait=False)
    engine.embed()

    class Late(Counting):
        """Knows of no vectors until it is asked."""

        fingerprint = None

    seen: list[str] = []
    engine.store.index = Late(engine.store.index, "index", seen)  # type: ignore[assignment]
    answer = engine.search("word", track=False)
    assert {hit.ref for hit in answer.hits} == {"note:/near", "note:/far"}
    assert answer.meta.weights["vector"] > 0
    assert seen.count("index.candidates") == 2


def test_a_search_of_the_past_reads_the_whole_text_of_nothing_it_does_not_show(
    calls: tuple[Ricordo, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, _ = calls
    read: list[int] = []
    whole = items.checked_item

    def reading(connection: Any, n: int, number: int | None) -> tuple[Any, items.StoredText]:
        read.append(n)
        return whole(connection, n, number)

    monkeypatch.setattr(items, "checked_item", reading)
    later = datetime.now(UTC) + timedelta(days=1)
    assert len(engine.search("lantern", as_of=later, track=False).hits) == 10
    assert read == []
    assert len(engine.search("lantern", as_of=later, mode="full", limit=2, track=False).hits) == 2
    assert len(read) == 2
