"""Where the running server is: a private file that hooks of the same user read; what they send; and one request to it.

It imports next to nothing, not even ``json``, because every hook waits for it. What a hook sends is texts, each ended
by a zero byte, which no path, argument or variable holds, and then bytes as they are.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from ricordo._version import __version__
from ricordo.config.state import state_folder

TYPE_CHECKING = False  # type checkers take it for true; importing typing would cost more than the rest of this module
if TYPE_CHECKING:
    import _socket


FILE_NAME = "server.json"
HELPERS = "run"
"""The folder of the files that name MCP servers which answer hooks: one for each, named by its process."""
NUMBERS = ("pid", "port")


class RunningServer:
    """A running server of this user: its address, its token, its version, and the store that its page shows."""

    def __init__(
        self, pid: int, host: str, port: int, token: str, *, store: str, started: str = "", version: str = __version__
    ) -> None:
        self.pid = pid
        self.host = host
        self.port = port
        self.token = token
        self.store = store
        self.started = started
        self.version = version

    @property
    def address(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def state_path() -> str:
    """The path of the file, whether or not a server is running."""
    return os.path.join(state_folder(os.environ), FILE_NAME)  # noqa: PTH118 - pathlib is slow


def read_running() -> RunningServer | None:
    """The server that the file names, if its process is alive and the file is this user's own."""
    return _read(state_path())


def read_helpers() -> list[RunningServer]:
    """The MCP servers that answer hooks, the oldest first: all hooks ask the same one, so that it is warm."""
    folder = _helpers_folder()
    try:
        names = os.listdir(folder)  # noqa: PTH208 - pathlib is slow
    except OSError:
        return []
    found = (_read(os.path.join(folder, name)) for name in names if name.endswith(".json"))  # noqa: PTH118 - the same
    return sorted((one for one in found if one is not None), key=lambda one: (one.started, one.pid))


def _helpers_folder() -> str:
    return os.path.join(state_folder(os.environ), HELPERS)  # noqa: PTH118 - pathlib is slow


def helper_path(pid: int) -> str:
    """The path of the file of an MCP server."""
    return os.path.join(_helpers_folder(), f"{pid}.json")  # noqa: PTH118 - pathlib is slow


def _read(path: str) -> RunningServer | None:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib is slow
            found = os.fstat(file.fileno())
            if os.name == "posix" and (found.st_uid != os.getuid() or found.st_mode & 0o077):
                return None  # somebody else could have written it, or could read the token
            running = RunningServer(**_fields(file.read()))  # type: ignore[arg-type]  # the file says which
    except (OSError, ValueError, TypeError):
        return None
    return running if _is_alive(running.pid) else None


def _fields(text: str) -> dict[str, str | int]:
    """The object that ``write_running`` wrote, with one field in each line, so that no library need be imported."""
    fields: dict[str, str | int] = {}
    for line in text.strip().strip("{}").strip().splitlines():
        name, separator, value = line.removesuffix(",").partition(": ")
        if not separator:
            raise ValueError("not as it was written")
        if "\\" in value:  # a path on Windows, or an odd one
            import json

            value = str(json.loads(value))
        value = value.strip('"')
        name = name.strip('"')
        fields[name] = int(value) if name in NUMBERS else value
    return fields


def write_running(running: RunningServer) -> None:
    """Say where the server is."""
    _write(running, state_path())


def write_helper(helper: RunningServer) -> None:
    """Say where an MCP server answers hooks, and remove the files of those that ended without doing so."""
    _write(helper, helper_path(helper.pid))
    for name in os.listdir(_helpers_folder()):  # noqa: PTH208 - paths are texts in this module
        number = name.removesuffix(".json")
        if number.isdigit() and not _is_alive(int(number)):
            forget_helper(int(number))


def forget_helper(pid: int) -> None:
    """Remove the file of an MCP server that answers no more."""
    try:
        os.unlink(helper_path(pid))  # noqa: PTH108 - pathlib is slow
    except OSError:
        return  # it is gone already


def _write(running: RunningServer, path: str) -> None:
    import json
    from pathlib import Path

    from ricordo.config.files import replace_file

    replace_file(Path(path), json.dumps(vars(running), indent=0, ensure_ascii=False).encode("utf-8", "replace"))


