"""What a kill at the worst moment, a half-saved file, a busy store and planted links do to the knowledge files."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ricordo import Ricordo, StoreError
from ricordo.memory.files.sync import Sync
from ricordo.values.items import Ref
from ricordo.values.reports import WatchEvent

from .conftest import House

posix = pytest.mark.skipif(os.name != "posix", reason="needs signals and links")

KILLED = """
import os, sys
from pathlib import Path
from ricordo import ConfigProvider, Ricordo
from ricordo.memory.files import folder
from ricordo.nofollow import Spot

place, verb, edit = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
engine = Ricordo.open(place / "ricordo.db", config=ConfigProvider({"embedding.provider": "none"}))
engine.get("note:/plan")
target = place / "knowledge" / "notes" / "plan.md"
swap, rename = folder.swap, Spot.rename


def edited() -> None:
    if edit:
        text = target.read_text()
        target.write_text(text.replace("first plan", edit))


def kill(*_):
    os.kill(os.getpid(), 9)


def swapped(one, other):
    edited()
    swap(one, other)


def renamed(self, other):
    if self.path == target:
        edited()
    return rename(self, other)


folder.swap, Spot.rename = swapped, renamed
folder._is_as_expected = kill
if verb == "save":
    engine.save("note:/plan", "second plan of the engine", on_conflict="overwrite")
else:
    engine.rm("note:/plan")
