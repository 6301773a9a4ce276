"""Requests that are sent a little at a time, and other users of the same machine."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from ricordo.hosting.credentials import FILE_NAME, Credentials

pytest.importorskip("fastapi", reason="the extra 'server' is not installed")

SECONDS = 1.0
"""How long a request may take to arrive in these tests."""
PATIENCE = 300
"""Seconds after which a server hangs for certain, on the slowest machine."""
HASTY = f"""import sys
from ricordo.cli import main
from ricordo.http_api import server
server.REQUEST_SECONDS = {SECONDS}
sys.exit(main())
"""
"""Ricordo with less time for a request to arrive."""
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, str]]:
    """A server as a process of its own: its port, and a token that it gave."""
    folder = tmp_path_factory.mktemp("served")
    env = {
        **os.environ,
        **{f"RICORDO_{name}_HOME": str(folder / name.lower()) for name in ("DATA", "STATE", "CONFIG")},
        "RICORDO_EMBEDDING_PROVIDER": "none",
    }
    token, _ = Credentials(folder / "data" / FILE_NAME).add("laptop", "write")
    process = subprocess.Popen(
        [sys.executable, "-c", HASTY, "serve", "--port", "0", "--store", str(folder / "s.db")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env=env,
    )
    assert process.stdout is not None
    addresses = (re.search(r"http://127\.0\.0\.1:(\d+)", line) for line in process.stdout)
    found = next(filter(None, addresses), None)
    assert found is not None, "the server said no address"
    yield int(found[1]), token
    process.terminate()
    process.communicate(timeout=PATIENCE)


@pytest.fixture
def port(served: tuple[int, str]) -> int:
    return served[0]


def seconds_until_dropped(port: int, begin: bytes, drop: bytes) -> tuple[float, bytes]:
    """Send the beginning, then a byte now and then, until the server closes; how long it took, and what it said.

    A server that does not close within minutes fails the test.
    """
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
        begun = time.monotonic()
        client.sendall(begin)
        client.settimeout(0.1)
        said = b""
        while True:
            assert time.monotonic() - begun < PATIENCE, "the server does not close"
            try:
                client.sendall(drop)
                part = client.recv(1000)
                if not part:
                    break
                said += part
            except TimeoutError:
                continue
            except OSError:
                break
        return time.monotonic() - begun, said


def asked(port: int, method: str, path: str, body: bytes | str = b"", **headers: str) -> int:
    """The status of an answer."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
        connection.request(method, path, body, {"Content-Type": "application/json", **headers})
        return connection.getresponse().status


def greeted(port: int, token: str = "") -> int:
    """The status of the answer to a client of MCP."""
    bearer = {"Authorization": f"Bearer {token}"} if token else {}
    return asked(port, "POST", "/mcp", json.dumps(HELLO), Accept="application/json, text/event-stream", **bearer)


HALF = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize(
    ("begin", "drop", "status"),
    [
        (b"", b"", b""),
        (b"GET / HT", b"", b"408"),
        (HALF, b"X-More: a\r\n", b"408"),
        (HALF + b"Content-Length: 1000000\r\n\r\n{", b"x", b""),
        (HALF + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", b""),
    ],
    ids=["nothing", "half a line", "headers drop by drop", "a body drop by drop", "chunks drop by drop"],
)
def test_half_a_request_is_dropped_in_time_and_others_are_served(
    port: int, begin: bytes, drop: bytes, status: bytes
) -> None:
    taken, said = seconds_until_dropped(port, begin, drop)
    assert taken > SECONDS * 0.5
    if status:
        assert said.split()[1] == status
    assert asked(port, "POST", "/mcp", b"{}") == 401


def test_a_head_that_never_ends_is_refused(port: int) -> None:
    _, said = seconds_until_dropped(port, HALF + b"X: " + b"a" * 300_000, b"")
    assert said.split()[1:2] in ([b"400"], [b"431"], [])  # what it said is lost if more bytes came after it closed


def test_a_connection_that_stays_open_between_requests_is_served_again(port: int) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
        for _ in range(3):
            connection.request("POST", "/mcp", b"x" * 50_000, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 401


def test_another_user_of_the_machine_cannot_use_mcp_over_http_without_a_token(served: tuple[int, str]) -> None:
    port, token = served
    assert greeted(port, "") == 401
    assert greeted(port, "a guess of somebody else") == 401
    assert greeted(port, token) == 200


def test_the_page_and_the_api_tell_nothing_without_signing_in(port: int) -> None:
    for path in ("/api/v1/search?q=a", "/api/v1/status", "/mcp"):
        assert asked(port, "GET", path) == 401, path
    assert asked(port, "GET", "/") in (302, 303, 401)
