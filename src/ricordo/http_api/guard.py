"""Decides which requests the server accepts, and who sent them.

Checked are, in this order: that the request uses one of the server's host names (another site could point a host name
of its own at this machine), that it does not come from another site, who sends it, that it is small enough for this
caller, and that the caller may use its route. A request that is let in has its caller in ``scope["state"]``.

A framework reads and parses a body before it asks who sent it. So the body is held back here until the route is known.
JSON and forms are looked at before they are parsed: their names are counted, and how deep they are nested.
Tokens and codes are long and random, so guesses need not be counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ricordo.errors import Unavailable
from ricordo.hosting.credentials import Caller, Credentials, is_same
from ricordo.hosting.sockets import is_mcp
from ricordo.permissions import asked_with
from ricordo.speaking import speaking
from ricordo.values.provenance import NOBODY

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


OPEN_PATHS = ("/healthz", "/sign-in", "/favicon.ico")
OPEN_FOLDER = "/static/"
SECURITY_HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"font-src 'self'; manifest-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)


class Guard:
    """The outermost layer of the application."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: list[str],
        credentials: Credentials,
        local_token: str = "",
        cookie: str = "ricordo",
        sign_in_page: ASGIApp | None = None,
    ) -> None:
        self._app = app
        self._hosts = {name.lower() for name in hosts}
        self._credentials = credentials
        self._local = local_token
        self._cookie = cookie
        self._sign_in_page = sign_in_page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        send = _with_security_headers(send)
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        try:
            host = self._called_by(headers)
            self._refuse_other_origins(scope, headers, host)
            caller = self._caller(scope, headers)
            largest = largest_body(scope, caller)
            refuse_large(headers.get(b"content-length", "0"), largest)
            if caller is None:
                self._refuse_strangers(scope)
        except Refused as refused:
            await self._answer(refused, scope, headers, receive, send=send)
            return
        scope.setdefault("state", {})["caller"] = caller
        body = GuardedBody(headers.get(b"content-type", "").lower(), largest, receive, send)
        provenance = caller.provenance if caller is not None else NOBODY
        with asked_with(caller.scope if caller is not None else "read"), speaking(provenance):
            await self._app(scope, body.receive, body.send)

    def _called_by(self, headers: Mapping[bytes, str]) -> str:
        host = headers.get(b"host", "").lower()
        if without_port(host) not in self._hosts:
            raise Refused(
                421,
                "wrong_host",
                "this server does not answer to that host name",
                "Use 127.0.0.1, or add the name to serve.names.",
            )
        return host

    def _refuse_other_origins(self, scope: Scope, headers: Mapping[bytes, str], host: str) -> None:
        """A browser says which page a request comes from; requests from pages of other sites are refused.

        Programs on other ports of this machine may speak MCP, if they show a token.
        """
        origin = headers.get(b"origin", f"http://{host}").lower()
        scheme, _, place = origin.partition("://")
        shows_token = is_mcp(scope["path"]) and b"authorization" in headers
        is_known = place == host or (shows_token and without_port(place) in self._hosts)
        if scheme not in ("http", "https") or not is_known:
            raise Refused(403, "wrong_origin", "this request comes from another site", "Open the page itself.")
        site = headers.get(b"sec-fetch-site", "none")
        mode = headers.get(b"sec-fetch-mode", "")
        if site == "cross-site" and mode != "navigate":
            raise Refused(403, "wrong_origin", "this request comes from another site", "Open the page itself.")

    def _caller(self, scope: Scope, headers: Mapping[bytes, str]) -> Caller | None:
        """Who asks: by a token in the header, or by the cookie of a browser that signed in."""
        given = headers.get(b"authorization", "")
        kind, _, secret = given.partition(" ")
        try:
            if given:
                caller = self._by_token(secret.strip()) if kind.lower() == "bearer" else None
                if caller is None:
                    raise Refused(
                        401, "wrong_token", "this token is not known", "'ricordo serve tokens add' makes one."
                    )
                return caller
            cookie = cookies(headers.get(b"cookie", "")).get(self._cookie, "")
            caller = self._credentials.check(cookie, "session") if cookie else None
        except Unavailable as problem:
            raise Refused(503, problem.code, problem.message, problem.hint) from None
        if caller is not None and scope["method"] not in SAFE_METHODS:
            self._refuse_without_origin(headers)
        return caller

    def _by_token(self, secret: str) -> Caller | None:
        if self._local and is_same(secret, self._local):
            return Caller("local", "a program of the same user", "admin", "local")
        return self._credentials.check(secret, "token")

    @staticmethod
    def _refuse_without_origin(headers: Mapping[bytes, str]) -> None:
        """Refuse a change without an Origin header: browsers send the cookie from any page, so the request must show
        that it comes from ours.
        """
        if b"origin" not in headers and headers.get(b"sec-fetch-site") != "same-origin":
            raise Refused(403, "wrong_origin", "the request does not say which page sent it", "Send an Origin header.")

    @staticmethod
    def _refuse_strangers(scope: Scope) -> None:
        path = scope["path"]
        if path in OPEN_PATHS or path.startswith(OPEN_FOLDER):
            return
        raise Refused(
            401,
            "no_token",
            "this needs a token or a signed-in browser",
            "'ricordo serve link' prints a link that signs a browser in.",
        )

    async def _answer(
        self, refused: Refused, scope: Scope, headers: Mapping[bytes, str], receive: Receive, *, send: Send
    ) -> None:
        wants_page = "text/html" in headers.get(b"accept", "") and not scope["path"].startswith("/api/")
        if refused.status == 401 and wants_page and self._sign_in_page is not None:
            await self._sign_in_page(scope, receive, send)
            return
        more = [(b"www-authenticate", b"Bearer")] if refused.status == 401 else []
        await send_json(send, refused.status, refused.plain, more)


