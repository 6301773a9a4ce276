"""LangGraph's store: values come back as they were put, are found by meaning and by fields, and go away."""

from __future__ import annotations

import asyncio

import pytest

from ricordo import Ricordo

pytest.importorskip("langgraph", reason="langgraph is not installed (dependency group 'integrations')")
pytestmark = pytest.mark.filterwarnings("default")

from ricordo.plugins.frameworks.langgraph import RicordoStore  # noqa: E402 - only where the framework is


def test_values_come_back_as_they_were_put_and_go_away(engine: Ricordo) -> None:
    store = RicordoStore(engine)
    value = {"text": "Ada prefers tea", "age": 36, "deep": {"list": [1, "two", None]}, "ok": True}
    store.put(("users", "ada/1"), "tastes & more", value)
    found = store.get(("users", "ada/1"), "tastes & more")
    assert found is not None
    assert (found.value, found.key, found.namespace) == (value, "tastes & more", ("users", "ada/1"))
    store.put(("users", "ada/1"), "tastes & more", {"text": "Ada prefers coffee"})
    assert store.get(("users", "ada/1"), "tastes & more").value == {"text": "Ada prefers coffee"}
    store.delete(("users", "ada/1"), "tastes & more")
    store.delete(("users", "ada/1"), "tastes & more")
    assert store.get(("users", "ada/1"), "tastes & more") is None


def test_only_secrets_do_not_come_back_as_they_were_put(engine: Ricordo) -> None:
    store = RicordoStore(engine)
    store.put(("a",), "k", {"text": "password: hunter2zzQ9", "names": ["Ada", "  two  spaces\n"], "n": 1.5})
    found = store.get(("a",), "k")
    assert found is not None
    assert found.value == {"text": "password: [redacted: password]", "names": ["Ada", "  two  spaces\n"], "n": 1.5}


def test_items_are_found_by_words_by_fields_and_within_their_namespace(engine: Ricordo) -> None:
    store = RicordoStore(engine)
    store.put(("a", "x"), "one", {"text": "green tea from Japan", "price": 10})
    store.put(("a", "y"), "two", {"text": "black tea from Assam", "price": 20})
    store.put(("b",), "three", {"text": "tea cups", "price": 5})
    assert {item.key for item in store.search(("a",), query="tea")} == {"one", "two"}
    assert store.search(("a",), query="tea from Assam")[0].key == "two"
    assert [item.key for item in store.search(("a",), filter={"price": {"$gt": 10}})] == ["two"]
    assert [item.key for item in store.search(("a",), filter={"price": 10, "text": "green tea from Japan"})] == ["one"]
    assert len(store.search((), limit=2)) == 2
    assert len(store.search((), limit=2, offset=2)) == 1
    assert store.list_namespaces() == [("a", "x"), ("a", "y"), ("b",)]
    assert store.list_namespaces(prefix=("a",), max_depth=1) == [("a",)]
    assert store.list_namespaces(suffix=("y",)) == [("a", "y")]


def test_the_asynchronous_side_does_the_same(engine: Ricordo) -> None:
    store = RicordoStore(engine)

    async def use() -> list[str]:
        await store.aput(("n",), "k", {"text": "hello"})
        return [item.key for item in await store.asearch(("n",), query="hello")]

    assert asyncio.run(use()) == ["k"]


def test_values_are_compared_by_every_sign_and_by_names_deep_inside(engine: Ricordo) -> None:
    store = RicordoStore(engine)
    for price in (5, 10, 20):
        store.put(("a",), str(price), {"price": price})
    store.put(("a",), "text", {"price": "dear"})

    def fitting(**condition: object) -> list[str]:
        return sorted(item.key for item in store.search(("a",), filter={"price": condition}, limit=10))

    assert fitting(**{"$eq": 10}) == ["10"]
    assert fitting(**{"$ne": 10}) == ["20", "5", "text"]
    assert fitting(**{"$gte": 10}) == ["10", "20"]
    assert fitting(**{"$gt": 10}) == ["20"]
    assert fitting(**{"$lte": 10}) == ["10", "5"]
    assert fitting(**{"$lt": 10}) == ["5"]
    assert fitting(**{"$gt": 5, "$lt": 20}) == ["10"]


def test_only_the_parts_that_are_to_be_indexed_are_found(engine: Ricordo) -> None:
    store = RicordoStore(engine)
    store.put(("a",), "some", {"shown": {"deep": "apples"}, "other": "pears"}, index=["shown.deep"])
    store.put(("a",), "none", {"text": "plums"}, index=False)
    store.put(("a",), "all", {"names": ["cherries", {"age": 36}]})
    assert [item.key for item in store.search(("a",), query="apples")] == ["some"]
    assert store.search(("a",), query="pears") == []
    assert store.search(("a",), query="plums") == []
    assert [item.key for item in store.search(("a",), query="cherries")] == ["all"]
    assert engine.get("agent:/langgraph/a/all").content == "cherries\nage: 36"
    assert [item.key for item in store.search(("a",), query="cherries", offset=1)] == []


def test_namespaces_are_listed_in_pages_by_both_ends_and_any_name(engine: Ricordo) -> None:
    store = RicordoStore(engine)
    for namespace in (("a", "x", "1"), ("a", "y", "1"), ("b", "x", "2"), ("c",)):
        store.put(namespace, "k", {"text": "t"})
    assert store.list_namespaces(prefix=("a", "*", "1")) == [("a", "x", "1"), ("a", "y", "1")]
    assert store.list_namespaces(suffix=("x", "*")) == [("a", "x", "1"), ("b", "x", "2")]
    assert store.list_namespaces(prefix=("a",), suffix=("1",), limit=1, offset=1) == [("a", "y", "1")]
    assert store.list_namespaces(max_depth=2, limit=2) == [("a", "x"), ("a", "y")]
    assert store.list_namespaces(prefix=("c", "x")) == []
