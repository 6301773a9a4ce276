"""MCP over standard input and output: one client, until it closes its end of the pipe.

Lines are read and written here rather than by the SDK, because the SDK does not answer a line that is no message, does
not finish calls when the input ends, and (in 1.x) lets a stray ``print`` into the protocol.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from pydantic import ValidationError

from ricordo.config.files import replace_file
from ricordo.errors import Error
from ricordo.hooks.door import HookDoor
from ricordo.hosting.threads import CallThreads, leave
from ricordo.mcp_server.front import Lines, taken_over
from ricordo.mcp_server.known import page_path, record_bytes
from ricordo.mcp_server.preparing import prepare
from ricordo.mcp_server.protocol import server_for
from ricordo.mcp_server.sdk import SessionMessage, initialization_of, on_the_wire, read_message, written_message
from ricordo.mcp_server.service import ToolService

FINISHING_SECONDS = 5.0
"""How long running calls may take once the input has ended."""
CLOSING_SECONDS = 5.0
"""How long closing the store may take after that. What was acknowledged is on disk before."""
BESIDE_AFTER_SECONDS = 2.0
"""When something is done for others than the client, who comes first."""
PARSE_ERROR = -32700
INVALID_REQUEST = -32600

log = logging.getLogger("ricordo.mcp")


def serve(service: ToolService, chosen: Sequence[str] = (), args: Sequence[str] = ()) -> None:
    """Serve until standard input ends, then close the store.

    ``chosen`` and ``args`` are what the record of first answers and that of resources go by.
    """
    # A read that waits for input cannot be interrupted; dying at once loses nothing that was acknowledged.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    threads = CallThreads()
    reader, writer, given = taken_over()
    wire = Wire(writer, given, Path(page_path(args, os.environ)), lambda: service.keeps_titles)
    door = HookDoor()
    try:
        anyio.run(_serve, service, threads, reader, wire, partial(_beside, service, chosen, door))
    except* anyio.BrokenResourceError as problem:  # the client closed its end, so there is nobody left to answer
        log.debug("the client is gone: %s", problem)
    finally:
        door.close()
        threads.close()
        if not threads.busy:
            service.close()
    leave(threads)


def leave_in_time() -> None:
    """End the process after the time for running calls and for closing, whatever still holds it up."""
    last = threading.Timer(FINISHING_SECONDS + CLOSING_SECONDS, os._exit, (0,))
    last.daemon = True
    last.start()


async def _serve(
    service: ToolService,
    threads: CallThreads,
    reader: Lines | BinaryIO,
    wire: Wire,
    beside: Callable[[], Coroutine[Any, Any, None]],
) -> None:
    server = server_for(service, threads)
    forward, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wire.carry, reader, forward)
        tasks.start_soon(beside)
        await server.run(inbox, wire, initialization_of(server))
        tasks.cancel_scope.cancel()


async def _beside(service: ToolService, chosen: Sequence[str], door: HookDoor) -> None:
    """What is done for others when the conversation has begun: answers are written down, and hooks are let in."""
    await anyio.sleep(BESIDE_AFTER_SECONDS)
    await prepare(service, chosen)
    if service.answers_hooks:
        door.open()


class Wire:
    """Reads and writes lines, and knows which requests still wait for their answer."""

    def __init__(self, writer: BinaryIO, given: Mapping[str | int, str], page: Path, keeps: Callable[[], bool]) -> None:
        self._writer = writer
        self._given = dict(given)
        """What was answered before the server was there; its own answers to these requests are not sent."""
        self._page = page
        self._keeps = keeps
        """Whether the list of resources may be written to a file."""
        self._pages: set[str | int] = set()
        """The requests for the first page of resources."""
        self._version = ""
        self._writing = anyio.Lock()
        self._waiting: set[str | int] = set()
        self._changed = anyio.Event()

    async def carry(
        self, reader: Lines | BinaryIO, forward: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        """Hand each message to the server; answer a line that is no message; at the end wait for answers."""
        async with forward:
            while line := await anyio.to_thread.run_sync(reader.readline, abandon_on_cancel=True):
                try:
                    plain, message = parsed(line)
                except NotAMessage as problem:
                    await self._write(problem.answer)
                    continue
                if "id" in plain and "method" in plain:
                    self._waiting.add(plain["id"])
                    if plain["method"] == "resources/list" and not (plain.get("params") or {}).get("cursor"):
                        self._pages.add(plain["id"])
                elif plain.get("method") == "notifications/cancelled":
                    self._answered((plain.get("params") or {}).get("requestId", ""))
                await forward.send(message)
            leave_in_time()
            with anyio.move_on_after(FINISHING_SECONDS):
                while self._waiting:
                    await self._changed.wait()

    async def send(self, message: SessionMessage) -> None:
        plain = written_message(message)
        given = self._given.pop(plain.get("id", ""), None) if "method" not in plain else None
        if "result" in plain:
            await self._keep(plain["id"], plain["result"], given)
        if given is None:
            await self._write(plain)
        if "method" not in plain and plain.get("id") is not None:
            self._answered(plain["id"])

    async def _keep(self, request: str | int, result: dict[str, Any], given: str | None) -> None:
        """Keep the list of resources for the next server; say so if another one was given before this one was there."""
        self._version = result.get("protocolVersion") or self._version
        if request not in self._pages:
            return
        self._pages.discard(request)
        page = on_the_wire(result)
        if given is not None and given != page:
            await self._write({"jsonrpc": "2.0", "method": "notifications/resources/list_changed"})
        if given != page and await anyio.to_thread.run_sync(self._keeps):
            with suppress(Error):  # the next server loads before it answers
                replace_file(self._page, record_bytes({self._version: {"resources/list": page}}, ()))

    async def _write(self, plain: dict[str, Any]) -> None:
        line = on_the_wire(plain).encode("utf-8", "replace") + b"\n"
        async with self._writing:
            try:
                await anyio.to_thread.run_sync(self._write_all, line)
            except OSError as problem:  # the client closed its end; the SDK knows this error
                raise anyio.BrokenResourceError from problem

    def _write_all(self, line: bytes) -> None:
        rest = memoryview(line)
        while rest:
            rest = rest[self._writer.write(rest) :]

    def _answered(self, request: str | int) -> None:
        self._waiting.discard(request)
        self._changed.set()
        self._changed = anyio.Event()

    async def aclose(self) -> None:
        """Nothing to close: the process ends with the conversation."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class NotAMessage(Exception):  # noqa: N818 - it is answered, not reported
    """A line that is no JSON-RPC message; ``answer`` is the error to send back."""

    def __init__(self, code: int, message: str, request: object = None) -> None:
        super().__init__(message)
        known = request if isinstance(request, str | int) and not isinstance(request, bool) else None
        self.answer = {"jsonrpc": "2.0", "id": known, "error": {"code": code, "message": message}}


def parsed(line: bytes) -> tuple[dict[str, Any], SessionMessage]:
    """The message on a line, plain and as the SDK's type.

    Bytes that are no UTF-8, and half a character (``\\ud83e``), which some clients send when they cut a text, become
    question marks or the replacement character.
    """
    try:
        plain = json.loads(line.decode("utf-8", "replace"))
        clean = json.dumps(plain, ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        raise NotAMessage(PARSE_ERROR, "this line is not JSON; a message is one line of JSON") from None
    try:
        message = read_message(clean)
    except ValidationError:
        request = plain.get("id") if isinstance(plain, dict) else None
        raise NotAMessage(INVALID_REQUEST, "this is JSON, but not a JSON-RPC 2.0 message", request) from None
    return plain, message