def forget_running(pid: int) -> None:
    """Remove the file, if it is still about this process."""
    try:
        with open(state_path(), encoding="utf-8") as file:  # noqa: PTH123 - as above
            is_ours = _fields(file.read()).get("pid") == pid
        if is_ours:
            os.unlink(state_path())  # noqa: PTH108 - the same
    except (OSError, ValueError):
        return  # it is gone already


def ask(running: RunningServer, path: str, body: bytes, seconds: float, *, method: str = "POST") -> tuple[int, bytes]:
    """Send one request to the server without an HTTP library, because importing one would take longer than the answer.

    ``first`` bounds the wait for the beginning of the answer, ``seconds`` all of it. Raises ``OSError`` when the server
    does not answer in time, ``ValueError`` when it answers nonsense.
    """
    import time

    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\nAuthorization: Bearer {running.token}\r\n"
        f"Content-Type: application/octet-stream\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    deadline = time.monotonic() + seconds
    connection = _connected(running.host, running.port, min(seconds, 1.0))
    try:
        connection.settimeout(seconds)
        connection.sendall(head.encode("ascii") + body)
        received = b""
        while part := connection.recv(65_536):
            received += part
            if (left := deadline - time.monotonic()) <= 0:
                raise TimeoutError("the server takes too long")
            connection.settimeout(left)
    finally:
        connection.close()
    heading, separator, content = received.partition(b"\r\n\r\n")
    first_line, _, fields = heading.partition(b"\r\n")
    words = first_line.split()
    if not separator or len(words) < 2:
        raise ValueError("no HTTP answer")
    if b"transfer-encoding: chunked" in fields.lower():
        content = _unchunked(content)
    return int(words[1]), content


def _connected(host: str, port: int, seconds: float) -> _socket.socket:
    """A connection. For an address in numbers, ``socket`` is not imported, nor is a name looked up, which imports more:
    together they take as long as Python takes to start.
    """
    if not host.replace(".", "").isdigit():
        import socket

        return socket.create_connection((host, port), timeout=seconds)
    import _socket

    connection = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    try:
        connection.settimeout(seconds)
        connection.connect((host, port))
    except OSError:
        connection.close()
        raise
    return connection


def _unchunked(content: bytes) -> bytes:
    whole = b""
    while True:
        size, separator, rest = content.partition(b"\r\n")
        length = int(size.partition(b";")[0], 16)
        if not separator or len(rest) < length:
            raise ValueError("the answer was cut short")
        if not length:
            return whole
        whole += rest[:length]
        content = rest[length + 2 :]


def _is_alive(pid: int) -> bool:
    if os.name != "posix":
        return True  # connecting will show whether it is running
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is somebody else's
        pass
    return True


def packed(texts: Sequence[str], content: bytes = b"") -> bytes:
    """Texts and bytes as one body.

    >>> unpacked(packed(["/home/me", ""], b"rest"))
    (['/home/me', ''], b'rest')
    """
    fields = (str(len(texts)), *texts)
    return b"".join(os.fsencode(text) + b"\0" for text in fields) + content


def unpacked(body: bytes) -> tuple[list[str], bytes]:
    """The texts and the bytes of a body; ``ValueError`` for what is none."""
    count, _, rest = body.partition(b"\0")
    texts = []
    for _ in range(int(count)):
        text, separator, rest = rest.partition(b"\0")
        if not separator:
            raise ValueError("a text is cut short")
        texts.append(os.fsdecode(text))
    return texts, rest


SURROUNDINGS = (
    "HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "TZ",
)  # fmt: skip
"""Variables that an answer may depend on, besides those that begin with RICORDO_."""

KEYS = ("RICORDO_PASSPHRASE", "RICORDO_KEY_FILE")
"""Variables that open stores: they are sent to nobody, and whoever has a store open needs none."""


def is_surrounding(name: str) -> bool:
    """Whether a variable must be the same for whoever asks and whoever answers."""
    return (name.startswith("RICORDO_") and not name.startswith(KEYS)) or name in SURROUNDINGS


def own_surroundings() -> list[str]:
    """The variables of this process that must be the same, with their values."""
    return [f"{name}={value}" for name, value in os.environ.items() if is_surrounding(name)]
