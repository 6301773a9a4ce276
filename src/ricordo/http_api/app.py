"""Puts the server together: the guard outside, then MCP or the page and the API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from ricordo._version import __version__
from ricordo.hosting.sockets import allowed_hosts, is_mcp
from ricordo.http_api import api, shapes
from ricordo.http_api.api import install_routes, operation_id, verb_routes
from ricordo.http_api.guard import Guard
from ricordo.http_api.routes import files_sent, hooks, look_after
from ricordo.http_api.server import Serving
from ricordo.http_api.web.frame import failed
from ricordo.http_api.web.pages import install_page

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

DESCRIPTION = (
    "Everything that the command `ricordo` can do, over HTTP. Send `Authorization: Bearer TOKEN`; "
    "`ricordo serve tokens add NAME --scope read|write|admin` makes one. Failures have one shape: "
    '`{"error": {"code", "message", "hint"}}`. Long work answers 202 and a task.'
)


class McpApp(Protocol):
    """What answers MCP. The code that starts the server makes it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    def lifespan(self) -> AbstractAsyncContextManager[Any]:
        """Runs while the server runs."""


def app_for(
    serving: Serving, mcp: McpApp, *, host: str = "127.0.0.1", port: int = 0, names: Sequence[str] = ()
) -> ASGIApp:
    """The whole application, behind the guard."""
    app = web_app(serving, mcp)
    return Guard(
        Branch(app, mcp),
        hosts=allowed_hosts(host, names),
        credentials=serving.credentials,
        local_token=serving.local_token,
        cookie=f"ricordo_{port}",
        sign_in_page=app.state.sign_in_page,
    )


def web_app(serving: Serving, mcp: McpApp) -> FastAPI:
    """The page and the API, without guard."""

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
    api.install_failures(app, failed)
    install_routes(app, verb_routes(), files_sent, look_after, hooks)
    _install_probes(app)
    install_page(app)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]  # FastAPI's own way to change the document
    return app


def _install_probes(app: FastAPI) -> None:
    @app.get("/healthz", tags=["probes"], responses={200: {"model": shapes.HealthShape}})
    async def health() -> dict[str, str]:
        """The server is up. This needs no token, and says nothing else."""
        return {"status": "ok", "version": __version__}


class Branch:
    """MCP has an application of its own; everything else goes to the page and the API."""

    def __init__(self, app: FastAPI, mcp: ASGIApp) -> None:
        self._app = app
        self._mcp = mcp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and is_mcp(scope["path"]):
            if not scope["state"]["caller"].may("write"):
                from ricordo.http_api.guard import send_json

                refused = api.failure(
                    "forbidden", "MCP needs the scope 'write'", "ricordo serve tokens add NAME --scope write"
                )
                await send_json(send, 403, refused, [])
                return
            await self._mcp(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        document.setdefault("components", {})["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        app.openapi_schema = document
    return app.openapi_schema
