"""What a session was about, said by a model at the wire; without its word, the rules' stays."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo import Ricordo

from .loopback_llm import Dialect, Service, Step

Opener = Callable[..., Ricordo]
TOLD = {
    "title": "Mend the login form",
    "summary": "The login form lost its state. It was mended.",
    "keywords": ["login", "form"],
    "entities": ["Acme"],
    "topics": ["frontend"],
}


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    turns = [
        ("user", "The login form of Acme loses its state, please fix it"),
        ("assistant", "Done."),
        ("user", "Great, thanks!"),
    ]
    lines = [
        {"role": role, "content": text, "timestamp": f"2025-01-01T10:0{n}:00Z"} for n, (role, text) in enumerate(turns)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.usefixtures("quick")
def test_a_model_says_what_a_session_was_about_and_the_rules_where_it_cannot(
    open_engine: Opener, service: Service, dialect: Dialect, transcript: Path
) -> None:
    given = {"llm.provider": dialect.provider, "llm.model": "m", "llm.api_keys": "k", "llm.base_url": service.url}
    service.say(Step(dialect.answer(data={"messages": []})), Step(dialect.answer(data=TOLD)))
    engine = open_engine("shown", **given)
    assert engine.sessions_add(transcript).failed == 0
    session = engine.sessions()[0]
    assert session.facets.title == "Mend the login form"
    assert session.facets.topics == ("frontend",)
    assert engine.llm_usage is not None
    assert "loses its state" in json.dumps(service.asked[1].body["messages"])
    service.say(Step(dialect.errors("not today"), 503))
    silent = open_engine("silent", **given)
    assert silent.sessions_add(transcript).failed == 0
    assert "login form" in silent.sessions()[0].facets.title


@pytest.mark.usefixtures("quick")
def test_a_model_says_what_each_message_is_and_the_rules_where_it_is_silent(
    open_engine: Opener, service: Service, dialect: Dialect, tmp_path: Path
) -> None:
    path = tmp_path / "session.jsonl"
    said = ["Зроби кнопку синьою", "Ні, я просив синю, а не зелену", "Perfect, thanks!"]
    lines = [{"role": role, "content": text} for one in said for role, text in (("user", one), ("assistant", "Done."))]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    judged = {"number": 2, "correction": True, "frustration": False, "praise": False}
    given = {"llm.provider": dialect.provider, "llm.model": "m", "llm.api_keys": "k", "llm.base_url": service.url}
    service.say(Step(dialect.answer(data={"messages": [judged]})), Step(dialect.answer(data=TOLD)))
    engine = open_engine("told", **given)
    assert engine.sessions_add(path).failed == 0
    assert [hit.snippet for hit in engine.search("facet:correction").hits] == [said[1]]
    assert [hit.snippet for hit in engine.search("facet:praise").hits] == [said[2]]
    asked = json.dumps(service.asked[0].body["messages"], ensure_ascii=False)
    assert f"2. {said[1]}" in asked
