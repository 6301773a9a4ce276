"""Pydantic AI: an agent with a memory, by MCP. The model is a function; put a real one in its place."""

import sys
import tempfile
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPServerStdio
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from ricordo import Ricordo


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        return ModelResponse(parts=[TextPart(f"I looked it up: {last.content}")])
    return ModelResponse(parts=[ToolCallPart("search", {"query": "what does Ada drink?"})])


with tempfile.TemporaryDirectory() as folder:
    store = str(Path(folder) / "memory.db")
    with Ricordo.open(store) as memory:
        memory.remember("Ada prefers tea over coffee.")
    server = MCPServerStdio(sys.executable, args=["-m", "ricordo", "mcp", "--store", store])
    print(Agent(FunctionModel(model), toolsets=[server]).run_sync("What does Ada drink?").output)
