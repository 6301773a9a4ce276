"""Answers hooks of other processes of this user from stores that are open already, in the server or in an MCP server.

An MCP server opens a door for them: it listens on loopback, and a private file says where and with which token
(``hosting.running``). The first hook that asks for a store is sent away and does the work itself, because a store that
must be opened first takes as long here; meanwhile the store is opened, and the next hook is answered.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from hmac import compare_digest
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.errors import Error
from ricordo.frozen import frozen
from ricordo.hooks.pipe import LARGEST_PAYLOAD, Outlet
from ricordo.hosting.running import (
    RunningServer,
    forget_helper,
    is_surrounding,
    own_surroundings,
    unpacked,
    write_helper,
)
from ricordo.log import report

if TYPE_CHECKING:
    from ricordo.hosting.open_stores import OpenStores


@frozen
class HookRequest:
    """What a hook sends: where it stands, which store it means, its variables, and what its program gave it."""

    folder: Path
    store: str | None
    tier: str | None
    surroundings: tuple[str, ...]
    program: Mapping[str, str]
    """The variables that tell which program runs the hook."""
    payload: bytes

    @property
    def is_from_here(self) -> bool:
        """Whether the hook would find the same settings and stores as this process."""
        return sorted(self.surroundings) == sorted(own_surroundings())


def read_request(body: bytes) -> HookRequest:
    """What ``asking`` packed; ``ValueError`` for what is none."""
    (folder, store, tier, *variables), payload = unpacked(body)
    surroundings = tuple(variable for variable in variables if is_surrounding(variable.partition("=")[0]))
    program = dict(variable.partition("=")[::2] for variable in variables if variable not in surroundings)
    return HookRequest(Path(folder), store or None, tier or None, surroundings, program, payload)


def answered(stores: OpenStores, event: str, asked: HookRequest) -> bytes:
    """Run the hook on an open store; the last answer that it offers is used."""
    from ricordo.hooks.answers import run

    offered: list[bytes] = []
    outlet = Outlet(offered.append, time.monotonic())
    run(
        event,
        asked.payload,
        outlet,
        store=asked.store,
        tier=asked.tier,
        here=asked.folder,
        warm=stores.opened,
        env=asked.program,
    )
    answers = [line.removeprefix(b"answer ") for line in offered if line.startswith(b"answer ")]
    return answers[-1].strip() if answers else b"{}"


AT_ONCE = 4
"""How many hooks are answered at the same time; others do the work themselves."""
READING_SECONDS = 5.0
LARGEST_REQUEST = LARGEST_PAYLOAD + 1_000_000
LONGEST_HEAD = 8_192
WARMING_AFTER_SECONDS = 1.0
"""The hook that was sent away works at the same time, and its agent waits for it, so it gets the processor first."""


class HookDoor:
    """Answers hooks until it is closed."""

    def __init__(self) -> None:
        self._token = secrets.token_urlsafe(24)
        self._listening: socket.socket | None = None
        self._room = threading.BoundedSemaphore(AT_ONCE)
        self._lock = threading.Lock()
        self._stores: OpenStores | None = None
        self._warm: dict[tuple[object, ...], bool] = {}
        """The stores that were asked for, and whether they are open by now."""

    def open(self) -> None:
        """Begin to listen, and say where; that it is impossible stops nothing."""
        try:
            self._listening = socket.create_server(("127.0.0.1", 0))
            threading.Thread(target=self._listen, args=(self._listening,), name="ricordo-hooks", daemon=True).start()
            port = self._listening.getsockname()[1]
            started = f"{time.time():017.6f}"
            write_helper(RunningServer(os.getpid(), "127.0.0.1", port, self._token, store="", started=started))
        except (OSError, Error) as problem:
            report("hooks cannot ask this process; they do the work themselves", problem)

    def close(self) -> None:
        """Answer no more; a store that a hook still uses is left to the end of the process."""
        if self._listening is not None:
            forget_helper(os.getpid())
            with suppress(OSError):  # not every system has it for a socket that listens
                self._listening.shutdown(socket.SHUT_RDWR)
            self._listening.close()

    def _listen(self, listening: socket.socket) -> None:
        while True:
            try:
                caller, _ = listening.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._meet, args=(caller,), name="ricordo-hook", daemon=True).start()

    def _meet(self, caller: socket.socket) -> None:
        with caller:
            try:
                caller.settimeout(READING_SECONDS)
                event, body = _request(caller, self._token)
                status, answer = self._answer(event, body)
                head = f"HTTP/1.1 {status}\r\nContent-Length: {len(answer)}\r\nConnection: close\r\n\r\n"
                caller.sendall(head.encode("ascii") + answer)
            except (OSError, ValueError):  # whoever it was is gone, or sent something else
                return

    def _answer(self, event: str, body: bytes) -> tuple[int, bytes]:
        asked = read_request(body)
        if not asked.is_from_here:
            return 409, b""
        if not self._room.acquire(blocking=False):
            return 503, b""
        try:
            stores = self._when_warm(asked)
            return (503, b"") if stores is None else (200, answered(stores, event, asked))
        finally:
            self._room.release()

    def _when_warm(self, asked: HookRequest) -> OpenStores | None:
        """The stores, if the one that is asked for is open; otherwise it is going to be."""
        key = (asked.folder, asked.store, asked.tier)
        with self._lock:
            if self._warm.get(key):
                return self._stores
            if key in self._warm:
                return None
            self._warm[key] = False
        later = threading.Timer(WARMING_AFTER_SECONDS, self._warm_up, (asked,))
        later.daemon = True
        later.start()
        return None

    def _warm_up(self, asked: HookRequest) -> None:
        from ricordo.hooks.answers import for_hooks
        from ricordo.hosting.open_stores import OpenStores

        key = (asked.folder, asked.store, asked.tier)
        with self._lock:
            if self._stores is None:
                self._stores = OpenStores(for_hooks)
        try:
            with self._stores.opened(*key) as engine:
                engine.context("warm up", budget=100)
            self._warm[key] = True
        except Error as problem:  # there is no store yet, or it cannot be opened: each hook says so itself
            report("a store could not be opened for hooks", problem)
            with self._lock:
                self._warm.pop(key, None)


def _request(caller: socket.socket, token: str) -> tuple[str, bytes]:
    """The event and the body of a request as ``hosting.running.ask`` sends it; ``ValueError`` for any other.

    Nothing is read of whoever does not know the token.
    """
    received = b""
    while b"\r\n\r\n" not in received:
        if len(received) > LONGEST_HEAD or not (part := caller.recv(65_536)):
            raise ValueError("no request")
        received += part
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("ascii", "replace").split("\r\n")
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = int(fields.get("content-length", "0"))
    path = first.split(" ")[1] if first.count(" ") == 2 else ""
    known = compare_digest(fields.get("authorization", "").encode(), f"Bearer {token}".encode())
    if not known or not path.startswith("/api/v1/hook/") or not 0 <= length <= LARGEST_REQUEST:
        raise ValueError("another request")
    while len(body) < length:
        if not (part := caller.recv(65_536)):
            raise ValueError("cut short")
        body += part
    return path.rpartition("/")[2], body
