"""smolagents: an agent that calls tools of a memory. The model is scripted; put a real one in its place."""

import tempfile
from pathlib import Path
from typing import Any

from smolagents import ToolCallingAgent
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole, Model

from ricordo import Ricordo
from ricordo.integrations.smolagents import memory_tools


class Scripted(Model):
    def generate(self, messages: list[Any], **more: Any) -> ChatMessage:
        found = [str(one.content) for one in messages if "prefers tea" in str(one.content)]
        name, given = ("final_answer", {"answer": "tea"}) if found else ("search_memory", {"query": "Ada's drink"})
        call = ChatMessageToolCallFunction(name=name, arguments=given)
        calls = [ChatMessageToolCall(function=call, id="1", type="function")]
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=calls)


with tempfile.TemporaryDirectory() as folder, Ricordo.open(Path(folder) / "memory.db") as memory:
    memory.remember("Ada prefers tea over coffee.")
    agent = ToolCallingAgent(tools=memory_tools(memory), model=Scripted(), verbosity_level=0, max_steps=3)
    print(agent.run("What does Ada drink?"))
