"""Ranking again with a cross-encoder: what it changes, and what happens when its model is broken."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ricordo import Answer, ContractError, Ricordo
from ricordo.config.loading import load_config
from ricordo.plugins.providers.hub import CrossEncoder

Opener = Callable[..., Ricordo]
COUNTING = Path(__file__).parents[2] / "fixtures" / "cross_encoder"
"""A model whose opinion is the share of the query's words that stand in the text: none -4, all of them 4."""

NONE, ALL = 1 / (1 + math.exp(4)), 1 / (1 + math.exp(-4))
BY_IMPORTANCE = {"vector": 0, "fts": 0, "recency": 0, "importance": 1}


def counting() -> CrossEncoder:
    return CrossEncoder(load_config({"rerank.model": str(COUNTING)}), COUNTING)


def fill(engine: Ricordo) -> Ricordo:
    engine.save("note:/one", "old kettle shelf", fields={"importance": 5})
    engine.save("note:/two", "a kettle with steam and hot tea", fields={"importance": 4})
    engine.save("note:/three", "the tin kettle", fields={"importance": 1})
    return engine


def ask(engine: Ricordo, **options: Any) -> Answer:
    return engine.search(
        "hot tea kettle", profile="brain", weights=BY_IMPORTANCE, **{"track": False, "explain": True, **options}
    )


def refs(answer: Answer) -> list[str]:
    return [hit.ref.removeprefix("note:/") for hit in answer.hits]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests may run beside others: only what is about time gets little of it."""
    monkeypatch.setattr("ricordo.search.pipeline.SECONDS", 60.0)


def test_the_model_of_these_tests_counts_words() -> None:
    judge = counting()
    opinions = judge.score("Fresh tea", ["fresh hot tea", "fresh water", "an iron pot", "unknown words", ""])
    assert opinions == pytest.approx([ALL, 0.5, NONE, NONE, NONE], abs=1e-6)
    assert judge.score("tea", []) == []
    assert judge.score("tea " * 5000, ["tea " * 5000, "pot"]) == pytest.approx([ALL, NONE], abs=1e-6)


@pytest.fixture
def judged(open_engine: Opener) -> Ricordo:
    """An engine with the counting cross-encoder at hand, and all the time it needs."""
    return fill(open_engine(**{"rerank.model": str(COUNTING)}))


def test_a_cross_encoder_reorders_and_shows_its_steps(judged: Ricordo) -> None:
    before, after = ask(judged), ask(judged, rerank="cross-encoder")
    assert refs(before) == ["one", "two", "three"]
    assert refs(after) == ["two", "one", "three"]
    assert after.meta.degraded == ()
    third = 1 / (1 + math.exp(4 - 8 / 3))  # one of the three words
    expected = {"one": (1.0, third), "two": (0.8, ALL), "three": (0.2, third)}
    for hit in after.hits:
        own, opinion = expected[hit.ref.removeprefix("note:/")]
        assert hit.explain is not None
        assert hit.explain.value == sum(share.contribution for share in hit.explain.signals) == pytest.approx(own)
        assert [name for name, _ in hit.explain.steps] == ["rerank opinion", "rerank blend"]
        assert [value for _, value in hit.explain.steps] == pytest.approx(
            [opinion, 0.75 * own + 0.25 * opinion], abs=1e-6
        )
        assert hit.score == hit.explain.steps[1][1]


def test_settings_ask_for_it_and_a_search_may_do_without(open_engine: Opener) -> None:
    engine = fill(open_engine(**{"rerank.kind": "cross-encoder", "rerank.model": str(COUNTING)}))
    assert refs(ask(engine)) == ["two", "one", "three"]
    assert refs(ask(engine, rerank="none")) == ["one", "two", "three"]


def test_only_the_first_few_are_looked_at(open_engine: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ricordo.search.rerank.TOP", 1)
    answer = ask(fill(open_engine(**{"rerank.model": str(COUNTING)})), rerank="cross-encoder")
    assert refs(answer) == ["one", "two", "three"]
    assert [bool(hit.explain and hit.explain.steps) for hit in answer.hits] == [True, False, False]


def test_a_least_score_holds_for_the_blended_score(judged: Ricordo) -> None:
    answer = ask(judged, rerank="cross-encoder", min_score=0.81)
    assert refs(answer) == ["two"]


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "there is no ONNX model in"),
        ({"model.onnx": b"no model"}, "cannot be loaded"),
        ({"model.onnx": (COUNTING / "model.onnx").read_bytes()}, "no tokenizer.json"),
        ({"model.onnx": (COUNTING / "model.onnx").read_bytes(), "tokenizer.json": b"{"}, "cannot be read"),
    ],
)
def test_a_broken_model_degrades_visibly(
    open_engine: Opener, tmp_path: Path, files: dict[str, bytes], reason: str
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    engine = fill(open_engine(**{"rerank.model": str(tmp_path)}))
    answer = ask(engine, rerank="cross-encoder")
    assert refs(answer) == ["one", "two", "three"]
    [degraded] = answer.meta.degraded
    assert degraded.startswith("rerank: ")
    assert reason in degraded


def test_a_model_that_gives_many_numbers_per_text_is_no_cross_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    class Sentences:
        def get_inputs(self) -> list[Any]:
            return []

        def run(self, *_: Any) -> list[Any]:
            return [np.ones((1, 384), np.float32)]

    judge = counting()
    monkeypatch.setitem(judge.__dict__, "_loaded", (Sentences(), judge._loaded[1]))
    with pytest.raises(ContractError, match="no usable score"):
        judge.score("tea", ["pot"])


def test_there_is_nothing_to_look_at_again_when_browsing(judged: Ricordo) -> None:
    answer = judged.search("kind:note", rerank="cross-encoder")
    assert len(answer.hits) == 3
    assert answer.meta.degraded == ()


def test_a_cross_encoder_that_is_not_set_is_named(engine: Ricordo) -> None:
    assert ask(fill(engine), rerank="cross-encoder").meta.degraded == ("rerank: no cross-encoder is set",)
