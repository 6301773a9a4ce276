"""The OpenAI Agents SDK: tools for an agent, and a session that keeps its conversation in a memory."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import quote

from ricordo.engine.lending import embed_soon
from ricordo.errors import NotFound
from ricordo.integrations.actions import actions, missing
from ricordo.speaking import as_agent

try:
    from agents import FunctionTool, function_tool
    from agents.memory import SessionABC, SessionSettings
except ImportError:
    raise missing("openai-agents", "the OpenAI Agents SDK") from None

__all__ = ["RicordoSession", "memory_tools"]


def memory_tools(memory: Any) -> list[FunctionTool]:
    """Tools for an agent: search_memory, read_memory, remember, memory_context."""
    return [function_tool(one, strict_mode=False) for one in actions(memory)]


class RicordoSession(SessionABC):
    """A conversation, kept as one item ``agent:/conversations/ID``: ``Runner.run(agent, text, session=session)``."""

    session_settings: SessionSettings | None = None

    def __init__(self, session_id: str, memory: Any) -> None:
        self.session_id = session_id
        self.memory = memory
        self._ref = f"agent:/conversations/{quote(session_id, safe='')}"
        self._lock = asyncio.Lock()

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The conversation so far, or its last part."""
        items = await asyncio.to_thread(self._read)
        return items if limit is None else items[max(0, len(items) - limit) :]

    async def add_items(self, items: list[Any]) -> None:
        """Keep what was said."""
        async with self._lock:
            known = await asyncio.to_thread(self._read)
            await asyncio.to_thread(self._write, [*known, *items])

    async def pop_item(self) -> Any | None:
        """Take the last part back."""
        async with self._lock:
            known = await asyncio.to_thread(self._read)
            if not known:
                return None
            await asyncio.to_thread(self._write, known[:-1])
            return known[-1]

    async def clear_session(self) -> None:
        """Forget the conversation."""
        async with self._lock:
            await asyncio.to_thread(self._write, [])

    def _read(self) -> list[Any]:
        try:
            found = self.memory.get(self._ref).fields.metadata.get("items")
        except NotFound:
            return []
        return list(found) if isinstance(found, list | tuple) else []

    @as_agent("openai-agents")
    def _write(self, items: list[Any]) -> None:
        plain = json.loads(json.dumps(items, default=str))
        # The words are not indexed, because an agent that searches would find its own question first.
        text = f"{len(plain)} parts"
        fields = {"title": f"Conversation {self.session_id}", "source": "agent", "metadata": {"items": plain}}
        self.memory.save(self._ref, text, fields=fields, on_conflict="overwrite", wait=False)
        embed_soon(self.memory)
