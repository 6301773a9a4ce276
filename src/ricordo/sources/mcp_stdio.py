"""Runs an MCP server as a process: limits the length of its messages, and makes sure that it ends.

The SDK has such a transport, too, but it keeps a line of any length in memory, and lets standard error fill a file. A
server from a settings file may be broken or hostile, so both are limited here.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from anyio.abc import ByteReceiveStream, Process
from mcp import types
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from ricordo.sources.mcp_config import McpServer
from ricordo.sources.mcp_versions import is_second

LONGEST_LINE = 8_000_000
"""Bytes of one message; a server that sends a longer one is ended."""
MOST_UNASKED = 16_000_000
"""Bytes that a server may send after one message of ours; a flood of small messages ends it, too."""
MOST_ERRORS = 4_000
"""Bytes of standard error that are kept: the last ones."""
PATIENCE = 2.0
"""Seconds that a server has to end by itself once its input is closed."""


class ServerProcess:
    """What is known about a running server apart from its messages."""

    def __init__(self) -> None:
        self.trouble = ""
        """Why we ended it, if we did."""
        self.said = b""
        """The end of its standard error."""

    def last_words(self) -> str:
        """The last line of its standard error."""
        lines = [line.strip() for line in self.said.decode("utf-8", "replace").splitlines() if line.strip()]
        return "".join(letter for letter in lines[-1][:200] if letter.isprintable()) if lines else ""


@asynccontextmanager
async def process_transport(server: McpServer, about: ServerProcess) -> AsyncIterator[Any]:
    """The two streams that the SDK's client speaks through; at the end the process and its children are gone."""
    env = get_default_environment() | dict(server.env)
    command = shutil.which(server.command, path=env.get("PATH")) or server.command
    process = await anyio.open_process(
        [command, *server.args], env=env, cwd=server.folder, start_new_session=sys.platform != "win32"
    )
    to_session, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    wire = _Wire(process, about)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wire.read, to_session)
            tasks.start_soon(wire.write, from_session)
            tasks.start_soon(wire.listen_to_errors)
            try:
                async with incoming, outgoing:
                    yield incoming, outgoing
            finally:
                with anyio.CancelScope(shield=True):
                    await _end(process)
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await process.aclose()


class _Wire:
    """Carries lines between a process and the session."""

    def __init__(self, process: Process, about: ServerProcess) -> None:
        self.process = process
        self.about = about
        self.unasked = 0

    async def read(self, to_session: Any) -> None:
        """Pass on every line that is a message; end the server when it sends too much."""
        assert self.process.stdout is not None
        async with to_session:
            held = bytearray()
            async for chunk in _chunks(self.process.stdout):
                self.unasked += len(chunk)
                held += chunk
                *lines, rest = held.split(b"\n") if b"\n" in chunk else (held,)
                held = bytearray(rest)
                if max(map(len, (*lines, held))) > LONGEST_LINE or self.unasked > MOST_UNASKED:
                    self.about.trouble = f"it sent more than {LONGEST_LINE // 1_000_000} MB at once and was ended"
                    _kill(self.process)
                    return
                for line in lines:
                    if (message := _message(bytes(line))) is not None:
                        try:
                            await to_session.send(SessionMessage(message))
                        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                            return

    async def write(self, from_session: Any) -> None:
        assert self.process.stdin is not None
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            async with from_session:
                async for item in from_session:
                    self.unasked = 0
                    text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await self.process.stdin.send(text.encode("utf-8", "replace") + b"\n")

    async def listen_to_errors(self) -> None:
        assert self.process.stderr is not None
        async for chunk in _chunks(self.process.stderr):
            self.about.said = (self.about.said + chunk)[-MOST_ERRORS:]


async def _chunks(stream: ByteReceiveStream) -> AsyncIterator[bytes]:
    with suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        while True:
            yield await stream.receive(65_536)


def _message(line: bytes) -> Any:
    """The message in a line; None for another line, such as the greeting that some servers print."""
    text = line.decode("utf-8", "replace")
    try:
        if is_second():
            return types.jsonrpc_message_adapter.validate_json(text, by_name=False)
        first: Any = types.JSONRPCMessage
        return first.model_validate_json(text)
    except (ValueError, RecursionError):
        return None


async def _end(process: Process) -> None:
    """Close its input, wait a little, then end the process and its children."""
    if process.stdin is not None:
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await process.stdin.aclose()
    with anyio.move_on_after(PATIENCE):
        while process.returncode is None:
            await anyio.sleep(0.01)
    _kill(process)
    with anyio.move_on_after(PATIENCE):
        while process.returncode is None:
            await anyio.sleep(0.01)


def _kill(process: Process) -> None:
    """End the process and its children at once, also the children of a process that has ended already."""
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            if process.returncode is None:
                tree = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
                subprocess.run(tree, capture_output=True, check=False, timeout=10)
        else:
            os.killpg(process.pid, signal.SIGKILL)
