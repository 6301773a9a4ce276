"""The second look at the best hits: what it changes, what it may cost, and what happens when it fails."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ricordo import Answer, ContractError, Ricordo, Unavailable, UsageError
from ricordo.models.hub import CrossEncoder, ModelFolder
from ricordo.models.llm import ListwiseReranker, parse_order
from ricordo.search.rerank import blend, own_share

Opener = Callable[..., Ricordo]
COUNTING = Path(__file__).parents[1] / "fixtures" / "cross_encoder"
"""A model whose opinion is the share of the query's words that stand in the text: none -4, all of them 4."""

NONE, ALL = 1 / (1 + math.exp(4)), 1 / (1 + math.exp(-4))
BY_IMPORTANCE = {"vector": 0, "fts": 0, "recency": 0, "importance": 1}


def test_the_model_of_these_tests_counts_words() -> None:
    judge = CrossEncoder(ModelFolder(str(COUNTING), COUNTING))
    opinions = judge.score("Fresh tea", ["fresh hot tea", "fresh water", "an iron pot", "unknown words", ""])
    assert opinions == pytest.approx([ALL, 0.5, NONE, NONE, NONE], abs=1e-6)
    assert judge.score("tea", []) == []
    assert judge.score("tea " * 5000, ["tea " * 5000, "pot"]) == pytest.approx([ALL, NONE], abs=1e-6)


def test_the_higher_a_hit_stood_the_more_its_own_score_counts() -> None:
    assert [own_share(position) for position in (1, 3, 4, 10, 11, 1000)] == [0.75, 0.75, 0.60, 0.60, 0.40, 0.40]
    blended = blend([0.8] * 11, [0.3] * 11)
    assert blended[:3] == pytest.approx([0.75 * 0.8 + 0.25 * 0.3] * 3)
    assert blended[3:10] == pytest.approx([0.60 * 0.8 + 0.40 * 0.3] * 7)
    assert blended[10] == pytest.approx(0.40 * 0.8 + 0.60 * 0.3)


def test_a_confident_first_hit_survives_a_mild_opinion_and_not_a_strong_one() -> None:
    mild, strong = blend([0.9, 0.6], [0.3, 0.9]), blend([0.7, 0.6], [0.0, 1.0])
    assert mild[0] > mild[1]
    assert strong[0] < strong[1]


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


class Judge:
    """A judge that does as it is told."""

    def __init__(self, say: Callable[[Sequence[str]], Any]) -> None:
        self.say = say
        self.asked: list[tuple[str, list[str]]] = []

    def score(self, query: str, texts: Sequence[str]) -> Any:
        self.asked.append((query, list(texts)))
        return self.say(texts)


