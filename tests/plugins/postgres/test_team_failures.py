"""A team's server that crashes, is slow or loses connections: nothing acknowledged is lost, and clients go on."""

from __future__ import annotations

import importlib.util
import socket
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.plugins.postgres import server as postgres_server
from tests.store.contract_fixtures import prepared

from ricordo import Ricordo
from ricordo.errors import Unavailable
from ricordo.plugins.postgres.store import PostgresStore
from ricordo.store.query import Ask, AskedWord
from ricordo.values.items import Ref
from ricordo.values.reports import Progress

WRITERS = 3
EACH = 15
"""So many writes are acknowledged to each writer before the server crashes, and as many after it."""


@pytest.fixture(scope="module")
def own_server() -> Iterator[postgres_server.OwnServer]:
    server = postgres_server.OwnServer(postgres_server.free_port())
    yield server
    server.stop()


class _Writer(threading.Thread):
    """Saves notes one by one with one open store; what the server does not answer is tried again."""

    def __init__(self, store: PostgresStore, number: int, crashed: threading.Event) -> None:
        super().__init__()
        self.store, self.number, self.crashed = store, number, crashed
        self.acknowledged: list[Ref] = []
        self.refused = 0
        self.ready = threading.Event()

    def run(self) -> None:
        after = 0
        while after < EACH:
            ref = Ref("note", f"/{self.number}/{len(self.acknowledged)}")
            try:
                self.store.changes.save([prepared(str(ref), f"Text {len(self.acknowledged)} of {self.number}.")])
                self.store.index.candidates(Ask(words=(AskedWord("text"),)))
            except Unavailable:
                self.refused += 1
                continue
            self.acknowledged.append(ref)
            after += self.crashed.is_set()
            if len(self.acknowledged) >= EACH:
                self.ready.set()


def test_a_server_that_crashes_under_load_loses_nothing_that_it_acknowledged(
    own_server: postgres_server.OwnServer,
) -> None:
    store = postgres_server.open_store(own_server.address)
    crashed = threading.Event()
    writers = [_Writer(store, number, crashed) for number in range(WRITERS)]
    try:
        for writer in writers:
            writer.start()
        for writer in writers:
            assert writer.ready.wait(60)
        own_server.crash()
        own_server.start()
        crashed.set()
        for writer in writers:
            writer.join(120)
            assert not writer.is_alive()
        kept = {ref for _, ref, _ in store.items.refs_below("note", "")}
        for writer in writers:
            assert set(writer.acknowledged) <= kept
        assert [check(False).ok for _, check in store.checks()] == [True] * len(store.checks())
    finally:
        store.close()


def test_writers_and_readers_go_on_over_a_crash_and_everything_is_found_once(
    own_server: postgres_server.OwnServer,
) -> None:
    """The short form of ``faults/team.py``; each client tries until the server answers."""
    spec = importlib.util.spec_from_file_location("faults_team", Path("faults/team.py").resolve())
    assert spec is not None
    assert spec.loader is not None
    team = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(team)

    def restart() -> None:
        own_server.crash()
        own_server.start()

    report = team.Clients(f"{own_server.address}?workspace=crowd", tries=100).work(0.5, restart)
    assert (report["errors"], report["lost"], report["twice"], report["doctor"]) == ([], 0, 0, [])
    assert report["found by their words"] == report["kept"] >= report["writes"] > 0


def test_a_migration_that_a_crash_interrupts_is_taken_up_again(
    own_server: postgres_server.OwnServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = f"{own_server.address}?workspace=migrated"
    monkeypatch.setattr("ricordo.plugins.transfer.export_file._BATCH_ITEMS", 2)
    done = []

    def crash_after_two_batches(progress: Progress) -> None:
        done.append(progress.done)
        if len(done) == 2:
            own_server.crash()

    with Ricordo.open(tmp_path / "first.db") as engine:
        for number in range(9):
            engine.save(f"note:/{number}", f"Text number {number}.")
        texts = [engine.get(f"note:/{number}").content for number in range(9)]
        with pytest.raises(Unavailable):
            engine.migrate(team, progress=crash_after_two_batches)
        own_server.start()
        rest = engine.migrate(team)
        assert (rest.items, rest.written) == (9, 9 - done[-1])
        assert [engine.get(f"note:/{number}").content for number in range(9)] == texts
    with Ricordo.open(team) as engine:
        assert [engine.get(f"note:/{number}").content for number in range(9)] == texts
        assert engine.doctor().ok


def test_a_migration_goes_on_when_its_connections_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"cut-{uuid.uuid4().hex}"
    team = f"{postgres_server.unused()}&application_name={name}"
    monkeypatch.setattr("ricordo.plugins.transfer.export_file._BATCH_ITEMS", 2)
    cut: list[int] = []
    with Ricordo.open(tmp_path / "first.db") as engine:
        for number in range(5):
            engine.save(f"note:/{number}", f"Text number {number}.")
        assert engine.migrate(team, progress=lambda progress: cut.append(_cut(name))).written == 5
    assert max(cut) > 0


def test_a_slow_team_tier_is_left_out_in_time_and_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections and never answers
        port = silent.getsockname()[1]
        monkeypatch.setenv("RICORDO_TIERS_TEAM", f"postgresql://ann:secret@127.0.0.1:{port}/team")
        monkeypatch.setattr("ricordo.search.tiers.TIER_SECONDS", 20.0)
        with Ricordo.open(str(tmp_path / "own.db")) as engine:
            engine.remember("My release notes are in the drawer.")
            answer = engine.search("release")
    assert [hit.tier for hit in answer.hits] == ["agent"]
    assert any("tier team" in note for note in answer.meta.degraded)
    assert not any("secret" in note for note in answer.meta.degraded)


def _cut(name: str) -> int:
    """End the connections with a name, as a firewall might; returns how many there were."""
    with psycopg.connect(postgres_server.address(), autocommit=True) as raw:
        return len(
            raw.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s", (name,)
            ).fetchall()
        )
