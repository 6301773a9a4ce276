"""The OpenAI Agents SDK: the tools of a memory by MCP: ``Agent(name, mcp_servers=[server])`` takes them."""

import asyncio
import sys
import tempfile
from pathlib import Path

from agents.mcp import MCPServerStdio

from ricordo import Ricordo


async def answer(store: str, question: str) -> object:
    params = {"command": sys.executable, "args": ["-m", "ricordo", "mcp", "--store", store]}
    async with MCPServerStdio(params=params, client_session_timeout_seconds=60) as server:
        return (await server.call_tool("search", {"query": question})).content


with tempfile.TemporaryDirectory() as folder:
    store = str(Path(folder) / "memory.db")
    with Ricordo.open(store) as memory:
        memory.remember("Ada prefers tea over coffee.")
    print(asyncio.run(answer(store, "what does Ada drink?")))
