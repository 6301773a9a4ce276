"""Hooks through a running server: the same answer as alone, and alone when the server cannot help."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ricordo import Ricordo
from ricordo.hooks import process
from ricordo.hooks.answers import run
from ricordo.hooks.local_server import HookRequest, answered
from ricordo.hooks.pipe import Outlet
from ricordo.hooks.process import ask_server
from ricordo.hosting.running import RunningServer, write_running
from ricordo.http_api import routes
from ricordo.told_log import shown_by_hooks

from .http_sites import LOCAL, Listening, listen

KEYS = "We rotate the signing keys in the first week of every quarter."
PROMPT: dict[str, Any] = {"prompt": "When do we rotate the signing keys?"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store of its own that knows something."""
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    folder = tmp_path / "project"
    (folder / ".ricordo").mkdir(parents=True)
    with Ricordo.open(folder / ".ricordo" / "ricordo.db") as engine:
        engine.remember(KEYS)
    return folder


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Listening]:
    """A server on another store, which says where it is."""
    home = tmp_path / "server"
    home.mkdir()
    served, end = listen(home)
    served.engine.context("warm up", budget=100)  # as the server does by itself when it starts
    write_running(RunningServer(os.getpid(), "127.0.0.1", served.port, LOCAL, store=str(home / "store.db")))
    yield served
    end()


HOOK = """
import sys
from ricordo.hooks import pipe, process
pipe.DEFAULT_SECONDS = 120  # a busy machine may take seconds to start the process; the server is asked all the same
process.main(sys.argv[1:])
"""


ANSWERED: list[bytes] = []


