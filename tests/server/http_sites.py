"""A server on a store of its own: asked in this process, or listening on a port for browsers and sockets."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from starlette.testclient import TestClient

from ricordo import ConfigProvider, Ricordo
from ricordo.hosting.credentials import Credentials
from ricordo.http_api.server import app_for
from ricordo.http_api.state import Serving
from ricordo.mcp_server.http import McpOverHttp
from ricordo.mcp_server.service import ToolService

LOCAL = "the-local-token"


@dataclass
class Site:
    """One server and a client of it that may do everything."""

    serving: Serving
    app: Any
    client: TestClient

    @property
    def engine(self) -> Ricordo:
        return self.serving.service.engine()

    def get(self, path: str, status: int = 200, **options: Any) -> Any:
        """The JSON that a path answers."""
        answer = self.client.get(path, **options)
        assert answer.status_code == status, answer.text
        return answer.json()

    def post(self, path: str, plain: Any = None, status: int = 200, **options: Any) -> Any:
        answer = self.client.post(path, json=plain, **options)
        assert answer.status_code == status, answer.text
        return answer.json()

    def as_scope(self, scope: str) -> TestClient:
        """A client with a token of one scope."""
        secret, _ = self.serving.credentials.add(scope, scope)
        return self.stranger({"Authorization": f"Bearer {secret}"})

    def stranger(self, headers: dict[str, str] | None = None) -> TestClient:
        """A client that shows nothing, or what it is given."""
        return TestClient(self.app, base_url="http://127.0.0.1", headers=headers or {})


def composed(
    folder: Path,
    port: int = 0,
    toolsets: tuple[str, ...] = (),
    *,
    env: Mapping[str, str] | None = None,
    **settings: Any,
) -> tuple[Serving, Any]:
    """The parts of a server and its application, put together as ``ricordo serve`` does; without the user's settings,
    if ``env`` does not say where they are.
    """
    given = {"embedding.provider": "none", **settings}
    service = ToolService(
        toolsets, store=str(folder / "store.db"), config=ConfigProvider(given, env=env or {}, start=folder)
    )
    credentials = Credentials(folder / "credentials.json")
    serving = Serving(service, credentials=credentials, local_token=LOCAL)
    return serving, app_for(serving, McpOverHttp(service, serving.threads), port=port)


def make_site(folder: Path, **settings: Any) -> Site:
    """A server that is asked without a socket."""
    serving, app = composed(folder, **settings)
    client = TestClient(app, base_url="http://127.0.0.1", headers={"Authorization": f"Bearer {LOCAL}"})
    return Site(serving, app, client)


@dataclass
class Listening:
    """A server on a port, in threads of this process."""

    serving: Serving
    address: str
    port: int

    @property
    def engine(self) -> Ricordo:
        return self.serving.service.engine()

    def link(self) -> str:
        return f"{self.address}/sign-in?code={self.serving.codes.new()}"


def listen(folder: Path, **settings: Any) -> tuple[Listening, Callable[[], None]]:
    """A listening server, and what ends it."""
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    port = sock.getsockname()[1]
    serving, app = composed(folder, port, **settings)
    serving.port, serving.address = port, f"http://127.0.0.1:{port}"
    config = uvicorn.Config(app, log_config=None, lifespan="on", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    ready = threading.Event()
    startup = server.startup

    async def start_and_say_so(*args: Any, **options: Any) -> None:
        await startup(*args, **options)
        ready.set()

    server.startup = start_and_say_so  # type: ignore[method-assign]  # uvicorn has no other way to say that it listens
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
    thread.start()
    assert ready.wait(300)

    def end() -> None:
        server.should_exit = True
        thread.join(100)
        serving.close()

    return Listening(serving, serving.address, port), end
