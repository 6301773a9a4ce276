"""The OpenAI Agents SDK: an agent with a memory and a kept conversation. The model is scripted; use yours instead."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from ricordo import Ricordo
from ricordo.integrations.openai_agents import RicordoSession, memory_tools


class Scripted(Model):
    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **more: Any) -> ModelResponse:
        parts = [one for one in input if isinstance(one, dict)]
        results = [one["output"] for one in parts if one.get("type") == "function_call_output"]
        if not results:
            wanted = json.dumps({"query": "what does Ada drink?", "limit": 1})
            call = ResponseFunctionToolCall(arguments=wanted, call_id="1", name="search_memory", type="function_call")
            return ModelResponse(output=[call], usage=Usage(), response_id=None)
        text = ResponseOutputText(annotations=[], text=f"I looked it up: {results[-1]}", type="output_text")
        said = ResponseOutputMessage(id="1", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **more: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


set_tracing_disabled(True)
with tempfile.TemporaryDirectory() as folder, Ricordo.open(Path(folder) / "memory.db") as memory:
    memory.remember("Ada prefers tea over coffee.")
    agent = Agent(name="Helper", model=Scripted(), tools=memory_tools(memory))
    session = RicordoSession("monday", memory)
    print(asyncio.run(Runner.run(agent, "What does Ada drink?", session=session)).final_output)
    print(len(asyncio.run(session.get_items())), "parts of the conversation are kept")
