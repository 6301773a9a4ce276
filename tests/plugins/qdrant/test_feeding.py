"""What feeds a search engine may be killed anywhere: nothing is missing afterwards, and nothing is there twice."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.plugins.postgres import server as postgres_server

from ricordo import ConfigProvider, Entry, Ricordo
from ricordo.plugins.postgres.store import PostgresStore
from ricordo.plugins.qdrant import feed
from ricordo.plugins.qdrant.engine import VECTOR, IndexAway, IndexLost, Point, PointEngine, Space
from ricordo.plugins.qdrant.feed import Feed, Feeder, IndexChoice, LeaseLost

pytest.importorskip("qdrant_edge")
PASSAGES = 300
WORDS = ("tide", "lamp", "rope", "anchor", "harbour", "gull", "storm", "chart")


@pytest.fixture
def place() -> str:
    """A store with some hundred passages, each with a vector."""
    place = postgres_server.unused()
    texts = [f"{WORDS[n % 8]} {WORDS[n % 5]} number{n}" for n in range(PASSAGES)]
    with Ricordo.open(place, config=ConfigProvider({"embedding.provider": "none"})) as engine:
        engine.save_many([Entry(f"note:/{n}", text, "note") for n, text in enumerate(texts)])
    embed(place)
    return place


def embed(place: str) -> None:
    """Give every passage a vector of a made-up model."""
    with closing(postgres_server.open_store(place)) as store:
        store.jobs.enqueue_missing("made", 3)
        while jobs := store.jobs.claim("made", 3, "test", 500):
            made = {job.hash: np.array([job.chunk % 7, 1.0, job.chunk % 3], np.float32) for job in jobs}
            store.jobs.finish("made", jobs, made)


@pytest.fixture
def store(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresStore]:
    """The same, open with an engine in two shards that was told to take everything in, and has not begun."""
    monkeypatch.setattr(feed, "BATCH", 40)
    with monkeypatch.context() as patch:
        patch.setattr(Feeder, "feed", lambda self: 0)
        choice = IndexChoice(str(tmp_path / "engine"), shards=2)
        opened = postgres_server.open_store(place)
        Feed(opened, choice, in_background=False).rebuild()
    yield opened
    opened.close()


def whole(store: PostgresStore) -> None:
    """Everything is in the engine once."""
    assert isinstance(store.beside, Feed)
    report = store.beside.report()
    assert (list(report.vectors.values()), report.waiting) == ([report.passages], 0)
    assert store.beside.check(False).ok, store.beside.check(False).detail


class Failing:
    """An engine that fails at its n-th call that writes, before or after it did it."""

    def __init__(self, engine: PointEngine, call: int, *, after: bool) -> None:
        self.engine = engine
        self.left = call
        self.after = after

    def __getattr__(self, name: str) -> Any:
        called = getattr(self.engine, name)
        if name not in ("put", "remove", "make"):
            return called

        def failing(*given: Any) -> Any:
            self.left -= 1
            if self.left == 0 and not self.after:
                raise IndexAway("killed before")
            called(*given)
            if self.left == 0:
                raise IndexAway("killed after")

        return failing


def test_a_feeder_that_fails_at_any_call_goes_on_where_it_was(store: PostgresStore) -> None:
    assert isinstance(store.beside, Feed)
    failures = 0
    for call in (1, 2, 3, 2, 1, 3):
        for after in (False, True):
            engine = Failing(store.beside.engine, call, after=after)
            feeder = Feeder(store.database, engine)
            with store.database.write_at_once() as connection:  # as if the time of the one before had passed
                connection.run("UPDATE index_feeds SET lease_until = 0")
            try:
                feeder.feed()
            except IndexAway:
                failures += 1
    assert failures >= 6
    with store.database.write_at_once() as connection:
        connection.run("UPDATE index_feeds SET lease_until = 0")
    store.beside.run()
    whole(store)


_WORKER = """
import sys
from pathlib import Path
from ricordo.plugins.postgres.address import parse
from ricordo.plugins.postgres.store import PostgresStore
from ricordo.plugins.qdrant import feed
from ricordo.plugins.qdrant.feed import Feed, IndexChoice
feed.BATCH = 20
store = PostgresStore(parse(sys.argv[1]))
feed = Feed(store, IndexChoice(sys.argv[2]), in_background=False)
print("ready", flush=True)
apply = feed.feeder._apply
def told(*given):
    done = apply(*given)
    print("applied", flush=True)
    return done
