"""Reads the body of a request: only for callers that may use its route, and only so much of it as they may send.

A framework reads and parses a body before it asks who sent it. So the body is held back here until the route is known.
JSON and forms are looked at before they are parsed: their names are counted, and how deep they are nested.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ricordo.frozen import frozen
from ricordo.hosting.sockets import is_mcp

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

    from ricordo.hosting.credentials import Caller

LARGEST_WITHOUT_CONTENT = 64_000
"""Bytes of a body that nobody reads: of strangers, and of requests that only ask."""
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


@frozen
class RequestLimits:
    """How much one caller may send."""

    body: int = 64_000_000

    def body_of(self, scope: Scope, caller: Caller | None) -> int:
        """Bytes that the body of a request may have: by who sends it, and where to."""
        if caller is None or scope["method"] in SAFE_METHODS:
            return min(self.body, LARGEST_WITHOUT_CONTENT)
        if not caller.may("write"):
            return min(self.body, LARGEST_OF_READERS)
        return min(self.body, LARGEST_OF_MCP) if is_mcp(scope["path"]) else self.body


def refuse_large(length: str, limit: int) -> None:
    """Refuse a body by the length that its head states."""
    if not length.isdigit() or int(length) > limit:
        raise too_large(limit)


def too_large(limit: int) -> Refused:
    """The answer to a body of too many bytes."""
    return Refused(413, "too_large", f"the request has more than {limit:,} bytes", "Send less.")


def refuse_scope(caller: Caller | None, route: Any) -> None:
    """Refuse a caller without the scope that the route's conditions name."""
    for condition in getattr(route, "dependencies", ()):
        wanted = getattr(condition.dependency, "scope", "")
        if wanted and caller is not None and not caller.may(wanted):
            raise Refused(
                403,
                "forbidden",
                f"this needs the scope '{wanted}', and the token has '{caller.scope}'",
                f"ricordo serve tokens add NAME --scope {wanted}",
            )


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
    for found in _OPENING.finditer(body):
        depth += 1 if found[0] in b"[{" else -1
        if depth > DEEPEST:
            raise Refused(400, "usage", f"the body is nested more than {DEEPEST} deep", "Send flatter data.")


class GuardedBody:
    """The body of one request, and the answer to it: what is not let in is answered here, whatever the application
    says.
    """

    def __init__(
        self,
        scope: Scope,
        headers: Mapping[bytes, str],
        caller: Caller | None,
        limit: int,
        receive: Receive,
        send: Send,
    ) -> None:
        self._scope = scope
        self._caller = caller
        self._limit = limit
        self._receive = receive
        self._send = send
        self._taken = 0
        self._media_type = headers.get(b"content-type", "").lower()
        self._refused: Refused | None = None
        self._asked = False
        self._answered = False

    async def receive(self) -> Message:
        """The next part of the body; if it is refused, it acts as if the sender had disconnected."""
        try:
            if self._asked:
                return await self._part()
            self._asked = True
            refuse_scope(self._caller, self._scope.get("route"))
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
