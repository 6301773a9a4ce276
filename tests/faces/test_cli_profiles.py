"""The verb profiles, and the ways to say how a search ranks: profile, weights, reranking."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def notes(house: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A house with a note and a memory about keys, found by their words."""
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    house.env["RICORDO_EMBEDDING_PROVIDER"] = "none"
    house.run("add", "-", "--as", "note:/keys", stdin="Rotate the signing keys every quarter.\n")
    house.run("add", "-", "--as", "memory:/keys", stdin="We lost the keys in May.\n")
    return house


def write_settings(house: Any, text: str) -> None:
    path = Path(house.env["RICORDO_CONFIG_HOME"]) / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_profiles_are_listed_without_a_store(house: Any) -> None:
    plain = house.json("profiles")
    names = [one["name"] for one in plain["profiles"]]
    assert {"default", "rrf", "vault", "brain", "skills", "knowledge"} <= set(names)
    assert plain["default"] == "default"
    lines = house.run("profiles", "list").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == names
    assert lines[1].startswith("default *  built in  ")
    assert "fts=0.3" in house.run("profiles", "list", "--verbose").stdout
    assert not (house.folder.parent / "data").exists()


def test_a_profile_is_shown_with_weights_signals_limits_and_where_it_comes_from(house: Any) -> None:
    plain = house.json("profiles", "show", "vault")
    assert plain["weights"]["semantic"] == pytest.approx(0.20 / 0.9)
    assert plain["weights_without_vectors"]["semantic"] == pytest.approx(0.35 / 0.9)
    assert plain["weights_without_vectors"]["vector"] == 0.0
    assert plain["signals"]["semantic"] == "tfidf"
    assert plain["per_side"] == {"factor": 3, "minimum": 30}
    assert (plain["source"], plain["guard"], plain["memory_score"], plain["learns"]) == (
        "built in", 50, 0.5, "semantic",
    )  # fmt: skip
    shown = house.run("profiles", "show", "vault").stdout
    for part in ("without vectors", "0.3889", "cosine of the TF-IDF", "50 by lexical", "--memories"):
        assert part in shown
    assert "without vectors" not in house.run("profiles", "show", "bm25").stdout


def test_a_profile_of_ones_own_is_listed_shown_and_used(notes: Any) -> None:
    write_settings(
        notes, '[search]\nprofile = "mine"\n[profiles.mine]\nbase = "brain"\nweights = { vector = 0, importance = 0 }\n'
    )
    plain = notes.json("profiles", "show", "mine")
    assert plain["source"] == "settings"
    assert plain["weights"] == pytest.approx({"vector": 0.0, "fts": 0.6, "recency": 0.4, "importance": 0.0})
    assert notes.json("profiles")["default"] == "mine"
    assert "mine *" in notes.run("profiles").stdout
    meta = notes.json("search", "keys")["meta"]
    assert (meta["profile"], meta["weights"]) == ("mine", plain["weights"])


def test_weights_are_given_for_one_search(notes: Any) -> None:
    meta = notes.json("search", "keys", "--profile", "brain", "--weights", "vector=0, recency=0")["meta"]
    assert meta["weights"] == pytest.approx({"vector": 0.0, "fts": 0.75, "recency": 0.0, "importance": 0.25})
    for weights, words in (("speed=1", "speed"), ("fts=-1", "fts=-1"), ("fts=nan", "nan"), ("fts=a", "fts=a")):
        assert words in notes.json("search", "keys", "--profile", "brain", "--weights", weights, code=2)["message"]


