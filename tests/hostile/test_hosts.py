"""A server answers to its own names only, and to nobody elsewhere without a token."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from ricordo import UsageError
from ricordo.hosting.credentials import Credentials
from ricordo.http_api.guard import Guard, without_port
from ricordo.http_api.server import refuse_open_door


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


TOKEN = "a-long-token"


async def ok(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def status(**headers: str) -> int:
    """What MCP is answered with."""
    answers: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        answers.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    given = [(k.encode(), v.encode()) for k, v in headers.items()]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": given}
    guard = Guard(ok, hosts=["127.0.0.1", "localhost", "[::1]"], credentials=Credentials(), local_token=TOKEN)
    asyncio.run(guard(scope, receive, send))
    return int(answers[0]["status"])


def test_mcp_over_http_refuses_other_hosts_and_pages_on_other_ports() -> None:
    known = {"authorization": f"Bearer {TOKEN}"}
    assert status(host="127.0.0.1:8731", **known) == 200
    assert status(host="localhost:8731", origin="http://localhost:8731", **known) == 200
    assert status(host="127.0.0.1:8731@evil.example", **known) == 421
    assert status(host="evil.example", **known) == 421
    assert status(host="localhost:8731", origin="http://localhost:9999") == 403
    assert status(host="localhost:8731", origin="null", **known) == 403


def test_a_program_on_another_port_speaks_mcp_with_the_token_alone() -> None:
    known = {"host": "localhost:8731"}
    elsewhere = known | {"origin": "http://localhost:9999"}
    assert status(**known) == 401
    assert status(**elsewhere) == 403
    assert status(**elsewhere, authorization=f"Bearer {TOKEN}") == 200
    assert status(**elsewhere, authorization="Bearer a-guess") == 401
    assert status(**elsewhere, authorization=f"Basic {TOKEN}") == 401
    assert status(**known, origin="http://evil.example", authorization=f"Bearer {TOKEN}") == 403
    assert status(**known, origin="ftp://localhost:8731", authorization=f"Bearer {TOKEN}") == 403


def test_a_server_that_other_machines_can_reach_needs_a_token() -> None:
    refuse_open_door("127.0.0.1", Credentials())
    with pytest.raises(UsageError, match="needs a token"):
        refuse_open_door("0.0.0.0", Credentials())
    Credentials().add("laptop", "read")
    refuse_open_door("0.0.0.0", Credentials())
