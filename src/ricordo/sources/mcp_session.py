"""Opens, lists and calls one MCP server with the SDK, in its versions 1.x and 2.x.

Everything here is asynchronous; ``mcp_client`` runs it for synchronous code.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ricordo._version import __version__
from ricordo.frozen import frozen
from ricordo.sources.mcp_config import McpServer
from ricordo.sources.mcp_versions import is_second
from ricordo.values.reports import Progress

if TYPE_CHECKING:
    from ricordo.sources.mcp_stdio import ServerProcess

Client = Any
"""A client of the SDK: ``Client`` in 2.x, ``ClientSession`` in 1.x; the methods that are used here are the same."""
MOST_OFFERED = 1_000
"""How many tools, resources and prompts of one server are read at most."""
LONGEST_NOTICE = 200
"""How many letters of what a server says about its progress are passed on."""
OnProgress = Callable[[Progress], None]
_PAGES = 100
"""How many pages of a list are read at most, because a broken server may never end its list."""
_TIMED_OUT = (408, -32001)
_CLOSED = -32000


@frozen
class ServerTool:
    """A tool, resource or prompt of a server, as the server describes it."""

    server: str
    name: str
    description: str
    schema: Mapping[str, Any]
    title: str = ""
    what: str = "tool"
    """tool, resource or prompt."""
    hints: Mapping[str, bool] = field(default_factory=dict)
    """What the server says of a tool's effects: ``read_only``, ``destructive``, ``idempotent``, ``open_world``."""
    uri: str = ""
    """Where a resource is."""

    @property
    def changes_things(self) -> bool:
        """Whether the server says that a call changes something."""
        return self.hints.get("read_only") is False or self.hints.get("destructive") is True


@frozen
class Result:
    """The whole answer of a tool: a text, or the bytes of something else."""

    content: str | bytes
    mime_type: str = ""
    failed: bool = False
    blocks: tuple[Mapping[str, Any], ...] = ()
    """What is not plain text (images, sounds, links, files), as the server sent it."""


@asynccontextmanager
async def opened(
    server: McpServer, seconds: float, about: ServerProcess | None, changed: Callable[[], None]
) -> AsyncIterator[Client]:
    """A client that is connected to its server. The caller limits how long connecting may take."""
    async with AsyncExitStack() as stack:
        transport: Any
        if about is not None:
            from ricordo.sources.mcp_stdio import process_transport

            transport = process_transport(server, about)
        elif server.is_sse:
            from mcp.client.sse import sse_client

            transport = sse_client(server.url, headers=dict(server.headers), timeout=seconds)
        else:
            transport = await _over_http(server, seconds, stack)
        yield await _client(transport, stack, changed)


async def _over_http(server: McpServer, seconds: float, stack: AsyncExitStack) -> Any:
    from mcp.client import streamable_http

    from ricordo.sources.mcp_http import bounded_client

    headers = dict(server.headers)
    if not is_second():
        first: Any = streamable_http
        return first.streamablehttp_client(
            server.url, headers=headers, timeout=seconds, httpx_client_factory=bounded_client
        )
    web = await stack.enter_async_context(bounded_client(headers, seconds))
    return streamable_http.streamable_http_client(server.url, http_client=web)


async def _client(transport: Any, stack: AsyncExitStack, changed: Callable[[], None]) -> Client:
    from mcp.types import Implementation

    async def heard(message: Any) -> None:
        if type(getattr(message, "root", message)).__name__.endswith("ListChangedNotification"):
            changed()

    about = Implementation(name="ricordo", version=__version__)
    if is_second():
        from mcp.client.client import Client

        return await stack.enter_async_context(Client(transport, client_info=about, message_handler=heard))
    from mcp.client.session import ClientSession

    reading, writing, *_ = await stack.enter_async_context(transport)
    session = ClientSession(reading, writing, client_info=about, message_handler=heard)
    client = await stack.enter_async_context(session)
    await client.initialize()
    return client


def _member(value: Any, name: str) -> Any:
    """An attribute of one of the SDK's values: ``input_schema`` in 2.x is ``inputSchema`` in 1.x."""
    if hasattr(value, name):
        return getattr(value, name)
    first, *rest = name.split("_")
    return getattr(value, first + "".join(map(str.capitalize, rest)), None)


async def offered(client: Client, server: str) -> list[ServerTool]:
    """All that a server offers; a kind of thing that it cannot list counts as empty."""
    able = client.server_capabilities if is_second() else client.get_server_capabilities()
    found: list[ServerTool] = []
    found += [_tool(server, one) async for one in _all(client.list_tools, "tools")]
    if able is not None and able.resources is not None:
        with suppress(
            Exception
        ):  # a server may announce resources and fail to list them; its tools can be used all the same
            found += [_resource(server, one) async for one in _all(client.list_resources, "resources")]
    if able is not None and able.prompts is not None:
        with suppress(Exception):  # as above
            found += [_prompt(server, one) async for one in _all(client.list_prompts, "prompts")]
    return found


