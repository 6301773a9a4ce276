"""Where the running server is: a private file that hooks and commands of the same user read.

It imports next to nothing, because every hook reads it.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

FILE_NAME = "server.json"


class RunningServer(NamedTuple):
    """A running server of this user: its address, its token, and the store that its page shows."""

    pid: int
    host: str
    port: int
    token: str
    store: str
    started: str = ""

    @property
    def address(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def state_file(env: Mapping[str, str] | None = None) -> Path:
    """The path of the file, whether or not a server is running."""
    from ricordo.config.files import state_home

    return state_home(os.environ if env is None else env) / FILE_NAME


def read_running(env: Mapping[str, str] | None = None) -> RunningServer | None:
    """The server that the file names, if its process is alive and the file is this user's own."""
    path = state_file(env)
    try:
        found = path.stat()
        if os.name == "posix" and (found.st_uid != os.getuid() or found.st_mode & 0o077):
            return None  # somebody else could have written it, or could read the token
        plain = json.loads(path.read_bytes())
        running = RunningServer(**plain)
    except (OSError, ValueError, TypeError):
        return None
    return running if _is_alive(running.pid) else None


def write_running(running: RunningServer, env: Mapping[str, str] | None = None) -> None:
    """Say where the server is."""
    from ricordo.config.files import replace_file

    replace_file(state_file(env), json.dumps(running._asdict()).encode())


def forget_running(pid: int, env: Mapping[str, str] | None = None) -> None:
    """Remove the file, if it is still about this process."""
    path = state_file(env)
    with suppress(OSError, ValueError):
        if json.loads(path.read_bytes()).get("pid") == pid:
            path.unlink()


def ask(running: RunningServer, path: str, body: bytes, seconds: float, *, method: str = "POST") -> tuple[int, bytes]:
    """Send one request to the server without an HTTP library, because importing one would take longer than the answer.

    Raises ``OSError`` when the server does not answer in time, ``ValueError`` when it answers nonsense.
    """
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\nAuthorization: Bearer {running.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    with socket.create_connection((running.host, running.port), timeout=min(seconds, 1.0)) as connection:
        connection.settimeout(seconds)
        connection.sendall(head.encode("ascii") + body)
        received = b""
        while part := connection.recv(65_536):
            received += part
    heading, separator, content = received.partition(b"\r\n\r\n")
    first, _, fields = heading.partition(b"\r\n")
    words = first.split()
    if not separator or len(words) < 2:
        raise ValueError("no HTTP answer")
    if b"transfer-encoding: chunked" in fields.lower():
        content = _unchunked(content)
    return int(words[1]), content


def _unchunked(content: bytes) -> bytes:
    whole = b""
    while content:
        size, _, rest = content.partition(b"\r\n")
        length = int(size.partition(b";")[0], 16)
        if not length:
            break
        whole += rest[:length]
        content = rest[length + 2 :]
    return whole


def _is_alive(pid: int) -> bool:
    if os.name != "posix":
        return True  # connecting will show whether it is running
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
