"""Run by a test with the SDK 1.x: its own client lists, calls, reads and completes, and prints what it found as JSON.

The arguments are the folder, and the address of a server over HTTP or nothing for one over standard input and output.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from importlib.metadata import version
from typing import Any

from mcp import ClientSession, McpError, StdioServerParameters, types  # type: ignore[attr-defined]  # names of 1.x
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client  # type: ignore[attr-defined]


async def used(session: Any, folder: str) -> dict[str, Any]:
    greeting = await session.initialize()
    tools = (await session.list_tools()).tools
    notices: list[float] = []

    async def hear(progress: float, total: float | None, words: str | None) -> None:
        notices.append(progress)

    added = await session.call_tool("add", {"sources": [f"{folder}/files"]}, progress_callback=hear)
    wrong = await session.call_tool("search", {"query": "x", "limit": "many"})
    listed = (await session.list_resources()).resources
    texts = [(await session.read_resource(resource.uri)).contents[0].text for resource in listed]
    completed = await session.complete(
        types.PromptReference(type="ref/prompt", name="recall"), {"name": "topic", "value": "File"}
    )
    try:
        await session.list_tools(cursor="nonsense")
        code = 0
    except McpError as error:
        code = error.error.code
    return {
        "sdk": version("mcp"),
        "server": greeting.serverInfo.name,
        "tools": len(tools),
        "created": added.structuredContent["created"],
        "progress": notices,
        "error": json.loads(wrong.content[0].text)["error_type"],
        "structured_error": wrong.structuredContent,
        "read": sorted(texts),
        "completed": sorted(completed.completion.values),
        "wrong_cursor": code,
    }


async def main(folder: str, address: str = "") -> None:
    async with AsyncExitStack() as stack:
        if address:
            transport: Any = streamablehttp_client(address)
        else:
            args = ["-m", "ricordo", "mcp", "--store", f"{folder}/store.db"]
            env = {"RICORDO_EMBEDDING_PROVIDER": "none", "PYTHONPATH": sys.path[1]}
            transport = stdio_client(StdioServerParameters(command=sys.executable, args=args, env=env, cwd=folder))
        reading, writing, *_ = await stack.enter_async_context(transport)
        session = await stack.enter_async_context(ClientSession(reading, writing))
        sys.stdout.write(json.dumps(await used(session, folder)))


asyncio.run(main(*sys.argv[1:]))