def hook(folder: Path, event: str = "user-prompt", env: dict[str, str] | None = None, **payload: Any) -> Any:
    done = subprocess.run(
        [sys.executable, "-P", "-c", HOOK, event, "--within", "120"],
        input=json.dumps(payload).encode(),
        cwd=folder,
        env={**os.environ, **(env or {})},
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    return json.loads(done.stdout) if done.stdout else None


def warm_up(site: Listening, project: Path) -> None:
    """Open the project's store in the server, as one that has been up for a while has."""
    with site.serving.open_stores.opened(project, None, None) as engine:
        engine.context("warm up", budget=100)


@pytest.fixture(autouse=True)
def well_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count the hooks that the server answers well."""
    ANSWERED.clear()

    def counted(*args: Any) -> bytes:
        answer = answered(*args)
        ANSWERED.append(answer)
        return answer

    monkeypatch.setattr(routes, "answered", counted)


def count(site: Listening) -> int:
    """How many hooks the server answered well."""
    return len(ANSWERED)


def test_the_server_answers_for_the_project_of_the_hook_as_the_hook_would_alone(project: Path, site: Listening) -> None:
    warm_up(site, project)
    through = hook(project, **PROMPT)
    assert count(site) == 1
    assert KEYS in through["hookSpecificOutput"]["additionalContext"]
    site_of_nobody = RunningServer(os.getpid(), "127.0.0.1", 1, LOCAL, store="")
    write_running(site_of_nobody)
    assert hook(project, **PROMPT) == through
    assert count(site) == 1


def test_a_hook_sees_what_was_remembered_a_moment_before(project: Path, site: Listening) -> None:
    warm_up(site, project)
    hook(project, **PROMPT)
    with Ricordo.open(project / ".ricordo" / "ricordo.db") as engine:
        engine.remember("The harbour ferry leaves at nine on Sundays.")
    answer = hook(project, prompt="When does the harbour ferry leave on Sundays?")
    assert "leaves at nine" in answer["hookSpecificOutput"]["additionalContext"]
    assert count(site) == 2


def test_what_hooks_told_is_logged_by_ref_and_shown_in_insight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: Listening
) -> None:
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    store = tmp_path / "server" / "store.db"
    site.engine.remember(KEYS)
    payload = json.dumps(PROMPT).encode()
    run("user-prompt", payload, Outlet(lambda part: None, time.monotonic()), store=str(store))
    assert ask_server("user-prompt", payload, store=str(store), tier=None, seconds=300)
    answers, items = shown_by_hooks(str(store))
    assert answers == 2
    assert [(one.ref.partition(":")[0], one.count) for one in items] == [("memory", 2)]
    log = Path(os.environ["RICORDO_STATE_HOME"], "hooks.shown").read_text(encoding="utf-8")
    assert "rotate the signing keys in" not in log
    found = httpx.get(f"{site.address}/log?view=summary", headers={"Authorization": f"Bearer {LOCAL}"}, timeout=60).text
    assert "<dt>answers of hooks</dt><dd>2</dd>" in found

    def opened() -> list[bool]:
        answer = httpx.get(
            f"{site.address}/api/v1/stats/shown", headers={"Authorization": f"Bearer {LOCAL}"}, timeout=60
        ).json()
        return [one["opened"] for one in answer["items"]]

    assert opened() == [False]
    site.engine.get(items[0].ref)
    site.engine._context.flush_use()
    assert opened() == [True]


def test_what_hooks_told_from_other_stores_is_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: Listening
) -> None:
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    site.engine.remember(KEYS)
    other = tmp_path / "other.db"
    with Ricordo.open(other) as engine:
        engine.remember(KEYS)
    payload = json.dumps(PROMPT).encode()
    run("user-prompt", payload, Outlet(lambda part: None, time.monotonic()), store=str(other))
    assert shown_by_hooks(str(other))[0] == 1
    assert shown_by_hooks(str(tmp_path / "server" / "store.db")) == (0, [])
    ours = {"Authorization": f"Bearer {LOCAL}"}
    answer = httpx.get(f"{site.address}/api/v1/stats/shown", headers=ours, timeout=60).json()
    assert (answer["answers"], answer["items"]) == (0, [])


def test_a_hook_with_other_variables_does_the_work_itself(project: Path, site: Listening) -> None:
    answer = hook(project, env={"RICORDO_HOOKS_BUDGET": "0"}, **PROMPT)
    assert answer == {}
    assert count(site) == 0


def test_a_hook_of_a_folder_without_a_store_says_nothing(tmp_path: Path, site: Listening) -> None:
    assert hook(tmp_path, **PROMPT) == {}


def test_events_that_print_nothing_print_nothing(project: Path, site: Listening) -> None:
    assert hook(project, "session-end", transcript_path="/nowhere.jsonl") is None


def test_a_token_cannot_ask_for_hooks(project: Path, site: Listening) -> None:
    secret, _ = site.serving.credentials.add("other", "admin")
    body = {"payload": json.dumps(PROMPT), "folder": str(project), "env": {}}
    answer = httpx.post(
        f"{site.address}/api/v1/hook/user-prompt",
        json=body,
        headers={"Authorization": f"Bearer {secret}"},
        timeout=60,
    )
    assert answer.status_code == 403
    assert KEYS not in answer.text


@pytest.mark.parametrize(("fit", "is_told"), [("0", True), ("1", False)])
def test_hooks_leave_out_what_hardly_fits(
    project: Path, site: Listening, monkeypatch: pytest.MonkeyPatch, fit: str, is_told: bool
) -> None:
    monkeypatch.setenv("RICORDO_HOOKS_MIN_FIT", fit)
    task = "Which ferry leaves the harbour when the keys of the lighthouse are signed?"
    payload = json.dumps({"prompt": task}).encode()
    asked = HookRequest(project, None, None, surroundings=(), program={}, payload=payload)
    answer = answered(site.serving.open_stores, "user-prompt", asked)
    assert (KEYS in answer.decode()) is is_told


def test_a_server_that_reads_long_leaves_time_to_tell_what_the_user_tells_every_agent(
    site: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: dict[str, float] = {}

    def late(_: object, path: str, __: bytes, seconds: float) -> tuple[int, bytes]:
        waited[path.rpartition("/")[2]] = seconds
        raise TimeoutError

    monkeypatch.setattr(process, "ask", late)
    for event in ("session-start", "user-prompt"):
        assert ask_server(event, b"{}", store=None, tier=None, seconds=2.0) is None
    assert waited == {"session-start": 1.0, "user-prompt": 2.0}
