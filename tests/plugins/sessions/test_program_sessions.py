"""Real agents' programs work with a scripted model on loopback; what they wrote down comes in as a session."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.faces.npm_tools import npm_folder

from ricordo import Ricordo

pytestmark = [
    pytest.mark.external,
    pytest.mark.skipif(os.name != "posix" or not shutil.which("node"), reason="Node is not installed"),
]
PROMPT = "Fix the zanzibar login bug"
LAST = "The zanzibar login is mended."
THOUGHT = "a private musing"


def gemini_answer(asked: dict[str, Any], file: str) -> dict[str, Any]:
    """Read the file, run a command, then say that it is done; in the form of Gemini's API."""
    done = sum("functionResponse" in part for one in asked.get("contents", ()) for part in one.get("parts", ()))
    parts: list[dict[str, Any]] = [{"text": LAST}]
    if asked.get("tools") and done == 0:
        call = {"name": "read_file", "args": {"file_path": file, "absolute_path": file}}
        parts = [{"text": THOUGHT, "thought": True}, {"text": "I look at it first."}, {"functionCall": call}]
    elif asked.get("tools") and done == 1:
        parts = [{"functionCall": {"name": "run_shell_command", "args": {"command": "echo it runs"}}}]
    content = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return {"candidates": [content], "usageMetadata": usage, "modelVersion": "x"}


def openai_answer(asked: dict[str, Any], file: str) -> tuple[dict[str, Any], str]:
    """The same moves in the form of OpenAI's API: the message, and why it ends."""
    names = [tool["function"]["name"] for tool in asked.get("tools") or ()]
    done = sum(message["role"] == "tool" for message in asked["messages"])
    if not names or done > 1:
        return {"role": "assistant", "content": LAST}, "stop"
    wanted = (("read", "read_file"), ("bash", "run_shell_command"))[done]
    name = next(name for name in wanted if name in names)
    given = {"filePath": file, "file_path": file, "absolute_path": file}
    if done == 1:
        given = {"command": "echo it runs", "description": "look"}
    function = {"name": name, "arguments": json.dumps(given)}
    call = {"index": 0, "id": f"call_{done}", "type": "function", "function": function}
    return {"role": "assistant", "content": "I look at it first.", "tool_calls": [call]}, "tool_calls"


def openai_body(asked: dict[str, Any], file: str) -> tuple[str, str]:
    message, end = openai_answer(asked, file)
    shared = {"id": "x", "created": 1, "model": "x"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    if not asked.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": end}
        return json.dumps({**shared, "object": "chat.completion", "choices": [choice], "usage": usage}), "json"
    first = {"index": 0, "delta": message, "finish_reason": None}
    last = {"index": 0, "delta": {}, "finish_reason": end}
    chunks = [{**shared, "choices": [first]}, {**shared, "choices": [last], "usage": usage}]
    lines = [json.dumps(chunk | {"object": "chat.completion.chunk"}) for chunk in chunks]
    return "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]), "stream"


class Machine:
    """A home folder with a project of one file, and the address of a model."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "home" / "project"
        self.project.mkdir(parents=True)
        self.file = self.project / "login.py"
        self.file.write_text("def login(): pass\n")
        machine = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
                if "messages" in asked:
                    text, form = openai_body(asked, str(machine.file))
                elif "countTokens" in self.path:
                    text, form = '{"totalTokens": 1}', "json"
                else:
                    text, form = json.dumps(gemini_answer(asked, str(machine.file))), "json"
                    if "stream" in self.path:
                        text, form = f"data: {text}\n\n", "stream"
                self.answer(text.encode(), {"json": "application/json", "stream": "text/event-stream"}[form])

            def do_GET(self) -> None:
                self.answer(b"{}", "application/json")

            def answer(self, body: bytes, kind: str) -> None:
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    def run(self, package: str, name: str, *args: str, **env: str) -> str:
        program = npm_folder(package) / "node_modules" / ".bin" / name
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "OPENCODE"))}
        done = subprocess.run(
            [str(program), *args],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
            cwd=self.project,
            env={**kept, "HOME": str(self.home), "PWD": str(self.project), **env},  # opencode goes by PWD
            stdin=subprocess.DEVNULL,
        )
        return done.stdout + done.stderr

    def gemini(self) -> str:
        settings = self.home / ".gemini" / "settings.json"
        settings.parent.mkdir()
        settings.write_text(json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}))
        keys = {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": self.url}
        chosen = ("--skip-trust", "--yolo", "--model", "gemini-2.5-flash")
        return self.run("@google/gemini-cli", "gemini", *chosen, "-p", PROMPT, **keys)

    def qwen(self) -> str:
        keys = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{self.url}/v1", "OPENAI_MODEL": "x"}
        return self.run("@qwen-code/qwen-code", "qwen", "--auth-type", "openai", "--yolo", "-p", PROMPT, **keys)

    def opencode(self) -> str:
        options = {"baseURL": f"{self.url}/v1", "apiKey": "none"}
        provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"m": {"tool_call": True}}}
        settings = {"model": "x/m", "small_model": "x/m", "provider": {"x": provider}, "enabled_providers": ["x"]}
        (self.project / "opencode.json").write_text(json.dumps(settings | {"autoupdate": False, "share": "disabled"}))
        chosen = ("--auto", "--model", "x/m")
        return self.run("opencode-ai", "opencode", "run", *chosen, PROMPT, OPENCODE_DISABLE_MODELS_FETCH="1")


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path)
    yield machine
    machine.server.shutdown()
    machine.server.server_close()
    machine.thread.join()


@pytest.mark.parametrize("program", ["gemini", "qwen", "opencode"])
def test_what_a_real_program_wrote_down_comes_in_as_a_session(
    program: str, machine: Machine, engine: Ricordo, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = getattr(machine, program)()
    for name in ("XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(machine.home))
    report = engine.sessions_add()
    assert [saved.status for saved in report.items] == ["created"], printed
    assert report.notes == ()
    session = engine.session(engine.sessions()[0].id)
    assert Path(session.folder).resolve() == machine.project.resolve()
    assert str(machine.file) in session.facets.files
    turns = session.turns
    assert turns[0].text == PROMPT
    assert (turns[0].role, turns[-1].role, turns[-1].text) == ("user", "assistant", LAST)
    told = [turn.text for turn in turns if turn.role == "tool"]
    assert len(told) == 4
    assert "login.py" in told[0]
    assert "def login(): pass" in told[1]
    assert told[2].endswith(": echo it runs")
    assert "it runs" in told[3]
    assert not any(THOUGHT in turn.text for turn in turns)
    assert [saved.reason for saved in engine.sessions_add().items] == ["unchanged"]