def test_a_second_look_is_set_up_by_config_and_asked_for_by_flag(notes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ricordo.search.pipeline.SECONDS", 60.0)
    printed = notes.run("search", "keys", "--rerank", "cross-encoder")
    assert "degraded: rerank: no cross-encoder is set" in printed.stderr
    model = Path(__file__).parents[1] / "fixtures" / "cross_encoder"
    notes.run("config", "set", "rerank.model", str(model))
    plain = notes.json("search", "keys", "--rerank", "cross-encoder", "--explain")
    assert plain["meta"]["degraded"] == []
    steps = [step["step"] for step in plain["hits"][0]["explain"]["steps"]]
    assert steps == ["its title is the query: as high as the best", "rerank opinion", "rerank blend"]
    assert "rerank blend" in notes.run("search", "keys", "--rerank", "cross-encoder", "--explain").stdout
    assert "cross-encoder, llm, none" in notes.json("search", "keys", "--rerank", "oracle", code=2)["hint"]


def test_a_profile_of_ones_own_is_made_by_config(notes: Any) -> None:
    notes.run("config", "set", "profiles.mine.base", "brain")
    printed = notes.run("config", "set", "profiles.mine.weights.recency", "0.7")
    assert printed.stdout == "profiles.mine.weights.recency = 0.7\n"
    notes.run("config", "set", "profiles.mine.per_side.minimum", "7")
    plain = notes.json("profiles", "show", "mine")
    assert plain["weights"] == pytest.approx(
        {"vector": 0.4 / 1.5, "fts": 0.2, "recency": 0.7 / 1.5, "importance": 0.1 / 1.5}
    )
    assert plain["per_side"] == {"factor": 3, "minimum": 7}
    assert notes.json("config", "get", "profiles.mine.weights")["value"] == {"recency": 0.7}
    assert notes.json("config", "get", "profiles.mine.base")["value"] == "brain"
    assert notes.json("config", "unset", "profiles.mine.weights.recency")["removed"]
    assert notes.json("profiles", "show", "mine")["weights"]["recency"] == pytest.approx(0.2)
    assert notes.json("config", "unset", "profiles.mine")["removed"]
    assert not notes.json("config", "unset", "profiles.mine")["removed"]
    assert notes.json("profiles", "show", "mine", code=2)["code"] == "usage"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("profiles.mine.base", "brian", "no profile 'brian'"),
        ("profiles.mine.weights.speed", "1", "no weight 'speed'"),
        ("profiles.mine.weights.vector", "-1", "vector=-1.0"),
        ("profiles.mine.weights.vector", "nan", "vector=nan"),
        ("profiles.mine.weights.vector", "much", "much"),
        ("profiles.mine.weights.vector.more", "1", "no weight 'vector.more'"),
        ("profiles.mine.min_score", "7", "min_score"),
        ("profiles.mine.sides", "words", "sides"),
        ("profiles.mine.guard", "1.5", "1.5"),
        ("profiles.mine.colour", "red", "no setting 'profiles.mine.colour'"),
        ("profiles..base", "brain", "no setting"),
        ("profiles.mine", "brain", "whole profile"),
        ("profiles.mine.weights", "1", "is not a table"),
    ],
)
def test_config_writes_no_profile_that_cannot_be_used(notes: Any, name: str, value: str, words: str) -> None:
    write_settings(notes, '# mine\n[profiles.mine]\nbase = "brain"\n')
    before = (Path(notes.env["RICORDO_CONFIG_HOME"]) / "config.toml").read_text(encoding="utf-8")
    error = json.loads(notes.run("--json", "config", "set", name, "--", value, code=2).stdout)["error"]
    assert words in error["message"]
    assert error["hint"]
    assert (Path(notes.env["RICORDO_CONFIG_HOME"]) / "config.toml").read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    "words",
    [("list",), ("get", "note:/keys"), ("similar", "note:/keys"), ("skills",), ("status",)],
)
def test_a_profile_given_to_a_verb_that_does_not_rank_with_it_is_refused_with_the_reason(
    notes: Any, words: tuple[str, ...]
) -> None:
    before = notes.envelope("--profile", "rrf", *words, code=2)["error"]
    after = notes.envelope(*words, "--profile", "rrf", code=2)["error"]
    assert before == after
    assert words[0] in before["message"]
    assert "search" in before["hint"]


def test_verbs_that_rank_use_the_profile_they_are_given_and_refuse_one_that_does_not_exist(notes: Any) -> None:
    notes.run(
        "save", "memory:/old", "Keys of the cellar hang in the hall: keys, more keys.", "--valid-until", "2020-01-01"
    )
    write_settings(notes, '[profiles.none_fit]\nbase = "bm25"\nmin_score = 0.99\n')
    for words in (("context", "keys"), ("search", "keys")):
        assert "signing" in notes.run(*words).stdout
        assert "signing" not in notes.run(*words, "--profile", "none_fit").stdout
        assert "signing" not in notes.run("--profile", "none_fit", *words).stdout
        assert "no profile 'nosuch'" in notes.envelope(*words, "--profile", "nosuch", code=2)["error"]["message"]
