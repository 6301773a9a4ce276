"""LlamaIndex: retrieve from a memory, and let it be an agent's long-term memory."""

import asyncio
import tempfile
from pathlib import Path

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine

from ricordo import Ricordo
from ricordo.integrations.llama_index import RicordoMemoryBlock, RicordoRetriever

with tempfile.TemporaryDirectory() as folder, Ricordo.open(Path(folder) / "memory.db") as memory:
    memory.save("note:/keys", "Rotate the signing keys every quarter.")
    retriever = RicordoRetriever(memory, limit=2)
    print(retriever.retrieve("when are keys rotated?")[0].metadata["ref"])
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    print("Rotate the signing keys" in str(engine.query("when are keys rotated?")))

    block = RicordoMemoryBlock(memory=memory)
    said = [ChatMessage(role="user", content="My dog is called Bello."), ChatMessage(role="assistant", content="Nice.")]
    asyncio.run(block.aput(said, session_id="monday"))
    answer = asyncio.run(block.aget([ChatMessage(role="user", content="What is the name of my dog?")]))
    print("Bello" in answer)
