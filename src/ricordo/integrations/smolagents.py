"""smolagents: tools for an agent, ``CodeAgent(tools=memory_tools(memory), model=model)``."""

from __future__ import annotations

from typing import Any, ClassVar

from ricordo.integrations.actions import actions, missing

try:
    from smolagents import Tool
except ImportError:
    raise missing("smolagents", "smolagents") from None

__all__ = ["memory_tools"]

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer", "nullable": True}


class _SearchMemory(Tool):
    name = "search_memory"
    description = "Find what is known by words and meaning. Returns refs with a passage each, as JSON."
    inputs: ClassVar[dict[str, Any]] = {
        "query": {**_TEXT, "description": "A question, or the name of a thing."},
        "limit": {**_NUMBER, "description": "How many to find at most."},
    }
    output_type = "string"

    def __init__(self, memory: Any) -> None:
        super().__init__()
        self._do = actions(memory)[0]

    def forward(self, query: str, limit: int | None = None) -> str:
        return self._do(query, limit or 5)


class _ReadMemory(Tool):
    name = "read_memory"
    description = "Read one thing that is known, by the ref that search_memory gave."
    inputs: ClassVar[dict[str, Any]] = {"ref": {**_TEXT, "description": "Such as note:/plan or memory:/tea."}}
    output_type = "string"

    def __init__(self, memory: Any) -> None:
        super().__init__()
        self._do = actions(memory)[1]

    def forward(self, ref: str) -> str:
        return self._do(ref)


class _Remember(Tool):
    name = "remember"
    description = "Save a fact, decision, preference or lesson for later: one thought, clear without this conversation."
    inputs: ClassVar[dict[str, Any]] = {"text": {**_TEXT, "description": "What to keep."}}
    output_type = "string"

    def __init__(self, memory: Any) -> None:
        super().__init__()
        self._do = actions(memory)[2]

    def forward(self, text: str) -> str:
        return self._do(text)


class _MemoryContext(Tool):
    name = "memory_context"
    description = "What to know before a task: standing rules and the best passages, within a budget of tokens."
    inputs: ClassVar[dict[str, Any]] = {
        "task": {**_TEXT, "description": "What is to be done."},
        "budget": {**_NUMBER, "description": "The most tokens to spend."},
    }
    output_type = "string"

    def __init__(self, memory: Any) -> None:
        super().__init__()
        self._do = actions(memory)[3]

    def forward(self, task: str, budget: int | None = None) -> str:
        return self._do(task, budget or 1000)


def memory_tools(memory: Any) -> list[Tool]:
    """Tools for an agent: search_memory, read_memory, remember, memory_context."""
    return [_SearchMemory(memory), _ReadMemory(memory), _Remember(memory), _MemoryContext(memory)]
