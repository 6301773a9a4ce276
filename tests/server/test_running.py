"""The server as a process: in the foreground, in the background, as a unit, and at its end."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner

from ricordo.cli.program import program
from ricordo.hosting import background, sockets
from ricordo.hosting.running import RunningServer, read_running, state_path, write_running
from ricordo.hosting.workers import Workers

from .http_sites import LOCAL, Listening, Site, listen

ENDED_EARLY = """
import os, signal, sys, uvicorn
from ricordo.cli import main

class Server(uvicorn.Server):
    def run(self, sockets=None):
        os.kill(os.getpid(), signal.SIGTERM)
        super().run(sockets)

uvicorn.Server = Server
sys.exit(main())
"""
"""The program, whose server gets a signal after it said where it is, and before it listens."""


def ricordo(*words: str, code: int = 0) -> Any:
    """The ``data`` of a command's envelope (its error when the exit code is not 0)."""
    result = CliRunner().invoke(program, [*words, "--json"])
    assert result.exit_code == code, result.output
    envelope = json.loads(result.stdout)
    return envelope["data"] if code == 0 else envelope["error"]


@pytest.fixture
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    monkeypatch.chdir(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are other there")
@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")  # that is what it is for
def test_a_server_in_the_background_answers_until_it_is_stopped(quiet: None, tmp_path: Path) -> None:
    started = ricordo("serve", "start", "--port", "0", "--store", str(tmp_path / "s.db"))
    try:
        assert stat.S_IMODE(Path(state_path()).stat().st_mode) == 0o600
        status = ricordo("serve", "status")
        assert (status["pid"], status["answers"]) == (started["pid"], True)
        assert status["store"] == str(tmp_path / "s.db")
        again = ricordo("serve", "start", "--port", "0", code=2)
        assert "runs already" in again["message"]
        link = ricordo("serve", "link")["link"]
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(link) as page:
            assert page.status == 200
            assert "Server" not in page.headers  # what runs here is nobody's business
        running = read_running()
        assert running is not None
        headers = {"Authorization": f"Bearer {running.token}", "Content-Type": "application/json"}
        address = f"http://{running.host}:{running.port}/api/v1/remember"
        sent = urllib.request.Request(address, b'{"text": "The ferry leaves at nine."}', headers)
        with urllib.request.urlopen(sent) as answer:
            assert json.load(answer)["status"] == "created"
    finally:
        stopped = ricordo("serve", "stop")
    assert stopped == {"stopped": started["pid"]}
    assert not Path(state_path()).exists()
    assert ricordo("serve", "status", code=3)["code"] == "not_found"
    found = ricordo("search", "ferry", "--store", str(tmp_path / "s.db"))
    assert found["hits"][0]["title"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals are other there")
def test_the_foreground_server_says_where_it_is_and_ends_well(quiet: None, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ricordo", "serve", "--port", "0", "--json", "--store", str(tmp_path / "s.db")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    shown = json.loads(process.stdout.readline())["data"]
    with urllib.request.urlopen(shown["address"] + "/healthz") as answer:
        assert json.load(answer)["status"] == "ok"
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=200)
    assert b"Traceback" not in errors
    assert not Path(state_path()).exists()


@pytest.mark.skipif(sys.platform == "win32", reason="signals are other there")
def test_a_server_that_is_ended_while_it_starts_ends(quiet: None, tmp_path: Path) -> None:
    command = [sys.executable, "-c", ENDED_EARLY, "serve", "--port", "0", "--store", str(tmp_path / "s.db")]
    process = subprocess.run(command, capture_output=True, check=False, timeout=200)
    assert b"Ricordo is at http://" in process.stdout
    assert (process.returncode, process.stderr) == (0, b"")
    assert not Path(state_path()).exists()


def test_a_store_that_cannot_be_opened_is_told_at_once(quiet: None, tmp_path: Path) -> None:
    (tmp_path / "bad.db").write_text("this is no store at all, and long enough to be read as one", encoding="utf-8")
    error = ricordo("serve", "--port", "0", "--store", str(tmp_path / "bad.db"), code=5)
    assert error["hint"]


def test_without_its_extra_the_server_says_what_to_install(quiet: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name, package=None: None)
    error = ricordo("serve", "--port", "0", code=5)
    assert (error["code"], error["hint"]) == ("missing_extra", "pip install 'ricordo[server]'")


def test_a_state_path_that_others_can_read_or_of_a_dead_process_counts_for_nothing() -> None:
    write_running(RunningServer(os.getpid(), "127.0.0.1", 1, "token", store="store"))
    assert read_running() is not None
    if os.name == "posix":
        Path(state_path()).chmod(0o644)
        assert read_running() is None
        Path(state_path()).chmod(0o600)
        gone = subprocess.Popen([sys.executable, "-c", ""])
        gone.wait()
        write_running(RunningServer(gone.pid, "127.0.0.1", 1, "token", store="store"))
        assert read_running() is None


def test_units_start_the_server_with_the_words_they_were_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    place, commands = background.install_unit(["--store", "/a b/50%.db"], platform="linux")
    text = place.read_text(encoding="utf-8")
    assert place == tmp_path / ".config/systemd/user/ricordo.service"
    assert '"/a b/50%%.db"' in text
    assert "enable --now ricordo.service" in commands[-1]
    place, _ = background.install_unit(["--store", "/a & b.db"], platform="darwin")
    import plistlib

    plist = plistlib.loads(place.read_bytes())
    assert plist["ProgramArguments"][-2:] == ["--store", "/a & b.db"]
    for platform in ("linux", "darwin"):
        gone, _ = background.uninstall_unit(platform=platform)
        assert not gone.exists()


def test_tokens_are_made_listed_and_taken_away_by_commands() -> None:
    made = ricordo("serve", "tokens", "add", "laptop", "--scope", "write")
    assert made["token"].startswith("ricordo_")
    listed = ricordo("serve", "tokens")["tokens"]
    assert [(one["name"], one["scope"], "token" in one) for one in listed] == [("laptop", "write", False)]
    ricordo("serve", "tokens", "rm", "laptop")
    assert ricordo("serve", "tokens", "list")["tokens"] == []
    assert ricordo("serve", "tokens", "rm", "laptop", code=3)["code"] == "not_found"


def test_workers_answer_for_whoever_asks_and_the_server_does_without_them(
    quiet: None, new_site: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = new_site()
    site.serving.workers = Workers(1, site.engine.location)
    site.client.post("/api/v1/remember", json={"text": "The ferry leaves at nine."})
    with monkeypatch.context() as alone:
        alone.setattr(site.serving, "answer", None)  # so that the server could not answer it
        found = site.client.get("/api/v1/search", params={"q": "ferry"}).json()
        refused = site.client.get("/api/v1/search", params={"q": "ferry", "profile": "nowhere"})
        for process in multiprocessing.active_children():
            process.kill()
    assert [hit["title"] for hit in found["hits"]] == ["The ferry leaves at nine."]
    assert refused.status_code == 400
    assert "vault" in refused.json()["error"]["hint"]
    asked = site.client.get("/api/v1/search", params={"q": "ferry"})
    assert asked.json()["hits"] == found["hits"]
    assert site.serving.workers is None


def test_no_request_fails_when_a_worker_is_ended_while_several_wait_for_it(
    quiet: None, new_site: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    site, sent = new_site(), []
    site.client.post("/api/v1/remember", json={"text": "The ferry leaves at nine."})
    answer = Workers.answer

    def noted(self: Workers, *given: Any) -> Any:
        try:
            return answer(self, *given)
        finally:
            sent.append(given)

    monkeypatch.setattr(Workers, "answer", noted)
    before = set(multiprocessing.active_children())
    site.serving.workers = Workers(1, site.engine.location)
    with ThreadPoolExecutor(4) as crowd:
        asked = [crowd.submit(site.client.get, "/api/v1/search", params={"q": "ferry"}) for _ in range(4)]
        deadline = time.monotonic() + 100
        while len(sent) < 4 and time.monotonic() < deadline:  # while the worker still loads what it needs
            time.sleep(0.001)
        for process in set(multiprocessing.active_children()) - before:
            process.kill()
        assert [one.result().status_code for one in asked] == [200] * 4
    assert site.serving.workers is None


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    served, end = listen(tmp_path_factory.mktemp("mcp"))
    yield served
    end()


@pytest.mark.parametrize("path", ["upload", "import"])
def test_others_are_answered_while_files_that_were_sent_are_written(
    site: Listening, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    import httpx

    writes, answered = threading.Event(), threading.Event()
    make = tempfile.mkdtemp

    def slow_disk(*args: Any, **options: Any) -> str:
        writes.set()
        assert answered.wait(60), "the server answers nobody else while it writes"
        return make(*args, **options)

    monkeypatch.setattr(tempfile, "mkdtemp", slow_disk)
    headers = {"Authorization": f"Bearer {LOCAL}"}
    files = [("files" if path == "upload" else "file", ("plan.md", b"# The plan", "text/plain"))]
    with httpx.Client(base_url=site.address, headers=headers, timeout=100) as client, ThreadPoolExecutor(1) as other:
        sent = other.submit(client.post, f"/api/v1/{path}", files=files)
        assert writes.wait(60)
        assert client.get("/api/v1/status", timeout=30).status_code == 200
        answered.set()
        assert sent.result().status_code in (200, 202)


def test_agents_speak_mcp_with_the_same_server(site: Listening) -> None:
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    async def talk() -> tuple[set[str], Any]:
        headers = {"Authorization": f"Bearer {LOCAL}"}
        async with (
            httpx2.AsyncClient(headers=headers) as web,
            Client(streamable_http_client(f"{site.address}/mcp", http_client=web)) as client,
        ):
            tools = {tool.name for tool in (await client.list_tools()).tools}
            saved = await client.call_tool("remember", {"text": "The ferry leaves at nine."})
            return tools, saved

    tools, saved = anyio.run(talk)
    assert {"search", "get", "remember"} <= tools
    assert not saved.is_error
    assert site.engine.search("ferry").hits


def test_connections_send_small_answers_at_once() -> None:
    async def accepted() -> int:
        found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            taken = writer.get_extra_info("socket")
            found.set_result(taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listening = sockets.listen("127.0.0.1", 0)
        async with await asyncio.start_server(meet, sock=listening):
            _, writer = await asyncio.open_connection(*listening.getsockname())
            writer.close()
            return await found

    assert asyncio.run(accepted()) != 0
