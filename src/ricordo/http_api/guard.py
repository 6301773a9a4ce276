"""Decides which requests the server accepts, and who sent them.

Five things are checked, in this order: that the request uses one of the server's host names (another site could point a
host name of its own at this machine), that it does not come from another site, that it is small enough, who sends it,
and that this caller does not send too many. A request that is let in has its caller in ``scope["state"]``.
"""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ricordo.errors import Unavailable
from ricordo.frozen import frozen
from ricordo.hosting.credentials import Caller, Credentials
from ricordo.permissions import asked_with

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
OPEN_PATHS = ("/healthz", "/sign-in", "/favicon.ico")
OPEN_FOLDER = "/static/"
FAILURES_PER_MINUTE = 30
"""After this many wrong tokens or codes, an address has to wait."""
MOST_CALLERS = 10_000
SECURITY_HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)


@frozen
class RequestLimits:
    """How much one caller may send."""

    body: int = 64_000_000
    per_minute: int = 30_000


class Bucket:
    """Limits the requests of each caller to a number per minute, as a bucket that refills steadily."""

    def __init__(self) -> None:
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, name: str, per_minute: int) -> bool:
        """Whether the caller may ask once more."""
        now = time.monotonic()
        if len(self._left) > MOST_CALLERS:
            self._left.clear()
        left, at = self._left.get(name, (float(per_minute), now))
        left = min(float(per_minute), left + (now - at) * per_minute / 60)
        self._left[name] = (max(0.0, left - 1), now)
        return left >= 1


