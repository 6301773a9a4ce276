"""Puts the server together and runs it: the guard outside, then MCP or the page and the API. It writes its address to a
file, follows folders, makes vectors, and ends gracefully.
"""

from __future__ import annotations

import os
import secrets
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from ricordo._version import __version__
from ricordo.errors import Error, UsageError
from ricordo.hosting.credentials import Credentials
from ricordo.hosting.running import RunningServer, forget_running, read_running, write_running
from ricordo.hosting.service import CallThreads, Service
from ricordo.hosting.sockets import allowed_hosts, bracketed, is_loopback, is_mcp, listen
from ricordo.hosting.workers import Workers
from ricordo.http_api import shapes
from ricordo.http_api.api import failure, install_failures, install_routes, operation_id, verb_routes
from ricordo.http_api.guard import Guard, send_json
from ricordo.http_api.routes import files_sent, hooks, look_after
from ricordo.http_api.state import Serving
from ricordo.plugin import modules_of

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp, Receive, Scope, Send


DESCRIPTION = (
    "Everything that the command `ricordo` can do, over HTTP. Send `Authorization: Bearer TOKEN`; "
    "`ricordo serve tokens add NAME --scope read|write|admin` makes one. Failures have one shape: "
    '`{"error": {"code", "message", "hint"}}`. Long work answers 202 and a task.'
)
REQUEST_SECONDS = 20.0
"""How long a request may take to arrive, beyond a second for each 64 KB."""
LOOK_SECONDS = 10.0
"""How often folders that other processes added, and texts that they left without vectors, are looked for."""


def serve(
    service: Service,
    *,
    host: str,
    port: int,
    names: Sequence[str] = (),
    make_mcp: Callable[[CallThreads], McpApp],
    announce: Callable[[str, str], None],
    workers: int = 0,
) -> None:
    """Serve until interrupted. ``announce`` is called with the address and ``Serving.new_link``; ``workers`` says how
    many processes beside this one answer searches.

    ``make_mcp`` makes what answers MCP, from the threads that it may use.
    """
    refuse_open_door(host, Credentials())
    from ricordo.hosting.service import leave

    token = secrets.token_urlsafe(32)
    service.engine()  # if the store cannot be opened, this raises the error before the port is taken
    serving = Serving(service, local_token=token, workers=Workers(workers, *service.where) if workers else None)
    listening = listen(host, port)
    real_port = listening.getsockname()[1]
    serving.address = f"http://{bracketed(_reachable(host))}:{real_port}"
    serving.port = real_port
    app = app_for(serving, make_mcp(serving.threads), host=host, port=real_port, names=names)
    server = _server_of(app)
    attendant = Attendant(serving)
    is_first = read_running() is None
    if is_first:
        started = datetime.now(UTC).isoformat(timespec="seconds")
        place = service.engine().location
        write_running(RunningServer(os.getpid(), _reachable(host), real_port, token, store=place, started=started))
    announce(serving.address, serving.new_link())
    attendant.start()
    try:
        server.run(sockets=[listening])
    finally:
        if is_first:
            forget_running(os.getpid())
        attendant.stop()
        serving.close()
    leave(is_busy=serving.threads.busy)


def _server_of(app: ASGIApp) -> uvicorn.Server:
    """What serves the application; a signal ends it while it starts, too, before uvicorn listens to signals."""
    import uvicorn

    from ricordo.hosting.sockets import protocol_within

    config = uvicorn.Config(
        app,
        http=protocol_within(REQUEST_SECONDS),
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=3,
        lifespan="on",
        server_header=False,
    )
    server = uvicorn.Server(config)

    def end(number: int, frame: FrameType | None) -> None:
        server.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    return server


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
        self._threads = [running for running in self._threads if running.is_alive()] + [thread]
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
            _say(f"folders cannot be followed: {problem}")
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
            _say(f"folders are not followed any more: {problem}")
            self._followed = None


def _say(words: str) -> None:
    sys.stderr.write(f"ricordo serve: {words}\n")


class McpApp(Protocol):
    """What answers MCP. The code that starts the server makes it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    def lifespan(self) -> AbstractAsyncContextManager[Any]:
        """Runs while the server runs."""


def app_for(
    serving: Serving, mcp: McpApp, *, host: str = "127.0.0.1", port: int = 0, names: Sequence[str] = ()
) -> ASGIApp:
    """The whole application, behind the guard."""
    page = next(iter(modules_of("page")), None)
    app = web_app(serving, mcp, page)

    async def branch(scope: Scope, receive: Receive, send: Send) -> None:
        """MCP has an application of its own; everything else goes to the page and the API."""
        if scope["type"] != "http" or not is_mcp(scope["path"]):
            await app(scope, receive, send)
        elif scope["state"]["caller"].may("write"):
            await mcp(scope, receive, send)
        else:
            hint = "ricordo serve tokens add NAME --scope write"
            await send_json(send, 403, failure("forbidden", "MCP needs the scope 'write'", hint), [])

    return Guard(
        branch,
        hosts=allowed_hosts(host, names),
        credentials=serving.credentials,
        local_token=serving.local_token,
        cookie=f"ricordo_{port}",
        sign_in_page=page.sign_in_page if page is not None else None,
    )


def web_app(serving: Serving, mcp: McpApp, page: Any = None) -> FastAPI:
    """The API and the page, if a plugin brings one (``Plugin.page``), without guard."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with mcp.lifespan():
            yield

    app = FastAPI(
        title="Ricordo",
        version=__version__,
        description=DESCRIPTION,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # the usual pages for the API load scripts from other servers
        redoc_url=None,
        lifespan=lifespan,
        generate_unique_id_function=operation_id,
    )
    app.state.serving = serving
    install_failures(app, page.failed if page is not None else None)
    of_plugins = [module.routes for module in modules_of("routes")]
    install_routes(app, verb_routes(), files_sent, look_after, hooks, *of_plugins)
    if page is not None:
        page.install(app)

    @app.get("/healthz", tags=["probes"], responses={200: {"model": shapes.HealthShape}})
    async def health() -> dict[str, str]:
        """The server is up. This needs no token, and says nothing else."""
        return {"status": "ok", "version": __version__}

    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]  # FastAPI's own way to change the document
    return app


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        document.setdefault("components", {})["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        app.openapi_schema = document
    return app.openapi_schema
