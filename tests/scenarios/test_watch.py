"""Watched files and folders: a change is searchable soon, a burst is few batches, what is deleted leaves the index."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ricordo import NotFound, Ricordo, Unavailable
from ricordo.ingest.refresh import Refresher
from ricordo.values.reports import RefreshReport, WatchEvent

PATIENCE = 200.0
"""Seconds a test waits before it fails; on an idle machine a change is searchable in well under two."""


@dataclass
class Watching:
    """An engine that watches in a thread, and the events it reported."""

    engine: Ricordo
    folder: Path
    events: list[WatchEvent] = field(default_factory=list)

    def until(self, is_so: Callable[[], bool]) -> float:
        """Wait until something is so; how long it took."""
        started = time.monotonic()
        while not is_so():
            assert time.monotonic() - started < PATIENCE, [str(event) for event in self.events]
            time.sleep(0.02)
        return time.monotonic() - started

    def finds(self, query: str, *names: str) -> float:
        return self.until(lambda: self.found(query) == set(names))

    def found(self, query: str) -> set[str]:
        return {Path(hit.ref).name for hit in self.engine.search(query, limit=50, track=False).hits}

    def settle(self) -> None:
        """Wait until earlier changes have been reported: a marker file comes after them."""
        before = self._markers()
        (self.folder / "marker.md").write_text(f"marker {before}")
        self.until(lambda: self._markers() > before)

    def _markers(self) -> int:
        return sum(item.ref.endswith("/marker.md") for event in self.events for item in event.report.items)

    def statuses(self) -> list[tuple[str, str]]:
        """What became of each item, in order, but for the marker."""
        return [
            (Path(item.ref).name, item.status)
            for event in self.events
            for item in event.report.items
            if item.status != "unchanged" and Path(item.ref).name != "marker.md"
        ]


Watch = Callable[..., AbstractContextManager[Watching]]


@pytest.fixture
def watch(engine: Ricordo, tmp_path: Path) -> Watch:
    """Watches a folder (or what is named) until the block ends; begins when it has caught up."""

    @contextmanager
    def start(*paths: Path) -> Iterator[Watching]:
        folder = tmp_path / "notes"
        folder.mkdir(exist_ok=True)
        watching = Watching(engine, folder)
        stop = threading.Event()
        failure: list[BaseException] = []

        def run() -> None:
            try:
                engine.watch(*(paths or (folder,)), on_event=watching.events.append, stop=stop)
            except BaseException as error:  # noqa: BLE001 - told to the test below
                failure.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            watching.until(lambda: bool(watching.events or failure))
            yield watching
        finally:
            stop.set()
            thread.join(PATIENCE)
        assert not failure, failure
        assert not thread.is_alive()

    return start


def test_it_catches_up_with_what_happened_before(engine: Ricordo, tmp_path: Path, watch: Watch) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "old.md").write_text("the heron")
    (folder / "gone.md").write_text("the egret")
    engine.add(folder)
    (folder / "old.md").write_text("the bittern is back")
    (folder / "gone.md").unlink()
    (folder / "new.md").write_text("the stork")
    with watch() as watching:
        assert dict(watching.statuses()) == {"old.md": "updated", "new.md": "created", "gone.md": "removed"}


def test_an_empty_folder_can_be_watched(watch: Watch) -> None:
    with watch() as watching:
        assert watching.events[0].report.items == ()
        (watching.folder / "first.md").write_text("the heron")
        watching.finds("heron", "first.md")


def test_a_save_by_writing_a_copy_and_renaming_it_is_searchable_soon(watch: Watch) -> None:
    with watch() as watching:
        path = watching.folder / "plan.md"
        took = []
        for number in range(3):
            copy = watching.folder / f".plan.md.{number}.tmp" if number else watching.folder / "plan.md.tmp"
            copy.write_text(f"The plan has version{number} of the heronry.")
            copy.replace(path)
            took.append(watching.finds(f"version{number}", "plan.md"))
        watching.settle()
        assert watching.found("heronry") == {"plan.md"}
        assert [status for _, status in watching.statuses()] == ["created", "updated", "updated"]
        assert len(watching.engine.history(str(path))) == 3
    assert min(took) < 2.0


def test_a_thousand_files_at_once_settle_in_few_batches(watch: Watch) -> None:
    with watch() as watching:
        many = watching.folder / "many"
        many.mkdir()
        for number in range(1_000):
            (many / f"{number}.md").write_text(f"Number {number} of the swallows.")
        watching.until(lambda: watching.engine.count() == 1_000)
        watching.settle()
        created = sum(status == "created" for _, status in watching.statuses())
        assert created == 1_000
        assert len(watching.events) <= 12
        events_before = len(watching.events)
        for number in range(1_000):
            os.utime(many / f"{number}.md")
        watching.settle()
        assert len(watching.events) == events_before + 1  # for the marker: a touched file is no change
        assert watching.engine.status()["versions"] == 1_000 + 2


def test_a_deleted_folder_leaves_the_index(watch: Watch) -> None:
    with watch() as watching:
        for name in ("a.md", "sub/b.md", "sub/deep/c.md"):
            (watching.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (watching.folder / name).write_text(f"the heron of {name}")
        watching.finds("heron", "a.md", "b.md", "c.md")
        shutil.rmtree(watching.folder / "sub")
        watching.finds("heron", "a.md")
        assert watching.engine.count() == 1


def test_a_renamed_folder_keeps_the_history_of_its_items(watch: Watch) -> None:
    with watch() as watching:
        (watching.folder / "old").mkdir()
        (watching.folder / "old" / "a.md").write_text("the heron")
        watching.finds("heron", "a.md")
        identity = watching.engine.search("heron", track=False).hits[0].id
        (watching.folder / "old").rename(watching.folder / "new")
        watching.until(lambda: ("a.md", "moved") in watching.statuses())
        (hit,) = watching.engine.search("heron", track=False).hits
        assert (hit.id, hit.ref) == (identity, f"disk:{watching.folder}/new/a.md")


def test_what_editors_and_others_leave_is_ignored(watch: Watch) -> None:
    with watch() as watching:
        (watching.folder / ".gitignore").write_text("build/\n")
        (watching.folder / "build").mkdir()
        (watching.folder / ".git").mkdir()
        for name in (
            "a.md~", "#a.md#", ".a.md.swp", "a.md.swp", "~$plan.docx", ".#a.md", "a.md___jb_tmp___",
            "build/x.md", ".git/index.md",
        ):  # fmt: skip
            (watching.folder / name).write_text("the heron")
        (watching.folder / "4913").write_text("the heron")
        (watching.folder / "4913").unlink()
        (watching.folder / "a.md").write_text("the heron")
        watching.settle()
        watching.finds("heron", "a.md")
        assert watching.statuses()[-1:] == [("a.md", "created")]


def test_what_an_ignore_file_stops_ignoring_is_taken_in(watch: Watch) -> None:
    with watch() as watching:
        (watching.folder / ".ricordoignore").write_text("drafts/\n")
        (watching.folder / "drafts").mkdir()
        (watching.folder / "drafts" / "a.md").write_text("the heron")
        watching.settle()
        assert watching.found("heron") == set()
        (watching.folder / ".ricordoignore").write_text("\n")
        watching.finds("heron", "a.md")


def test_a_bad_file_is_told_and_the_next_one_is_taken(watch: Watch) -> None:
    with watch() as watching:
        (watching.folder / "broken.pdf").write_bytes(b"%PDF-1.7 1 0 obj broken")
        (watching.folder / "a.md").write_text("the heron")
        watching.finds("heron", "a.md")
        watching.until(lambda: ("broken.pdf", "failed") in watching.statuses())


def test_a_store_that_is_busy_is_asked_again(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    with watch() as watching:
        run = Refresher.run
        calls = []

        def busy_once(refresher: Refresher, *args: Any, **more: Any) -> RefreshReport:
            calls.append(args)
            if len(calls) == 1:
                raise Unavailable("the store was busy for 30 s", hint="Try again.")
            return run(refresher, *args, **more)

        monkeypatch.setattr(Refresher, "run", busy_once)
        (watching.folder / "a.md").write_text("the heron")
        watching.finds("heron", "a.md")
        assert watching.events[1].report.notes == ("the store was busy for 30 s; trying again",)


def test_a_store_in_the_watched_folder_does_not_wake_itself(
    tmp_path: Path, open_engine: Callable[..., Ricordo]
) -> None:
    folder = tmp_path
    (folder / "a.md").write_text("the heron")
    engine = open_engine("inside")
    events: list[WatchEvent] = []
    stop = threading.Event()
    thread = threading.Thread(target=engine.watch, args=(folder,), kwargs={"on_event": events.append, "stop": stop})
    thread.start()
    watching = Watching(engine, folder, events)
    watching.until(lambda: bool(events))
    watching.settle()
    for _ in range(3):  # each search writes to the store
        engine.search("heron")
        time.sleep(0.3)
    stop.set()
    thread.join(PATIENCE)
    assert len(events) == 2
    assert watching.found("heron") == {"a.md"}


def test_a_single_file_is_followed_through_editors_that_replace_it(tmp_path: Path, watch: Watch) -> None:
    path = tmp_path / "alone.md"
    path.write_text("the heron")
    with watch(path) as watching:
        assert watching.statuses() == [("alone.md", "created")]
        (tmp_path / "other.md").write_text("the heron")
        for word in ("bittern", "stork"):
            (tmp_path / "copy").write_text(f"the {word}")
            (tmp_path / "copy").replace(path)
            watching.finds(word, "alone.md")
        path.unlink()
        watching.finds("stork")
        assert watching.engine.count() == 0


def test_a_folder_behind_a_link_is_followed_by_the_name_it_was_given(tmp_path: Path, watch: Watch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with watch(tmp_path / "link") as watching:
        (tmp_path / "real" / "a.md").write_text("the heron")
        watching.finds("heron", "a.md")
        assert watching.engine.search("heron", track=False).hits[0].ref == f"disk:{tmp_path}/link/a.md"


def test_a_path_that_does_not_exist_cannot_be_watched(engine: Ricordo, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no file or folder"):
        engine.watch(tmp_path / "nowhere")


def test_vectors_follow_in_the_pauses(meaning: Ricordo, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    stop = threading.Event()
    events: list[WatchEvent] = []
    thread = threading.Thread(target=meaning.watch, args=(folder,), kwargs={"on_event": events.append, "stop": stop})
    thread.start()
    watching = Watching(meaning, folder, events)
    try:
        watching.until(lambda: bool(events))
        (folder / "a.md").write_text("The heron waits for fish at the weir.")
        watching.until(lambda: bool(meaning.search("a bird that hunts in water", track=False, by="meaning").hits))
    finally:
        stop.set()
        thread.join(PATIENCE)
    assert meaning.embed(status=True).to_dict()["pending"] == 0
