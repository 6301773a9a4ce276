"""Profiles as data: weights per query, the user's own profiles, and what is refused."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ricordo import Ricordo, UsageError
from ricordo.search.profiles import built_in
from ricordo.search.signals import SIGNALS

Opener = Callable[..., Ricordo]
BRAIN = {"vector": 0.4, "fts": 0.3, "recency": 0.2, "importance": 0.1}


@pytest.fixture
def notes(engine: Ricordo) -> Ricordo:
    engine.save("note:/a", "rotate the keys", fields={"importance": 1})
    engine.save("note:/b", "the keys, the keys, and once more the keys", fields={"importance": 5})
    return engine


def write_settings(text: str) -> None:
    path = Path(os.environ["RICORDO_CONFIG_HOME"]) / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def weights_of(engine: Ricordo, profile: str, **options: Any) -> dict[str, float]:
    """The weights of a profile where both sides find something; a search shows them as they are in force."""
    asked = engine.profiles()[profile]
    engine.search("keys", profile=profile, track=False, **options)
    return asked.with_weights(options.get("weights", {})).weights()


@pytest.mark.parametrize("name", sorted(built_in()))
def test_the_weights_of_every_built_in_profile_sum_to_one(notes: Ricordo, name: str) -> None:
    weights = weights_of(notes, name)
    assert math.fsum(weights.values()) == pytest.approx(1.0, abs=1e-12)
    assert list(weights) == list(built_in()[name].signals)


def test_exactly_the_profiles_that_learn_say_which_signal_learns() -> None:
    learning = {name: one.learns for name, one in built_in().items() if one.learns}
    assert learning == {"default": "lexical", "vault": "semantic"}


def test_a_weight_of_zero_is_zero_and_the_rest_is_normalised(notes: Ricordo) -> None:
    weights = weights_of(notes, "brain", weights={"vector": 0, "fts": 0})
    assert weights == pytest.approx({"vector": 0.0, "fts": 0.0, "recency": 2 / 3, "importance": 1 / 3})
    assert (weights["vector"], weights["fts"]) == (0.0, 0.0)


def test_weights_for_one_query_do_not_stay(notes: Ricordo) -> None:
    answer = notes.search("keys", profile="brain", weights={"vector": 0.5, "recency": 0}, track=False)
    assert answer.meta.weights == pytest.approx({"vector": 0.0, "fts": 3 / 4, "recency": 0.0, "importance": 1 / 4})
    assert weights_of(notes, "brain") == pytest.approx(BRAIN)


def test_weights_decide_the_order(notes: Ricordo) -> None:
    alone = dict.fromkeys(BRAIN, 0.0)
    by_importance = notes.search("keys", profile="brain", weights={**alone, "importance": 1}, track=False)
    assert [(hit.ref, hit.score) for hit in by_importance.hits] == [("note:/b", 1.0), ("note:/a", 0.2)]
    by_words = notes.search("rotate keys", profile="brain", weights={**alone, "fts": 1}, track=False)
    assert [hit.ref for hit in by_words.hits] == ["note:/a", "note:/b"]


def test_weights_that_leave_meaning_alone_hold_without_vectors_too(notes: Ricordo) -> None:
    chosen = {label: 0.0 for label in built_in()["vault"].signals if label != "vector"}
    assert weights_of(notes, "vault", weights=chosen)["vector"] == 1.0


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ({"vektor": 1}, "no weight 'vektor'"),
        ({"": 1}, "no weight ''"),
        ({"vector": -0.1}, "vector=-0.1"),
        ({"vector": math.nan}, "vector=nan"),
        ({"vector": math.inf}, "vector=inf"),
        ({"vector": 1e300}, "vector=1e+300"),
        ({"vector": 10**400}, "cannot be used"),
        ({"vector": True}, "vector=True"),
        ({"vector": "0.5"}, "vector=0.5"),
        (dict.fromkeys(BRAIN, 0), "all weights"),
    ],
)
def test_weights_that_cannot_be_used_are_refused(notes: Ricordo, weights: Any, words: str) -> None:
    with pytest.raises(UsageError, match=r".") as refused:
        notes.search("keys", profile="brain", weights=weights)
    assert words in refused.value.message


def test_an_unknown_weight_is_told_which_there_are(notes: Ricordo) -> None:
    with pytest.raises(UsageError) as refused:
        notes.search("keys", profile="brain", weights={"vectr": 1})
    assert refused.value.hint == "Did you mean vector? Its weights are: vector, fts, recency, importance."


def test_an_unknown_profile_is_told_which_there_are(notes: Ricordo) -> None:
    write_settings('[profiles.mine]\nbase = "rrf"\n')
    with pytest.raises(UsageError) as refused:
        notes.search("keys", profile="brian")
    assert "no profile 'brian'" in refused.value.message
    for name in ("default", "rrf", "vault", "brain", "skills", "knowledge", "mine"):
        assert name in refused.value.hint


def test_settings_give_brain_its_weights_at_the_next_query(notes: Ricordo) -> None:
    assert weights_of(notes, "brain") == pytest.approx(BRAIN)
    write_settings("[retrieval]\nvector_weight = 0\nimportance_weight = 1.5\n")
    assert weights_of(notes, "brain") == pytest.approx({"vector": 0.0, "fts": 0.15, "recency": 0.1, "importance": 0.75})
    assert notes.profiles()["brain"].source == "settings"
    write_settings("")
    assert weights_of(notes, "brain") == pytest.approx(BRAIN)


def test_settings_give_knowledge_its_weights(notes: Ricordo) -> None:
    write_settings("[knowledge]\nhybrid_vector_weight = 0.1\nhybrid_text_weight = 0.3\n")
    assert weights_of(notes, "knowledge") == pytest.approx({"vector": 0.25, "text": 0.75})


def test_settings_that_leave_nothing_to_rank_by_are_refused_where_they_are_used(open_engine: Opener) -> None:
    engine = open_engine(**{f"retrieval.{label}_weight": 0 for label in BRAIN})
    engine.save("note:/a", "keys")
    with pytest.raises(UsageError, match="all weights of the profile 'brain' are 0"):
        engine.search("keys", profile="brain")
    assert engine.search("keys").hits


def test_a_profile_of_ones_own_changes_weights_of_another(notes: Ricordo) -> None:
    write_settings(
        '[profiles.mine]\nbase = "brain"\ndescription = "What matters"\n'
        "weights = { recency = 0, importance = 0.3 }\nmin_score = 0.2\nper_side = { factor = 5, minimum = 57 }\n"
    )
    expected = {"vector": 0.4, "fts": 0.3, "recency": 0.0, "importance": 0.3}
    assert weights_of(notes, "mine") == pytest.approx(expected)
    mine = notes.profiles()["mine"]
    assert (mine.name, mine.description, mine.source) == ("mine", "What matters", "settings")
    assert (mine.per_side, mine.min_score) == (57, 0.2)
    assert all(hit.score >= 0.2 for hit in notes.search("keys", profile="mine").hits)


def test_a_profile_of_ones_own_may_have_signals_of_its_own(notes: Ricordo) -> None:
    write_settings(
        '[profiles.plain.signals]\nwords = { signal = "lexical_rank", weight = 3 }\nimportance = { weight = 1 }\n'
    )
    answer = notes.search("keys", profile="plain", explain=True)
    assert answer.meta.weights == {"words": 0.75, "importance": 0.25}
    assert answer.hits[0].explain is not None
    assert [share.name for share in answer.hits[0].explain.signals] == ["words", "importance"]


def test_profiles_build_on_one_another_in_any_order(notes: Ricordo) -> None:
    write_settings(
        '[profiles.third]\nbase = "second"\nweights = { fts = 1 }\n'
        '[profiles.second]\nbase = "rrf"\nweights = { vector = 3 }\n'
        '[profiles.rrf]\nbase = "rrf"\nweights = { vector = 2 }\n'
    )
    assert weights_of(notes, "rrf") == pytest.approx({"fts": 1 / 3, "vector": 2 / 3})
    assert weights_of(notes, "third") == pytest.approx({"fts": 0.25, "vector": 0.75})


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('base = "nothing"', "no profile 'nothing'"),
        ("base = 3", "is not a name"),
        ('base = "brain"\nweigths = { fts = 1 }', "unknown entry 'weigths'"),
        ('base = "brain"\nweights = { text = 1 }', "no weight 'text'"),
        ('base = "brain"\nweights = { fts = -1 }', "fts=-1"),
        ('base = "brain"\nweights = { fts = nan }', "fts=nan"),
        ('base = "brain"\nweights = 3', "weights of the profile 'mine' is not a table"),
        ('base = "brain"\nmin_score = 7', "min_score"),
        ('base = "brain"\nguard = -1', "guard"),
        ('base = "brain"\nsides = ["words"]', "sides"),
        ('base = "brain"\nper_side = { factor = 0 }', "per_side.factor"),
        ('base = "brain"\nper_side = { limit = 3 }', "unknown entry 'limit'"),
        ("signals = 3", "is not a table"),
        ("signals = { a = 3 }", "is not a table"),
        ('signals = { a = { signal = "magic", weight = 1 } }', "unknown signal 'magic'"),
        ('signals = { a = { signal = "vector" } }', "has no weight"),
        ('signals = { a = { signal = "vector", weight = 0 } }', "all weights"),
        ('signals = { a = { signal = "vector", weight = 1, wait = 2 } }', "unknown entry 'wait'"),
    ],
)
def test_a_profile_that_cannot_be_used_says_why_and_stands_in_nobodys_way(
    notes: Ricordo, table: str, words: str
) -> None:
    write_settings(f"[profiles.mine]\n{table}\n")
    with pytest.raises(UsageError) as refused:
        notes.search("keys", profile="mine")
    assert words in refused.value.message
    assert refused.value.hint
    assert notes.search("keys", profile="brain").hits
    assert notes.feedback("keys", "note:/a", "accepted").counted


def test_an_unknown_signal_is_told_which_there_are(notes: Ricordo) -> None:
    write_settings('[profiles.mine.signals]\na = { signal = "magic", weight = 1 }\n')
    with pytest.raises(UsageError) as refused:
        notes.search("keys", profile="mine")
    assert all(name in refused.value.hint for name in SIGNALS)


def test_profiles_that_build_on_each_other_in_a_circle_are_refused(notes: Ricordo) -> None:
    write_settings('[profiles.a]\nbase = "b"\n[profiles.b]\nbase = "a"\n')
    with pytest.raises(UsageError, match="a → b → a"):
        notes.search("keys", profile="a")


@pytest.mark.parametrize("signal", SIGNALS)
def test_every_signal_can_be_ranked_by(notes: Ricordo, signal: str) -> None:
    write_settings(f'[profiles.one.signals]\nonly = {{ signal = "{signal}", weight = 2 }}\n')
    answer = notes.search("keys", profile="one", explain=True, boost_tags=["x"], boost_domain="y")
    assert answer.meta.weights == {"only": 1.0}
    assert {hit.ref for hit in answer.hits} == {"note:/a", "note:/b"}
    assert all(0.0 <= hit.score <= 1.0 for hit in answer.hits)


def test_a_boost_that_the_profile_does_not_weigh_is_noted(notes: Ricordo) -> None:
    unheard = notes.search("keys", profile="brain", boost_tags=["ops"], boost_domain="auth").meta.notes
    assert unheard == (
        "the profile 'brain' does not weigh tags; vault does",
        "the profile 'brain' does not weigh domains; vault does",
    )
    assert notes.search("keys", profile="vault", boost_tags=["ops"], boost_domain="auth").meta.notes == ()
    assert notes.search("keys", profile="brain").meta.notes == ()


@pytest.mark.parametrize(("label", "other"), [("vector", "lexical"), ("lexical", "vector")])
def test_a_side_without_weight_stays_so_when_the_other_finds_nothing(compass: Opener, label: str, other: str) -> None:
    engine = compass()
    engine.save("note:/a", "alpha tea" if label == "vector" else "tea")
    query = "nothing" if label == "vector" else "tea"
    answer = engine.search(query, weights={label: 0}, explain=True, track=False)
    assert answer.meta.weights == {label: 0.0, other: 1.0}
    assert [hit.score for hit in answer.hits] == [0.0]
