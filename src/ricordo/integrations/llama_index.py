"""LlamaIndex: a retriever over a memory, and a memory block for its agents."""

from __future__ import annotations

import asyncio
from typing import Any

from ricordo.engine.lending import embed_soon
from ricordo.integrations.actions import facts_of, missing, passage_of
from ricordo.speaking import as_agent
from ricordo.values.hits import Filters

try:
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.memory import BaseMemoryBlock
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError:
    raise missing("llama-index", "LlamaIndex") from None

__all__ = ["RicordoMemoryBlock", "RicordoRetriever"]


class RicordoRetriever(BaseRetriever):
    """Passages of a memory as nodes; ``metadata`` has ref, title, kind, score and lines."""

    def __init__(self, memory: Any, *, limit: int = 5, filters: Filters | None = None, **more: Any) -> None:
        super().__init__(**more)
        self._memory = memory
        self._limit = limit
        self._filters = filters

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self._memory.search(query_bundle.query_str, limit=self._limit, filters=self._filters).hits
        return [
            NodeWithScore(node=TextNode(id_=hit.id, text=passage_of(hit), metadata=facts_of(hit)), score=hit.score)
            for hit in hits
        ]


class RicordoMemoryBlock(BaseMemoryBlock[str]):
    """Long-term memory: it gives what fits the last message, and keeps messages that leave the short-term memory.

    ``Memory.from_defaults(memory_blocks=[RicordoMemoryBlock(memory=memory)])``. Messages are kept as
    ``agent:/llama-index/SESSION/NUMBER``, in the thread of their session.
    """

    name: str = "ricordo"
    memory: Any
    """An open ``Ricordo``."""
    budget: int = 800
    """The most tokens that it gives."""

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        said = [message.content for message in messages or () if message.role == "user" and message.content]
        if not said:
            return ""
        report = await asyncio.to_thread(self.memory.context, said[-1], budget=self.budget)
        return str(report.text)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        await asyncio.to_thread(self._keep, messages)

    @as_agent("llama-index")
    def _keep(self, messages: list[ChatMessage]) -> None:
        from ricordo.values.items import Entry

        entries: list[Entry] = []
        for message in messages:
            if not message.content:
                continue
            session = str(message.additional_kwargs.get("session_id") or "conversation")
            before = len([entry for entry in entries if entry.fields["thread"] == session])
            seq = self.memory.count(Filters(threads=(session,), drives=("agent",))) + before + 1
            fields = {"title": message.role.value, "thread": session, "seq": seq, "source": "agent"}
            entries.append(Entry(f"agent:/llama-index/{session}/{seq:06}", message.content, "document", fields))
        self.memory.save_many(entries, wait=False)
        embed_soon(self.memory)
