"""A search engine beside a server: the contract of searches holds on it, and what it does not know yet is found."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner
from tests.plugins.postgres import server as postgres_server
from tests.plugins.postgres.team_searches import SEARCHES, fill
from tests.store.contract_items import ItemsContract
from tests.store.contract_search import SearchContract

from ricordo import ConfigProvider, Ricordo
from ricordo.cli.program import program
from ricordo.errors import UsageError
from ricordo.plugins.postgres.store import PostgresStore
from ricordo.plugins.qdrant import vectors
from ricordo.plugins.qdrant.engine import IndexAway, Space
from ricordo.plugins.qdrant.feed import Feed, Feeder, IndexChoice
from ricordo.plugins.qdrant.vectors import EngineVectors
from ricordo.store.base import Store
from ricordo.store.query import Ask, Candidates
from ricordo.store.search.index import SearchIndex

pytest.importorskip("qdrant_edge")

CAT = "A kitten sleeps on the couch, purring."
OTHERS = (
    "The invoice is due in thirty days.", "Deployments happen on Tuesday mornings.",
    "Bread rises overnight in the pantry.", "The lighthouse was painted white in spring.",
    "Kittens need an injection at nine weeks.", "The couch was moved to the second floor.",
)  # fmt: skip


class _FedIndex(SearchIndex):
    """The index of a store whose engine knows everything before each search."""

    store: PostgresStore

    def candidates(self, ask: Ask) -> Candidates:
        assert self.store.beside is not None
        self.store.beside.run()
        answer = super().candidates(ask)
        assert answer.problems == ()
        return answer


class TestSearchEngine(SearchContract):
    """What searches must do; items are kept by the server as without an engine."""

    _PLACES: ClassVar[dict[Path, str]] = {}
    for _name in [name for name in vars(ItemsContract) if name.startswith("test_")]:
        locals()[_name] = None

    def open_store(self, folder: Path, **options: Any) -> Store:
        is_new = folder not in self._PLACES
        if is_new:
            self._PLACES[folder] = postgres_server.unused()
        choice = IndexChoice(str(folder / "engine"))
        store = postgres_server.open_store(self._PLACES[folder], **options)
        feed = Feed(store, choice, in_background=False)
        if is_new:
            feed.rebuild()
        index = _FedIndex(store.opened)
        index.store = store
        store.index = index
        return store


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    made.close()


class House:
    """One workspace: an engine that searches with Qdrant, and one that searches with PostgreSQL alone."""

    def __init__(self, folder: Path) -> None:
        self.place = postgres_server.unused()
        self.folder = folder / "engine"
        self.settings = {"store.index_address": str(self.folder)}
        self.engine = Ricordo.open(self.place, config=ConfigProvider(self.settings))
        self.plain = Ricordo.open(self.place)
        store = self.engine._context.unsynced_store
        assert isinstance(store, PostgresStore)
        assert isinstance(store.beside, Feed)
        self.store, self.feed = store, store.beside
        self.stop_feeding()
        for number, text in enumerate(OTHERS):
            self.plain.save(f"note:/{number}", text)

    @property
    def index(self) -> EngineVectors:
        found = self.store.opened.vector_index
        assert isinstance(found, EngineVectors)
        return found

    @property
    def space(self) -> Space:
        """Where the engine has the vectors of the one model."""
        fed = self.feed._feed()
        assert fed is not None
        return Space(fed[1][0])

    def stop_feeding(self) -> None:
        """Feed only when a test says so."""
        self.store.database.on_commit = None
        self.index._on_tail = lambda: None

    def found(self, question: str, **options: Any) -> list[str]:
        answer = self.engine.search(question, track=False, **options)
        assert answer.meta.degraded == ()
        return [hit.ref for hit in answer.hits]

    def compared(self, question: str, **options: Any) -> None:
        """A page is the same with and without the engine: hits, scores, passages."""
        here = self.engine.search(question, track=False, **options)
        there = self.plain.search(question, track=False, **options)
        assert [hit.ref for hit in here.hits] == [hit.ref for hit in there.hits], question
        for one, other in zip(here.hits, there.hits, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-6), question
            assert one.snippet == other.snippet

    def close(self) -> None:
        self.engine.close()
        self.plain.close()


QUESTIONS = ("which animal purrs on the sofa", "kitten couch", "lighthouse", "when is the invoice due", "kiten", "zzzz")


def test_pages_are_the_same_with_and_without_the_engine(house: House) -> None:
    house.plain.save("note:/cat", CAT, fields={"tags": ["pets"]})
    house.engine.index(rebuild=True)
    report = house.engine.index()
    assert (report.passages, report.waiting) == (7, 0)
    assert list(report.vectors.values()) == [7]
    for question in QUESTIONS:
        house.compared(question)
    house.compared("kitten tag:pets")
    house.compared("couch", by="meaning")
    house.compared('"the couch"')
    house.compared("couch -kitten")
    assert (
        house.engine.explain("kitten couch", "note:/cat").to_dict()
        == house.plain.explain("kitten couch", "note:/cat").to_dict()
    )


@pytest.fixture(scope="module")
def fed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Some items with links among them that the engine knows, and one that it does not."""
    made = House(tmp_path_factory.mktemp("fed"))
    fill(made.plain)
    made.engine.index(rebuild=True)
    made.plain.save("note:/late", "The signing key of the lighthouse is due for rotation.")
    yield made
    made.close()


