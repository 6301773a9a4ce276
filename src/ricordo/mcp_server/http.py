"""MCP over streamable HTTP: one process serves many clients, who send a token.

Every user of a machine can reach its loopback address, so a token is asked for there, too; where none is set, one is
made and kept in a file that only the user can read. The Host and Origin of every request are checked, so that a web
page cannot reach the server by a host name of its own.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import stat
import sys
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.errors import UsageError
from ricordo.hosting.listening import MCP_PATH, allowed_hosts, bracketed, is_loopback, listen
from ricordo.mcp_server.service import LARGEST_ARGUMENTS, ToolService

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

ROOM_FOR_THE_ENVELOPE = 64 * 1024
SHORTEST_TOKEN = 16
TOKEN_FILE = "mcp-token"


def serve(
    service: ToolService, *, host: str, port: int, token: str = "", names: Sequence[str] = (), is_open: bool = False
) -> None:
    """Serve until interrupted, then close the store. Port 0 takes a free port; the address is printed to stderr.

    Without a token the user's own is asked for, unless the server ``is_open`` to all programs of this machine.
    """
    require_token(host, token)
    listening = listen(host, port)
    note = ""
    if not token and not is_open:
        token, file = own_token()
        note = f"ricordo mcp: clients send 'Authorization: Bearer TOKEN'; the token is in {file}\n"
    import uvicorn

    from ricordo.hosting.arriving import protocol_within
    from ricordo.hosting.threads import CallThreads, leave

    threads = CallThreads()
    app = app_for(service, threads, host=host, token=token, names=names)
    config = uvicorn.Config(
        app,
        http=protocol_within(service.settings().serve.request_seconds),
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=2,
        lifespan="on",
    )
    address = f"http://{bracketed(host)}:{listening.getsockname()[1]}{MCP_PATH}"
    sys.stderr.write(f"ricordo mcp: {address}\n{note}")
    sys.stderr.flush()
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        threads.close()
        if not threads.busy:
            service.close()
    leave(threads)


def app_for(
    service: ToolService, threads: Any, *, host: str = "127.0.0.1", token: str = "", names: Sequence[str] = ()
) -> OwnHost:
    """The ASGI application, which checks host, origin, size and (if there is one) token of every request."""
    from ricordo.mcp_server.protocol import server_for
    from ricordo.mcp_server.sdk import http_app

    known = allowed_hosts(host, names)
    app: ASGIApp = http_app(
        server_for(service, threads),
        MCP_PATH,
        hosts=[*known, *(f"{name}:*" for name in known)],
        origins=[f"{scheme}://{name}{port}" for scheme in ("http", "https") for name in known for port in ("", ":*")],
        largest=LARGEST_ARGUMENTS + ROOM_FOR_THE_ENVELOPE,
    )
    return OwnHost(Bearer(app, token) if token else app, known, other_ports=bool(token))


def require_token(host: str, token: str) -> None:
    """Refuse an address that other machines can reach when there is no token, and a token that can be guessed."""
    if token and len(token) < SHORTEST_TOKEN:
        raise UsageError(
            f"the token has {len(token)} characters, and shorter than {SHORTEST_TOKEN} can be guessed",
            hint="Make a long one: python -c 'import secrets; print(secrets.token_urlsafe(32))'",
        )
    if token or is_loopback(host):
        return
    raise UsageError(
        f"{host} can be reached from other machines, so it needs a token",
        hint="Set RICORDO_MCP_TOKEN (clients send it as a bearer token), or leave out --host.",
    )


def own_token() -> tuple[str, Path]:
    """The token of this user, and the file it stands in; it is made when it is first needed.

    A file that others could have read or written is not believed: it is written anew.
    """
    from ricordo.config.files import locked, replace_file, state_home

    file = state_home(os.environ) / TOKEN_FILE
    with locked(file):
        try:
            found = file.lstat()
            is_private = os.name != "posix" or (found.st_uid == os.getuid() and not found.st_mode & 0o077)
            token = file.read_text(encoding="ascii").strip() if is_private and stat.S_ISREG(found.st_mode) else ""
        except (OSError, ValueError):
            token = ""
        if len(token) < SHORTEST_TOKEN:
            token = secrets.token_urlsafe(32)
            file.unlink(missing_ok=True)
            replace_file(file, f"{token}\n".encode())
    return token, file


class OwnHost:
    """Refuses requests whose Host is not one of our names with a port, or whose Origin differs from that Host.

    With ``other_ports``, pages of other programs on this machine may send requests, too, if they have the token.
    """

    def __init__(self, app: ASGIApp, names: Sequence[str], *, other_ports: bool = False) -> None:
        self._app = app
        self._other_ports = other_ports
        self._host = re.compile(rf"(?:{'|'.join(map(re.escape, names))})(?::\d{{1,5}})?", re.IGNORECASE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {name: value.decode("latin-1").lower() for name, value in scope["headers"]}
            host, origin = headers.get(b"host", ""), headers.get(b"origin")
            is_ours = self._host.fullmatch(host) is not None
            if not is_ours or (origin is not None and not self._is_known(origin, host)):
                from starlette.responses import PlainTextResponse

                status = 403 if is_ours else 421
                await PlainTextResponse("this request is meant for another host, or comes from one", status)(
                    scope, receive, send
                )
                return
        await self._app(scope, receive, send)

    def lifespan(self) -> AbstractAsyncContextManager[Any]:
        """What must run while requests are answered, for the code that mounts an application without a token."""
        inner: Any = self._app
        running: AbstractAsyncContextManager[Any] = inner.router.lifespan_context(inner)
        return running

    def _is_known(self, origin: str, host: str) -> bool:
        scheme, sign, place = origin.partition("://")
        if not sign or scheme not in ("http", "https"):
            return False
        return place == host or (self._other_ports and self._host.fullmatch(place) is not None)


class Bearer:
    """Passes on the requests that carry the token, and refuses the others."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._wanted = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, self._wanted):
                from starlette.responses import JSONResponse

                refused = {"error": "invalid_token", "error_description": "Send Authorization: Bearer TOKEN."}
                await JSONResponse(refused, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, send)
                return
        await self._app(scope, receive, send)
