"""Lessons by the user's language model: proposals like others, within a budget that is said and never passed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.capture.conversations import Conversation
from tests.llm.loopback_llm import Service, Step

from ricordo import ConfigProvider, Ricordo

HARBOUR = "The harbour office closes at noon."


@pytest.fixture
def service() -> Iterator[Service]:
    running = Service()
    yield running
    running.close()


def said(text: str, *, read: int = 900, written: int = 60) -> dict[str, Any]:
    """An answer of Ollama."""
    return {
        "model": "m", "message": {"role": "assistant", "content": text}, "done": True, "done_reason": "stop",
        "prompt_eval_count": read, "eval_count": written,
    }  # fmt: skip


def lessons(*rows: tuple[int, str]) -> str:
    import json

    return json.dumps(
        {"lessons": [{"turn": turn, "text": text, "kind": "rule", "scope": "project"} for turn, text in rows]}
    )


@pytest.fixture
def opened(tmp_path: Path, service: Service) -> Iterator[Callable[..., Ricordo]]:
    engines: list[Ricordo] = []

    def open_one(**settings: Any) -> Ricordo:
        given = {
            "embedding.provider": "none", "llm.provider": "ollama", "llm.model": "m", "llm.base_url": service.url,
            "llm.max_tokens": 500, "memory.model_tokens_per_day": 8_000,
        }  # fmt: skip
        engines.append(Ricordo.open(tmp_path / "store.db", config=ConfigProvider({**given, **settings})))
        return engines[-1]

    yield open_one
    for engine in engines:
        engine.close()


def talk(tmp_path: Path, *texts: str) -> str:
    conversation = Conversation(tmp_path, tmp_path, at=datetime.now(UTC))
    for text in texts:
        conversation.user(text).agent("I see.")
    return str(conversation.write())


def test_what_a_model_finds_waits_like_the_rest_and_its_cost_is_counted(
    opened: Callable[..., Ricordo], service: Service, tmp_path: Path
) -> None:
    service.say(Step(said(lessons((1, HARBOUR), (99, "No such line."), (1, "The key is AKIAIOSFODNN7EXAMPLE.")))))
    engine = opened()
    report = engine.sessions_add(talk(tmp_path, "By the way, the harbour office shuts at twelve."), wait=False)
    assert report.notes[0] == "the language model may read and write up to 8,000 tokens a day to find lessons"
    (proposal,) = engine.review().proposals
    assert (proposal.text, proposal.way, proposal.turn) == (HARBOUR, "model", 1)
    (spent,) = engine.stats().spent
    assert (spent.purpose, spent.calls, spent.input_tokens, spent.output_tokens) == ("model", 1, 900, 60)
    assert engine.sessions_add(talk(tmp_path), wait=False).notes == ()
    assert len(service.asked) == 1, "what was read is not read again"


def test_the_budget_of_a_day_is_never_passed_and_the_rest_is_read_later(
    opened: Callable[..., Ricordo], service: Service, tmp_path: Path
) -> None:
    service.say(Step(said(lessons(), read=4_000, written=400)))
    engine = opened()
    first = talk(tmp_path, "The harbour office shuts at twelve, by the way.")
    engine.sessions_add(first, wait=False)
    assert len(service.asked) == 1
    second = talk(tmp_path, "And the lighthouse " + "is painted white in spring, " * 40)
    report = engine.sessions_add(second, wait=False)
    assert "could pass today's budget" in report.notes[-1]
    assert len(service.asked) == 1
    (spent,) = engine.stats().spent
    assert spent.tokens == 4_400
    engine.close()
    service.say(Step(said(lessons((1, "The lighthouse is painted white in spring.")))))
    engine = opened(**{"memory.model_tokens_per_day": 30_000})
    engine.sessions_add(talk(tmp_path, "Hello there, nothing new."), wait=False)
    assert [one.text for one in engine.review().proposals] == ["The lighthouse is painted white in spring."]


def test_a_model_without_a_known_price_is_not_asked_where_money_is_limited(
    opened: Callable[..., Ricordo], service: Service, tmp_path: Path
) -> None:
    service.say(Step(said(lessons())))
    settings = {"llm.provider": "openai", "llm.api_keys": "k", "memory.model_dollars_per_day": 0.5}
    engine = opened(**settings)
    report = engine.sessions_add(talk(tmp_path, "The harbour office shuts at twelve."), wait=False)
    assert "8,000 tokens and $0.5 a day" in report.notes[0]
    assert service.asked == []


def test_no_model_is_asked_by_default(opened: Callable[..., Ricordo], service: Service, tmp_path: Path) -> None:
    engine = opened(**{"memory.model_tokens_per_day": 0})
    engine.sessions_add(talk(tmp_path, "The harbour office shuts at twelve."), wait=False)
    assert service.asked == []
    assert engine.stats().spent == ()


def test_a_model_that_fails_costs_nothing_and_is_asked_again_later(
    opened: Callable[..., Ricordo], service: Service, tmp_path: Path
) -> None:
    service.say(Step({"error": "not today"}, 400))
    engine = opened(**{"llm.seconds": 60})
    report = engine.sessions_add(talk(tmp_path, "The harbour office shuts at twelve."), wait=False)
    assert "did not answer" in report.notes[-1]
    assert sum(one.tokens for one in engine.stats().spent) == 0
    service.say(Step(said(lessons((1, HARBOUR)))))
    engine.sessions_add(talk(tmp_path, "Nothing new here, thank you."), wait=False)
    assert HARBOUR in [one.text for one in engine.review().proposals]


def judged(*rows: tuple[int, str]) -> str:
    import json

    return json.dumps({"contradicted": [{"number": number, "why": why} for number, why in rows]})


LUNCH = "The harbour canteen serves soup at lunch."
DINNER = "The harbour canteen only opens in the evening."


def test_a_model_says_what_a_new_memory_contradicts_within_the_same_budget(
    opened: Callable[..., Ricordo], service: Service
) -> None:
    engine = opened()
    first = engine.remember(LUNCH)
    assert service.asked == [], "there was nothing to compare with"
    service.say(Step(said(judged((1, "closed at lunch"), (7, "no such note")))))
    asked = engine.remember(DINNER)
    assert asked.status == "needs_decision"
    assert [(one.ref, one.contradiction) for one in asked.candidates] == [(first.ref, "closed at lunch")]
    (spent,) = engine.stats().spent
    assert (spent.purpose, spent.calls, spent.input_tokens) == ("model", 1, 900)


def test_rules_decide_when_the_budget_is_spent_or_the_model_fails(
    opened: Callable[..., Ricordo], service: Service
) -> None:
    engine = opened(**{"memory.model_tokens_per_day": 100})
    engine.remember("We deploy the harbour page on Fridays.")
    asked = engine.remember("We deploy the harbour page on Tuesdays.")
    assert (asked.status, asked.candidates[0].contradiction) == ("needs_decision", "another weekday")
    assert service.asked == []
    engine.close()
    engine = opened()
    service.say(Step(said("this is no JSON")))
    asked = engine.remember("We deploy the harbour page on Mondays.")
    assert (asked.status, asked.candidates[0].contradiction) == ("needs_decision", "another weekday")
    assert len(service.asked) >= 1


def test_without_a_budget_no_model_is_asked_about_contradictions(
    opened: Callable[..., Ricordo], service: Service
) -> None:
    engine = opened(**{"memory.model_tokens_per_day": 0})
    engine.remember(LUNCH)
    assert engine.remember(DINNER).status == "created"
    assert service.asked == []
    assert engine.stats().spent == ()
