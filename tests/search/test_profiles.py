"""Each built-in profile gives the numbers its formula gives, computed here by hand and divided by the sum of weights.

Four notes, one query. Words: copper has ``kettle`` twice in 3 words, iron once in 4, tin once in 6, glass not at all.
Meaning: glass 1, copper .8, iron .6, tin .28.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ricordo import Answer, Ricordo

Opener = Callable[..., Ricordo]
Ago = Callable[[float], Any]
COPPER, IRON, GLASS, TIN = "note:/copper", "note:/iron", "note:/glass", "note:/tin"
TEXTS = {
    COPPER: "kettle kettle beta",
    IRON: "gamma kettle hangs low",
    GLASS: "alpha vessel",
    TIN: "delta boiling pot beside kettle stove",
}
BY_WORDS = {COPPER: 1, IRON: 2, TIN: 3}
BY_MEANING = {GLASS: 1, COPPER: 2, IRON: 3, TIN: 4}
COSINE = {GLASS: 1.0, COPPER: 0.8, IRON: 0.6, TIN: 0.28}
AGE = {COPPER: 0, IRON: 30, GLASS: 60, TIN: 365}
WINDOW = {"valid_from": -90, "valid_until": 10}
"""In days from now: of the last 25 days of a window of 100, 10 are left, so the window says .4."""
FIELDS: dict[str, dict[str, Any]] = {
    COPPER: {"severity": "critical", "tags": ["metal"], "domain": "kitchen", "importance": 4},
    IRON: {"severity": "warning", "tags": ["metal", "heavy"], "domain": "forge", "metadata": {"mention_count": 8}},
    GLASS: {"severity": "suggestion", "domain": "kitchen"},
    TIN: {"importance": 2},
}


def fill(engine: Ricordo, ago: Ago) -> Ricordo:
    for ref, text in TEXTS.items():
        fields = dict(FIELDS[ref])
        if ref == COPPER:
            now = datetime.now(UTC)
            fields |= {name: (now + timedelta(days=days)).isoformat() for name, days in WINDOW.items()}
        with ago(AGE[ref]):
            engine.save(ref, text, fields=fields)
    return engine


@pytest.fixture
def filled(compass: Opener, ago: Ago) -> Ricordo:
    return fill(compass(), ago)


@pytest.fixture
def by_words(open_engine: Opener, ago: Ago) -> Ricordo:
    return fill(open_engine("words"), ago)


Values = Mapping[str, Mapping[str, float]]


def check(answer: Answer, weights: Mapping[str, float], values: Values) -> None:
    """Raw values, weights, contributions, totals and order are those of Σ weight · value / Σ weight."""
    total = math.fsum(weights.values())
    assert answer.meta.weights == pytest.approx({label: weight / total for label, weight in weights.items()})
    assert math.fsum(answer.meta.weights.values()) == pytest.approx(1.0, abs=1e-12)
    expected = {
        ref: math.fsum(weights[label] * value for label, value in raw.items()) / total for ref, raw in values.items()
    }
    assert [hit.ref for hit in answer.hits] == sorted(expected, key=lambda ref: (-expected[ref], ref))
    for hit in answer.hits:
        assert hit.explain is not None
        shares = {share.name: share for share in hit.explain.signals}
        assert {name: share.value for name, share in shares.items()} == pytest.approx(values[hit.ref], abs=1e-6)
        assert {name: share.weight for name, share in shares.items()} == answer.meta.weights
        assert all(share.contribution == share.value * share.weight for share in shares.values())
        assert hit.explain.value == sum(share.contribution for share in hit.explain.signals)
        assert hit.score == hit.explain.value == pytest.approx(expected[hit.ref], abs=1e-6)


def ask(engine: Ricordo, profile: str, **options: Any) -> Answer:
    return engine.search("kettle", profile=profile, explain=True, track=False, **options)


def test_rrf_adds_reciprocal_ranks_scaled_so_that_two_first_places_make_one(filled: Ricordo) -> None:
    def score(rank: int | None) -> float:
        return 61 / (60 + rank) if rank else 0.0

    values = {ref: {"fts": score(BY_WORDS.get(ref)), "vector": score(BY_MEANING[ref])} for ref in TEXTS}
    answer = ask(filled, "rrf")
    check(answer, {"fts": 1, "vector": 1}, values)
    raw = 1 / (60 + BY_WORDS[COPPER]) + 1 / (60 + BY_MEANING[COPPER])
    assert answer.hits[0].score == pytest.approx(raw * 61 / 2)


def test_knowledge_takes_seventy_parts_cosine_and_thirty_parts_rank(filled: Ricordo) -> None:
    values = {
        ref: {"vector": COSINE[ref], "text": 1 / (1 + (BY_WORDS[ref] - 1)) if ref in BY_WORDS else 0.0} for ref in TEXTS
    }
    check(ask(filled, "knowledge"), {"vector": 0.7, "text": 0.3}, values)


def saturation(count: int, length: int) -> float:
    """BM25 without its idf: all notes differ in length, and the mean length is that of 3, 4, 2 and 6 words."""
    x = count / (0.25 + 0.75 * length / 3.75)
    return x / (1.2 + x)


def test_skills_take_the_keyword_score_over_the_best_the_cosine_and_freshness(filled: Ricordo) -> None:
    best = saturation(2, 3)
    bm25 = {COPPER: 1.0, IRON: saturation(1, 4) / best, TIN: saturation(1, 6) / best, GLASS: 0.0}
    values = {ref: {"bm25": bm25[ref], "vector": COSINE[ref], "freshness": 0.5 ** (AGE[ref] / 30)} for ref in TEXTS}
    check(ask(filled, "skills"), {"bm25": 0.4, "vector": 0.6, "freshness": 0.1}, values)


def test_brain_takes_distance_rank_decayed_recency_and_importance(filled: Ricordo) -> None:
    farthest = 1 - COSINE[TIN]
    importance = {COPPER: 4 / 4, IRON: 8 / 8, TIN: 2 / 4, GLASS: 0.0}  # iron has mentions alone
    values = {
        ref: {
            "vector": 1 - (1 - COSINE[ref]) / farthest,
            "fts": 61 / (60 + BY_WORDS[ref]) if ref in BY_WORDS else 0.0,
            "recency": 0.5 ** (AGE[ref] / 30) * 0.5 ** (AGE[ref] / 365),  # decay, then age
            "importance": importance[ref],
        }
        for ref in TEXTS
    }
    check(ask(filled, "brain"), {"vector": 0.4, "fts": 0.3, "recency": 0.2, "importance": 0.1}, values)


def test_brain_gives_nothing_for_meaning_to_what_has_no_vector_yet(
    filled: Ricordo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.search.pipeline.EMBEDDED_FIRST", 0)  # the search itself would make its vector
    filled.save("note:/new", "alpha kettle", wait=False)
    shares = {hit.ref: hit.explain.signals[0] for hit in ask(filled, "brain").hits if hit.explain}
    assert (shares["note:/new"].name, shares["note:/new"].value) == ("vector", 0.0)
    assert shares[GLASS].value == pytest.approx(1.0, abs=1e-6)


TF_IDF_TERMS = {
    # Words in how many of the four notes; notes' own words and tags, by how often.
    COPPER: {"kettle": 2, "beta": 1, "metal": 1},
    IRON: {"gamma": 1, "kettle": 1, "hangs": 1, "low": 1, "metal": 1, "heavy": 1},
    GLASS: {"alpha": 1, "vessel": 1},
    TIN: {"delta": 1, "boiling": 1, "pot": 1, "beside": 1, "kettle": 1, "stove": 1},
}


def tf_idf_cosine(ref: str) -> float:
    frequency = {"kettle": 3, "metal": 2}
    weighted = {t: n * (math.log(5 / (frequency.get(t, 1) + 1)) + 1) for t, n in TF_IDF_TERMS[ref].items()}
    return weighted.get("kettle", 0.0) / math.sqrt(math.fsum(value**2 for value in weighted.values()))


def vault_values(*, vectors: bool) -> dict[str, dict[str, float]]:
    severity = {COPPER: 1.0, IRON: 0.7, GLASS: 0.4, TIN: 0.0}
    temporal = {COPPER: 0.4, IRON: 0.5 ** (30 / 365), GLASS: 0.5 ** (60 / 365), TIN: 0.5}
    overlap = {COPPER: 1 / 2, IRON: 1 / 3, GLASS: 0.0, TIN: 0.0}  # of {metal, shiny} with the note's own
    domain = {COPPER: 1.0, IRON: 0.0, GLASS: 1.0, TIN: 0.0}
    return {
        ref: {
            "semantic": tf_idf_cosine(ref),
            "vector": COSINE[ref] if vectors else 0.0,
            "severity": severity[ref],
            "temporal_decay": temporal[ref],
            "tag_overlap": overlap[ref],
            "domain_match": domain[ref],
            "graph_proximity": 1.0,  # fewer than five matches: each is one of the best
        }
        for ref in TEXTS
        if vectors or ref in BY_WORDS
    }


VAULT = {
    "semantic": 0.20, "vector": 0.15, "severity": 0.10, "temporal_decay": 0.10, "tag_overlap": 0.10,
    "domain_match": 0.10, "graph_proximity": 0.15,
}  # fmt: skip


def test_vault_takes_seven_signals(filled: Ricordo) -> None:
    answer = ask(filled, "vault", boost_tags=["metal", "shiny"], boost_domain="Kitchen")
    check(answer, VAULT, vault_values(vectors=True))


@pytest.mark.parametrize("vectors", [True, False])
def test_vault_without_vectors_gives_their_weight_to_the_words(
    filled: Ricordo, by_words: Ricordo, vectors: bool
) -> None:
    engine = filled if vectors else by_words  # switched off for this search, or never there
    answer = ask(engine, "vault", boost_tags=["metal", "shiny"], boost_domain="kitchen", by="words")
    check(answer, {**VAULT, "semantic": 0.35, "vector": 0.0}, vault_values(vectors=False))


def test_vault_has_no_vectors_where_only_another_model_made_some(compass: Opener, ago: Ago) -> None:
    fill(compass(), ago)
    answer = ask(compass(**{"embedding.model": "other"}), "vault")
    assert answer.meta.weights["semantic"] == pytest.approx(0.35 / 0.9)
    assert any("another model" in reason for reason in answer.meta.degraded)


def chain(engine: Ricordo) -> None:
    """Six notes about kettles, the sixth hardly; a chain of notes that are not, from the first."""
    for number in range(1, 7):
        engine.save(f"note:/k{number}", " ".join(["kettle"] * (8 - number) + ["pot"] * number))
    for number in range(1, 4):
        engine.save(f"note:/linked{number}", f"stove {number}")
    engine.link("note:/linked1", "note:/k1")
    engine.link("note:/linked1", "note:/linked2")
    engine.link("note:/linked3", "note:/linked2")


def graph_values(answer: Answer) -> dict[str, float]:
    return {
        hit.ref: next(share.value for share in hit.explain.signals if share.name == "graph_proximity")
        for hit in answer.hits
        if hit.explain
    }


def test_links_count_from_the_five_best_and_bring_in_what_words_did_not_find(engine: Ricordo) -> None:
    chain(engine)
    values = graph_values(ask(engine, "vault"))
    assert values == {
        **{f"note:/k{number}": 1.0 for number in range(1, 6)},
        "note:/k6": 0.0,
        "note:/linked1": 0.5,
        "note:/linked2": 0.33,
    }


@pytest.mark.parametrize("query", ["kettle -stove", '"kettle pot"', "kettle path:/k*"])
def test_links_bring_in_nothing_that_the_query_leaves_out(engine: Ricordo, query: str) -> None:
    chain(engine)
    answer = engine.search(query, profile="vault", track=False)
    assert {hit.ref for hit in answer.hits} == {f"note:/k{number}" for number in range(1, 7)}


def test_what_links_bring_in_still_has_its_own_words_and_meaning(compass: Opener) -> None:
    engine = compass()
    for number in range(60):
        engine.save(f"note:/k{number:02}", " ".join(["alpha", "kettle", "kettle", "kettle"] + ["pot"] * number))
    engine.save("note:/far", "beta stove and a kettle " + "filler " * 100)
    engine.link("note:/far", "note:/k00")
    answer = ask(engine, "vault", weights={"graph_proximity": 100})
    assert graph_values(answer)["note:/far"] == 0.5
    far = next(hit for hit in answer.hits if hit.ref == "note:/far")
    assert far.explain is not None
    shares = {share.name: share.value for share in far.explain.signals}
    assert shares["vector"] == pytest.approx(0.8, abs=1e-6)
    assert shares["semantic"] > 0
    assert far.lines == (1, 1)


@pytest.mark.parametrize(
    ("matching", "limit", "shown"),
    [
        (21, 10, 21),  # ten would leave out eleven, more than half
        (20, 10, 10),  # exactly half
        (49, 10, 49),
        (50, 10, 10),  # no longer a small corpus
        (60, 5, 5),
        (3, 1, 3),
        (2, 1, 1),
    ],
)
def test_vault_does_not_cut_a_small_corpus_to_less_than_half(
    engine: Ricordo, matching: int, limit: int, shown: int
) -> None:
    for number in range(matching):
        engine.save(f"note:/{number:02}", f"kettle number {number}")
    for number in range(60):
        engine.save(f"note:/other-{number}", f"something else {number}")
    assert len(ask(engine, "vault", limit=limit).hits) == shown
    assert len(ask(engine, "brain", limit=limit).hits) == min(limit, matching)


@pytest.mark.parametrize(
    ("profile", "number"),
    [("default", 60), ("rrf", 100), ("vault", 50), ("brain", 30), ("skills", 30), ("knowledge", 40)],
)
def test_each_profile_asks_each_side_for_its_own_number(engine: Ricordo, profile: str, number: int) -> None:
    assert engine.profiles()[profile].per_side == number


def important_last(engine: Ricordo) -> None:
    for number in range(1, 9):
        fields = {"importance": 5 if number == 8 else 1}
        engine.save(f"note:/{number}", " ".join(["kettle"] + ["pot"] * number), fields=fields)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_an_important_item_is_reached_whatever_the_limit(engine: Ricordo, limit: int) -> None:
    important_last(engine)
    weights = {"fts": 0, "recency": 0, "vector": 0}
    assert ask(engine, "brain", limit=limit, weights=weights).hits[0].ref == "note:/8"


def test_skills_leave_out_what_is_below_the_score_asked_for(filled: Ricordo) -> None:
    scores = {hit.ref: hit.score for hit in ask(filled, "skills").hits}
    assert list(scores) == [COPPER, IRON, GLASS, TIN]
    kept = ask(filled, "skills", min_score=scores[GLASS] - 1e-6).hits  # a moment later all are a little less fresh
    assert [hit.ref for hit in kept] == [COPPER, IRON, GLASS]
    assert ask(filled, "skills", min_score=1.0).hits == ()
