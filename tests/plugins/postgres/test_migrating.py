"""A store moves into another kind of store and back, and an item moves up a tier, with their history."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.plugins.postgres import server as postgres_server

from ricordo import Ricordo
from ricordo.errors import PathConflict, UsageError
from ricordo.plugins.postgres.database import Database


def _fill(engine: Ricordo) -> None:
    engine.remember("Deploy on Tuesdays.", title="Deploys")
    engine.edit("memory:/deploys", "Deploy on Wednesdays.")
    engine.remember("Lunch is at noon.", title="Lunch")
    engine.link("memory:/lunch", "memory:/deploys", "extends")
    engine.search("deploy")


def test_a_store_goes_to_a_server_and_back(tmp_path: Path) -> None:
    team = postgres_server.unused()
    with Ricordo.open(tmp_path / "first.db") as engine:
        _fill(engine)
        there = engine.migrate(team)
        before: list[tuple[str, Any]] = [
            (hit.ref, pytest.approx(hit.score, abs=1e-5)) for hit in engine.search("deploy", track=False).hits
        ]
        again = engine.migrate(team)
    assert (there.items, there.written, there.vectors) == (
        2,
        2,
        3,
    )  # a former passage is found as of its time, so its vector comes too
    assert again.written == 0
    with Ricordo.open(team) as engine:
        assert [(hit.ref, hit.score) for hit in engine.search("deploy", track=False).hits] == before
        assert [one.number for one in engine.history("memory:/deploys")] == [2, 1]
        back = engine.migrate(tmp_path / "second.db")
    assert (back.items, back.records) == (there.items, there.records)
    with Ricordo.open(tmp_path / "second.db") as engine:
        assert engine.get("memory:/deploys", version=1).content == "Deploy on Tuesdays."
        assert engine.search("deploy", track=False).meta.degraded == ()


def test_a_target_with_items_of_its_own_is_refused(tmp_path: Path) -> None:
    with Ricordo.open(tmp_path / "other.db") as engine:
        engine.remember("Mine.")
    with Ricordo.open(tmp_path / "first.db") as engine:
        _fill(engine)
        with pytest.raises(PathConflict, match="items of its own"):
            engine.migrate(tmp_path / "other.db")
        with pytest.raises(UsageError):
            engine.migrate(tmp_path / "first.db")


def test_an_interrupted_migration_is_taken_up_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    team = postgres_server.unused()
    monkeypatch.setattr("ricordo.plugins.transfer.export_file._BATCH_ITEMS", 1)

    def stop(progress: object) -> None:
        raise KeyboardInterrupt

    with Ricordo.open(tmp_path / "first.db") as engine:
        _fill(engine)
        with pytest.raises(KeyboardInterrupt):
            engine.migrate(team, progress=stop)
        rest = engine.migrate(team)
    assert (rest.items, rest.written) == (2, 1)


def test_an_item_is_promoted_with_its_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    team = postgres_server.unused()
    with Ricordo.open(team) as engine:
        engine.remember("Theirs.", title="Lunch")
    monkeypatch.setenv("RICORDO_TIERS_TEAM", team)
    with Ricordo.open(tmp_path / "own.db") as engine:
        _fill(engine)
        assert engine.promote("memory:/deploys", "team").status == "created"
        with pytest.raises(PathConflict):
            engine.promote("memory:/lunch", "team")
        engine.edit("memory:/deploys", "Deploy on Thursdays.")
        hit = engine.search("deploy", track=False).hits[0]
        assert [(one.tier, one.is_newer) for one in hit.elsewhere] == [("team", False)]
        assert "-Deploy on Thursdays." in hit.elsewhere[0].diff
        assert engine.promote("memory:/deploys", "team").status == "updated"
    with Ricordo.open(team) as engine:
        assert [one.number for one in engine.history("memory:/deploys")] == [3, 2, 1]
        assert engine.get("memory:/deploys").content == "Deploy on Thursdays."


def test_copying_to_a_server_and_back_does_not_make_trips_for_every_item(
    engine: Ricordo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over a network, trips take most of the time: items, links, verdicts and logs go in batches, both ways."""
    trips: list[str] = []
    count = Database.count_trip

    def counting(database: Database) -> None:
        trips.append(database.path)
        count(database)

    monkeypatch.setattr(Database, "count_trip", counting)
    team = postgres_server.unused()
    for at in range(250):
        engine.save(f"note:/{at}", f"Note {at} speaks of [[{at - 1}]].")
    for at in range(0, 250, 5):
        engine.link(f"note:/{at}", f"note:/{at + 1}", "extends")
        engine.search(f"note {at}", profile="bm25")
        engine.feedback(f"note {at}", f"note:/{at}", "accepted")
    there = engine.migrate(team)
    out, again = len(trips), engine.migrate(team)
    twice = len(trips) - out
    assert (there.items, again.written) == (250, 0)
    trips.clear()
    with Ricordo.open(team) as shared:
        assert shared.migrate(tmp_path / "second.db").records == there.records
    assert max(out, twice, len(trips)) < 250