def without_port(host: str) -> str:
    """The name part of a Host header: ``[::1]:8610`` is ``[::1]``; empty if what follows is no port."""
    name, port = host, ""
    if host.startswith("["):
        inside, bracket, port = host.partition("]")
        name = inside + bracket
    elif ":" in host:
        name, _, port = host.partition(":")
        port = f":{port}"
    return name if not port or (port[0] == ":" and port[1:].isdigit() and len(port) <= 6) else ""


def cookies(header: str) -> dict[str, str]:
    """The cookies of a header; other text in it is ignored."""
    pairs = (part.strip().partition("=") for part in header.split(";"))
    return {name: value.strip('"') for name, equals, value in pairs if equals}


def _with_security_headers(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = list(message.get("headers", []))
            names = {name.lower() for name, _ in given}
            given += [pair for pair in SECURITY_HEADERS if pair[0] not in names]
            if b"cache-control" not in names:
                given.append((b"cache-control", b"no-store"))
            message = {**message, "headers": given}
        await send(message)

    return with_headers


LARGEST_WITHOUT_CONTENT = 64_000
"""Bytes of a body that nobody reads: of strangers, and of requests that only ask."""
LARGEST = 64_000_000
LARGEST_OF_READERS = 1_000_000
LARGEST_OF_MCP = 4_259_840
MOST_NAMES = 10_000
"""How many names the objects of one body may have in all, or a form."""
MOST_VALUES = 200_000
DEEPEST = 100
LONG = 50_000
"""Bytes; longer bodies are looked at in a thread."""
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_OPENING = re.compile(rb"[\[\]{}]")


class Refused(Exception):  # noqa: N818 - it is the door's answer, not a fault
    """A request that is not let in, with the answer it gets."""

    def __init__(self, status: int, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.plain = {"error": {"code": code, "message": message, "hint": hint}}


def largest_body(scope: Scope, caller: Caller | None) -> int:
    """Bytes that the body of a request may have: by who sends it, and where to."""
    if caller is None or scope["method"] in SAFE_METHODS:
        return LARGEST_WITHOUT_CONTENT
    if not caller.may("write"):
        return LARGEST_OF_READERS
    return LARGEST_OF_MCP if is_mcp(scope["path"]) else LARGEST


def refuse_large(length: str, limit: int) -> None:
    """Refuse a body by the length that its head states."""
    if not length.isdigit() or int(length) > limit:
        raise too_large(limit)


def too_large(limit: int) -> Refused:
    """The answer to a body of too many bytes."""
    return Refused(413, "too_large", f"the request has more than {limit:,} bytes", "Send less.")


def refuse_shape(body: bytes, media_type: str) -> None:
    """Refuse JSON that is nested too deep, and JSON or forms of too many names and values, before they are parsed."""
    if "urlencoded" in media_type:
        names, values = body.count(b"&"), 0
    else:
        body = _STRING.sub(b"", body)
        names, values = body.count(b":"), body.count(b",") + body.count(b"[") + body.count(b"{")
    for count, most, word in ((names, MOST_NAMES, "names"), (values, MOST_VALUES, "values")):
        if count > most:
            raise Refused(413, "too_large", f"the body has more than {most:,} {word}", "Send it in parts.")
    depth = 0
    for bracket in _OPENING.finditer(body):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth > DEEPEST:
            raise Refused(400, "usage", f"the body is nested more than {DEEPEST} deep", "Send flatter data.")


class GuardedBody:
    """The body of one request, and the answer to it: what is not let in is answered here, whatever the application
    says.
    """

    def __init__(
        self,
        media_type: str,
        limit: int,
        receive: Receive,
        send: Send,
    ) -> None:
        self._limit = limit
        self._receive = receive
        self._send = send
        self._taken = 0
        self._media_type = media_type
        self._refused: Refused | None = None
        self._asked = False
        self._answered = False

    async def receive(self) -> Message:
        """The next part of the body; if it is refused, it acts as if the sender had disconnected."""
        try:
            if self._asked:
                return await self._part()
            self._asked = True
            is_parsed = not self._media_type.startswith(("multipart/", "application/octet-stream"))
            return await (self._looked_at() if is_parsed else self._part())
        except Refused as refused:
            self._refused = refused
            return {"type": "http.disconnect"}

    async def _part(self) -> Message:
        message = await self._receive()
        self._taken += len(message.get("body", b""))
        if self._taken > self._limit:
            raise too_large(self._limit)
        return message

    async def _looked_at(self) -> Message:
        parts: list[bytes] = []
        while True:
            message = await self._part()
            if message["type"] != "http.request":
                return message
            parts.append(message.get("body", b""))
            if not message.get("more_body"):
                break
        body = b"".join(parts)
        if len(body) > LONG:
            from anyio import to_thread

            await to_thread.run_sync(refuse_shape, body, self._media_type)
        else:
            refuse_shape(body, self._media_type)
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Message) -> None:
        """Pass on the application's answer, unless the body was refused."""
        if self._refused is None:
            await self._send(message)
        elif not self._answered:
            self._answered = True
            await send_json(self._send, self._refused.status, self._refused.plain, [(b"connection", b"close")])


async def send_json(send: Send, status: int, plain: Mapping[str, Any], more: list[tuple[bytes, bytes]]) -> None:
    """A JSON answer without the framework."""
    body = json.dumps(plain).encode()
    head = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})
