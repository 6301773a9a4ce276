"""The agents' programs themselves, from npm: they read what install writes, start the server and call the hooks.

Each program is given a prompt and a model that refuses every request. What the hooks answered must be in a request.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.faces.npm_tools import npm_folder

from ricordo._version import __version__
from ricordo.cli.program import program

pytestmark = [
    pytest.mark.external,
    pytest.mark.skipif(os.name != "posix" or not shutil.which("node"), reason="Node is not installed"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
FACT = "The signing keys rotate every quarter, on the first Monday."
PROMPT = "When do we rotate the signing keys?"
PATIENCE = """
const wait = globalThis.setTimeout;
globalThis.setTimeout = Object.assign((work, ms, ...rest) => wait(work, ms === 5000 ? 240000 : ms, ...rest), wait);
"""
"""Qwen Code gives a server five seconds to answer when it lists it, whatever is set; a busy machine needs longer to
start any program. With this it waits as long as the test does.
"""
PACKAGES = {
    "claude-code": ("@anthropic-ai/claude-code", "claude"),
    "codex": ("@openai/codex", "codex"),
    "gemini": ("@google/gemini-cli", "gemini"),
    "qwen": ("@qwen-code/qwen-code", "qwen"),
    "opencode": ("opencode-ai", "opencode"),
}


class RefusingModel:
    """A model's address; it keeps what it is sent and answers that the request is wrong."""

    def __init__(self) -> None:
        requests = self.requests = list[str]()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                requests.append(
                    self.rfile.read(int(self.headers.get("content-length") or 0)).decode("utf-8", "replace")
                )
                answer = b'{"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}'
                self.send_response(400)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST  # noqa: N815 - the name that http.server looks for

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def model() -> Iterator[RefusingModel]:
    model = RefusingModel()
    yield model
    model.server.shutdown()
    model.server.server_close()


ROOT = Path(__file__).parents[3]
WITH_PLUGIN = {
    "claude-code": (
        ["plugin", "validate", "--strict", "plugin"],
        ["plugin", "validate", "--strict", "."],
        ["plugin", "marketplace", "add", str(ROOT)],
        ["plugin", "install", "ricordo@ricordo"],
    ),
    "codex": (["plugin", "marketplace", "add", str(ROOT)], ["plugin", "add", "ricordo@ricordo"]),
    "gemini": (
        ["extensions", "validate", "packaging/gemini"],
        ["extensions", "install", str(ROOT / "packaging" / "gemini"), "--consent"],
    ),
}
"""How each program checks and installs the plugin that brings Ricordo."""
UVX = f"""#!/bin/sh
test "$1" = "ricordo@{__version__}" || exit 1
shift
exec {sys.executable} -m ricordo "$@"
"""
"""Stands for uvx: the version that a plugin asks for is the one under test."""


