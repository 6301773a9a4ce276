"""The order of an answer is a matter of the query alone: no limit and no page changes it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.fakes import FakeEmbedder

from ricordo import Entry, Filters, Ricordo

Opener = Callable[..., Ricordo]
PROFILES = ("default", "rrf", "brain", "skills", "knowledge", "bm25", "vector")
TOPICS = ["kettle", "pot", "stove", "tea", "boil", "copper", "iron", "glass", "steam", "handle", "lid", "spout"]


@pytest.fixture
def kitchen(open_engine: Opener, monkeypatch: pytest.MonkeyPatch) -> Ricordo:
    """Two hundred notes that all have some of the words, with vectors."""
    embedder = FakeEmbedder(synonyms={"cook": "boil"})
    monkeypatch.setattr("ricordo.registry.embedder", lambda config: embedder)
    engine = open_engine(vectors=True)
    chance = random.Random(5)
    texts = [" ".join(chance.choices(TOPICS, k=chance.randint(3, 20))) for _ in range(200)]
    engine.save_many([Entry(f"note:/{at:03}", text, kind="note") for at, text in enumerate(texts)])
    return engine


def refs(engine: Ricordo, **options: Any) -> list[tuple[str, float]]:
    answer = engine.search("cook tea in a copper kettle", track=False, **options)
    return [(hit.ref, round(hit.score, 3)) for hit in answer.hits]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_larger_limit_only_adds_hits_at_the_end(kitchen: Ricordo, profile: str) -> None:
    everything = refs(kitchen, profile=profile, limit=150)
    assert len(everything) == 150
    for limit in (1, 3, 10, 50):
        assert refs(kitchen, profile=profile, limit=limit) == everything[:limit]
    scores = [score for _, score in everything]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("options", [{}, {"profile": "rrf"}, {"diverse": True}])
def test_pages_neither_repeat_nor_leave_out_hits(kitchen: Ricordo, options: dict[str, Any]) -> None:
    everything = [ref for ref, _ in refs(kitchen, limit=140, **options)]
    paged = [ref for at in range(0, 140, 10) for ref, _ in refs(kitchen, limit=10, offset=at, **options)]
    assert paged == everything
    assert len(set(paged)) == 140


@pytest.mark.parametrize("profile", ["default", "brain"])
def test_explain_tells_the_rank_and_score_that_search_shows(kitchen: Ricordo, profile: str) -> None:
    shown = refs(kitchen, profile=profile, limit=100)
    for rank in (1, 5, 10, 90):
        ref, score = shown[rank - 1]
        explanation = kitchen.explain("cook tea in a copper kettle", ref, profile=profile)
        assert explanation.hit is not None
        assert (explanation.rank, round(explanation.hit.score, 3)) == (rank, score)


def test_what_is_found_beyond_the_pool_is_explained_as_such(kitchen: Ricordo) -> None:
    answer = kitchen.search("cook tea in a copper kettle", limit=200, explain=True, track=False)
    for hit in answer.hits:
        assert hit.explain is not None
        assert sum(share.contribution for share in hit.explain.signals) == pytest.approx(hit.explain.value, abs=1e-12)
        last = hit.explain.steps[-1][1] if hit.explain.steps else max(0.0, hit.explain.value)
        assert hit.score == pytest.approx(min(1.0, last))


@pytest.mark.parametrize("profile", PROFILES)
def test_a_perfect_match_by_words_scores_as_high_without_vectors(engine: Ricordo, profile: str) -> None:
    if profile == "vector":
        pytest.skip("it has no words")
    engine.save("note:/a", "copper kettle")
    engine.save("note:/b", "something else entirely")
    (hit,) = engine.search("copper kettle", profile=profile, track=False).hits
    least = {"default": 0.5, "bm25": 0.2, "brain": 0.8}.get(profile, 0.99)
    assert hit.score >= least
    assert engine.search("copper kettle", profile=profile, min_score=least, track=False).hits


def test_words_decide_until_most_of_what_they_find_has_a_vector(
    open_engine: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = FakeEmbedder()
    monkeypatch.setattr("ricordo.registry.embedder", lambda config: embedder)
    engine = open_engine(vectors=True)
    engine.save_many([Entry(f"note:/near-{at}", f"rules rules and more {at}", kind="note") for at in range(20)])
    late = [Entry("note:/page", "ownership rules: what ownership is, and its rules", kind="note")]
    late += [Entry(f"note:/late-{at}", f"ownership of thing {at}", kind="note") for at in range(30)]
    engine.save_many(late, wait=False)
    assert engine.search("ownership rules", track=False).hits[0].ref == "note:/page"
    engine.embed()
    assert engine.search("ownership rules", track=False).hits[0].ref == "note:/page"


def test_a_small_store_shows_all_keyword_matches_and_says_so(engine: Ricordo) -> None:
    for at in range(12):
        engine.save(f"note:/{at:02}", f"kettle number {at}")
    answer = engine.search("kettle", profile="vault", limit=3, track=False)
    assert len(answer.hits) == 12
    assert any("small" in note for note in answer.meta.notes)
    assert engine.search("kettle", profile="vault", limit=3, offset=3, track=False).hits == ()


def test_mentions_of_an_entity_do_not_make_importance_worth_less(engine: Ricordo) -> None:
    engine.remember("The kettle is hot.", ref="memory:/hot", importance=5)
    engine.save("entity:/kettle", "A kettle.", fields={"title": "Kettle", "metadata": {"mention_count": 42}})
    answer = engine.search("kettle", profile="brain", explain=True, track=False)
    worth = {
        hit.ref: share.value
        for hit in answer.hits
        for share in (hit.explain.signals if hit.explain else ())
        if share.name == "importance"
    }
    assert worth == {"memory:/hot": 1.0, "entity:/kettle": 1.0}


def test_tags_count_in_a_store_where_few_items_have_any(engine: Ricordo) -> None:
    engine.save_many([Entry(f"disk:/{at}", f"words about thing {at}", kind="document") for at in range(300)])
    engine.save("note:/tagged", "A text of its own.", fields={"tags": ["firewall"]})
    engine.save("note:/body", "A text that says firewall once.")
    shares = {
        hit.ref: hit.explain.terms[0].contribution
        for hit in engine.search("firewall", profile="bm25", explain=True, track=False).hits
        if hit.explain
    }
    assert shares["note:/tagged"] > 0.4 * shares["note:/body"]


def test_a_search_notices_dates_that_another_process_gave_to_an_item(open_engine: Opener) -> None:
    reader, writer = open_engine(), open_engine()
    writer.save_many([Entry("note:/a", "The kettle is copper."), Entry("note:/b", "The kettle is iron.")])
    assert [hit.validity for hit in reader.search("kettle")] == ["", ""]
    first = reader.search("kettle").hits[0].ref
    writer.edit(first, fields={"valid_until": "2020-01-01"})
    again = reader.search("kettle")
    assert again.hits[-1].ref == first, "what is no longer valid comes after what fits as well"
    assert again.hits[-1].validity == "no longer valid"


@pytest.mark.parametrize("by", ["words", "meaning", "both", "text"])
def test_a_narrow_filter_finds_what_many_others_would_push_out(tmp_path: Path, by: Any) -> None:
    embedder = FakeEmbedder(synonyms={"auto": "car"})
    with Ricordo.open(tmp_path / "narrow.db", embedder=embedder) as engine:
        better = (Entry(f"note:/car/{n}", f"car car car {n}", "note") for n in range(400))
        engine.save_many([*better, Entry("note:/one", "A car, an auto, and much else besides.", "note")])
        engine.edit("note:/one", fields={"tags": ["rare"]})
        narrow = engine.search("car", by=by, filters=Filters(tags_any=("rare",)), track=False)
        assert [hit.ref for hit in narrow.hits] == ["note:/one"]
        if by != "text":  # whose order is that of changes
            assert "note:/one" not in [hit.ref for hit in engine.search("car", by=by, track=False).hits]
        assert not engine.search("car", by=by, filters=Filters(tags_any=("none",)), track=False).hits