class Refused(Exception):  # noqa: N818 - it is the door's answer, not a fault
    """A request that is not let in, with the answer it gets."""

    def __init__(self, status: int, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.plain = {"error": {"code": code, "message": message, "hint": hint}}


class Guard:
    """The outermost layer of the application."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: list[str],
        credentials: Credentials,
        local_token: str = "",
        limits: Callable[[], RequestLimits] = RequestLimits,
        cookie: str = "ricordo",
        sign_in_page: ASGIApp | None = None,
    ) -> None:
        self._app = app
        self._hosts = {name.lower() for name in hosts}
        self._credentials = credentials
        self._local = local_token
        self._limits = limits
        self._cookie = cookie
        self._sign_in_page = sign_in_page
        self._bucket = Bucket()

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
            limits = self._limits()
            self._refuse_other_origins(headers, host)
            self._refuse_large(headers, limits)
            caller = self._caller(scope, headers)
            self._refuse_too_many(scope, caller, limits)
            self._refuse_strangers(scope, headers, caller)
        except Refused as refused:
            await self._answer(refused, scope, headers, receive, send)
            return
        scope.setdefault("state", {})["caller"] = caller
        body = BoundedBody(receive, send, limits.body)
        with asked_with(caller.scope if caller is not None else "read"):
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

    def _refuse_other_origins(self, headers: Mapping[bytes, str], host: str) -> None:
        """A browser says which page a request comes from; requests from pages of other sites are refused."""
        origin = headers.get(b"origin")
        if origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}"):
            raise Refused(403, "wrong_origin", "this request comes from another site", "Open the page itself.")
        site = headers.get(b"sec-fetch-site", "none")
        mode = headers.get(b"sec-fetch-mode", "")
        if site == "cross-site" and mode != "navigate":
            raise Refused(403, "wrong_origin", "this request comes from another site", "Open the page itself.")

    def _refuse_large(self, headers: Mapping[bytes, str], limits: RequestLimits) -> None:
        length = headers.get(b"content-length", "0")
        if not length.isdigit() or int(length) > limits.body:
            raise _too_large(limits.body)

    def _caller(self, scope: Scope, headers: Mapping[bytes, str]) -> Caller | None:
        """Who asks: by a token in the header, or by the cookie of a browser that signed in."""
        given = headers.get(b"authorization", "")
        kind, _, secret = given.partition(" ")
        try:
            if given:
                caller = self._by_token(secret.strip()) if kind.lower() == "bearer" else None
                if caller is None:
                    self._count_failure(scope)
                    raise Refused(401, "wrong_token", "this token is not known", "'ricordo tokens add' makes one.")
                return caller
            cookie = cookies(headers.get(b"cookie", "")).get(self._cookie, "")
            caller = self._credentials.check(cookie, "session") if cookie else None
        except Unavailable as problem:
            raise Refused(503, problem.code, problem.message, problem.hint) from None
        if caller is not None and scope["method"] not in SAFE_METHODS:
            self._refuse_without_origin(headers)
        return caller

    def _by_token(self, secret: str) -> Caller | None:
        if self._local and hmac.compare_digest(secret.encode("utf-8", "replace"), self._local.encode()):
            return Caller("local", "a program of the same user", "admin", "local")
        return self._credentials.check(secret, "token")

    @staticmethod
    def _refuse_without_origin(headers: Mapping[bytes, str]) -> None:
        """Refuse a change without an Origin header: browsers send the cookie from any page, so the request must show
        that it comes from ours.
        """
        if b"origin" not in headers and headers.get(b"sec-fetch-site") != "same-origin":
            raise Refused(403, "wrong_origin", "the request does not say which page sent it", "Send an Origin header.")

    def _refuse_too_many(self, scope: Scope, caller: Caller | None, limits: RequestLimits) -> None:
        name = caller.id if caller is not None else _address(scope)
        if not self._bucket.take(name, limits.per_minute):
            raise Refused(
                429, "too_many", "too many requests", "Wait a moment; the limit is serve.requests_per_minute."
            )

    def _count_failure(self, scope: Scope) -> None:
        if not self._bucket.take(f"failures {_address(scope)}", FAILURES_PER_MINUTE):
            raise Refused(429, "too_many", "too many wrong tokens", "Wait a minute.")

    def _refuse_strangers(self, scope: Scope, headers: Mapping[bytes, str], caller: Caller | None) -> None:
        path = scope["path"]
        if caller is not None or path in OPEN_PATHS or path.startswith(OPEN_FOLDER):
            if path == "/sign-in" and b"code=" in scope.get("query_string", b""):
                self._count_failure(scope)  # a valid code is used once, so this counts guesses
            return
        raise Refused(
            401,
            "no_token",
            "this needs a token or a signed-in browser",
            "'ricordo service link' prints a link that signs a browser in.",
        )

    async def _answer(
        self, refused: Refused, scope: Scope, headers: Mapping[bytes, str], receive: Receive, send: Send
    ) -> None:
        wants_page = "text/html" in headers.get(b"accept", "") and not scope["path"].startswith("/api/")
        if refused.status == 401 and wants_page and self._sign_in_page is not None:
            await self._sign_in_page(scope, receive, send)
            return
        more = [(b"www-authenticate", b"Bearer")] if refused.status == 401 else []
        if refused.status == 429:
            more = [(b"retry-after", b"2")]
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


async def send_json(send: Send, status: int, plain: Mapping[str, Any], more: list[tuple[bytes, bytes]]) -> None:
    """A JSON answer without the framework."""
    body = json.dumps(plain).encode()
    head = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


def _too_large(limit: int) -> Refused:
    return Refused(
        413, "too_large", f"the request has more than {limit:,} bytes", "Send less, or raise serve.max_body_mb."
    )


class BoundedBody:
    """Stops reading a body that is larger than it declared or than is allowed, and answers with an error."""

    def __init__(self, receive: Receive, send: Send, limit: int) -> None:
        self._receive = receive
        self._send = send
        self._limit = limit
        self._taken = 0
        self._answered = False

    async def receive(self) -> Message:
        """The next part of the body; beyond the limit, it acts as if the sender had disconnected."""
        message = await self._receive()
        self._taken += len(message.get("body", b""))
        return {"type": "http.disconnect"} if self._taken > self._limit else message

    async def send(self, message: Message) -> None:
        """Pass on the application's answer, unless the body was too large."""
        if self._taken <= self._limit:
            await self._send(message)
        elif not self._answered:
            self._answered = True
            refused = _too_large(self._limit)
            await send_json(self._send, refused.status, refused.plain, [(b"connection", b"close")])


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


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else "unknown"
