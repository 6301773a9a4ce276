"""Where a server listens, the host names that a request may use, and how long a request may take to arrive.

uvicorn waits for the rest of a request for as long as the client likes. Here a request has some seconds to arrive,
and one more for every 64 KB of it that came, so that a large body over a slow line is still taken. The time in which
the server itself does not read, because the application is busy, does not count.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ricordo.errors import Unavailable

if TYPE_CHECKING:
    import asyncio

MCP_PATH = "/mcp"
"""Where the server answers MCP, beside the page and the API."""
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def allowed_hosts(host: str, names: Sequence[str]) -> list[str]:
    """The host names that a request may use: loopback, the address it listens on, and those given by the user."""
    here = [] if host in ("0.0.0.0", "::", "") else [bracketed(host)]
    return list(dict.fromkeys((*LOOPBACK, *here, *map(bracketed, names))))


def is_mcp(path: str) -> bool:
    """Whether a request for this path is one of MCP."""
    return path.rstrip("/") == MCP_PATH


def bracketed(host: str) -> str:
    """The host as it is written in an address."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def listen(host: str, port: int) -> socket.socket:
    """A socket that is bound, so that nobody else takes the port meanwhile."""
    listening: socket.socket | None = None
    try:
        place = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        # With the protocol named, asyncio sends small answers at once on the connections that it accepts.
        listening = socket.socket(place[0], place[1], socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place[4])
        listening.listen(2048)  # connections from now on wait for the server and are not refused
    except (OSError, UnicodeError) as error:
        if listening is not None:
            listening.close()
        problem = f"cannot listen on {host}:{port}: {getattr(error, 'strerror', None) or error}"
        raise Unavailable(problem, hint="Choose another --port or --host.") from None
    return listening


SLOWEST = 64 * 1024
"""Bytes a second; a client that sends a body more slowly than this runs out of time in the end."""
LARGEST_HEAD = 128 * 1024
"""Bytes of the head of a request; uvicorn's faster parser has no bound of its own."""
_ANSWERS = {
    408: b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
    431: b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
}


def protocol_within(seconds: float) -> type[asyncio.Protocol]:
    """uvicorn's protocol, with a limit for the time in which a request must arrive."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    return type("ArrivingProtocol", (Arriving, AutoHTTPProtocol), {"seconds": seconds})


class Arriving:
    """The part of a connection that keeps the time; the other part is uvicorn's, one of two, as is installed."""

    seconds: float
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport | None
    cycle: Any
    flow: Any
    _clock: asyncio.TimerHandle | None = None
    _since = 0.0
    _bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)  # type: ignore[misc]
        self._start()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)  # type: ignore[misc]

    def data_received(self, data: bytes) -> None:
        if self._clock is None:
            self._start()
        self._bytes += len(data)
        super().data_received(data)  # type: ignore[misc]
        if self._awaits_head():
            if self._bytes > LARGEST_HEAD:
                self._refuse(431)
        elif not self.cycle.more_body:
            self._stop()

    def _awaits_head(self) -> bool:
        return self.cycle is None or (self.cycle.response_complete and not self.cycle.more_body)

    def _start(self) -> None:
        self._bytes = 0
        self._since = self.loop.time()
        self._clock = self.loop.call_later(self.seconds, self._look)

    def _stop(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _look(self) -> None:
        if self.flow is not None and self.flow.read_paused:
            self._since = self.loop.time()
        allowed = self.seconds if self._awaits_head() else self.seconds + self._bytes / SLOWEST
        left = self._since + allowed - self.loop.time()
        if left > 0:
            self._clock = self.loop.call_later(left, self._look)
        else:
            self._refuse(408)

    def _refuse(self, status: int) -> None:
        """Say why, where no answer has begun, and close the connection."""
        self._stop()
        if self.transport is None or self.transport.is_closing():
            return
        if self._bytes and self._awaits_head():
            self.transport.write(_ANSWERS[status])
        self.transport.close()
