"""Memories and sessions searched apart: the profile vault with ``memories``."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from ricordo import Answer, Filters, Ricordo, UsageError

Opener = Callable[..., Ricordo]


@pytest.fixture
def filled(engine: Ricordo) -> Ricordo:
    engine.save("note:/critical", "kettle kettle", fields={"severity": "critical", "domain": "kitchen"})
    engine.save("note:/plain", "the kettle stands beside many other things on a long shelf")
    engine.save("memory:/b", "kettle kettle bought", kind="memory")
    engine.save("memory:/a", "a kettle was bought in spring, after much talk", kind="memory")
    engine.save("memory:/c", "nothing of it", kind="memory", fields={"tags": ["odd"]})
    engine.save("session:/1", "we spoke about the kettle, at length, and about tea", kind="session")
    return engine


def ask(engine: Ricordo, query: str = "kettle", **options: object) -> Answer:
    return engine.search(query, profile="vault", memories=True, track=False, **options)  # type: ignore[arg-type]


def test_memories_have_a_fixed_score_and_merge_by_it(filled: Ricordo) -> None:
    answer = ask(filled, boost_domain="kitchen", explain=True)
    assert [hit.ref for hit in answer.hits] == [
        "note:/critical", "memory:/b", "memory:/a", "session:/1", "note:/plain",
    ]  # fmt: skip
    scores = [hit.score for hit in answer.hits]
    assert scores[0] > 0.5 > scores[4]
    assert scores[1:4] == [0.5, 0.5, 0.5]
    memory = answer.hits[1]
    assert memory.explain is not None
    assert [(s.name, s.value, s.weight, s.contribution) for s in memory.explain.signals] == [("memory", 0.5, 1.0, 0.5)]
    assert [word.term for word in memory.explain.terms] == ["kettl"]
    assert memory.snippet == "kettle kettle bought"
    assert math.fsum(answer.meta.weights.values()) == pytest.approx(1.0)


def test_without_the_flag_memories_are_ranked_like_everything_else(filled: Ricordo) -> None:
    answer = filled.search("kettle", profile="vault", explain=True)
    for hit in answer.hits:
        assert hit.explain is not None
        assert "semantic" in {share.name for share in hit.explain.signals}
    assert {hit.ref for hit in answer.hits} == {hit.ref for hit in ask(filled).hits}


def test_vectors_find_no_memories_apart(compass: Opener) -> None:
    engine = compass()
    engine.save("memory:/near", "alpha without the word", kind="memory")
    engine.save("memory:/word", "delta kettle", kind="memory")
    engine.save("note:/near", "alpha without the word")
    assert {hit.ref for hit in ask(engine).hits} == {"memory:/word", "note:/near"}


def test_filters_hold_for_both_and_a_kind_chooses(filled: Ricordo) -> None:
    assert {hit.ref for hit in ask(filled, "kettle kind:memory").hits} == {"memory:/a", "memory:/b"}
    only_notes = ask(filled, filters=Filters(kinds=("note",))).hits
    assert {hit.kind for hit in only_notes} == {"note", "memory", "session"}
    assert ask(filled, "kettle tag:odd").hits == ()
    assert {hit.ref for hit in ask(filled, "kettle -bought").hits} == {"note:/critical", "note:/plain", "session:/1"}
    assert {hit.ref for hit in ask(filled, '"kettle bought"').hits} == {"memory:/b"}


def test_limits_offsets_and_a_least_score_hold_for_the_merged_hits(filled: Ricordo) -> None:
    everything = [hit.ref for hit in ask(filled).hits]
    for number in range(60):
        filled.save(f"note:/more-{number:02}", f"kettle {number}")  # no small corpus any more
    first = [hit.ref for hit in ask(filled, limit=2).hits]
    second = [hit.ref for hit in ask(filled, limit=2, offset=2).hits]
    assert [*first, *second] == [hit.ref for hit in ask(filled, limit=4).hits]
    assert {hit.kind for hit in ask(filled, min_score=0.5).hits} <= {"memory", "session", "note"}
    assert all(hit.score >= 0.5 for hit in ask(filled, min_score=0.5).hits)
    assert set(everything) <= {hit.ref for hit in ask(filled, limit=100).hits}


def test_a_profile_without_such_a_score_refuses(filled: Ricordo) -> None:
    for query in ("kettle", "", "kind:note"):
        with pytest.raises(UsageError, match="'brain' ranks memories with everything else") as refused:
            filled.search(query, profile="brain", memories=True)
    assert 'profile="vault"' in refused.value.hint
