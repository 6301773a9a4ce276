"""Clients that are not ours and not Python: the TypeScript SDK and the MCP Inspector's command line, from npm."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ricordo.mcp_server.service import TOOLSETS, chosen

from .mcp_servers import environment, http_server
from .npm_tools import npm_folder

ROOT = Path(__file__).parents[2]
NAMED = tuple(name for name in TOOLSETS if name != "verbs")  # the wire tests call the verbs
ALL = [word for name in NAMED for word in ("--toolset", name)]
pytestmark = [
    pytest.mark.external,
    pytest.mark.skipif(os.name != "posix" or not shutil.which("node"), reason="Node is not installed"),
]


def ran(command: list[str], folder: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environment(folder), "RICORDO_STORE": str(folder / "store.db")}
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, cwd=cwd, env=env)


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_the_typescript_sdk_calls_every_tool_and_sees_our_errors(way: str, tmp_path: Path) -> None:
    sdk = npm_folder("@modelcontextprotocol/sdk")
    script = ["node", str(ROOT / "tools" / "try_mcp.mjs")]
    if way == "stdio":
        done = ran([*script, sys.executable, "-m", "ricordo", "mcp", *ALL], tmp_path, sdk)
    else:
        with http_server(tmp_path, *ALL) as (address, token):
            done = ran([*script, address, token], tmp_path, sdk)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(chosen(NAMED))} tools, 0 failed, 0 not called" in done.stdout


def inspect(folder: Path, method: str, *more: str) -> Any:
    """What the Inspector prints; it starts a server for every request."""
    tool = npm_folder("@modelcontextprotocol/inspector") / "node_modules" / ".bin" / "mcp-inspector"
    env = {**environment(folder), "RICORDO_STORE": str(folder / "store.db")}
    given = [word for name, value in env.items() for word in ("-e", f"{name}={value}")]
    server = [str(Path(sys.executable).parent / "ricordo"), "mcp"]
    done = ran([str(tool), "--cli", *given, *server, "--method", method, *more], folder, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


CALLS: list[tuple[str, list[str]]] = [
    ("add", ["text=A plan to sail round the island", "ref=agent:/plan"]),
    ("remember", ["text=The harbour master likes liquorice"]),
    ("search", ["query=sail round the island", "limit=1"]),
    ("get", ['refs=["agent:/plan"]']),
    ("context", ["task=sail round the island", "budget=300"]),
    ("recent", ["limit=3"]),
    ("feedback", ["query=island", "ref=agent:/plan", "verdict=accepted"]),
    ("status", []),
    ("forget", ['refs=["agent:/plan"]']),
]


def test_the_inspector_calls_every_default_tool_and_shows_our_errors(tmp_path: Path) -> None:
    listed = {tool["name"] for tool in inspect(tmp_path, "tools/list")["tools"]}
    assert listed == {name for name, _ in CALLS}
    for name, arguments in CALLS:
        given = [word for argument in arguments for word in ("--tool-arg", argument)]
        result = inspect(tmp_path, "tools/call", "--tool-name", name, *given)
        assert not result.get("isError"), result
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    wrong = inspect(tmp_path, "tools/call", "--tool-name", "get", "--tool-arg", 'refs=["note:/nothing"]')
    assert wrong["isError"] is True
    assert json.loads(wrong["content"][0]["text"])["error_type"] == "not_found"
    for resource in inspect(tmp_path, "resources/list")["resources"][:2]:
        assert inspect(tmp_path, "resources/read", "--uri", resource["uri"])["contents"][0]["text"]
    asked = inspect(tmp_path, "prompts/get", "--prompt-name", "recall", "--prompt-args", "topic=tides")
    assert "about tides?" in asked["messages"][0]["content"]["text"]
