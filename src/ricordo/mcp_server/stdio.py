"""MCP over standard input and output: one client, until it closes its end of the pipe.

A message is one line of JSON-RPC 2.0, read once and written once. The official SDK has no part in it: it takes a second
to import while a client waits for the list of tools, does not answer a line that is no message, and does not finish
calls when the input ends.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO

from ricordo.hooks.local_server import HookDoor
from ricordo.hosting.service import THREADS, leave
from ricordo.mcp_server.protocol import (
    ABOUT,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    ON_THE_STORE,
    Handlers,
    Report,
    RequestError,
    for_caller,
)
from ricordo.mcp_server.service import ToolService, written

FINISHING_SECONDS = 5.0
"""How long running calls may take once the input has ended."""
CLOSING_SECONDS = 5.0
"""How long closing the store may take after that. What was acknowledged is on disk before."""
DOOR_AFTER_SECONDS = 2.0
"""When hooks are let in: the client comes first."""
FIRST_LIST_SECONDS = 1.0
"""If the store is not open after this time, the list of resources begins empty, because some clients wait for it before
they show our tools."""
NOTHING_YET: dict[str, Any] = {"resources": []}
PARSE_ERROR = -32700
UNSUPPORTED_VERSION = -32022
GREETED_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The versions of the protocol that a client begins with by ``initialize``."""
STATELESS_VERSIONS = ("2026-07-28",)
"""The versions whose requests say each for itself who asks, in ``_meta``, without a greeting."""
META = "io.modelcontextprotocol/"
UNSAVED = {"ttlMs": 0, "cacheScope": "private"}
CAPABILITIES: dict[str, Any] = {
    "completions": {},
    "prompts": {"listChanged": False},
    "resources": {"listChanged": True, "subscribe": False},
    "tools": {"listChanged": False},
}
Message = dict[str, Any]
Answer = Callable[[str, dict[str, Any], Report | None], dict[str, Any]]


def serve(service: ToolService) -> None:
    """Serve until standard input ends, then close the store."""
    # A read that waits for input cannot be interrupted; dying at once loses nothing that was acknowledged.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    reader, writer = _claim_streams()
    door = HookDoor()
    opening = threading.Timer(DOOR_AFTER_SECONDS, lambda: door.open() if service.answers_hooks else None)
    opening.daemon = True
    opening.start()
    talk = Conversation(service, writer)
    while line := reader.readline():
        talk.take(line)
    _leave_in_time()
    opening.cancel()
    is_idle = talk.finish(FINISHING_SECONDS)
    door.close()
    if is_idle:
        service.close()
    leave(is_busy=not is_idle)


def _leave_in_time() -> None:
    """End the process after the time for running calls and for closing, whatever still holds it up."""
    last = threading.Timer(FINISHING_SECONDS + CLOSING_SECONDS, os._exit, (0,))
    last.daemon = True
    last.start()


def _claim_streams() -> tuple[BinaryIO, BinaryIO]:
    """The process's input and output for the protocol alone.

    From now on descriptor 0 reads nothing, and descriptor 1 leads to standard error: what other code prints cannot
    get between the messages.
    """
    sys.stdout.flush()
    reader, writer = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return reader, writer


