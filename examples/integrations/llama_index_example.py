"""LlamaIndex: the tools of a memory by MCP: ``FunctionAgent(tools=tools, llm=llm)`` takes them."""

import asyncio
import sys
import tempfile
from pathlib import Path

from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

from ricordo import Ricordo


async def answer(store: str, question: str) -> object:
    client = BasicMCPClient(sys.executable, args=["-m", "ricordo", "mcp", "--store", store])
    tools = {tool.metadata.name: tool for tool in await McpToolSpec(client=client).to_tool_list_async()}
    return await tools["search"].acall(query=question)


with tempfile.TemporaryDirectory() as folder:
    store = str(Path(folder) / "memory.db")
    with Ricordo.open(store) as memory:
        memory.remember("Ada prefers tea over coffee.")
    print(asyncio.run(answer(store, "what does Ada drink?")))
