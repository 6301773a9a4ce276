"""The MCP server at its wire: bad lines, bad bytes, clients that leave, many of them at once, doors that stay shut."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import httpx2
import pytest
from click.testing import CliRunner
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from ricordo import ConfigProvider, Ricordo
from ricordo.cli.program import program
from ricordo.mcp_server.service import TOOLSETS

from .mcp_scenario import use_everything
from .mcp_servers import HELLO, Lines, http_server, stdio, works

ALL = [word for name in TOOLSETS for word in ("--toolset", name)]
ACCEPTED = {"Accept": "application/json, text/event-stream"}

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and pipes as POSIX has them")


def is_well(lines: Lines) -> bool:
    """Whether the server still answers."""
    return lines.ask("ping") == {"jsonrpc": "2.0", "id": lines.number, "result": {}}


STRAY = """
import ricordo.engine.health as health, os, sys
before = health.HealthVerbs.status
def status(self):
    print("stray")
    os.write(1, b"stray")
    sys.stdout.flush()
    if "onnxruntime" in sys.modules:
        print("more than a server needs")
    return before(self)
health.HealthVerbs.status = status
"""
"""Code that prints where it should not, put in the way of a tool; it also looks at what was imported."""


def test_bad_lines_are_answered_the_next_is_served_and_stray_prints_stay_out(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(STRAY, encoding="utf-8")
    with Lines(tmp_path, PYTHONPATH=str(tmp_path)) as lines:
        assert lines.greet()["result"]["serverInfo"]["name"] == "ricordo"
        for bad, code in (
            (b"this is not JSON", -32700),
            (b'{"jsonrpc": "2.0", "id": 1, "method": "ping"', -32700),
            (b"\xff\xfe\x00\x80", -32700),
            (b"{}", -32600),
            (b"[1, 2]", -32600),
            (b'{"jsonrpc": "1.0", "id": 7, "method": "ping"}', -32600),
        ):
            lines.write(bad)
            answer = lines.read()
            assert answer["error"]["code"] == code
            assert answer["id"] == (7 if b'"id": 7' in bad else None)
            assert is_well(lines)
        assert lines.ask("no/such/method")["error"]["code"] == -32601
        assert lines.ask("tools/call", {"arguments": {}})["error"]["code"] == -32602
        for wrong in ([1], [], 0, "", False):
            assert lines.error("search", wrong)["error_type"] == "usage"
        for text in (b"\xff\xfe caf\xc3\xa9 \\u0000", b"half a character \\ud83e"):
            lines.write(b'{"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": {"name": "search",'
                        b' "arguments": {"query": "' + text + b'"}}}')  # fmt: skip
            assert lines.read()["result"]["isError"] is False
        assert lines.error("remember", {"text": "x" * 6_000_000})["error_type"] == "usage"
        deep: Any = "x"
        for _ in range(90):
            deep = [deep]
        assert lines.call("search", {"query": deep})["isError"] is True
        assert lines.call("status", {})["structuredContent"]["items"] == 0
        out, errors = lines.end()
        assert out == b""
        assert errors.count(b"stray") == 2
        assert b"more than a server needs" not in errors


def test_calls_under_way_when_the_input_ends_are_finished_in_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    locale = {"LC_ALL": "C", "LANG": "C", "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    texts = ["Zażółć gęślą jaźń", "東京の天気は晴れ", "🦔 \u2028 end", "مرحبا بالعالم"]
    with Lines(tmp_path, **locale) as lines:
        lines.send("initialize", HELLO)
        for text in texts:
            lines.send("tools/call", {"name": "add", "arguments": {"text": text, "ref": f"note:/{text}"}})
        out, _ = lines.end()
    answers = {answer["id"]: answer for answer in map(json.loads, out.splitlines())}
    assert sorted(answers) == [1, 2, 3, 4, 5]
    kept = [answers[number]["result"]["structuredContent"]["items"][0]["ref"] for number in range(2, 6)]
    assert kept == [f"note:/{text}" for text in texts]
    with Ricordo.open(tmp_path / "store.db", config=ConfigProvider({"embedding.provider": "none"})) as engine:
        assert [engine.get(ref).content for ref in kept] == texts


def test_a_client_that_vanishes_mid_call_leaves_no_server_behind(tmp_path: Path) -> None:
    with Lines(tmp_path) as lines:
        lines.greet()
        assert lines.process.stdout is not None
        lines.process.stdout.close()
        lines.send("tools/call", {"name": "remember", "arguments": {"text": "Said by someone who left."}})
        assert lines.process.stdin is not None
        lines.process.stdin.close()
        assert lines.process.wait(200) == 0
        assert lines.process.stderr is not None
        assert b"Traceback" not in lines.process.stderr.read()
        lines.process.stderr.close()
        with Ricordo.open(tmp_path / "store.db") as engine:
            assert [item.kind for item in engine.list()] == ["memory"]


UNLOADABLE = """
import sys
for name in ("mcp", "pydantic", "asyncio", "numpy", "apsw"):
    sys.modules[name] = None
