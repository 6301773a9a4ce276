"""Opens, lists and calls one MCP server with the SDK; ``mcp_client`` runs it for synchronous code.

A server from a settings file may be broken or hostile, so what it may send is limited: the length of a message over the
pipes of a process, standard error, and the size of an answer over HTTP. (The SDK has a transport for processes, too,
but it keeps a line of any length in memory, and lets standard error fill a file.)
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import anyio
import httpx2
from anyio.abc import ByteReceiveStream, Process
from mcp import types
from mcp.client.client import Client
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from ricordo._version import __version__
from ricordo.plugins.gateway.mcp_config import McpServer, OnProgress, Result, ServerProcess, ServerTool
from ricordo.values.reports import Progress

MOST_OFFERED = 1_000
"""How many tools, resources and prompts of one server are read at most."""
LONGEST_NOTICE = 200
"""How many letters of what a server says about its progress are passed on."""
_PAGES = 100
"""How many pages of a list are read at most, because a broken server may never end its list."""
_TIMED_OUT = (408, -32001)
_CLOSED = -32000
LONGEST_LINE = 8_000_000
"""Bytes of one message; a server that sends a longer one is ended."""
MOST_UNASKED = 16_000_000
"""Bytes that a server may send after one message of ours; a flood of small messages ends it, too."""
MOST_ERRORS = 4_000
"""Bytes of standard error that are kept: the last ones."""
PATIENCE = 2.0
"""Seconds that a server has to end by itself once its input is closed."""
MOST_BYTES = 32_000_000
"""Bytes of one answer; a server that sends more is cut off there."""


@asynccontextmanager
async def opened(
    server: McpServer, seconds: float, about: ServerProcess | None, changed: Callable[[], None]
) -> AsyncIterator[Client]:
    """A client that is connected to its server. The caller limits how long connecting may take."""
    async with AsyncExitStack() as stack:
        transport: Any
        headers = dict(server.headers)
        if about is not None:
            transport = process_transport(server, about)
        elif server.is_sse:
            from mcp.client.sse import sse_client

            transport = sse_client(server.url, headers=headers, timeout=seconds)
        else:
            web = httpx2.AsyncClient(headers=headers, timeout=seconds, transport=_BoundedTransport())
            await stack.enter_async_context(web)
            transport = streamable_http_client(server.url, http_client=web)

        async def heard(message: Any) -> None:
            if type(getattr(message, "root", message)).__name__.endswith("ListChangedNotification"):
                changed()

        ourselves = types.Implementation(name="ricordo", version=__version__)
        client = Client(transport, client_info=ourselves, message_handler=heard)
        yield await stack.enter_async_context(client)


async def offered(client: Client, server: str) -> list[ServerTool]:
    """All that a server offers; a kind of thing that it cannot list counts as empty."""
    able = client.server_capabilities
    found: list[ServerTool] = []
    found += [_tool(server, one) async for one in _all(client.list_tools, "tools")]
    if able is not None and able.resources is not None:
        with suppress(Exception):  # a server may announce resources and fail to list them; its tools work all the same
            found += [_resource(server, one) async for one in _all(client.list_resources, "resources")]
    if able is not None and able.prompts is not None:
        with suppress(Exception):  # as above
            found += [_prompt(server, one) async for one in _all(client.list_prompts, "prompts")]
    return found


async def _all(ask: Callable[..., Any], part: str) -> AsyncIterator[Any]:
    cursor: str | None = None
    count = 0
    for _ in range(_PAGES):
        page = await ask(cursor=cursor, cache_mode="refresh")
        for one in getattr(page, part):
            count += 1
            if count > MOST_OFFERED:
                return
            yield one
        cursor = page.next_cursor
        if not cursor:
            return


def _tool(server: str, tool: Any) -> ServerTool:
    about = getattr(tool, "annotations", None)
    names = ("read_only", "destructive", "idempotent", "open_world")
    given = {name: getattr(about, f"{name}_hint", None) for name in names} if about is not None else {}
    hints = {name: value for name, value in given.items() if value is not None}
    title = getattr(tool, "title", None) or getattr(about, "title", None) or ""
    return ServerTool(server, tool.name, tool.description or "", tool.input_schema, title, hints=hints)


def _resource(server: str, resource: Any) -> ServerTool:
    nothing = {"type": "object", "properties": {}}
    said, title = resource.description or "", getattr(resource, "title", None) or ""
    return ServerTool(server, resource.name, said, nothing, title, "resource", {"read_only": True}, str(resource.uri))


def _prompt(server: str, prompt: Any) -> ServerTool:
    arguments = prompt.arguments or ()
    schema = {
        "type": "object",
        "properties": {one.name: {"type": "string", "description": one.description or ""} for one in arguments},
        "required": [one.name for one in arguments if one.required],
    }
    said, title = prompt.description or "", getattr(prompt, "title", None) or ""
    return ServerTool(server, prompt.name, said, schema, title, "prompt", {"read_only": True})


async def call_tool(client: Client, tool: str, arguments: dict[str, Any], progress: OnProgress | None = None) -> Result:
    """Call a tool, without the SDK's check of the answer against the tool's schema, because a schema can make that
    check endless. The server is asked for its progress only if somebody wants to hear of it.

    If the server reports an error, the result is a failed one; if it does not answer, an exception is raised.
    """
    given = types.CallToolRequestParams(name=tool, arguments=arguments)
    request = types.CallToolRequest(method="tools/call", params=given)
    try:
        heard = _passed_on(progress) if progress is not None else None
        return result_of(await client.session.send_request(request, types.CallToolResult, progress_callback=heard))
    except MCPError as error:
        if error.error.code in (*_TIMED_OUT, _CLOSED):
            raise
        return Result(str(error.error.message), failed=True)


def _passed_on(tell: OnProgress) -> Any:
    """What the SDK calls with a server's progress. Its words are data: one short line."""

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        said = "".join(letter if letter.isprintable() else " " for letter in message or "")
        done, whole = (int(one) if one is not None and float(one).is_integer() else one for one in (progress, total))
        tell(Progress(done or 0, whole, said[:LONGEST_NOTICE], "calling"))

    return heard


