"""The second look at the best hits: what it changes, what it may cost, and what happens when it fails."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from ricordo import Answer, Ricordo, UsageError
from ricordo.search.rerank import blend, own_share

Opener = Callable[..., Ricordo]
BY_IMPORTANCE = {"vector": 0, "fts": 0, "recency": 0, "importance": 1}


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
        monkeypatch.setattr("ricordo.registry.reranker", lambda kind, config, models: judge)

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


def test_what_is_not_set_up_is_said_and_what_does_not_exist_is_refused(engine: Ricordo) -> None:
    fill(engine)
    assert ask(engine, rerank="llm").meta.degraded == (
        "rerank: the language model has no key: ANTHROPIC_API_KEY is not set",
    )
    with pytest.raises(UsageError, match="no reranker 'oracle'"):
        ask(engine, rerank="oracle")
