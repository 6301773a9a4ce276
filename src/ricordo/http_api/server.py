"""Runs the server: it listens, writes its address to a file, follows folders, makes vectors, and ends gracefully."""

from __future__ import annotations

import os
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.errors import Error, MissingExtra, UsageError
from ricordo.hosting.credentials import Credentials
from ricordo.hosting.running import RunningServer, forget_running, read_running, write_running
from ricordo.hosting.sockets import bracketed, is_loopback, listen

if TYPE_CHECKING:
    from ricordo.hosting.service import CallThreads, Service
    from ricordo.http_api.app import McpApp
    from ricordo.http_api.serving import Serving

REQUEST_SECONDS = 20.0
"""How long a request may take to arrive, beyond a second for each 64 KB."""
LOOK_SECONDS = 10.0
"""How often folders that other processes added, and texts that they left without vectors, are looked for."""


def require_server() -> None:
    """The extra must be installed."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("fastapi", "uvicorn", "jinja2", "markdown_it", "nh3")):
        raise MissingExtra("server", "The page and the API")


def serve(
    service: Service,
    *,
    host: str,
    port: int,
    names: Sequence[str] = (),
    make_mcp: Callable[[CallThreads], McpApp],
    announce: Callable[[str, str], None],
) -> None:
    """Serve until interrupted. ``announce`` is called with the address and the link that signs a browser in.

    ``make_mcp`` makes what answers MCP, from the threads that it may use.
    """
    refuse_open_door(host, Credentials())
    import uvicorn

    from ricordo.hosting.service import leave
    from ricordo.hosting.sockets import protocol_within
    from ricordo.http_api.app import app_for
    from ricordo.http_api.serving import Serving

    token = secrets.token_urlsafe(32)
    serving = Serving(service, local_token=token)
    service.engine()  # if the store cannot be opened, this raises the error before the port is taken
    listening = listen(host, port)
    real_port = listening.getsockname()[1]
    serving.address = f"http://{bracketed(_reachable(host))}:{real_port}"
    serving.port = real_port
    app = app_for(serving, make_mcp(serving.threads), host=host, port=real_port, names=names)
    config = uvicorn.Config(
        app,
        http=protocol_within(REQUEST_SECONDS),
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=3,
        lifespan="on",
        server_header=False,
    )
    attendant = Attendant(serving)
    is_first = read_running() is None
    if is_first:
        started = datetime.now(UTC).isoformat(timespec="seconds")
        place = service.engine().location
        write_running(RunningServer(os.getpid(), _reachable(host), real_port, token, place, started))
    announce(serving.address, f"{serving.address}/sign-in?code={serving.codes.new()}")
    attendant.start()
    _hear_signals()
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        if is_first:
            forget_running(os.getpid())
        attendant.stop()
        serving.close()
    leave(is_busy=serving.threads.busy)


def _hear_signals() -> None:
    """Handle the signal that uvicorn raises again after it ended the server; nothing is left to do then."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: None)


def refuse_open_door(host: str, credentials: Credentials) -> None:
    """Refuse to listen on an address that other machines can reach unless there is a token that they need."""
    if is_loopback(host) or credentials.all("token"):
        return
    raise UsageError(
        f"{host} can be reached from other machines, so it needs a token",
        hint="Make one with 'ricordo serve tokens add NAME --scope read', or leave out --host.",
    )


def _reachable(host: str) -> str:
    """The address under which this machine itself reaches the server."""
    return {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1", "localhost": "127.0.0.1"}.get(host, host)


class Attendant:
    """Loads the model, follows the folders that were added, and makes missing vectors."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._ending = threading.Event()
        self._look = threading.Event()
        self._followed: tuple[str, ...] | None = None
        self._stop_following = threading.Event()
        self._threads: list[threading.Thread] = []
        serving.when_added = self._look.set

    def start(self) -> None:
        """Start in threads beside the server."""
        self._begin(self._work)

    def stop(self) -> None:
        """End; work in a folder that has begun may finish for a moment."""
        self._ending.set()
        self._look.set()
        self._stop_following.set()
        for thread in self._threads:
            thread.join(1.0)

    def _begin(self, work: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=work, args=args, name="ricordo-attendant", daemon=True)
        self._threads = [one for one in self._threads if one.is_alive()] + [thread]
        thread.start()

    def _work(self) -> None:
        self._warm_up()
        while not self._ending.is_set():
            self._serving.service.wake()
            self._follow()
            self._look.wait(LOOK_SECONDS)
            self._look.clear()

    def _warm_up(self) -> None:
        """Load the model, so that the first search does not have to wait for it."""
        with suppress(Error, OSError):
            engine = self._serving.service.engine()
            engine.search("warming up", limit=1, explain=True, track=False)
            store, tier = self._serving.service.where
            with self._serving.open_stores.opened(Path.cwd(), store, tier) as opened:
                opened.context("warming up", budget=100)

    def _follow(self) -> None:
        """Follow the known folders; start again when other folders are added or removed."""
        try:
            engine = self._serving.service.engine()
            wanted = self._serving.config.serve.watch
            roots = tuple(root for root in engine.status()["roots"] if Path(root).exists()) if wanted else ()
        except (Error, OSError) as problem:
            _log(f"folders cannot be followed: {problem}")
            return
        if roots == self._followed:
            return
        self._stop_following.set()
        self._followed = roots
        self._stop_following = threading.Event()
        if roots:
            self._begin(self._watch, engine, roots, self._stop_following)

    def _watch(self, engine: Any, roots: tuple[str, ...], stop: threading.Event) -> None:
        try:
            engine.watch(*roots, stop=stop)
        except (Error, OSError) as problem:
            _log(f"folders are not followed any more: {problem}")
            self._followed = None


def _log(words: str) -> None:
    sys.stderr.write(f"ricordo serve: {words}\n")
