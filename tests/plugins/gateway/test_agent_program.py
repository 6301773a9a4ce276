"""A real Claude Code finds a tool behind the gateway and calls it; its model is a script on loopback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ricordo.cli.program import program

from ...faces.npm_tools import npm_folder

pytestmark = [
    pytest.mark.external,
    pytest.mark.skipif(os.name != "posix" or not shutil.which("node"), reason="Node is not installed"),
]
FIND, CALL, WAIT = "mcp__ricordo__find_tools", "mcp__ricordo__call_tool", "Read"


def next_move(asked: dict[str, Any]) -> dict[str, Any]:
    """Find a tool, call the first that was found, then say what came of it."""
    results = [
        json.dumps(part.get("content"))
        for message in asked["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
        if part.get("type") == "tool_result" and part.get("tool_use_id") in ("t1", "t2")
    ]
    names = {tool.get("name") for tool in asked.get("tools") or ()}
    if FIND not in names:
        if WAIT in names:  # our server is still starting: ask for something harmless, and look again a second later
            time.sleep(1)
            number = len(asked["messages"])
            return {"type": "tool_use", "id": f"w{number}", "name": WAIT, "input": {"file_path": f"none-{number}"}}
        return {"type": "text", "text": "a title"}  # a question beside the conversation
    if not results:
        return {"type": "tool_use", "id": "t1", "name": FIND, "input": {"task": "say some words back"}}
    if len(results) == 1:
        assert "raw/say_words" in results[0], results
        given = {"name": "raw/say_words", "arguments": {"text": "hello from behind the gateway"}}
        return {"type": "tool_use", "id": "t2", "name": CALL, "input": given}
    return {"type": "text", "text": f"The tool said {results[-1]}"}


def events_of(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """An answer as the stream that Anthropic's API sends."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": [], "usage": usage}
    yield {"type": "message_start", "message": message | {"stop_reason": None, "stop_sequence": None}}
    is_text = block["type"] == "text"
    empty = {"type": "text", "text": ""} if is_text else block | {"input": {}}
    yield {"type": "content_block_start", "index": 0, "content_block": empty}
    delta = (
        {"type": "text_delta", "text": block["text"]}
        if is_text
        else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    )
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    stop = {"stop_reason": "end_turn" if is_text else "tool_use", "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": usage}
    yield {"type": "message_stop"}


@pytest.fixture
def model() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
            if "messages" not in asked or "count_tokens" in self.path:
                self.answer(b'{"input_tokens": 1}', "application/json")
                return
            block = next_move(asked)
            if asked.get("stream"):
                lines = [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events_of(block)]
                self.answer("".join(lines).encode(), "text/event-stream")
                return
            whole = {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": [block]}
            usage = {"input_tokens": 1, "output_tokens": 1}
            stop = "end_turn" if block["type"] == "text" else "tool_use"
            body = json.dumps(whole | {"stop_reason": stop, "stop_sequence": None, "usage": usage})
            self.answer(body.encode(), "application/json")

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

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_claude_code_finds_and_calls_a_tool_behind_the_gateway(
    tmp_path: Path, model: str, raw: Callable[[str], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    claude = npm_folder("@anthropic-ai/claude-code") / "node_modules" / ".bin" / "claude"
    home, project = tmp_path / "home", tmp_path / "home" / "project"
    project.mkdir(parents=True)
    for name in [name for name in os.environ if name.startswith(("XDG_", "CLAUDE"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    monkeypatch.chdir(project)
    (home / ".claude.json").write_text(json.dumps({"mcpServers": {"raw": raw("honest")}}))
    moved = CliRunner().invoke(program, ["install", "claude-code", "--gateway", "--json"])
    assert json.loads(moved.stdout)["data"]["moved"] == ["raw"], moved.stdout
    done = subprocess.run(
        [str(claude), "-p", "Say hello through a tool.", "--allowedTools", f"{FIND},{CALL}"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=project,
        stdin=subprocess.DEVNULL,
        env={
            **os.environ,
            "ANTHROPIC_BASE_URL": model,
            "ANTHROPIC_API_KEY": "sk-ant-none",
            "ENABLE_TOOL_SEARCH": "false",
            "MCP_TIMEOUT": "400000",
            "MCP_CONNECTION_NONBLOCKING": "false",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
    )
    assert "say_words: hello from behind the gateway" in done.stdout, done.stdout + done.stderr
    assert (tmp_path / "calls").read_text().split() == ["say_words"]
    logged = json.loads(CliRunner().invoke(program, ["tools", "log", "--json"]).stdout)["data"]["calls"]
    assert [(one["tool"], one["outcome"]) for one in logged] == [("raw/say_words", "answered")]