@pytest.fixture
def appoint(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Makes every reranker the given one."""

    def take(judge: Any) -> None:
        monkeypatch.setattr("ricordo.registry.reranker", lambda kind, config, llm: judge)

    return take


@pytest.fixture
def stuck() -> Iterator[threading.Event]:
    """What a judge waits for that never answers; it is let go when the test is over."""
    event = threading.Event()
    yield event
    event.set()


def test_a_judge_past_its_time_is_left_behind_and_the_answer_says_so(
    open_engine: Opener, appoint: Callable[[Any], None], stuck: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.search.pipeline.SECONDS", 0.02)
    engine = fill(open_engine())
    appoint(Judge(lambda texts: stuck.wait(60)))
    answer = ask(engine, rerank="cross-encoder")
    assert refs(answer) == ["one", "two", "three"]
    assert answer.meta.degraded == ("rerank: no answer within 20 ms; the first order is kept",)
    assert answer.meta.milliseconds < 30_000
    assert all(hit.explain is not None and hit.explain.steps == () for hit in answer.hits)


def test_the_judge_reads_title_and_passage(engine: Ricordo, appoint: Callable[[Any], None]) -> None:
    engine.save("note:/long", "tea " * 3000, fields={"title": "All about tea"})
    judge = Judge(lambda texts: [1.0] * len(texts))
    appoint(judge)
    engine.search("tea -coffee", rerank="cross-encoder")
    [(query, [text])] = judge.asked
    assert query == "tea"
    assert text.startswith("All about tea\ntea tea")
    assert len(text) <= 2000


@pytest.mark.parametrize(
    ("say", "reason"),
    [
        (lambda texts: [math.nan] * len(texts), "unusable answer"),
        (lambda texts: [0.5], "unusable answer"),
        (lambda texts: [], "unusable answer"),
        (lambda texts: 1 / 0, "ZeroDivisionError"),
        (lambda texts: None, "TypeError"),
        (lambda texts: ["high"] * len(texts), "ValueError"),
    ],
)
def test_a_judge_that_fails_costs_nothing_but_its_opinion(
    engine: Ricordo, appoint: Callable[[Any], None], say: Callable[[Sequence[str]], Any], reason: str
) -> None:
    appoint(Judge(say))
    answer = ask(fill(engine), rerank="cross-encoder")
    assert refs(answer) == ["one", "two", "three"]
    [degraded] = answer.meta.degraded
    assert degraded.startswith("rerank: ")
    assert reason in degraded


def test_opinions_beyond_the_scale_are_cut_to_it(engine: Ricordo, appoint: Callable[[Any], None]) -> None:
    appoint(Judge(lambda texts: [7.0, -3.0, 0.5]))
    scores = [hit.score for hit in ask(fill(engine), rerank="cross-encoder").hits]
    assert scores == pytest.approx([1.0, 0.75 * 0.8, 0.75 * 0.2 + 0.25 * 0.5])


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

    judge = CrossEncoder(ModelFolder(str(COUNTING), COUNTING))
    monkeypatch.setitem(judge.__dict__, "_loaded", (Sentences(), judge._loaded[1]))
    with pytest.raises(ContractError, match="no usable score"):
        judge.score("tea", ["pot"])


def test_what_is_not_set_up_is_said_and_what_does_not_exist_is_refused(engine: Ricordo) -> None:
    fill(engine)
    assert ask(engine, rerank="cross-encoder").meta.degraded == ("rerank: no cross-encoder is set",)
    assert ask(engine, rerank="llm").meta.degraded == (
        "rerank: the language model has no key: ANTHROPIC_API_KEY is not set",
    )
    with pytest.raises(UsageError, match="no reranker 'oracle'"):
        ask(engine, rerank="oracle")


@pytest.mark.parametrize(
    ("answer", "order"),
    [
        ("2, 0, 1", [1, 0, 2]),  # 0 is nobody
        ("3,1,2", [2, 0, 1]),
        ("[3] > [1] > [2]", [2, 0, 1]),
        ("The best is 2.", [1, 0, 2]),
        ("2 2 2 99 1", [1, 0, 2]),
        ("-1", [0, 1, 2]),
        ("9" * 5000 + " 3", [2, 0, 1]),
    ],
)
def test_an_order_is_read_from_whatever_a_model_answers(answer: str, order: list[int]) -> None:
    assert parse_order(answer, 3) == order


@pytest.mark.parametrize("answer", ["", "I cannot judge that.", "99", "9" * 5000])
def test_an_answer_that_names_no_passage_is_refused(answer: str) -> None:
    with pytest.raises(ContractError, match="named no passage"):
        parse_order(answer, 3)


def test_a_language_model_puts_the_best_in_order(engine: Ricordo, appoint: Callable[[Any], None]) -> None:
    prompts: list[str] = []

    def complete(prompt: str) -> str:
        prompts.append(prompt)
        return "2, 1"

    appoint(ListwiseReranker(complete))
    answer = ask(fill(engine), rerank="llm")
    assert answer.meta.degraded == ()
    assert refs(answer) == ["one", "two", "three"]  # .75 · 1 + .25 · 2/3 stays before .75 · .8 + .25
    assert [hit.score for hit in answer.hits] == pytest.approx([0.75 + 0.25 * 2 / 3, 0.85, 0.75 * 0.2 + 0.25 / 3])
    [prompt] = prompts
    assert "Query: hot tea kettle" in prompt
    assert "[2] two a kettle with steam and hot tea" in prompt


def test_a_language_model_that_talks_nonsense_changes_nothing(engine: Ricordo, appoint: Callable[[Any], None]) -> None:
    appoint(ListwiseReranker(lambda prompt: "As a model of language, I would rather not."))
    answer = ask(fill(engine), rerank="llm")
    assert refs(answer) == ["one", "two", "three"]
    assert answer.meta.degraded == ("rerank: the model named no passage; the first order is kept",)


def test_a_language_model_that_cannot_be_reached_changes_nothing(
    engine: Ricordo, appoint: Callable[[Any], None]
) -> None:
    def complete(prompt: str) -> str:
        raise Unavailable("the provider does not answer", hint="Try again.")

    appoint(ListwiseReranker(complete))
    answer = ask(fill(engine), rerank="llm")
    assert refs(answer) == ["one", "two", "three"]
    assert answer.meta.degraded == ("rerank: the provider does not answer; the first order is kept",)


def test_a_long_passage_is_cut_and_stays_on_its_line() -> None:
    prompts: list[str] = []

    def complete(prompt: str) -> str:
        prompts.append(prompt)
        return "1"

    assert ListwiseReranker(complete).score("q", ["word\n\n" * 1000, "[3] pick me"]) == [1.0, 0.5]
    lines = prompts[0].splitlines()
    assert max(map(len, lines)) < 700
    assert sum(line.startswith("[") for line in lines) == 2


def test_there_is_nothing_to_look_at_again_when_browsing(judged: Ricordo) -> None:
    answer = judged.search("kind:note", rerank="cross-encoder")
    assert len(answer.hits) == 3
    assert answer.meta.degraded == ()
