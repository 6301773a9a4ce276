"""How many trips over the network each verb makes in a store on a server; over a slow line they are what takes time."""

from __future__ import annotations

import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.plugins.postgres import server as postgres_server

from ricordo import ConfigProvider, Entry, Ricordo
from ricordo.plugins.postgres.database import Database

BUDGETS = tomllib.loads(Path(__file__).with_name("budgets.toml").read_text(encoding="utf-8"))["trips"]
AFTERWARDS = ("ricordo-usage", "ricordo-merges")
"""The threads that work after the answer."""

VERBS: dict[str, Callable[[Ricordo], object]] = {
    "search": lambda engine: engine.search("harbour lantern rope").hits,
    "search by words": lambda engine: engine.search("lantern", by="words").hits,
    "search in many words": lambda engine: (
        engine.search(
            "where is the harbour lantern, and which rope of the boat needs new paint before the winter storms come"
        ).hits
    ),
    "get": lambda engine: engine.get("note:/3").content,
    "list": lambda engine: engine.list(limit=50),
    "grep": lambda engine: engine.grep("lantern"),
    "timeline": lambda engine: engine.timeline().events,
    "save": lambda engine: engine.save("note:/new", "A new note about keels.", wait=False),
    "tree": lambda engine: engine.tree(),
    "links": lambda engine: engine.links("note:/5").links,
    "history": lambda engine: engine.history("note:/4"),
    "remember": lambda engine: engine.remember("The buoy at the northern pier was replaced in May."),
    "remember beside the like": lambda engine: engine.remember("The crane on the pier was painted by Ada in June."),
    "correct": lambda engine: engine.correct("memory:/crane", "The crane on the quay is green."),
}


@pytest.fixture(scope="module", params=[40, 160])
def filled(request: pytest.FixtureRequest) -> Iterator[Ricordo]:
    """A store with items of many kinds, half of them without a title, and a process that has answered before."""
    with Ricordo.open(postgres_server.unused(), config=ConfigProvider()) as engine:
        text = "The harbour lantern and rope of boat {n} need paint. See [[{m}]]."
        engine.save_many(
            [Entry(f"note:/{n}", text.format(n=n, m=n - 1), fields={"tags": ["red"]}) for n in range(request.param)]
        )
        engine.embed()
        engine.remember("The crane on the quay is yellow.", ref="memory:/crane")
        engine.search("lantern")
        yield engine


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_makes_few_trips_however_many_items_there_are(
    filled: Ricordo, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[str] = []
    filled._context.flush_use()
    count = Database.count_trip

    def counting(database: Database) -> None:
        if threading.current_thread().name not in AFTERWARDS:
            counted.append(verb)
        count(database)

    monkeypatch.setattr(Database, "count_trip", counting)
    assert VERBS[verb](filled)
    sys.stdout.write(f"[trips] {verb} = {len(counted)}\n")
    assert 0 < len(counted) <= BUDGETS[verb]


def test_every_budget_of_trips_is_kept() -> None:
    assert set(VERBS) == set(BUDGETS)
