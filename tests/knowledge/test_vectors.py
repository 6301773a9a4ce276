"""Texts that a read took in from knowledge files, or that a hook left, get their vectors without being asked for."""

from __future__ import annotations

from ricordo import ConfigProvider, Ricordo
from ricordo.engine.context import embed_waiting_texts
from ricordo.mcp_server.service import ToolService

from .conftest import House

MEANING = {"embedding.provider": "local"}
TEXT = "The canine slept in front of the fireplace all evening."
REF = "memory:/the-canine-slept-in-front-of-the-fireplace-all-evening"
QUESTION = "where does our dog like to nap"


def with_one_memory(house: House) -> None:
    """A knowledge folder with one file, and no store."""
    house.open().remember(TEXT)
    house.forget_store()


def by_meaning(house: House) -> list[str]:
    return [hit.ref for hit in house.open(**MEANING).search(QUESTION, by="meaning").hits]


def test_a_server_makes_the_vectors_of_knowledge_files_that_a_read_took_in(house: House) -> None:
    with_one_memory(house)
    service = ToolService(store=str(house.place / "ricordo.db"), config=ConfigProvider(MEANING))
    try:
        assert not service.call("search", {"query": QUESTION}).is_error
        embed_waiting_texts(service.engine())  # as the thread does; whoever comes second finds nothing to do
    finally:
        service.close()
    assert len(by_meaning(house)) == 1


def test_a_read_wakes_the_thread_that_makes_vectors(house: House) -> None:
    with_one_memory(house)
    service = ToolService(store=str(house.place / "ricordo.db"), config=ConfigProvider(MEANING))
    drained: list[bool] = []
    service._backlog.wake = lambda: drained.append(True)  # type: ignore[method-assign]
    try:
        assert not service.call("search", {"query": QUESTION}).is_error
    finally:
        service.close()
    assert drained


def test_sync_makes_the_vectors_of_what_an_earlier_read_took_in(house: House) -> None:
    with_one_memory(house)
    with house.open(**MEANING) as engine:
        engine.list()  # takes the file in; nobody makes its vector
    assert not house.open(**MEANING).get(REF).has_embedding
    assert house.open(**MEANING).sync().count("created", "updated") == 0
    assert house.open(**MEANING).get(REF).has_embedding


def test_adding_what_is_known_already_makes_the_vectors_that_wait(house: House) -> None:
    engine = house.open(**MEANING)
    engine.remember(TEXT, wait=False)
    assert not engine.get(REF).has_embedding
    assert engine.remember(TEXT).status == "skipped"
    assert engine.get(REF).has_embedding


def test_a_few_waiting_texts_are_seen_to_and_many_are_only_counted(house: House) -> None:
    engine: Ricordo = house.open(**MEANING)
    for name, text in (("keys", TEXT), ("bread", "Bread needs flour, water, salt and time.")):
        engine.save(f"note:/{name}", text, wait=False)
    assert embed_waiting_texts(engine, at_most=1) == 2
    assert embed_waiting_texts(engine) == 0
    assert engine.get("note:/bread").has_embedding