async def show_life(client: Client) -> None:
    """Have a server answer something short. Newer versions of the protocol have no ping, so it lists its tools."""
    await anext(_all(client.list_tools, "tools"), None)


async def read_resource(client: Client, uri: str) -> Result:
    """The content of a resource."""
    return _joined((await client.read_resource(uri)).contents) or Result("")


async def get_prompt(client: Client, name: str, arguments: dict[str, str]) -> Result:
    """A prompt, filled in."""
    answer = await client.get_prompt(name, arguments)
    messages = [(message.role, _joined([message.content])) for message in answer.messages]
    lines = [f"{role}: {part.content}" for role, part in messages if part and isinstance(part.content, str)]
    return Result("\n\n".join(lines))


def result_of(answer: Any) -> Result:
    """A tool's answer as one content: its texts, else the first block that is not text, else its data as JSON."""
    failed = bool(answer.is_error)
    blocks = tuple(
        one.model_dump(by_alias=True, mode="json", exclude_none=True) for one in answer.content if one.type != "text"
    )
    if (held := _joined(answer.content)) is not None:
        return Result(held.content, held.mime_type, failed, blocks)
    structured = answer.structured_content
    if structured is not None:
        return Result(json.dumps(structured, ensure_ascii=False, indent=1), "application/json", failed)
    return Result("", "", failed, blocks)


def _joined(blocks: Sequence[Any]) -> Result | None:
    texts: list[tuple[str, str]] = []
    others: list[tuple[bytes, str]] = []
    for block in blocks:
        held = getattr(block, "resource", block)
        mime = getattr(held, "mime_type", None) or ""
        if isinstance(text := getattr(held, "text", None), str):
            texts.append((text, mime))
        elif isinstance(coded := getattr(held, "data", None) or getattr(held, "blob", None), str):
            with suppress(binascii.Error):
                others.append((base64.b64decode(coded), mime))
    if texts:
        mime = texts[0][1] if len({kind for _, kind in texts}) == 1 else ""
        return Result("\n".join(text for text, _ in texts), mime)
    return Result(*others[0]) if others else None


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
        return types.jsonrpc_message_adapter.validate_json(text, by_name=False)
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
    with suppress(OSError):
        if sys.platform == "win32":
            if process.returncode is None:
                tree = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
                subprocess.run(tree, capture_output=True, check=False, timeout=10)
        else:
            os.killpg(process.pid, signal.SIGKILL)


class _Bounded(httpx2.AsyncByteStream):
    """The body of an answer, cut off where it is longer than any answer should be."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for chunk in self._stream:
            seen += len(chunk)
            if seen > MOST_BYTES:
                raise httpx2.ReadError(f"it sent more than {MOST_BYTES // 1_000_000} MB at once")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class _BoundedTransport(httpx2.AsyncHTTPTransport):
    async def handle_async_request(self, request: Any) -> Any:
        response = await super().handle_async_request(request)
        response.stream = _Bounded(response.stream)
        return response
