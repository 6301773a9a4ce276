"""Servers and clients for the MCP tests: real processes, the SDK's own client, and raw lines."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from ricordo.config.files import data_home
from ricordo.hosting.credentials import FILE_NAME, Credentials

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def environment(folder: Path) -> dict[str, str]:
    return {
        "RICORDO_DATA_HOME": str(folder / "data"),
        "RICORDO_CONFIG_HOME": str(folder / "config"),
        "XDG_STATE_HOME": str(folder / "state"),
        "RICORDO_EMBEDDING_PROVIDER": "none",
        "RICORDO_KNOWLEDGE_ENABLED": "false",
    }


def arguments(folder: Path, *more: str) -> list[str]:
    return ["-m", "ricordo", "mcp", "--store", str(folder / "store.db"), *more]


def stdio(folder: Path, *more: str, errors: Any = None) -> Client:
    """The SDK's client on a server of its own."""
    parameters = StdioServerParameters(
        command=sys.executable, args=arguments(folder, *more), env=environment(folder), cwd=folder
    )
    errors = errors or sys.__stderr__
    return Client(stdio_client(parameters, errors))


class Lines:
    """A server spoken to line by line."""

    def __init__(self, folder: Path, *more: str, **env: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *arguments(folder, *more)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env={**os.environ, **environment(folder), **env},
        )
        self.number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nothing running, however the test went."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline().decode("utf-8"))
        return answer

    def ask(self, method: str, params: Any = None) -> dict[str, Any]:
        self.send(method, params)
        answer = self.read()
        assert answer["id"] == self.number
        return answer

    def send(self, method: str, params: Any = None) -> None:
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method}
        self.write(json.dumps(message if params is None else {**message, "params": params}).encode())

    def greet(self) -> dict[str, Any]:
        answer = self.ask("initialize", HELLO)
        self.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return answer

    def call(self, name: str, given: Any) -> dict[str, Any]:
        """The result of a tool call."""
        result: dict[str, Any] = self.ask("tools/call", {"name": name, "arguments": given})["result"]
        return result

    def error(self, name: str, given: Any) -> dict[str, Any]:
        """The error that a tool call results in."""
        result = self.call(name, given)
        assert result["isError"] is True
        assert "structuredContent" not in result
        error: dict[str, Any] = json.loads(result["content"][0]["text"])
        return error

    def end(self) -> tuple[bytes, bytes]:
        """Close the input; what was still written, and to standard error."""
        out, errors = self.process.communicate(timeout=300)
        assert self.process.returncode == 0, errors.decode()
        return out, errors


@contextmanager
def http_server(folder: Path, *more: str) -> Iterator[tuple[str, str]]:
    """The address of MCP on a server over HTTP, and a token for it."""
    pytest.importorskip("fastapi", reason="the extra 'server' is not installed")
    token, _ = Credentials(data_home(environment(folder)) / FILE_NAME).add("test", "admin")
    process = subprocess.Popen(
        [sys.executable, "-m", "ricordo", "serve", "--store", str(folder / "store.db"), "--port", "0", *more],
        stdout=subprocess.PIPE,
        cwd=folder,
        env={**os.environ, **environment(folder)},
    )
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline().decode())
        assert found is not None
        yield f"{found[0]}/mcp", token
    finally:
        process.terminate()
        process.communicate(timeout=300)


def structured(result: Any) -> dict[str, Any]:
    assert not result.is_error, result.structured_content
    assert json.loads(result.content[0].text) == result.structured_content
    found: dict[str, Any] = result.structured_content
    return found


async def works(client: Client, name: str, /, **given: Any) -> dict[str, Any]:
    """Call a tool that must work; the SDK checks the answer against the tool's schema."""
    return structured(await client.call_tool(name, given))


async def fails(client: Client, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Call a tool that must fail, in the shape that is promised."""
    result: Any = await client.call_tool(name, given)
    assert result.is_error
    assert result.structured_content is None, "clients check structured content against the tool's output schema"
    error: dict[str, Any] = json.loads(result.content[0].text)
    assert error["is_error"] is True
    assert error["error_type"]
    assert error["message"]
    assert error["next_action_hint"]
    return error


def check_schemas(tools: Sequence[Any]) -> None:
    from jsonschema import Draft202012Validator

    for tool in tools:
        Draft202012Validator.check_schema(tool.input_schema)
        Draft202012Validator.check_schema(tool.output_schema)
        assert tool.description
        for name, about in tool.input_schema["properties"].items():
            assert about.get("description"), f"{tool.name} does not describe {name}"
        assert tool.annotations.read_only_hint is not None
        if not tool.annotations.read_only_hint:
            assert tool.annotations.destructive_hint is not None