feed.feeder._apply = told
feed.run()
"""


def test_a_feeder_that_is_killed_loses_nothing_and_repeats_nothing(place: str, tmp_path: Path) -> None:
    folder = str(tmp_path / "engine")
    choice = IndexChoice(folder, shards=2)
    store = postgres_server.open_store(place)
    engine = Feed(store, choice, in_background=False)
    engine.feeder.feed = lambda: 0  # type: ignore[method-assign]
    engine.rebuild()
    engine.engine.close()  # one process at a time can have it
    for lines in (1, 2, 3, 5):
        worker = subprocess.Popen([sys.executable, "-c", _WORKER, place, folder], stdout=subprocess.PIPE)
        assert worker.stdout is not None
        for _ in range(lines):
            assert worker.stdout.readline(), "it ended by itself"
        worker.kill()
        worker.wait()
        worker.stdout.close()
        with store.database.write_at_once() as connection:  # as if its time had passed
            connection.run("UPDATE index_feeds SET lease_until = 0")
    del engine.feeder.feed
    engine.run()
    whole(store)
    store.close()


def test_one_process_feeds_at_a_time(store: PostgresStore) -> None:
    assert isinstance(store.beside, Feed)
    first, second = (Feeder(store.database, store.beside.engine) for _ in range(2))
    assert first.step() == 40
    assert second.step() is None
    with store.database.write_at_once() as connection:
        connection.run("UPDATE index_feeds SET lease_until = 0")
    assert second.step() == 40
    assert first.step() is None
    while second.step():
        pass
    assert first.step() == 0, "who is done lets others feed"
    whole(store)


def test_a_feeder_whose_lease_was_taken_takes_no_note_away(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(store.beside, Feed)
    slow, other = (Feeder(store.database, store.beside.engine) for _ in range(2))
    apply = slow._apply

    def slowly(*given: Any) -> tuple[str, ...]:
        spaces = apply(*given)
        with store.database.write_at_once() as connection:
            connection.run("UPDATE index_feeds SET lease_until = 0")
        assert other.step() == 40
        return spaces

    monkeypatch.setattr(slow, "_apply", slowly)
    with pytest.raises(LeaseLost):
        slow.step()
    other.feed()
    whole(store)


def test_a_feeder_that_is_too_late_sends_nothing(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(store.beside, Feed)
    with monkeypatch.context() as patch:
        patch.setattr(feed, "LEASE_SECONDS", -1)
        with pytest.raises(LeaseLost, match="longer than its lease"):
            store.beside.feeder.step()
    assert store.beside.report().vectors == {}
    assert store.beside.report().waiting == PASSAGES


def test_what_an_engine_had_before_it_was_filled_anew_is_thrown_away(store: PostgresStore, tmp_path: Path) -> None:
    assert isinstance(store.beside, Feed)
    store.beside.run()
    before = {path.name for path in (tmp_path / "engine").iterdir()}
    store.beside.rebuild()
    after = {path.name for path in (tmp_path / "engine").iterdir()}
    assert len(after) == len(before) == 1
    assert not after & before
    whole(store)


def test_changes_by_programs_that_know_no_engine_are_fed_too(store: PostgresStore, place: str) -> None:
    assert isinstance(store.beside, Feed)
    store.beside.run()
    with Ricordo.open(place, config=ConfigProvider({"embedding.provider": "none"})) as engine:
        engine.edit("note:/1", content="the lamp is lit")
        engine.rm("note:/2", purge=True)
        engine.rm("note:/3")
        engine.mv("note:/4", "note:/moved")
        engine.save("note:/new", "an anchor")
    embed(place)
    report = store.beside.report()
    assert report.waiting > 0
    assert 0 <= report.lag_seconds < 3_600
    store.beside.run()
    whole(store)


def _engines(folder: Path) -> Iterator[PointEngine]:
    from qdrant_client import QdrantClient

    from ricordo.plugins.qdrant.client import ClientEngine
    from ricordo.plugins.qdrant.edge import EdgeEngine

    yield EdgeEngine(folder / "edge", shards=2)
    yield ClientEngine(QdrantClient(":memory:"), "memory")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_both_ways_to_call_qdrant_do_the_same(tmp_path: Path) -> None:
    pytest.importorskip("qdrant_client")
    for engine in _engines(tmp_path):
        space = Space("a-m1", 4)
        engine.check()
        engine.make(space)
        engine.make(space)
        rows = np.eye(4, dtype=np.float32)
        engine.put(space, [Point(n, n // 2, rows[n % 4] + 0.1 * n) for n in range(1, 9)], 5)
        engine.put(space, [Point(7, 3, 9 * rows[0])], 6)
        engine.put(space, [Point(7, 3, 0 * rows[0])], 4)  # late: something newer is there
        assert engine.nearest(space, rows[0], 3, None) == [7, 8, 4]
        assert engine.nearest(space, rows[0], 9, [1, 4]) == [8, 3, 2]
        engine.remove(space, [7, 777])
        assert engine.count(space) == 7
        assert engine.held(space, [1, 7, 8, 9]) == {1, 8}
        engine.settle()
        assert engine.nearest(space, rows[0], 1, None) == [8]
        engine.drop(space)
        engine.drop(space)
        for ask in (
            partial(engine.nearest, space, rows[0], 1, None), partial(engine.count, space),
            partial(engine.held, space, [1]), partial(engine.put, space, [Point(1, 1, rows[0])], 1),
        ):  # fmt: skip
            with pytest.raises(IndexLost, match="has lost its collection a-m1"):
                ask()
        engine.close()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_point_that_another_program_wrote_is_named_for_what_it_is(tmp_path: Path) -> None:
    """It has no number, or nothing of ours beside its vector."""
    models = pytest.importorskip("qdrant_client").models
    for engine in _engines(tmp_path):
        space = Space("a-m1", 4)
        engine.make(space)
        vector = np.eye(4, dtype=np.float32)[0]
        strange = uuid.uuid4()
        if hasattr(engine, "_client"):
            points = [models.PointStruct(id=name, vector={VECTOR: vector.tolist()}) for name in (7, str(strange))]
            engine._client.upsert(space.name, points[:1])
            assert engine.nearest(space, vector, 3, None) == [7], "what it knows besides is not asked"
            engine._client.upsert(space.name, points)
        else:
            edge = pytest.importorskip("qdrant_edge")
            made = [edge.Point(name, {VECTOR: vector.tolist()}, {}) for name in (7, strange)]
            shards = engine._shards(space)  # type: ignore[attr-defined]
            shards[0].update(edge.UpdateOperation.upsert_points(made))
        with pytest.raises(IndexLost, match=f"a point that is not Ricordo's .{strange}"):
            engine.nearest(space, vector, 3, None)
        engine.close()


@pytest.mark.parametrize("raised", [Exception("no space"), OSError("no space")])
def test_what_the_engine_in_this_process_raises_means_that_it_is_away(tmp_path: Path, raised: Exception) -> None:
    """Its errors have no class of their own; a mistake of this program is told as what it is."""
    from ricordo.plugins.qdrant.edge import EdgeEngine

    engine = EdgeEngine(tmp_path)
    with pytest.raises(IndexAway, match="no space"), engine._calling():
        raise raised
    for mistake in (KeyError, OverflowError, TypeError):
        with pytest.raises(mistake), engine._calling():
            raise mistake("x")


class _Wire(BaseHTTPRequestHandler):
    """Answers like a server of Qdrant, and notes what it was asked."""

    asked: ClassVar[list[tuple[str, str, str, Any]]] = []

    def _answer(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(size)) if size else None
        self.asked.append((self.command, self.path, self.headers.get("api-key", ""), body))
        result: Any = {"operation_id": 1, "status": "completed"}
        if self.path.endswith("/exists"):
            result = {"exists": False}
        elif self.path.endswith("/points/query"):
            result = {"points": [{"id": 7, "version": 1, "score": 0.5, "payload": {"item": 3}}]}
        elif self.path.endswith("/count"):
            result = {"count": 3}
        elif self.command == "PUT" and self.path.count("/") == 2:
            result = True
        sent = json.dumps({"result": result, "status": "ok", "time": 0.1}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    do_GET = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815 - so the library calls them

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def wire() -> Iterator[str]:
    """The address of such a server."""
    _Wire.asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Wire)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_cluster_is_asked_for_shards_copies_and_waits_for_writes(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("qdrant_client")
    monkeypatch.setenv("THE_KEY", "sesame")
    engine = IndexChoice(wire, "THE_KEY", shards=6, replicas=2).open()
    space = Space("a-m1", 2)
    engine.make(space)
    engine.put(space, [Point(7, 3, np.array([0.5, 1.0], np.float32))], 11)
    assert engine.nearest(space, np.array([1.0, 0.0], np.float32), 5, [3]) == [7]
    assert engine.count(space) == 3
    engine.remove(space, [7])
    engine.close()
    assert {key for _, _, key, _ in _Wire.asked} == {"sesame"}
    bodies = {(verb, path.split("?")[0]): body for verb, path, _, body in _Wire.asked}
    made = bodies["PUT", "/collections/a-m1"]
    assert (made["shard_number"], made["replication_factor"]) == (6, 2)
    put = bodies["PUT", "/collections/a-m1/points"]
    assert put["points"] == [{"id": 7, "vector": {"v": [0.5, 1.0]}, "payload": {"item": 3, "seq": 11}}]
    assert put["update_filter"]["must"][0]["range"]["lte"] == 11
    query = bodies["POST", "/collections/a-m1/points/query"]
    assert (query["limit"], query["using"]) == (5, "v")
    assert query["filter"]["must"][0]["match"]["any"] == [3]
    writes = [path for verb, path, _, _ in _Wire.asked if path.split("?")[0].endswith(("/points", "/delete"))]
    assert writes
    assert all("wait=true" in path for path in writes)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_server_that_cannot_be_reached_is_away(place: str) -> None:
    pytest.importorskip("qdrant_client")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://kim:geheim@127.0.0.1:{free.getsockname()[1]}"
    settings = {"embedding.provider": "none", "store.index_address": address}
    with Ricordo.open(place, config=ConfigProvider(settings)) as engine:
        with pytest.raises(IndexAway, match="did not do its work") as raised:
            engine.index(rebuild=True)
        report = engine.index()
        assert "never filled" in report.problem, "nothing was changed"
        assert "geheim" not in f"{raised.value} {report}"
        assert engine.search("anchor", track=False).hits