"""


def test_a_greeting_and_the_lists_need_neither_the_sdk_nor_the_engine(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(UNLOADABLE, encoding="utf-8")
    with Lines(tmp_path, PYTHONPATH=str(tmp_path)) as lines:
        assert lines.greet()["result"]["protocolVersion"] == HELLO["protocolVersion"]
        assert len(lines.ask("tools/list")["result"]["tools"]) == 9
        assert lines.ask("prompts/list")["result"]["prompts"]
        assert lines.end() == (b"", b"")


@pytest.mark.parametrize(
    ("asked", "given"), [("2024-11-05", "2024-11-05"), ("2025-11-25", "2025-11-25"), ("1999-01-01", "2025-11-25")]
)
def test_the_version_is_the_client_s_if_it_is_known_else_the_newest(tmp_path: Path, asked: str, given: str) -> None:
    with Lines(tmp_path) as lines:
        early = lines.ask("tools/list")
        assert early["error"]["code"] == -32602, "nothing comes before the greeting"
        assert lines.ask("initialize", {**HELLO, "protocolVersion": asked})["result"]["protocolVersion"] == given


def test_a_request_may_say_itself_who_asks_and_in_which_version(tmp_path: Path) -> None:
    prefix = "io.modelcontextprotocol/"
    meta = {f"{prefix}protocolVersion": "2026-07-28", f"{prefix}clientInfo": {"name": "t"}}
    with Lines(tmp_path) as lines:
        found = lines.ask("server/discover", {"_meta": meta})["result"]
        assert (found["supportedVersions"], found["resultType"]) == (["2026-07-28"], "complete")
        assert lines.ask("tools/list", {"_meta": meta})["result"]["_meta"][f"{prefix}serverInfo"]["name"] == "ricordo"
        error = lines.ask("tools/list", {"_meta": {**meta, f"{prefix}protocolVersion": "2031-01-01"}})["error"]
        assert (error["code"], error["data"]["supported"]) == (-32022, ["2026-07-28"])
        assert lines.ask("server/discover")["error"]["code"] == -32601


def test_a_cancelled_call_is_not_answered(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(STRAY.replace('print("stray")', "import time; time.sleep(1)"))
    with Lines(tmp_path, PYTHONPATH=str(tmp_path)) as lines:
        lines.greet()
        lines.send("tools/call", {"name": "status", "arguments": {}})
        params = {"requestId": lines.number, "reason": "no longer wanted"}
        lines.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).encode())
        assert is_well(lines)
        assert lines.end()[0] == b""


STUCK = """
import time
from ricordo.engine.ricordo import Ricordo
from ricordo.mcp_server import stdio
stdio.FINISHING_SECONDS = stdio.CLOSING_SECONDS = 0.5
Ricordo.close = lambda self: time.sleep(60)
"""


def test_a_store_that_does_not_close_keeps_no_server_alive(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(STUCK, encoding="utf-8")
    with Lines(tmp_path, PYTHONPATH=str(tmp_path)) as lines:
        lines.greet()
        assert is_well(lines)
        assert lines.call("status", {})["structuredContent"]["items"] == 0
        assert lines.process.stdin is not None
        lines.process.stdin.close()
        assert lines.process.wait(200) == 0


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the HTTP server's store is."""
    return tmp_path_factory.mktemp("http")