@pytest.mark.parametrize("name", SEARCHES)
def test_searches_of_every_kind_are_answered_as_without_the_engine(fed: House, name: str) -> None:
    query, options = SEARCHES[name]
    fed.compared(query, **options)


def test_what_the_engine_was_not_told_yet_is_found_as_it_is(house: House) -> None:
    house.engine.index(rebuild=True)
    house.plain.save("note:/cat", CAT)
    assert house.engine.index().waiting > 0
    assert house.found("which animal purrs on the sofa")[0] == "note:/cat"
    for question in QUESTIONS:
        house.compared(question)
    house.plain.edit("note:/4", content="Puppies need an injection at nine weeks.")
    assert house.found("kittens", by="words") == ["note:/cat"]
    assert house.found("puppies", by="words") == ["note:/4"]
    house.plain.rm("note:/cat")
    assert house.found("purring", by="words") == []
    house.feed.run()
    assert list(house.engine.index().vectors.values()) == [len(OTHERS)]
    house.plain.restore("note:/cat")
    assert house.found("purring", by="words") == ["note:/cat"]
    house.plain.rm("note:/cat", purge=True)
    for question in QUESTIONS:
        house.compared(question)
    house.feed.run()
    assert house.feed.check(False).ok


def test_a_vector_that_came_later_is_looked_at_and_fed(house: House) -> None:
    house.engine.index(rebuild=True)
    with Ricordo.open(house.place, config=ConfigProvider({"embedding.provider": "none"})) as other:
        other.save("note:/cat", CAT)
    house.feed.run()
    assert list(house.engine.index().vectors.values()) == [len(OTHERS)]
    house.plain.embed()
    assert house.engine.index().waiting > 0
    assert house.found("which animal purrs on the sofa", by="meaning")[0] == "note:/cat"
    house.feed.run()
    assert list(house.engine.index().vectors.values()) == [len(OTHERS) + 1]


def test_a_process_that_stays_open_feeds_the_engine_by_itself(house: House) -> None:
    house.engine.index(rebuild=True)
    house.store.database.on_commit = house.feed._thread.wake
    house.engine.save("note:/cat", CAT)
    deadline = time.monotonic() + 120
    while (report := house.engine.index()).waiting or list(report.vectors.values()) != [len(OTHERS) + 1]:
        assert time.monotonic() < deadline, report
        time.sleep(0.05)


