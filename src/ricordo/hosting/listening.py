"""Where a server listens, and the host names that a request to it may use."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence

from ricordo.errors import Unavailable

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
        listening = socket.socket(place[0], place[1])
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place[4])
        listening.listen(2048)  # connections from now on wait for the server and are not refused
    except (OSError, UnicodeError) as error:
        if listening is not None:
            listening.close()
        problem = f"cannot listen on {host}:{port}: {getattr(error, 'strerror', None) or error}"
        raise Unavailable(problem, hint="Choose another --port or --host.") from None
    return listening