@pytest.fixture(scope="module")
def door(home: Path) -> Iterator[tuple[str, str]]:
    """One server with all tools, for all tests over HTTP; it asks for a token."""
    with http_server(home, *ALL) as found:
        yield found


@asynccontextmanager
async def over_http(door: tuple[str, str]) -> AsyncIterator[Client]:
    """The SDK's client with the token."""
    address, token = door
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as web,
        Client(streamable_http_client(address, http_client=web)) as client,
    ):
        yield client


def test_every_tool_can_be_listed_and_called_over_stdio(tmp_path: Path) -> None:
    async def hold() -> None:
        async with stdio(tmp_path, *ALL) as client:
            await use_everything(client, tmp_path)

    anyio.run(hold)


def test_every_tool_can_be_listed_and_called_over_http(door: tuple[str, str], home: Path) -> None:
    async def hold() -> None:
        async with over_http(door) as client:
            await use_everything(client, home)

    anyio.run(hold)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({}, 200),
        ({"Origin": "http://localhost:5173"}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
    ],
)
def test_over_http_a_request_needs_the_token_and_a_known_host_and_origin(
    door: tuple[str, str], headers: dict[str, str], status: int
) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    given = {**ACCEPTED, "Authorization": f"Bearer {door[1]}", **headers}
    assert httpx.post(door[0], json=message, headers=given, timeout=200).status_code == status


def test_over_http_a_body_that_is_too_large_or_no_json_is_refused_and_the_next_is_served(
    door: tuple[str, str],
) -> None:
    address, token = door
    headers = {**ACCEPTED, "Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    assert httpx.post(address, content=b"x" * 5_000_000, headers=headers, timeout=200).status_code == 413
    assert httpx.post(address, content=b"{not json", headers=headers, timeout=200).status_code == 400
    with socket.create_connection(("127.0.0.1", int(address.split(":")[2].split("/")[0]))) as half:
        half.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    assert httpx.post(address, json=message, headers=headers, timeout=200).status_code == 200


def test_a_door_open_to_others_needs_a_token() -> None:
    refused = CliRunner().invoke(program, ["serve", "--host", "0.0.0.0"])
    assert (refused.exit_code, "token" in refused.stderr) == (2, True)


def test_a_port_that_is_taken_is_told_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = CliRunner().invoke(program, ["serve", "--port", str(taken.getsockname()[1])])
    assert (refused.exit_code, "cannot listen" in refused.stderr) == (5, True)


def test_ten_clients_make_400_calls_on_one_store_and_nothing_fails_or_is_lost(
    door: tuple[str, str], home: Path
) -> None:
    """Two servers over standard input and output, and one over HTTP that serves eight clients."""
    refs: set[str] = set()

    async def work(client: Client, number: int) -> None:
        mine: list[str] = []
        for turn in range(10):
            text = f"Client {number} learned in turn {turn} that code {number * 1000 + turn} opens door {turn * 37}."
            saved = await works(client, "remember", text=text, on_duplicate="save", tags=[f"client-{number}"])
            assert saved["status"] == "created"
            mine.append(saved["ref"])
            found = await works(client, "search", query=f"code {number * 1000 + turn}", tags=[f"client-{number}"])
            assert saved["ref"] in {hit["ref"] for hit in found["hits"]}
            assert (await works(client, "get", refs=[mine[turn // 2]]))["items"]
            ref = f"agent:/client-{number}/{turn}"
            assert (await works(client, "add", text=text.upper(), ref=ref))["created"] == 1
            mine.append(ref)
        refs.update(mine)

    async def one(number: int) -> None:
        async with stdio(home) if number < 2 else over_http(door) as client:
            await work(client, number)

    async def all_of_them() -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(10):
                tasks.start_soon(one, number)

    anyio.run(all_of_them)
    assert len(refs) == 200
    with Ricordo.open(home / "store.db", config=ConfigProvider({"embedding.provider": "none"})) as engine:
        assert {str(item.ref) for item in engine.list(limit=2000)} >= refs
        assert engine.doctor().ok
