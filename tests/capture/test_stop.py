"""The agent is asked what it learned: only if the user wants it, once per session, never in a loop, and counted."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from tests.capture.conversations import Conversation, awaited

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


LINT, LARCH = "Always run make lint before a commit.", "The staging host is called larch."


def end_with(folder: Path, home: Path, rule: str) -> None:
    Conversation(folder, home).user(rule).agent("I will.").end()


def test_a_session_whose_capture_is_switched_off_is_stored_and_teaches_nothing(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_HOOKS_CAPTURE", "false")
    end_with(project, tmp_path, LINT)
    with opened(project) as engine:
        awaited(engine.sessions, least=lambda found: len(found) == 1)
        monkeypatch.delenv("RICORDO_HOOKS_CAPTURE")
        end_with(project, tmp_path, f"Remember that {LARCH[0].lower()}{LARCH[1:]}")
        found = awaited(lambda: engine.review().proposals, least=lambda found: len(found) >= 1)
        assert [one.text for one in found] == [LARCH]


def test_nothing_at_all_is_stored_of_a_session_in_a_folder_that_is_left_alone(project: Path, tmp_path: Path) -> None:
    (project / ".ricordoignore").write_text("*\n")
    end_with(project, tmp_path, LINT)
    (project / ".ricordoignore").unlink()
    end_with(project, tmp_path, f"Remember that {LARCH[0].lower()}{LARCH[1:]}")
    with opened(project) as engine:
        found = awaited(lambda: engine.review().proposals, least=lambda found: len(found) >= 1)
        assert [one.text for one in found] == [LARCH]
        assert len(engine.sessions()) == 1


def test_no_proposal_holds_a_secret_wherever_it_stands(project: Path, tmp_path: Path) -> None:
    key = "AKIAIOSFODNN7EXAMPLE"
    talk = Conversation(project, tmp_path).user(f"Always deploy with the key {key} and never with another.")
    talk.agent("I will.").user("Remember that the staging host is called larch.").agent("Noted.").end()
    with opened(project) as engine:
        kept = awaited(engine.store.proposals.listing, least=lambda found: len(found) >= 1)
    assert [one.text for one in kept] == [LARCH]
    assert key not in str(kept)
