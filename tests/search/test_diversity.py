"""Hits that differ: maximal marginal relevance, by hand and through the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ricordo import Ricordo
from ricordo.search.rerank import diverse_order, similarity_of

SIMILARITY = np.array([[0, 0.95, 0.1], [0.95, 0, 0.1], [0.1, 0.1, 0]])


def test_the_best_comes_first_then_whoever_gains_most() -> None:
    # After the first: .7 · .85 - .3 · .95 = .31 for its double, .7 · .5 - .3 · .1 = .32 for the other.
    assert diverse_order([0.9, 0.85, 0.5], SIMILARITY, 3) == [0, 2, 1]
    # .7 · .48 - .3 · .1 = .306: not quite.
    assert diverse_order([0.9, 0.85, 0.48], SIMILARITY, 3) == [0, 1, 2]


def test_relevance_alone_keeps_the_order_and_a_count_cuts_it() -> None:
    assert diverse_order([0.9, 0.85, 0.5], SIMILARITY, 3, trade=1.0) == [0, 1, 2]
    assert diverse_order([0.9, 0.85, 0.5], SIMILARITY, 2) == [0, 2]
    assert diverse_order([], np.zeros((0, 0)), 5) == []


def test_closeness_is_to_the_nearest_of_those_chosen() -> None:
    similarity = np.array([[0, 0, 0.9, 0.5], [0, 0, 0, 0.5], [0.9, 0, 0, 0.5], [0.5, 0.5, 0.5, 0]])
    # 2 is close to 0 alone: .7 · .8 - .3 · .9 = .29; 3 is half close to both: .7 · .7 - .3 · .5 = .34.
    assert diverse_order([1.0, 0.9, 0.8, 0.7], similarity, 4) == [0, 1, 3, 2]


def test_likeness_is_cosine_or_else_shared_words() -> None:
    one, other = np.array([0.6, 0.8]), np.array([1.0, 0.0])
    words = [frozenset({"a", "b"}), frozenset({"b", "c"}), frozenset[str](), frozenset({"a", "b"})]
    matrix = similarity_of([one, other, -other, None], words)
    assert matrix[0, 1] == matrix[1, 0] == pytest.approx(0.6)
    assert matrix[1, 2] == 0.0  # opposite directions are unlike, not less than unlike
    assert matrix[0, 3] == 1.0
    assert matrix[1, 3] == pytest.approx(1 / 3)
    assert matrix[2, 3] == 0.0


BY_IMPORTANCE: dict[str, Any] = {
    "profile": "brain", "weights": {"vector": 0, "fts": 0, "recency": 0, "importance": 1}, "track": False,
}  # fmt: skip


@pytest.fixture
def kettles(engine: Ricordo) -> Ricordo:
    engine.save("note:/copper", "copper kettle", fields={"importance": 5})
    engine.save("note:/double", "copper kettle", fields={"importance": 4})
    engine.save("note:/glass", "glass kettle", fields={"importance": 3})
    return engine


def test_a_diverse_search_puts_a_double_behind_what_is_new(kettles: Ricordo) -> None:
    plain = kettles.search("kettle", **BY_IMPORTANCE)
    assert [hit.ref for hit in plain.hits] == ["note:/copper", "note:/double", "note:/glass"]
    # .7 · .8 - .3 · 1 = .26 for the double, .7 · .6 - .3 · 1/3 = .32 for glass.
    diverse = kettles.search("kettle", diverse=True, **BY_IMPORTANCE)
    assert [hit.ref for hit in diverse.hits] == ["note:/copper", "note:/glass", "note:/double"]
    assert {hit.ref: hit.score for hit in diverse.hits} == {hit.ref: hit.score for hit in plain.hits}


def test_what_a_limit_would_leave_out_can_still_come_in(kettles: Ricordo) -> None:
    first = kettles.search("kettle", diverse=True, limit=2, **BY_IMPORTANCE)
    assert [hit.ref for hit in first.hits] == ["note:/copper", "note:/glass"]
    rest = kettles.search("kettle", diverse=True, limit=2, offset=2, **BY_IMPORTANCE)
    assert [hit.ref for hit in rest.hits] == ["note:/double"]


def test_vectors_say_what_is_alike_where_there_are_any(compass: Any) -> None:
    engine = compass()
    engine.save("note:/first", "kettle alpha one", fields={"importance": 5})
    engine.save("note:/same", "kettle alpha two", fields={"importance": 4})
    engine.save("note:/turned", "kettle alone", fields={"importance": 3})
    diverse = engine.search("kettle", diverse=True, **BY_IMPORTANCE)
    assert [hit.ref for hit in diverse.hits] == ["note:/first", "note:/turned", "note:/same"]


def test_a_second_look_comes_before_the_choice(kettles: Ricordo, monkeypatch: pytest.MonkeyPatch) -> None:
    class Judge:
        def score(self, query: str, texts: list[str]) -> list[float]:
            return [1.0 if "glass" in text else 0.0 for text in texts]

    monkeypatch.setattr("ricordo.registry.reranker", lambda kind, config, llm: Judge())
    answer = kettles.search("kettle", diverse=True, rerank="cross-encoder", **BY_IMPORTANCE)
    assert [hit.ref for hit in answer.hits] == ["note:/copper", "note:/glass", "note:/double"]
    assert [hit.score for hit in answer.hits] == pytest.approx([0.75, 0.7, 0.6])
