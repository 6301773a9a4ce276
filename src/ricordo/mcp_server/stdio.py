"""MCP over standard input and output: one client, until its end of the pipe closes.

The SDK keeps standard output for the protocol and reads and writes UTF-8 whatever the locale. What it leaves out is
added here: a line that is no message gets an answer, and calls that are under way when the input ends are finished.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
from types import TracebackType
from typing import Any, Self

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from ricordo.mcp_server.protocol import Threads, server_for
from ricordo.mcp_server.service import Service

FINISHING_SECONDS = 5.0
"""How long calls under way may take once the input has ended."""
CLOSING_SECONDS = 5.0
"""How long closing may take after that. What was acknowledged is on disk before."""

log = logging.getLogger("ricordo.mcp")


def serve(service: Service) -> None:
    """Serve until standard input ends, then close the store."""
    # A read that waits for input cannot be interrupted; dying at once loses nothing that was acknowledged.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    threads = Threads()
    try:
        anyio.run(_serve, service, threads)
    except* OSError as gone:  # the client closed its end; there is nobody left to tell
        log.debug("the client is gone: %s", gone)
    finally:
        threads.close()
        if not threads.busy:
            service.close()
    leave(threads)


def leave(threads: Threads) -> None:
    """End the process although a call, the read of an input that stays open, or a model at work never returns.

    Daemons count, too: taking down a model that one of them still uses can keep the interpreter from ending.
    """
    others = [one for one in threading.enumerate() if one is not threading.main_thread()]
    if threads.busy or any(not one.name.startswith("ricordo-call") for one in others):
        sys.stderr.flush()
        os._exit(0)


def leave_in_time() -> None:
    """End the process, whatever holds it up, when calls and the store had their time to end well."""
    last = threading.Timer(FINISHING_SECONDS + CLOSING_SECONDS, os._exit, (0,))
    last.daemon = True
    last.start()


async def _serve(service: Service, threads: Threads) -> None:
    server = server_for(service, threads)
    async with stdio_server() as (incoming, outgoing):
        wire = Wire(outgoing)
        forward, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wire.carry, incoming, forward)
            await server.run(inbox, wire, server.create_initialization_options())
            tasks.cancel_scope.cancel()


class Wire:
    """The outgoing side, which knows which requests still wait for their answer."""

    def __init__(self, outgoing: Any) -> None:
        self._outgoing = outgoing
        self._waiting: set[str | int] = set()
        self._changed = anyio.Event()

    async def carry(self, incoming: Any, forward: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        """Hand on what comes in; answer what is no message; at the end wait for answers that are due."""
        async with forward:
            async for item in incoming:
                if isinstance(item, Exception):
                    message = second_reading(item)
                    item = SessionMessage(message)
                    if isinstance(message, types.JSONRPCError):
                        await self._outgoing.send(item)
                        continue
                if isinstance(item.message, types.JSONRPCRequest):
                    self._waiting.add(item.message.id)
                elif isinstance(item.message, types.JSONRPCNotification):
                    self._forget_cancelled(item.message)
                await forward.send(item)
            leave_in_time()
            with anyio.move_on_after(FINISHING_SECONDS):
                while self._waiting:
                    await self._changed.wait()

    async def send(self, item: SessionMessage) -> None:
        await self._outgoing.send(item)
        if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError) and item.message.id is not None:
            self._answered(item.message.id)

    def _forget_cancelled(self, message: types.JSONRPCNotification) -> None:
        if message.method == "notifications/cancelled":
            self._answered((message.params or {}).get("requestId", ""))

    def _answered(self, request: str | int) -> None:
        self._waiting.discard(request)
        self._changed.set()
        self._changed = anyio.Event()

    async def aclose(self) -> None:
        await self._outgoing.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def second_reading(problem: Exception) -> types.JSONRPCMessage:
    """A line that the SDK could not read: the message after all, or the answer that says what is wrong with it.

    Half a character (``\\ud83e``), which some clients send when they cut a text, is read as a question mark.
    """
    line = _input_of(problem)
    try:
        plain = json.loads(line) if isinstance(line, str | bytes) else line
        clean = json.dumps(plain, ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return _refusal(types.PARSE_ERROR, "this line is not JSON; a message is one line of JSON")
    try:
        return types.jsonrpc_message_adapter.validate_json(clean, by_name=False)
    except ValidationError:
        known = plain.get("id") if isinstance(plain, dict) else None
        request = known if isinstance(known, str | int) and not isinstance(known, bool) else None
        return _refusal(types.INVALID_REQUEST, "this is JSON, but not a JSON-RPC 2.0 message", request)


def _input_of(problem: Exception) -> Any:
    """What could not be read: the line, or the object it held."""
    if not isinstance(problem, ValidationError):
        return ""
    inputs = [error["input"] for error in problem.errors(include_url=False, include_context=False)]
    return next((one for one in inputs if isinstance(one, dict)), inputs[0])


def _refusal(code: int, message: str, request: str | int | None = None) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=request, error=types.ErrorData(code=code, message=message))
