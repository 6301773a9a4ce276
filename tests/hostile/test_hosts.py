"""A server answers to its own names only, and takes no token that can be guessed."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from ricordo import UsageError
from ricordo.http_api.guard import without_port
from ricordo.mcp_server.http import OwnHost, require_token


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8731@evil.example", "127.0.0.1:x", "127.0.0.1:", "127.0.0.1:123456", "[::1]x", "[::1]:1@e"]
)
def test_what_only_begins_like_our_name_is_not_our_name(host: str) -> None:
    assert without_port(host) == ""


@pytest.mark.parametrize(
    ("host", "name"), [("127.0.0.1:8731", "127.0.0.1"), ("localhost", "localhost"), ("[::1]:80", "[::1]")]
)
def test_our_names_are_known_with_and_without_a_port(host: str, name: str) -> None:
    assert without_port(host) == name


async def ok(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def status(**headers: str) -> int:
    answers: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        answers.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    scope = {"type": "http", "method": "POST", "headers": [(k.encode(), v.encode()) for k, v in headers.items()]}
    asyncio.run(OwnHost(ok, ["127.0.0.1", "localhost", "[::1]"])(scope, receive, send))
    return int(answers[0]["status"])


def test_mcp_over_http_refuses_other_hosts_and_pages_on_other_ports() -> None:
    assert status(host="127.0.0.1:8731") == 200
    assert status(host="localhost:8731", origin="http://localhost:8731") == 200
    assert status(host="127.0.0.1:8731@evil.example") == 421
    assert status(host="evil.example") == 421
    assert status(host="localhost:8731", origin="http://localhost:9999") == 403
    assert status(host="localhost:8731", origin="null") == 403


def test_a_short_token_is_refused() -> None:
    with pytest.raises(UsageError, match="can be guessed"):
        require_token("0.0.0.0", "secret")
    require_token("0.0.0.0", "x" * 32)
