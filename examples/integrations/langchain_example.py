"""LangChain: answer a question from a memory. The model is LangChain's own fake one; put yours in its place."""

import tempfile
from pathlib import Path

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough

from ricordo import Ricordo
from ricordo.integrations.langchain import RicordoRetriever, memory_tools

with tempfile.TemporaryDirectory() as folder, Ricordo.open(Path(folder) / "memory.db") as memory:
    memory.save("note:/keys", "Rotate the signing keys every quarter.")
    memory.save("note:/tea", "Ada prefers tea over coffee.")
    retriever = RicordoRetriever(memory=memory, limit=2)
    model = GenericFakeChatModel(messages=iter([AIMessage("Every quarter, as note:/keys says.")]))
    prompt = ChatPromptTemplate.from_template("Known:\n{known}\n\nQuestion: {question}")
    known = retriever | (lambda found: "\n".join(f"{one.metadata['ref']}: {one.page_content}" for one in found))
    chain = {"known": known, "question": RunnablePassthrough()} | prompt | model
    print(retriever.invoke("when are keys rotated?")[0].metadata["ref"])
    print(chain.invoke("when are keys rotated?").content)

    search, read, remember, _ = memory_tools(memory)
    print(remember.invoke({"text": "Deploys happen on Tuesday.", "tags": ["ops"]}))
    print(read.invoke({"ref": "note:/tea"}))
