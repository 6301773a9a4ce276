"""LangChain: a retriever over a memory, and its tools by MCP: ``create_agent(model, tools)`` takes them."""

import asyncio
import sys
import tempfile
from pathlib import Path

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_mcp_adapters.client import MultiServerMCPClient

from ricordo import Ricordo


class RicordoRetriever(BaseRetriever):
    memory: object
    limit: int = 5

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        hits = self.memory.search(query, limit=self.limit).hits
        return [Document(page_content=hit.snippet, metadata={"ref": hit.ref, "title": hit.title}) for hit in hits]


async def answer(store: str, question: str) -> object:
    server = {"transport": "stdio", "command": sys.executable, "args": ["-m", "ricordo", "mcp", "--store", store]}
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"ricordo": server}).get_tools()}
    return await tools["search"].ainvoke({"query": question})


with tempfile.TemporaryDirectory() as folder:
    store = str(Path(folder) / "memory.db")
    with Ricordo.open(store) as memory:
        memory.save("note:/keys", "Rotate the signing keys every quarter.")
        print(RicordoRetriever(memory=memory).invoke("when are keys rotated?")[0].metadata["ref"])
    print(asyncio.run(answer(store, "when are keys rotated?")))