class Conversation:
    """Answers the requests of one client; those that need the store in threads, each within its time."""

    def __init__(self, service: ToolService, writer: BinaryIO) -> None:
        self._service = service
        self._handlers = Handlers(service)
        self._writer: BinaryIO | None = writer
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="ricordo-call")
        self._program: Any = None
        """What the client's program calls itself, once it has greeted."""
        self._waiting: set[str | int] = set()
        """The requests that have no answer yet."""
        self._working = 0
        self._turn = threading.Condition()

    def take(self, line: bytes) -> None:
        """Answer a line, now or later."""
        try:
            message = read_message(line)
        except NotAMessage as problem:
            self._send(problem.answer)
            return
        method, request = message.get("method"), message.get("id")
        if method == "notifications/cancelled":
            self._settle(_params(message).get("requestId"))
        if method is None or request is None:
            return
        with self._turn:
            self._waiting.add(request)
            self._working += method in ON_THE_STORE
        if method not in ON_THE_STORE:
            self._respond(message, self._answer_at_once)
            return
        late = threading.Timer(self._service.seconds, self._respond, (message, self._handlers.out_of_time))
        late.daemon = True
        late.start()
        if method == "resources/list" and not self._service.is_open:
            self._begin_list(message, late)
        else:
            self._pool.submit(self._work, message, late)

    def _begin_list(self, message: Message, late: threading.Timer) -> None:
        """Answer with an empty list if the store takes long to open, and say when the whole list can be had."""

        def give_up() -> None:
            if self._respond(message, lambda *_: NOTHING_YET):
                is_early.set()

        def work() -> None:
            self._work(message, late)
            early.cancel()
            early.join()
            if is_early.is_set():
                self._send({"jsonrpc": "2.0", "method": "notifications/resources/list_changed"})

        is_early = threading.Event()
        early = threading.Timer(FIRST_LIST_SECONDS, give_up)
        early.daemon = True
        early.start()
        self._pool.submit(work)

    def finish(self, seconds: float) -> bool:
        """Wait until all requests are answered, at most so long; whether no work is left."""
        with self._turn:
            self._turn.wait_for(lambda: not self._waiting, seconds)
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._turn.wait_for(lambda: not self._working, 0 if self._waiting else 1)
            return not self._working

    def _work(self, message: Message, late: threading.Timer) -> None:
        try:
            self._respond(message, self._handlers.answer)
        finally:
            late.cancel()
            with self._turn:
                self._working -= 1
                self._turn.notify_all()

    def _report(self, message: Message) -> Report | None:
        """How a request's progress is told; None if the client did not ask for it."""
        token = _meta(message).get("progressToken")

        def tell(done: float, total: float | None, words: str) -> None:
            params = {"progressToken": token, "progress": done, "total": total, "message": words}
            self._send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}, message["id"])

        return None if token is None else tell

    def _answer_at_once(self, method: str, params: dict[str, Any], _: Report | None) -> dict[str, Any]:
        offer = {"capabilities": CAPABILITIES, "instructions": self._handlers.instructions}
        if method == "ping":
            return {}
        if method == "server/discover":
            return {"supportedVersions": list(STATELESS_VERSIONS), **offer}
        if method != "initialize":
            return self._handlers.answer(method, params)
        version, client = params.get("protocolVersion"), params.get("clientInfo")
        if not isinstance(version, str):
            raise RequestError(INVALID_PARAMS, "initialize needs the parameter 'protocolVersion', a text")
        self._program = client.get("name", "") if isinstance(client, dict) else ""
        version = version if version in GREETED_VERSIONS else GREETED_VERSIONS[-1]
        return {"protocolVersion": version, "serverInfo": ABOUT, **offer}

    def _respond(self, message: Message, answer: Answer) -> bool:
        """Send the answer to a request, unless it was cancelled or has one; whether it was sent."""
        method, meta = message["method"], _meta(message)
        version, client = meta.get(f"{META}protocolVersion"), meta.get(f"{META}clientInfo")
        reply: Message = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            self._check_version(method, version)
            with for_caller(client.get("name") if isinstance(client, dict) else self._program):
                result = answer(method, _params(message), self._report(message))
            reply["result"] = result if version is None or method == "initialize" else _stateless(method, result)
        except RequestError as error:
            reply["error"] = {"code": error.code, "message": error.message}
            if error.data is not None:
                reply["error"]["data"] = error.data
        return self._send(reply, message["id"])

    def _check_version(self, method: str, version: object) -> None:
        """Refuse versions that are not spoken here, and what comes before a greeting."""
        if version is None and method == "server/discover":
            raise RequestError(METHOD_NOT_FOUND, "Method not found", method)
        if version is None and self._program is None and method in self._handlers.methods:
            raise RequestError(INVALID_PARAMS, "a client first sends initialize")
        if version is not None and version not in STATELESS_VERSIONS and method != "initialize":
            data = {"supported": list(STATELESS_VERSIONS), "requested": version}
            raise RequestError(UNSUPPORTED_VERSION, "Unsupported protocol version", data)

    def _settle(self, request: Any) -> None:
        """Nothing more is sent about this request."""
        with self._turn:
            self._waiting.discard(request)
            self._turn.notify_all()

    def _send(self, message: Message, request: str | int | None = None) -> bool:
        """Write a message, and say whether it was written; one about a request only while that waits for an answer.

        The request is settled before its answer can be read, because the client may use the id again.
        """
        rest = memoryview(written(message) + b"\n")
        with self._turn:
            if self._writer is None or (request is not None and request not in self._waiting):
                return False
            if request is not None and "method" not in message:
                self._settle(request)
            try:
                while rest:
                    rest = rest[self._writer.write(rest) :]
            except OSError:  # the client closed its end, so there is nobody left to answer
                self._writer = None
                _leave_in_time()
        return True


def _params(message: Message) -> dict[str, Any]:
    return message.get("params") or {}


def _meta(message: Message) -> dict[str, Any]:
    meta = _params(message).get("_meta")
    return meta if isinstance(meta, dict) else {}


def _stateless(method: str, result: dict[str, Any]) -> dict[str, Any]:
    """A result as the versions without a greeting have it."""
    fresh = {} if method in ("tools/call", "prompts/get", "completion/complete", "ping") else UNSAVED
    return {**result, **fresh, "resultType": "complete", "_meta": {f"{META}serverInfo": ABOUT}}


class NotAMessage(Exception):  # noqa: N818 - it is answered, not reported
    """A line that is no JSON-RPC message; ``answer`` is the error to send back."""

    def __init__(self, code: int, message: str, request: object = None) -> None:
        super().__init__(message)
        request_id = request if _is_id(request) else None
        self.answer = {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}


def read_message(line: bytes) -> Message:
    """The message on a line.

    Bytes that are no UTF-8, and half a character (``\\ud83e``), which some clients send when they cut a text, become
    question marks or the replacement character.
    """
    try:
        plain = json.loads(line.decode("utf-8", "replace"))
        if b"\\ud" in line.lower():
            plain = json.loads(json.dumps(plain, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise NotAMessage(PARSE_ERROR, "this line is not JSON; a message is one line of JSON") from None
    about = plain if isinstance(plain, dict) else {}
    is_request = isinstance(about.get("method"), str) and ("id" not in about or _is_id(about["id"]))
    is_answer = "method" not in about and _is_id(about.get("id")) and ("result" in about or "error" in about)
    has_form = about.get("jsonrpc") == "2.0" and isinstance(about.get("params"), dict | None)
    if not has_form or not (is_request or is_answer):
        raise NotAMessage(INVALID_REQUEST, "this is JSON, but not a JSON-RPC 2.0 message", about.get("id"))
    return about


def _is_id(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)