async def _all(ask: Callable[..., Any], part: str) -> AsyncIterator[Any]:
    how = {"cache_mode": "refresh"} if is_second() else {}
    cursor: str | None = None
    count = 0
    for _ in range(_PAGES):
        page = await ask(cursor=cursor, **how)
        for one in getattr(page, part):
            count += 1
            if count > MOST_OFFERED:
                return
            yield one
        cursor = _member(page, "next_cursor")
        if not cursor:
            return


def _tool(server: str, tool: Any) -> ServerTool:
    about = getattr(tool, "annotations", None)
    names = ("read_only", "destructive", "idempotent", "open_world")
    given = {name: _member(about, f"{name}_hint") for name in names} if about is not None else {}
    hints = {name: value for name, value in given.items() if value is not None}
    title = getattr(tool, "title", None) or getattr(about, "title", None) or ""
    return ServerTool(server, tool.name, tool.description or "", _member(tool, "input_schema"), title, hints=hints)


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
    from mcp import types
    from mcp.shared import exceptions

    given = types.CallToolRequestParams(name=tool, arguments=arguments)
    request: Any = types.CallToolRequest(method="tools/call", params=given)
    session = client
    if is_second():
        session = client.session
    else:
        first: Any = types.ClientRequest
        request = first(request)
    theirs: Any = getattr(exceptions, "MCPError" if is_second() else "McpError")
    try:
        heard = _passed_on(progress) if progress is not None else None
        return result_of(await session.send_request(request, types.CallToolResult, progress_callback=heard))
    except theirs as error:
        if error.error.code in (*_TIMED_OUT, _CLOSED):
            raise
        return Result(str(error.error.message), failed=True)


def _passed_on(progress: OnProgress) -> Callable[[float, float | None, str | None], Awaitable[None]]:
    """What the SDK calls with a server's progress. Its words are data: one short line."""

    async def heard(done: float, total: float | None, words: str | None) -> None:
        said = "".join(letter if letter.isprintable() else " " for letter in words or "")
        progress(Progress(_plain(done), None if total is None else _plain(total), said[:LONGEST_NOTICE], "calling"))

    return heard


def _plain(number: float) -> float:
    return int(number) if float(number).is_integer() else number


async def show_life(client: Client) -> None:
    """Have a server answer something short. Newer versions of the protocol have no ping, so it lists its tools."""
    await anext(_all(client.list_tools, "tools"), None)


async def read_resource(client: Client, uri: str) -> Result:
    """The content of a resource."""
    from pydantic import AnyUrl

    answer = await client.read_resource(uri if is_second() else AnyUrl(uri))
    return _joined(answer.contents) or Result("")


async def get_prompt(client: Client, name: str, arguments: dict[str, str]) -> Result:
    """A prompt, filled in."""
    answer = await client.get_prompt(name, arguments)
    messages = [(message.role, _joined([message.content])) for message in answer.messages]
    lines = [f"{role}: {part.content}" for role, part in messages if part and isinstance(part.content, str)]
    return Result("\n\n".join(lines))


def result_of(answer: Any) -> Result:
    """A tool's answer as one content: its texts, else the first block that is not text, else its data as JSON."""
    failed = bool(_member(answer, "is_error"))
    blocks = tuple(
        one.model_dump(by_alias=True, mode="json", exclude_none=True) for one in answer.content if one.type != "text"
    )
    if (held := _joined(answer.content)) is not None:
        return Result(held.content, held.mime_type, failed, blocks)
    structured = _member(answer, "structured_content")
    if structured is not None:
        return Result(json.dumps(structured, ensure_ascii=False, indent=1), "application/json", failed)
    return Result("", "", failed, blocks)


def _joined(blocks: Sequence[Any]) -> Result | None:
    texts: list[tuple[str, str]] = []
    others: list[tuple[bytes, str]] = []
    for block in blocks:
        held = getattr(block, "resource", block)
        mime = _member(held, "mime_type") or ""
        if isinstance(text := getattr(held, "text", None), str):
            texts.append((text, mime))
        elif isinstance(coded := getattr(held, "data", None) or getattr(held, "blob", None), str):
            with suppress(binascii.Error):
                others.append((base64.b64decode(coded), mime))
    if texts:
        mime = texts[0][1] if len({kind for _, kind in texts}) == 1 else ""
        return Result("\n".join(text for text, _ in texts), mime)
    return Result(*others[0]) if others else None
