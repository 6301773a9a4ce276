"""A server answers to its own names only, and takes no token that can be guessed."""

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


async def ok(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def status(token: str = "", **headers: str) -> int:
    """What MCP is answered with, where it is open to all programs, or where they need a token."""
    answers: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        answers.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b""}

    given = [(k.encode(), v.encode()) for k, v in headers.items()]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": given}
    guard = Guard(
        ok,
        hosts=["127.0.0.1", "localhost", "[::1]"],
        credentials=Credentials(),
        opens_mcp=lambda secret: token in ("", secret),
    )
    asyncio.run(guard(scope, receive, send))
    return int(answers[0]["status"])


def test_mcp_over_http_refuses_other_hosts_and_pages_on_other_ports() -> None:
    assert status(host="127.0.0.1:8731") == 200
    assert status(host="localhost:8731", origin="http://localhost:8731") == 200
    assert status(host="127.0.0.1:8731@evil.example") == 421
    assert status(host="evil.example") == 421
    assert status(host="localhost:8731", origin="http://localhost:9999") == 403
    assert status(host="localhost:8731", origin="null") == 403
    assert status(host="localhost:8731", origin="http://localhost:9999", authorization="Bearer any") == 403


def test_a_program_on_another_port_speaks_mcp_with_the_token_alone() -> None:
    known = {"token": "a-long-token", "host": "localhost:8731"}
    elsewhere = known | {"origin": "http://localhost:9999"}
    assert status(**known) == 401
    assert status(**elsewhere) == 403
    assert status(**elsewhere, authorization="Bearer a-long-token") == 200
    assert status(**elsewhere, authorization="Bearer a-guess") == 401
    assert status(**elsewhere, authorization="Basic a-long-token") == 401
    assert status(**known, origin="http://evil.example", authorization="Bearer a-long-token") == 403
    assert status(**known, origin="ftp://localhost:8731", authorization="Bearer a-long-token") == 403


def test_a_short_token_is_refused() -> None:
    with pytest.raises(UsageError, match="can be guessed"):
        refuse_open_door("0.0.0.0", Credentials(), "secret")
    refuse_open_door("0.0.0.0", Credentials(), "x" * 32)


def test_mcp_without_a_token_is_for_programs_of_this_machine_alone() -> None:
    Credentials().add("laptop", "read")
    refuse_open_door("0.0.0.0", Credentials())
    refuse_open_door("127.0.0.1", Credentials(), is_mcp_open=True)
    with pytest.raises(UsageError, match="needs a token"):
        refuse_open_door("0.0.0.0", Credentials(), is_mcp_open=True)
