"""LangChain: a retriever over a memory, and tools for an agent.

>>> from ricordo.integrations.langchain import RicordoRetriever, memory_tools     # doctest: +SKIP
>>> RicordoRetriever(memory=memory, limit=4).invoke("when are keys rotated?")     # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

from ricordo.integrations.actions import actions, facts_of, missing, passage_of
from ricordo.values.hits import Filters

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import StructuredTool
except ImportError:
    raise missing("langchain", "LangChain") from None

__all__ = ["RicordoRetriever", "memory_tools"]


class RicordoRetriever(BaseRetriever):
    """Passages of a memory as documents; ``metadata`` has ref, title, kind, score and lines."""

    memory: Any
    """An open ``Ricordo``."""
    limit: int = 5
    filters: Filters | None = None
    profile: str | None = None

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        hits = self.memory.search(query, limit=self.limit, filters=self.filters, profile=self.profile).hits
        return [Document(page_content=passage_of(hit), metadata=facts_of(hit), id=hit.id) for hit in hits]


def memory_tools(memory: Any) -> list[StructuredTool]:
    """Tools for an agent: search_memory, read_memory, remember, memory_context."""
    return [StructuredTool.from_function(one, parse_docstring=True) for one in actions(memory)]
