"""smolagents: the tools of a memory by MCP: ``ToolCallingAgent(tools=[*tools.tools], model=model)`` takes them."""

import sys
import tempfile
from pathlib import Path

from mcp import StdioServerParameters
from smolagents import ToolCollection

from ricordo import Ricordo

with tempfile.TemporaryDirectory() as folder:
    store = str(Path(folder) / "memory.db")
    with Ricordo.open(store) as memory:
        memory.remember("Ada prefers tea over coffee.")
    server = StdioServerParameters(command=sys.executable, args=["-m", "ricordo", "mcp", "--store", store])
    with ToolCollection.from_mcp(server, trust_remote_code=True) as tools:
        search = next(tool for tool in tools.tools if tool.name == "search")
        print(search(query="what does Ada drink?"))
