"""Hooks without a server: an MCP server of the same user answers them, and a hook works alone when it cannot."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ricordo import Ricordo
from ricordo.hooks import answers, local_server, process
from ricordo.hooks.local_server import HookDoor
from ricordo.hooks.process import PROGRAM_VARIABLES, ask_server
from ricordo.hosting.running import (
    RunningServer,
    ask,
    helper_path,
    own_surroundings,
    packed,
    read_helpers,
    write_helper,
    write_running,
)
from ricordo.programs.table import PROGRAMS

KEYS = "We rotate the signing keys in the first week of every quarter."
PROMPT = json.dumps({"prompt": "When do we rotate the signing keys?"}).encode()
DEADLINE = 300.0


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store of its own that knows something; the hooks stand in it."""
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    monkeypatch.setattr(process, "SHARE_FOR_HELPERS", 1.0)
    folder = tmp_path / "project"
    (folder / ".ricordo").mkdir(parents=True)
    with Ricordo.open(folder / ".ricordo" / "ricordo.db") as engine:
        engine.remember(KEYS)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def opened(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HookDoor]:
    monkeypatch.setattr(local_server, "WARMING_AFTER_SECONDS", 0.0)
    one = HookDoor()
    one.open()
    yield one
    one.close()


def asked(event: str = "user-prompt") -> Any:
    answer = ask_server(event, PROMPT, store=None, tier=None, seconds=DEADLINE)
    return None if answer is None else json.loads(answer)


def until(wanted: Callable[[], Any]) -> Any:
    """What a condition gives when it holds."""
    end = time.monotonic() + DEADLINE
    while not (found := wanted()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def test_the_first_hook_works_alone_and_the_next_is_answered_for_its_own_project(opened: HookDoor) -> None:
    assert asked() is None
    answer = until(asked)
    assert KEYS in answer["hookSpecificOutput"]["additionalContext"]
    (helper,) = read_helpers()
    assert stat.S_IMODE(Path(helper_path(os.getpid())).stat().st_mode) == 0o600
    opened.close()
    assert read_helpers() == []
    write_helper(helper)
    assert asked() is None
    assert read_helpers() == [], "nobody answers there, so nobody asks again"


def test_a_caller_with_other_variables_or_without_the_token_gets_nothing(
    opened: HookDoor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    until(asked)
    for name, value in (("RICORDO_STORE", str(tmp_path / "other.db")), ("XDG_DATA_HOME", str(tmp_path))):
        with monkeypatch.context() as patch:
            theirs = [*own_surroundings(), f"{name}={value}"]
            patch.setattr(process, "own_surroundings", lambda theirs=theirs: theirs)
            assert asked() is None
    (helper,) = read_helpers()
    stranger = RunningServer(helper.pid, helper.host, helper.port, "not the token", store="")
    body = packed((str(Path.cwd()), "", "", *own_surroundings()), PROMPT)
    with pytest.raises((ValueError, OSError)):
        ask(stranger, "/api/v1/hook/user-prompt", body, DEADLINE)
    assert until(asked)


def test_the_program_is_the_hook_s_and_not_that_of_the_server(
    opened: HookDoor, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, seen = answers.run, list[Any]()
    until(asked)

    def spy(*args: Any, **given: Any) -> None:
        seen.append(given["env"])
        run(*args, **given)

    monkeypatch.setattr(answers, "run", spy)
    monkeypatch.setenv("GEMINI_CLI", "1")
    until(asked)
    assert seen[-1] == {"GEMINI_CLI": "1"}
    assert set(PROGRAM_VARIABLES) == {one.variable for one in PROGRAMS.values() if one.variable}


def test_a_server_is_asked_before_an_mcp_server(opened: HookDoor) -> None:
    until(asked)
    write_running(RunningServer(os.getpid(), "127.0.0.1", 1, "token", store=""))
    assert asked() is None


@pytest.mark.skipif(os.name != "posix", reason="pipes as POSIX has them")
def test_hooks_are_answered_by_an_mcp_server_that_a_program_started(project: Path) -> None:
    command = [sys.executable, "-m", "ricordo", "mcp"]
    with subprocess.Popen(command, cwd=project.parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        until(read_helpers)
        assert KEYS in until(asked)["hookSpecificOutput"]["additionalContext"]
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(DEADLINE) == 0
    assert read_helpers() == []