class Machine:
    """A home folder with a project that knows one fact, and one agent's program that was set up there.

    The server for hooks is up before the program starts, and the MCP server was started once before: programs give
    a server five seconds to start and a hook ten to answer, which a busy machine needs for a first start.
    """

    def __init__(self, folder: Path, agent: str, monkeypatch: pytest.MonkeyPatch, *, plugin: bool = False) -> None:
        package, name = PACKAGES[agent]
        self.program = npm_folder(package) / "node_modules" / ".bin" / name
        self.home, self.project = folder / "home", folder / "home" / "project"
        self.project.mkdir(parents=True)
        for variable in [name for name in os.environ if name.startswith(("RICORDO_", "XDG_", "CLAUDE", "CODEX"))]:
            monkeypatch.delenv(variable)
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
        monkeypatch.setenv("RICORDO_HOOKS_SECONDS", "60")
        monkeypatch.chdir(self.project)
        monkeypatch.setenv("MCP_TIMEOUT", "200000")
        steps = [["init"], ["remember", FACT], ["serve", "start", "--port", "0"]]
        for args in steps if plugin else [*steps, ["install", agent]]:
            done = CliRunner().invoke(program, args)
            assert done.exit_code == 0, done.output
        subprocess.run([sys.executable, "-m", "ricordo", "mcp"], stdin=subprocess.DEVNULL, check=True)

        if plugin:
            uvx = folder / "bin" / "uvx"
            uvx.parent.mkdir()
            uvx.write_text(UVX, encoding="utf-8")
            uvx.chmod(0o755)
            monkeypatch.setenv("PATH", f"{uvx.parent}:{os.environ['PATH']}")
            for args in WITH_PLUGIN[agent]:
                installed = self.call(*args, folder=ROOT, answers="y\n" * 3)
                assert installed.returncode == 0, installed.stdout + installed.stderr

    def close(self) -> None:
        CliRunner().invoke(program, ["serve", "stop"])

    def run(self, *args: str, **env: str) -> str:
        """What the program prints."""
        done = self.call(*args, folder=self.project, **env)
        return done.stdout + done.stderr

    def call(self, *args: str, folder: Path, answers: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.program), *args],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            cwd=folder,
            env={**os.environ, **env},
            input=answers,
        )


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("claude-code", "Connected"),
        ("codex", "enabled"),
        ("gemini", "ricordo"),
        ("qwen", "Connected"),
        ("opencode", "connected"),
    ],
)
def test_the_program_reads_the_server_that_install_wrote(
    agent: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claude Code, Qwen Code and opencode start it, too; the others only list it."""
    patience = tmp_path / "patience.cjs"
    patience.write_text(PATIENCE, encoding="utf-8")
    options = {"NODE_OPTIONS": f"--require {patience}"} if agent == "qwen" else {}
    with closing(Machine(tmp_path, agent, monkeypatch)) as machine:
        printed = machine.run("mcp", "list", **options)
    line = next((line for line in printed.splitlines() if "ricordo" in line), "")
    assert words in line, printed


@pytest.mark.parametrize(
    ("agent", "plugin"),
    [(agent, False) for agent in ("claude-code", "codex", "gemini", "qwen")] + [(agent, True) for agent in WITH_PLUGIN],
)
def test_the_program_tells_its_model_what_the_hook_of_a_prompt_answered(
    agent: str, plugin: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: RefusingModel
) -> None:
    with closing(Machine(tmp_path, agent, monkeypatch, plugin=plugin)) as machine:
        printed = ask(machine, agent, model)
    asked = [request for request in model.requests if PROMPT in request]
    assert asked, printed
    assert any(FACT in request for request in asked), printed


def ask(machine: Machine, agent: str, model: RefusingModel) -> str:
    """Give the program a prompt; what it prints."""
    if agent == "claude-code":
        return machine.run("-p", PROMPT, ANTHROPIC_BASE_URL=model.url, ANTHROPIC_API_KEY="sk-ant-none")
    if agent == "codex":
        provider = {"name": "x", "base_url": f"{model.url}/v1", "wire_api": "responses"}
        settings = [f"model_providers.x.{name}={value}" for name, value in provider.items()]
        settings += ["model_provider=x", "model=x"]
        chosen = [word for setting in settings for word in ("-c", setting)]
        flags = ["--dangerously-bypass-hook-trust", "--skip-git-repo-check"]
        printed = machine.run("exec", *flags, *chosen, PROMPT, OPENAI_API_KEY="none")
        assert "clamping" not in printed
        return printed
    if agent == "gemini":
        path = machine.home / ".gemini" / "settings.json"
        settings_now = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        path.write_text(json.dumps(settings_now | {"security": {"auth": {"selectedType": "gemini-api-key"}}}))
        return machine.run("--skip-trust", "-p", PROMPT, GEMINI_API_KEY="none", GOOGLE_GEMINI_BASE_URL=model.url)
    keys = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_MODEL": "x"}
    return machine.run("--auth-type", "openai", "-p", PROMPT, **keys)
