"""The store is copied once a day of use, after the answer. Items come back from the copies; what is erased does not."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections import namedtuple
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.faces.conftest import House

from ricordo import ConfigProvider, NotFound, Ricordo
from ricordo.hosting import background

DAY = 86_400
NO_VECTORS = ConfigProvider({"embedding.provider": "none"})
Processes = list[subprocess.Popen[bytes]]
KEYS = "The signing keys rotate every quarter."


def copies(store: Path) -> list[str]:
    return sorted(path.name for path in Path(f"{store}-copies").glob("*.db"))


def sleep_a_night(*files: Path) -> None:
    """As if what was written now had been written two days ago."""
    for file in files:
        os.utime(file, (time.time() - 2 * DAY,) * 2)


@pytest.fixture
def store(house: House) -> Path:
    """A store of two days ago that holds one memory."""
    place = house.folder / "own.db"
    with Ricordo.open(place, config=NO_VECTORS) as engine:
        engine.remember(KEYS, ref="memory:/keys")
    sleep_a_night(place)
    return place


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[Processes]:
    """The processes that were started to copy."""
    processes: Processes = []
    start = background.start_detached

    def noted(*args: Any, **options: Any) -> subprocess.Popen[bytes]:
        processes.append(start(*args, **options))
        return processes[-1]

    monkeypatch.setattr(background, "start_detached", noted)
    yield processes
    for process in processes:
        process.wait(120)


def wait_for_copy(store: Path, started: Processes) -> Path:
    """The copy of today, which another process makes."""
    started[-1].wait(120)
    copy = Path(f"{store}-copies", f"{date.today()}.db")
    assert copy.exists(), Path(f"{store}-copies", "last.log").read_text()
    return copy


def test_the_first_command_of_a_day_copies_the_store_and_the_next_does_not(
    house: House, store: Path, started: Processes
) -> None:
    house.run("--store", str(store), "list")
    copy = wait_for_copy(store, started)
    assert copy.stat().st_mode & 0o077 == 0
    status = house.json("--store", str(store), "status")
    assert status["copies"] == {"days": [str(date.today())], "bytes": copy.stat().st_size}
    with Ricordo.open(copy, config=NO_VECTORS, create=False) as engine:
        assert engine.get("memory:/keys").content == KEYS

    assert len(started) == 1
    sleep_a_night(store, Path(f"{store}-copies", "last.log"))
    copy.rename(copy.with_name(f"{date.today() - timedelta(2)}.db"))
    house.run("--store", str(store), "list")
    wait_for_copy(store, started)
    assert len(copies(store)) == 2


def test_copies_are_not_taken_in_with_the_folder_that_they_lie_in(
    house: House, store: Path, started: Processes
) -> None:
    house.run("--store", str(store), "list")
    wait_for_copy(store, started)
    house.write("plan.txt", "The keys are rotated.")
    house.run("--store", str(store), "add", ".")
    refs = {item["ref"] for item in house.json("--store", str(store), "list")["items"]}
    assert refs == {"memory:/keys", f"disk:{house.folder}/plan.txt"}


def test_a_store_of_today_is_not_copied(house: House) -> None:
    house.run("--store", "new.db", "remember", KEYS)
    house.run("--store", "new.db", "list")
    assert not Path("new.db-copies").exists()


def test_of_many_copies_the_newest_and_one_of_each_week_stay(house: House, store: Path, started: Processes) -> None:
    folder = Path(f"{store}-copies")
    folder.mkdir()
    days = [date.today() - timedelta(ago) for ago in range(1, 31)]
    for day in days:
        (folder / f"{day}.db").write_bytes(b"a copy")
    (folder / "of-mine.db").write_bytes(b"not made by Ricordo")
    house.run("--store", str(store), "list")
    wait_for_copy(store, started)
    newest_of_weeks = {max(day for day in days if day.isocalendar()[:2] == week) for week in weeks(days)}
    wanted = {date.today(), days[0], days[1]} | newest_of_weeks
    assert copies(store) == sorted([*(f"{day}.db" for day in wanted), "of-mine.db"])


def weeks(days: list[date]) -> set[tuple[int, int]]:
    return {day.isocalendar()[:2] for day in days}


def test_copies_leave_room_for_the_next_within_the_limit(house: House, store: Path, started: Processes) -> None:
    folder = Path(f"{store}-copies")
    folder.mkdir()
    for ago in (1, 2):
        (folder / f"{date.today() - timedelta(ago)}.db").write_bytes(bytes(500_000))
    house.run("config", "set", "store.copies_mb", "1.2")
    house.run("--store", str(store), "list")
    wait_for_copy(store, started)
    assert copies(store) == [f"{date.today() - timedelta(1)}.db", f"{date.today()}.db"]


def test_a_store_that_is_too_large_is_not_copied_and_status_says_so(house: House, store: Path) -> None:
    house.run("config", "set", "store.copies_mb", "0.1")
    house.run("--store", str(store), "list")
    assert "store.copies_mb is 0" in house.json("--store", str(store), "status")["copies"]["problem"]
    assert copies(store) == []


def test_on_a_full_disk_nothing_is_copied_and_status_says_so(
    house: House, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage(10**12, 10**12 - 10**9, 10**9))
    house.run("--store", str(store), "list")
    assert "1,000 MB left" in house.json("--store", str(store), "status")["copies"]["problem"]
    assert copies(store) == []


def test_nothing_is_copied_where_the_user_wants_no_copies(house: House, store: Path) -> None:
    house.run("config", "set", "store.copies_mb", "0")
    house.run("--store", str(store), "list")
    assert "copies" not in house.json("--store", str(store), "status")
    assert not Path(f"{store}-copies").exists()


def test_an_item_comes_back_as_it_is_in_a_copy(house: House, store: Path, started: Processes) -> None:
    house.run("--store", str(store), "list")
    wait_for_copy(store, started)
    with Ricordo.open(store, config=NO_VECTORS) as engine:
        engine.edit("memory:/keys", "Something else.")
        engine.mv("memory:/keys", "memory:/moved")
        engine.rm("memory:/moved")
        identity = engine.store.items.get_many([1])[1].id
    for name in ("memory:/moved", identity):
        house.json("--store", str(store), "restore", name, "--from", str(date.today()))
        with Ricordo.open(store, config=NO_VECTORS) as engine:
            assert engine.get("memory:/moved").content == KEYS
            engine.edit("memory:/moved", "And something else.")
    missing = house.json("--store", str(store), "restore", "memory:/none", "--from", str(date.today()), code=3)
    assert "has no memory:/none" in missing["message"]


def test_an_item_that_is_gone_comes_back_with_its_history(house: House, store: Path) -> None:
    with Ricordo.open(store, config=NO_VECTORS) as engine:
        engine.save("note:/plan", "first")
        engine.edit("note:/plan", "second")
        Path(f"{store}-copies").mkdir()
        engine.backup(f"{store}-copies/2026-11-18.db")
    store.unlink()
    with Ricordo.open(store, config=NO_VECTORS) as engine:
        assert engine.restore("note:/plan", copy="2026-11-18").status == "restored"
        assert [version.number for version in engine.history("note:/plan")] == [2, 1]
        assert engine.get("note:/plan", version=1).content == "first"


def test_a_day_without_a_copy_is_answered_with_those_that_there_are(house: House, store: Path) -> None:
    with Ricordo.open(store, config=NO_VECTORS) as engine:
        with pytest.raises(NotFound) as none:
            engine.restore("memory:/keys", copy="2026-11-17")
        assert "None was made yet" in none.value.hint
        Path(f"{store}-copies").mkdir()
        engine.backup(f"{store}-copies/2026-11-18.db")
        for name in ("2026-11-17", "../own"):
            with pytest.raises(NotFound) as caught:
                engine.restore("memory:/keys", copy=name)
            assert "2026-11-18" in caught.value.hint


def test_what_is_erased_is_in_no_copy(house: House, store: Path) -> None:
    with Ricordo.open(store, config=NO_VECTORS) as engine:
        Path(f"{store}-copies").mkdir()
        engine.backup(f"{store}-copies/2026-11-18.db")
        engine.rm("memory:/keys")
        assert copies(store)
        engine.rm("memory:/keys", purge=True)
    assert copies(store) == []


def test_copies_of_an_encrypted_store_are_encrypted_and_readable_ones_go(
    house: House, store: Path, started: Processes
) -> None:
    with Ricordo.open(store, config=NO_VECTORS) as engine:
        Path(f"{store}-copies").mkdir()
        engine.backup(f"{store}-copies/2026-11-18.db")
    house.run("--store", str(store), "migrate", "--encrypt", "--key", "a.key")
    assert copies(store) == []
    sleep_a_night(store)
    house.run("--store", str(store), "list")
    copy = wait_for_copy(store, started)
    assert KEYS.encode() not in copy.read_bytes()
    with Ricordo.open(copy, config=NO_VECTORS, create=False) as engine:
        assert engine.get("memory:/keys").content == KEYS
