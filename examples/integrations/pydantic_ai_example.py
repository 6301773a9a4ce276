"""Pydantic AI: an agent with a memory. The model is a function; put a real one in its place."""

import tempfile
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from ricordo import Ricordo
from ricordo.integrations.pydantic_ai import memory_toolset


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        return ModelResponse(parts=[TextPart(f"I looked it up: {last.content}")])
    return ModelResponse(parts=[ToolCallPart("search_memory", {"query": "what does Ada drink?", "limit": 1})])


with tempfile.TemporaryDirectory() as folder, Ricordo.open(Path(folder) / "memory.db") as memory:
    memory.remember("Ada prefers tea over coffee.")
    agent = Agent(FunctionModel(model), toolsets=[memory_toolset(memory)])
    print(agent.run_sync("What does Ada drink?").output)