def test_if_the_engine_is_away_postgresql_answers_and_says_so(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [hit.ref for hit in house.plain.search("kitten couch", track=False).hits]
    answer = house.engine.search("kitten couch", track=False)
    assert [hit.ref for hit in answer.hits] == expected
    assert "index: the search engine was never filled (run 'ricordo index --rebuild')" in answer.meta.degraded[0]
    house.engine.index(rebuild=True)

    def fails(*_: object) -> None:
        raise IndexAway("the search engine at home did not do its work: it sleeps")

    with monkeypatch.context() as patch:
        for call in ("nearest", "put", "count"):
            patch.setattr(house.feed.engine, call, fails)
        house.plain.save("note:/cat", CAT)
        for _ in range(2):
            answer = house.engine.search("kitten couch", track=False)
            assert answer.hits[0].ref == "note:/cat"
            assert answer.meta.degraded == (
                "index: the search engine at home did not do its work: it sleeps; PostgreSQL's own index answered",
            )
        with pytest.raises(IndexAway):
            house.feed.run()
        assert "it sleeps" in house.engine.index().problem
        assert not house.feed.check(False).ok
    house.index._away = (0.0, "")
    house.feed.run()
    assert house.found("kitten couch")[0] == "note:/cat"


def test_an_engine_that_is_far_behind_is_not_asked(house: House) -> None:
    house.engine.index(rebuild=True)
    with house.store.database.write() as connection:
        connection.run("INSERT INTO index_outbox(chunk, at) SELECT 1000000000 + n, 0 FROM generate_series(1, 2001) n")
    [problem] = house.engine.search("kitten couch", track=False).meta.degraded
    assert "lacks more than 2,000 changes" in problem
    house.feed.run()
    assert house.found("kitten couch")


def test_doctor_sees_and_mends_what_the_engine_lost(house: House) -> None:
    house.engine.index(rebuild=True)
    assert house.feed.check(False).ok
    held = sorted(house.feed.engine.held(house.space, range(10_000)))
    house.feed.engine.remove(house.space, held[:1])
    assert "it holds 5 vectors" in house.feed.check(False).detail
    assert house.feed.check(True).repaired
    assert house.feed.check(False).ok
    house.feed.engine.remove(house.space, held[:2])
    [check] = [one for one in house.engine.doctor().checks if one.name == "search engine"]
    assert not check.ok
    house.feed.engine.drop(house.space)  # the whole collection, by somebody else
    assert "has lost its collection" in house.feed.check(False).detail
    answer = house.engine.search("a kitten on the couch", track=False)
    assert any("has lost its collection" in told for told in answer.meta.degraded)
    assert answer.hits
    assert house.feed.check(True).repaired
    assert house.feed.check(False).ok


def test_the_commands_of_the_index_say_how_far_it_is(house: House) -> None:
    house.engine.close()
    env = {f"RICORDO_{name.upper().replace('.', '_')}": value for name, value in house.settings.items()}
    run = CliRunner()

    def said(*words: str) -> str:
        done = run.invoke(program, ["--store", house.place, *words], env=env)
        assert done.exit_code == 0, done.output
        return done.output

    assert "it was never filled" in said("index")
    assert ": 6" in said("index", "--rebuild")
    house.plain.save("note:/cat", CAT)
    assert "changes wait" in said("index")
    assert "note:/cat" in said("search", "purring")
    assert "never filled" in said("index", "--drop")
    house.plain.save("note:/dog", "A puppy naps.")
    store = house.plain._context.unsynced_store
    assert isinstance(store, PostgresStore)
    with store.database.read() as connection:
        assert connection.rows("SELECT count(*) FROM index_outbox") == [(0,)]


def test_a_store_without_an_engine_says_what_to_set(tmp_path: Path) -> None:
    with Ricordo.open(tmp_path / "store.db") as engine, pytest.raises(UsageError, match="no search engine is set"):
        engine.index()


def test_a_search_that_sees_what_the_engine_lacks_has_it_fed(house: House) -> None:
    house.engine.index(rebuild=True)
    woken: list[str] = []
    house.index._on_tail = lambda: woken.append("fed")
    house.found("kitten couch")
    assert woken == []
    house.plain.save("note:/cat", CAT)
    house.found("kitten couch")
    assert woken


def test_an_engine_that_failed_is_left_alone_for_a_while(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.engine.index(rebuild=True)
    asked: list[object] = []

    def fails(*given: object) -> None:
        asked.append(given)
        raise IndexAway("it sleeps")

    monkeypatch.setattr(house.feed.engine, "nearest", fails)
    for _ in range(3):
        assert house.engine.search("kitten couch", track=False).meta.degraded
    assert len(asked) == 1


@pytest.mark.parametrize("named", [0, 10_000])
def test_a_filter_that_many_items_pass_is_checked_here(
    house: House, monkeypatch: pytest.MonkeyPatch, named: int
) -> None:
    monkeypatch.setattr(vectors, "MOST_NAMED", named)
    house.plain.save("note:/cat", CAT, fields={"tags": ["pets"]})
    house.engine.index(rebuild=True)
    house.plain.save("note:/dog", "A puppy naps on the couch.", fields={"tags": ["pets"]})
    for question in ("kitten tag:pets", "couch tag:pets", "which animal purrs tag:pets"):
        assert set(house.found(question)) <= {"note:/cat", "note:/dog"}
        house.compared(question)


def test_one_long_item_does_not_hide_the_others(house: House) -> None:
    """The engine is asked for more passages until enough items are among them."""
    section = (
        "\n\n# The lamp\n\nThis lamp is a lamp, the lamp of lamps. "
        + "It burns with oil until the morning comes. " * 40
    )
    house.plain.save("note:/long", section * 30)
    house.plain.save("note:/other", "An old lamp was left behind. " + "Bread rises overnight in the pantry. " * 30)
    house.engine.index(rebuild=True)
    answer = house.engine.search("a lamp", by="meaning", limit=2, track=False)
    assert len({hit.ref for hit in answer.hits}) == 2


def test_who_has_fed_everything_lets_another_process_feed_at_once(house: House) -> None:
    house.engine.index(rebuild=True)
    house.plain.save("note:/cat", CAT)
    other = Feeder(house.store.database, house.feed.engine)
    assert other.feed() > 0
    assert house.engine.index().waiting == 0
    house.plain.save("note:/dog", "A puppy naps.")
    assert house.feed.run() > 0
