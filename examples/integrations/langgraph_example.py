"""LangGraph: a graph whose node keeps and finds memories in its store."""

import tempfile
from pathlib import Path
from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

from ricordo import Ricordo
from ricordo.plugins.frameworks.langgraph import RicordoStore


class State(TypedDict):
    question: str
    answer: str


def answer(state: State, *, store: BaseStore) -> dict[str, str]:
    found = store.search(("ada", "likes"), query=state["question"], limit=1)
    return {"answer": found[0].value["text"]}


with tempfile.TemporaryDirectory() as folder, Ricordo.open(Path(folder) / "memory.db") as memory:
    store = RicordoStore(memory)
    store.put(("ada", "likes"), "drink", {"text": "Ada prefers tea over coffee."})
    store.put(("ada", "likes"), "place", {"text": "Ada loves the sea in winter."})
    graph = StateGraph(State)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    print(graph.compile(store=store).invoke({"question": "what does Ada drink?"})["answer"])
    print(store.list_namespaces())
