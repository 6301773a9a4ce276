"""The agent is asked what it learned: only if the user wants it, once per session, never in a loop, and counted."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from tests.capture.conversations import Conversation

from ricordo import ConfigProvider, Ricordo
from ricordo.hooks.answers import run
from ricordo.hooks.outlet import Outlet
from ricordo.hooks.stopping import QUESTION


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a store, where agents are asked."""
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    monkeypatch.setenv("RICORDO_HOOKS_SECONDS", "60")
    monkeypatch.setenv("RICORDO_MEMORY_ASK_AGENT", "true")
    folder = tmp_path / "shop"
    (folder / ".ricordo").mkdir(parents=True)
    opened(folder).close()
    return folder


def opened(folder: Path) -> Ricordo:
    return Ricordo.open(config=ConfigProvider(start=folder), start=folder)


def answer(conversation: Conversation, *, active: bool = False) -> Any:
    """What the hook answers when the agent stops."""
    conversation.write()
    said: list[bytes] = [b"answer {}\n"]
    payload = conversation.payload("Stop", stop_hook_active=active)
    run("stop", json.dumps(payload).encode(), Outlet(said.append, time.monotonic()))
    return json.loads([line for line in said if line.startswith(b"answer ")][-1][7:])


def working(folder: Path, home: Path) -> Conversation:
    talk = Conversation(folder, home).user("Fix the login.")
    return talk.tool("Edit", {"file_path": "/home/ada/login.py"}, "ok").agent("It is fixed.")


def test_an_agent_that_changed_something_is_asked_once_and_the_cost_is_counted(project: Path, tmp_path: Path) -> None:
    talk = working(project, tmp_path)
    assert answer(talk) == {"decision": "block", "reason": QUESTION}
    assert "at most three lessons" in QUESTION
    talk._line("user", f"Stop hook feedback:\n- [ricordo hook stop]: {QUESTION}", isMeta=True)
    talk.agent("Saved one.", input_tokens=12, cache_read_input_tokens=3_000, output_tokens=40)
    assert answer(talk, active=True) == {}
    assert answer(talk, active=True) == {}
    assert answer(talk) == {}
    with opened(project) as engine:
        (spent,) = engine.stats().spent
        asked = len(QUESTION) // 4
        assert (spent.purpose, spent.calls, spent.input_tokens, spent.output_tokens) == ("agent", 1, asked + 3_012, 40)


def test_nothing_is_asked_when_nothing_happened_or_another_hook_keeps_it_going(project: Path, tmp_path: Path) -> None:
    assert answer(Conversation(project, tmp_path).user("Hello.").agent("Hello!")) == {}
    assert answer(working(project, tmp_path), active=True) == {}
    long = Conversation(project, tmp_path)
    for number in range(4):
        long.user(f"Question {number}").agent("An answer.")
    assert answer(long)["decision"] == "block"
    with opened(project) as engine:
        assert [one.calls for one in engine.stats().spent] == [1]


def test_nothing_is_asked_unless_the_user_wants_it_nor_in_a_folder_left_alone(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RICORDO_MEMORY_ASK_AGENT")
    assert answer(working(project, tmp_path)) == {}
    monkeypatch.setenv("RICORDO_MEMORY_ASK_AGENT", "true")
    (project / ".ricordoignore").write_text("*\n")
    assert answer(working(project, tmp_path)) == {}
    with opened(project) as engine:
        assert engine.stats().spent == ()


def test_the_hook_works_as_a_process_of_its_own(project: Path, tmp_path: Path) -> None:
    talk = working(project, tmp_path)
    talk.write()
    assert talk.hook("stop", "Stop", stop_hook_active=False)["decision"] == "block"
