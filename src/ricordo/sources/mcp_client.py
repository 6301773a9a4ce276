"""Talking to MCP servers from a program that waits: they are started together, every call is bounded, all end at close.

The SDK is asynchronous; it runs in a thread of its own. Which servers there are, and what they are asked, is decided
elsewhere.
"""

from __future__ import annotations

import base64
import json
import math
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

from ricordo._version import __version__
from ricordo.errors import Unavailable
from ricordo.frozen import frozen
from ricordo.log import report
from ricordo.sources.mcp_config import McpServer

if TYPE_CHECKING:
    import anyio
    from anyio.from_thread import BlockingPortal

Client = Any
"""A client of the SDK: ``Client`` in 2.x, ``ClientSession`` in 1.x; the methods that are used here are the same."""
GRACE = 2.0
"""How much longer than allowed a call is waited for, so that the SDK's own time limit comes first."""
ENDING_SECONDS = 10.0
"""How long all servers together may take to end."""


@frozen
class ServerTool:
    """A tool of a server, as the server describes it."""

    server: str
    name: str
    description: str
    schema: Mapping[str, Any]


@frozen
class Result:
    """What a tool answered, whole: a text, or the bytes of something else."""

    content: str | bytes
    mime_type: str = ""
    failed: bool = False


class Connections:
    """Open connections to servers, with ``seconds`` for every call; ``problems`` says why others are not open."""

    def __init__(self, portal: BlockingPortal, seconds: float) -> None:
        self._portal = portal
        self.seconds = seconds
        self._clients: dict[str, Client] = {}
        self.tools: list[ServerTool] = []
        self.problems: dict[str, str] = {}

    def call(self, server: str, tool: str, arguments: Mapping[str, Any]) -> Result:
        """Use a tool. An ``Unavailable`` says that the server did not answer; a failed ``Result`` that the tool did."""
        client = self._clients[server]
        future = self._portal.start_task_soon(_call, client, tool, dict(arguments), self.seconds)
        wait([future], self.seconds + GRACE)
        error = future.exception() if future.done() else TimeoutError()
        if error is None:
            answer: Result = future.result()
            return answer
        future.cancel()
        if isinstance(error, TimeoutError):
            raise Unavailable(f"{server} did not answer within {self.seconds:g} s") from None
        report(f"the MCP server '{server}' failed", error)
        raise Unavailable(f"{server} failed: {reason(error)}") from error

    def opened(self, starting: _Starting) -> None:
        """Use a server once it has started, or note why it has not."""
        name, ready, running = starting.server.name, starting.ready, starting.running
        either: list[Future[Any]] = [ready, running]
        wait(either, self.seconds + GRACE, FIRST_COMPLETED)
        if ready.done():
            client, tools = ready.result()
            self._clients[name] = client
            self.tools += tools
            return
        error = running.exception() if running.done() else TimeoutError()
        if error is None or isinstance(error, TimeoutError):
            self.problems[name] = f"did not start within {self.seconds:g} s"
        else:
            report(f"the MCP server '{name}' did not start", error)
            self.problems[name] = reason(error)
        if said := _last_line(starting.errors):
            self.problems[name] += f" ({said})"


@frozen
class _Starting:
    """A server that is being started: its connection once it is ``ready``, and the task that holds it open."""

    server: McpServer
    ready: Future[tuple[Client, list[ServerTool]]]
    running: Future[None]
    errors: TextIO


@contextmanager
def connected(servers: Sequence[McpServer], seconds: float) -> Iterator[Connections]:
    """Start the servers, all at once, and end them afterwards."""
    import logging

    import anyio
    import mcp.client.session  # noqa: F401 - importing takes a second, which must not count against the servers
    from anyio.from_thread import start_blocking_portal

    # A server that prints what is no message would fill the screen with traces of the SDK.
    logging.getLogger("mcp").addHandler(logging.NullHandler())
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())
        connections = Connections(portal, seconds)
        over = portal.call(anyio.Event)
        starting: list[_Starting] = []
        stack.callback(_end, portal, over, starting)
        for server in servers:
            log = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace"))
            errors = cast("TextIO", log)
            ready: Future[tuple[Client, list[ServerTool]]] = Future()
            running = portal.start_task_soon(_hold, server, seconds, errors, ready, over)
            starting.append(_Starting(server, ready, running, errors))
        for one in starting:
            connections.opened(one)
        yield connections


def _end(portal: BlockingPortal, over: anyio.Event, started: Sequence[_Starting]) -> None:
    """Let all servers end. What one of them raises at its end is of no use to anybody."""
    portal.call(over.set)
    wait([one.running for one in started], ENDING_SECONDS)


async def _hold(
    server: McpServer,
    seconds: float,
    errors: TextIO,
    ready: Future[tuple[Client, list[ServerTool]]],
    over: anyio.Event,
) -> None:
    """Keep one server open until all is over; opening and closing must happen in one task."""
    import anyio

    with anyio.fail_after(seconds) as bound:
        async with _client(server, seconds, errors) as client:
            tools = await _tools(server.name, client)
            bound.deadline = math.inf
            ready.set_result((client, tools))
            await over.wait()