"""


def killed(place: Path, verb: str, edit: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(place), verb, edit], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == -9, done.stderr


def texts(engine: Ricordo) -> list[str]:
    return [engine.get("note:/plan", version=one.number).content for one in engine.history("note:/plan")]


@posix
def test_an_edit_is_kept_when_the_process_dies_between_exchanging_and_comparing(house: House) -> None:
    house.open().save("note:/plan", "the first plan")
    house.close()
    killed(house.place, "save", "edited plan of a person")
    engine = house.open()
    engine.sync()
    assert texts(engine)[0] == "second plan of the engine", "what was in place stays current"
    assert "the edited plan of a person" in texts(engine)
    assert "the first plan" in texts(engine)
    assert not list(house.folder.rglob(".ricordo*")), "nothing is left over"
    assert engine.doctor().ok


@posix
def test_an_edit_is_kept_when_the_process_dies_while_it_removes_the_file(house: House) -> None:
    house.open().save("note:/plan", "the first plan")
    house.close()
    killed(house.place, "rm", "edited plan of a person")
    engine = house.open()
    engine.sync()
    assert engine.get("note:/plan").content == "the edited plan of a person"
    assert not list(house.folder.rglob(".ricordo*"))


@posix
def test_a_killed_removal_that_was_not_acknowledged_leaves_the_item(house: House) -> None:
    house.open().save("note:/plan", "the first plan")
    house.close()
    killed(house.place, "rm", "")
    engine = house.open()
    engine.sync()
    assert texts(engine) == ["the first plan"]
    assert engine.get("note:/plan").state == "live"


def test_a_file_that_is_empty_for_a_moment_does_not_become_an_empty_version(house: House) -> None:
    engine = house.open()
    engine.save("note:/plan", "the first plan")
    file = house.folder / "notes" / "plan.md"
    whole = file.read_text(encoding="utf-8")
    file.write_text("", encoding="utf-8")  # as some programs do before they write
    report = engine.sync()
    assert any("being saved" in note for note in report.notes)
    assert engine.get("note:/plan").content == "the first plan"
    file.write_text(whole.replace("first", "second"), encoding="utf-8")
    engine.sync()
    assert texts(engine) == ["the second plan", "the first plan"]


def test_a_file_that_stays_empty_is_taken_as_emptied(house: House) -> None:
    engine = house.open()
    engine.save("note:/plan", "the first plan")
    file = house.folder / "notes" / "plan.md"
    file.write_text("", encoding="utf-8")
    os.utime(file, (1_700_000_000, 1_700_000_000))
    engine.sync()
    assert engine.get("note:/plan").content == ""


def test_a_file_that_was_read_before_a_save_does_not_undo_the_save(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, other = house.open(), house.open()
    engine.save("note:/plan", "the first plan")
    house.edit("notes/plan.md", "first plan", "edited plan")
    update = Sync._update

    def late(self: Sync, one: Any, n: int) -> Any:
        monkeypatch.setattr(Sync, "_update", update)
        other.save("note:/plan", "the plan that another process saved", on_conflict="overwrite")
        return update(self, one, n)

    monkeypatch.setattr(Sync, "_update", late)
    engine.sync()
    assert texts(engine) == ["the plan that another process saved", "the edited plan", "the first plan"]
    assert "another process" in house.read("notes/plan.md")


def test_a_file_that_was_gone_for_a_moment_does_not_take_its_item_with_it(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = house.open()
    engine.save("note:/plan", "the first plan")
    file = house.folder / "notes" / "plan.md"
    aside = file.rename(file.with_name("aside"))
    remove = Sync._remove

    def late(self: Sync, gone: Any) -> Any:
        if aside.exists():
            aside.rename(file)  # as a process does that takes its removal back
        return remove(self, gone)

    monkeypatch.setattr(Sync, "_remove", late)
    assert [one.status for one in engine.sync().items] == []
    assert texts(engine) == ["the first plan"]


def linked(house: House, level: str, outside: Path) -> None:
    outside.mkdir()
    place = {"folder": house.folder, "kind": house.folder / "notes", "below": house.folder / "notes" / "deep"}[level]
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(outside, target_is_directory=True)


@posix
@pytest.mark.parametrize("level", ["folder", "kind", "below"])
def test_a_linked_folder_is_neither_read_nor_written_nor_cleared(house: House, level: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    linked(house, level, outside)
    inner = outside / "notes" if level == "folder" else outside
    inner.mkdir(exist_ok=True)
    (inner / "secret.md").write_text("a private text of somebody", encoding="utf-8")
    before = sorted(path.name for path in outside.rglob("*"))
    engine = house.open()
    engine.sync() if level != "folder" else None
    assert engine.search("private").hits == ()
    with pytest.raises(StoreError, match="link"):
        engine.save("note:/deep/plan", "a text that must not go there")
    assert sorted(path.name for path in outside.rglob("*")) == before


@posix
def test_a_linked_file_is_not_read_and_what_it_leads_to_is_not_changed(house: House, tmp_path: Path) -> None:
    engine = house.open()
    engine.save("note:/plan", "the first plan")
    outside = tmp_path / "passwords.md"
    outside.write_text("a private text of somebody", encoding="utf-8")
    file = house.folder / "notes" / "plan.md"
    file.unlink()
    file.symlink_to(outside)
    (house.folder / "notes" / "other.md").symlink_to(outside)
    engine.sync()
    assert engine.search("private").hits == ()
    assert outside.read_text(encoding="utf-8") == "a private text of somebody"


def test_a_folder_that_the_user_chose_may_be_reached_through_a_link(house: House, tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    link = tmp_path / "link"
    link.symlink_to(real, target_is_directory=True)
    engine = house.open(**{"knowledge.folder": str(link)})
    engine.save("note:/plan", "the first plan")
    assert (real / "notes" / "plan.md").exists()


def test_watching_goes_on_when_the_store_was_busy_and_tells_it(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ricordo.registry.BUSY_SECONDS", 0.2)
    engine = house.open()
    monkeypatch.setattr("ricordo.registry.BUSY_SECONDS", 30.0)
    engine.save("note:/plan", "the first plan")
    other = house.open()
    stop, reported, events = threading.Event(), threading.Event(), list[WatchEvent]()

    def heard(event: WatchEvent) -> None:
        events.append(event)
        if any("trying again" in note for note in event.report.notes):
            reported.set()

    def stored() -> str:
        items = engine._context.unsynced_store.items  # read without a look at the files
        return items.get(items.require(Ref("note", "/plan"))).content

    def updated() -> list[str]:
        return [item.ref for event in events for item in event.report.items if item.status == "updated"]

    watcher = threading.Thread(target=lambda: engine.watch(on_event=heard, stop=stop))
    with other.store.transaction():
        house.edit("notes/plan.md", "first plan", "second plan")
        watcher.start()
        assert reported.wait(60), events
    house.edit("notes/plan.md", "second plan", "third plan")
    deadline = time.monotonic() + 60
    while not (stored() == "the third plan" and updated()) and time.monotonic() < deadline:
        stop.wait(0.05)
    stop.set()
    watcher.join(60)
    assert stored() == "the third plan", events
    assert "note:/plan" in updated(), events


def test_an_edit_that_a_search_takes_in_before_the_watcher_is_reported_by_the_watcher(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = house.open()
    engine.save("note:/plan", "the first plan")
    started, stop, events = threading.Event(), threading.Event(), list[WatchEvent]()
    told = threading.Event()

    def heard(event: WatchEvent) -> None:
        events.append(event)
        started.set()
        if any(item.ref == "note:/plan" and item.status == "updated" for item in event.report.items):
            told.set()

    knowledge = engine._context.knowledge
    assert knowledge is not None
    look = knowledge.catch_up
    by_search = threading.local()
    # The watcher looks too late: every edit was taken in by a search before.
    monkeypatch.setattr(
        knowledge,
        "catch_up",
        lambda *, at_once=False: look(at_once=True) if getattr(by_search, "is_here", False) else None,
    )
    watcher = threading.Thread(target=lambda: engine.watch(house.place.parent / "docs", on_event=heard, stop=stop))
    (house.place.parent / "docs").mkdir()
    watcher.start()
    assert started.wait(60)
    house.edit("notes/plan.md", "first plan", "second plan")
    by_search.is_here = True
    assert engine.search("second").hits[0].ref == "note:/plan"
    assert told.wait(60), events
    stop.set()
    watcher.join(60)


def test_a_search_says_that_edits_could_not_be_taken_in(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ricordo.registry.BUSY_SECONDS", 0.2)
    engine = house.open()
    monkeypatch.setattr("ricordo.registry.BUSY_SECONDS", 30.0)
    engine.save("note:/plan", "the first plan")
    other = house.open()
    knowledge = engine._context.knowledge
    assert knowledge is not None
    knowledge._next_look = 0.0
    with other.store.transaction():
        house.edit("notes/plan.md", "first plan", "second plan")
        answer = engine.search("plan")
    assert [note for note in answer.meta.degraded if note.startswith("knowledge files: edits were not taken in")]
    knowledge._next_look = 0.0
    assert engine.search("second").hits[0].ref == "note:/plan"
    assert not engine.search("second").meta.degraded or "knowledge" not in str(engine.search("second").meta.degraded)