@asynccontextmanager
async def _client(server: McpServer, seconds: float, errors: TextIO) -> AsyncIterator[Client]:
    from mcp.client.stdio import StdioServerParameters, stdio_client

    async with AsyncExitStack() as stack:
        transport: Any
        if server.command:
            parameters = StdioServerParameters(
                command=server.command,
                args=list(server.args),
                env=dict(server.env),
                cwd=server.folder,
                encoding_error_handler="replace",
            )
            transport = stdio_client(parameters, errlog=errors)
        elif server.is_sse:
            from mcp.client.sse import sse_client

            transport = sse_client(server.url, headers=dict(server.headers), timeout=seconds)
        else:
            transport = await _over_http(server, seconds, stack)
        yield await _open(transport, stack)


def _is_second() -> bool:
    """Whether the SDK is 2.x, which has other names for some things than 1.x."""
    from mcp.shared import exceptions

    return hasattr(exceptions, "MCPError")


async def _over_http(server: McpServer, seconds: float, stack: AsyncExitStack) -> Any:
    from mcp.client import streamable_http

    headers = dict(server.headers)
    if not _is_second():
        first: Any = streamable_http
        return first.streamablehttp_client(server.url, headers=headers, timeout=seconds)
    import httpx2

    web = httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(seconds))
    return streamable_http.streamable_http_client(server.url, http_client=await stack.enter_async_context(web))


async def _open(transport: Any, stack: AsyncExitStack) -> Client:
    """A client that has shaken hands with its server. How long that may take is bounded by the caller."""
    from mcp.types import Implementation

    about = Implementation(name="ricordo", version=__version__)
    if _is_second():
        from mcp.client.client import Client

        return await stack.enter_async_context(Client(transport, client_info=about))
    from mcp.client.session import ClientSession

    reading, writing, *_ = await stack.enter_async_context(transport)
    client = await stack.enter_async_context(ClientSession(reading, writing, client_info=about))
    await client.initialize()
    return client


def _member(value: Any, name: str) -> Any:
    """An attribute of one of the SDK's values: ``input_schema`` in 2.x is ``inputSchema`` in 1.x."""
    if hasattr(value, name):
        return getattr(value, name)
    first, *rest = name.split("_")
    return getattr(value, first + "".join(map(str.capitalize, rest)), None)


async def _tools(name: str, client: Client) -> list[ServerTool]:
    """The tools of a server, without those that say of themselves that they change things: a page may ask for them."""
    found: list[ServerTool] = []
    cursor: str | None = None
    for _ in range(100):  # a server that never ends its list is cut off
        listed = await client.list_tools(cursor=cursor)
        found += [
            ServerTool(name, tool.name, tool.description or "", _member(tool, "input_schema"))
            for tool in listed.tools
            if not _changes_things(tool)
        ]
        cursor = _member(listed, "next_cursor")
        if not cursor:
            break
    return found


def _changes_things(tool: Any) -> bool:
    about = tool.annotations
    return about is not None and (
        _member(about, "read_only_hint") is False or _member(about, "destructive_hint") is True
    )


async def _call(client: Client, tool: str, arguments: dict[str, Any], seconds: float) -> Result:
    import anyio

    with anyio.fail_after(seconds):
        return result_of(await client.call_tool(tool, arguments))


def result_of(answer: Any) -> Result:
    """A tool's answer as one content: its texts, else the first thing it holds that is none, else its data as JSON."""
    texts: list[tuple[str, str]] = []
    others: list[tuple[bytes, str]] = []
    for block in answer.content:
        held = getattr(block, "resource", block)
        mime = _member(held, "mime_type") or ""
        if isinstance(text := getattr(held, "text", None), str):
            texts.append((text, mime))
        elif isinstance(coded := getattr(held, "data", None) or getattr(held, "blob", None), str):
            others.append((base64.b64decode(coded), mime))
    failed = bool(_member(answer, "is_error"))
    if texts:
        mime = texts[0][1] if len({told for _, told in texts}) == 1 else ""
        return Result("\n".join(text for text, _ in texts), mime, failed)
    if others:
        return Result(*others[0], failed)
    structured = _member(answer, "structured_content")
    if structured is not None:
        return Result(json.dumps(structured, ensure_ascii=False, indent=1), "application/json", failed)
    return Result("", "", failed)


def reason(error: BaseException) -> str:
    """What is wrong, in one line: of a group of errors, the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    said = " ".join(str(error).split())
    return said[:300] if said else type(error).__name__


def _last_line(errors: TextIO) -> str:
    """The last thing a server said before it was given up."""
    errors.seek(0)
    lines = [line.strip() for line in errors.read()[-4000:].splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""
