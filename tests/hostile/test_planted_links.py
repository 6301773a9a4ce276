"""Links in a folder that somebody else made lead nowhere: not out of it, not into devices, not into our own store."""

from __future__ import annotations

import errno
import io
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from ricordo import ConfigProvider, Error, Ricordo
from ricordo.memory.files import folder as files_folder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links need rights there")


@pytest.fixture
def planted(engine: Ricordo, tmp_path: Path) -> Path:
    folder = tmp_path / "cloned"
    folder.mkdir()
    (folder / "a.md").write_text("an honest text", encoding="utf-8")
    (folder / "same.md").symlink_to("a.md")
    private = tmp_path / "private"
    private.mkdir()
    (private / "diary.md").write_text("a secret diary", encoding="utf-8")
    (folder / "diary.md").symlink_to(private / "diary.md")
    (folder / "all").symlink_to(private, target_is_directory=True)
    (folder / "zero.txt").symlink_to("/dev/zero")
    (folder / "innocent.txt").symlink_to(engine.location)
    return folder


def test_add_stays_in_the_folder_and_says_what_it_left_out(engine: Ricordo, planted: Path) -> None:
    report = engine.add(planted)
    assert [item.ref.rpartition("/")[2] for item in report.items if item.status == "created"] == ["a.md"]
    assert engine.search("diary").hits == ()
    reasons = {Path(item.ref).name: item.reason or "" for item in report.items if item.status == "skipped"}
    assert {"diary.md", "all", "zero.txt", "innocent.txt"} <= reasons.keys()
    assert all("leads out of the folder" in reasons[name] for name in ("diary.md", "all", "zero.txt"))
    assert "ingest.follow_symlinks" in reasons["diary.md"]
    assert reasons["same.md"].startswith("the same bytes as")  # it leads to a.md


def test_links_are_followed_on_request_but_never_into_devices_or_the_store(engine: Ricordo, planted: Path) -> None:
    report = engine.add(planted, follow_links=True)
    assert engine.search("diary").hits
    reasons = {Path(item.ref).name: item.reason or "" for item in report.items if item.status == "skipped"}
    assert "device" in reasons["zero.txt"]
    assert reasons["innocent.txt"] == "the store itself"


def test_refresh_does_not_follow_links_that_came_later(engine: Ricordo, tmp_path: Path) -> None:
    folder = tmp_path / "cloned"
    folder.mkdir()
    (folder / "a.md").write_text("an honest text", encoding="utf-8")
    engine.add(folder)
    (tmp_path / "diary.md").write_text("a secret diary", encoding="utf-8")
    (folder / "b.md").symlink_to(tmp_path / "diary.md")
    engine.refresh(all=True)
    assert engine.search("diary").hits == ()


def test_refresh_does_not_follow_a_link_that_took_the_place_of_a_file(engine: Ricordo, tmp_path: Path) -> None:
    folder = tmp_path / "cloned"
    folder.mkdir()
    (folder / "a.md").write_text("an honest text", encoding="utf-8")
    engine.add(folder)
    (tmp_path / "diary.md").write_text("a secret diary", encoding="utf-8")
    (folder / "a.md").unlink()
    (folder / "a.md").symlink_to(tmp_path / "diary.md")
    report = engine.refresh(all=True)
    assert [(item.status, "leads out" in (item.error or {}).get("message", "")) for item in report.items] == [
        ("failed", True)
    ]
    assert engine.search("diary").hits == ()


@contextmanager
def swapping(place: Path, outside: Path) -> Iterator[None]:
    """Somebody who exchanges a folder for a link, and back, as fast as they can."""
    aside, link = place.with_name("aside"), place.with_name("link")
    link.symlink_to(outside, target_is_directory=True)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            with suppress(OSError):
                place.rename(aside)
                link.rename(place)
                place.rename(link)
            with suppress(OSError):
                if place.is_symlink():
                    place.rename(link)
            with suppress(OSError):
                aside.rename(place)

    thread = threading.Thread(target=swap, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(300)
        if place.is_symlink():
            place.rename(link)
        if aside.exists() and not place.exists():
            aside.rename(place)


def test_a_folder_that_turns_into_a_link_while_it_is_added_is_not_followed(engine: Ricordo, tmp_path: Path) -> None:
    folder, outside = tmp_path / "cloned", tmp_path / "outside"
    for place in (folder / "sub", outside):
        place.mkdir(parents=True)
        for number in range(20):
            text = "an honest text" if place != outside else "a secret diary"
            (place / f"f{number}.md").write_text(f"{text} {number}", encoding="utf-8")
    with swapping(folder / "sub", outside):
        for _ in range(40):
            engine.add(folder, on_conflict="overwrite", wait=False)
            engine.refresh(all=True)
    assert engine.search("honest").hits, "the race was too fast to read anything"
    assert engine.grep("secret") == []


def test_a_link_that_turns_into_a_folder_while_it_is_read_is_looked_at_again(
    engine: Ricordo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As above, at the one moment that chance rarely meets: after the question whether it is a link."""
    folder = tmp_path / "cloned"
    (folder / "real").mkdir(parents=True)
    (folder / "real" / "f.md").write_text("an honest text", encoding="utf-8")
    (tmp_path / "by-link").symlink_to(folder)
    real, refused = os.readlink, []

    def turned(path: Any, *args: Any, **options: Any) -> Any:
        refused.append(path)
        if len(refused) % 2:
            raise OSError(errno.EINVAL, "Invalid argument", path)
        return real(path, *args, **options)

    monkeypatch.setattr(os, "readlink", turned)
    engine.add(tmp_path / "by-link", wait=False)
    assert refused
    assert engine.search("honest").hits


CALLS = ("open", "mkdir", "rename", "replace", "link", "unlink", "scandir", "listdir")
"""What takes the name of a file to read or change something; a question beforehand helps nothing."""


class Turning:
    """Exchanges a folder for a link at one call to the system, before it is made."""

    def __init__(self, place: Path, outside: Path, patch: pytest.MonkeyPatch) -> None:
        self.place, self.aside, self.link = place, place.with_name("aside"), place.with_name("link")
        self.link.symlink_to(outside, target_is_directory=True)
        self.count, self.at = 0, -1
        self._rename = os.rename
        for module, names in ((os, CALLS), (io, ("open",))):
            for name in names:
                patch.setattr(module, name, self._counted(getattr(module, name)))

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **options: Any) -> Any:
            if self.count == self.at:
                self._rename(self.place, self.aside)
                self._rename(self.link, self.place)
            self.count += 1
            return call(*args, **options)

        return counted

    def each(self, act: Callable[[int], object]) -> Iterator[int]:
        """Act until each of the calls that it makes was met; yields the number of the one that was, with the folder in
        its place again.
        """
        self.at = 0
        while True:
            self.count = 0
            with suppress(Error, OSError):
                act(self.at)
            was_met, met, self.at = self.count > self.at, self.at, -1
            if not was_met:
                return
            self._rename(self.place, self.link)
            self._rename(self.aside, self.place)
            yield met
            self.at = met + 1


def test_a_knowledge_folder_that_turns_into_a_link_is_neither_read_nor_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, outside = tmp_path / ".ricordo", tmp_path / "outside"
    place.mkdir()
    outside.mkdir()
    (outside / "secret.md").write_text("a secret diary", encoding="utf-8")
    config = ConfigProvider({"embedding.provider": "none"})
    with Ricordo.open(place / "ricordo.db", config=config) as engine:
        engine.save("note:/plan", "the first plan", wait=False)
        with monkeypatch.context() as patch:
            turning = Turning(place / "knowledge" / "notes", outside, patch)
            notes = place / "knowledge" / "notes"
            for act in (
                lambda at: engine.save("note:/plan", f"plan {at}", on_conflict="overwrite", wait=False),
                lambda at: engine.save("note:/new", f"new {at}", on_conflict="overwrite", wait=False),
                lambda at: engine.rm("note:/new"),
                lambda at: engine.sync(),
            ):
                met = -1
                for met in turning.each(act):
                    assert met < 100, "calls for what was left before are met, too, and it never ends"
                    assert [(one.name, one.read_text()) for one in outside.iterdir()] == [
                        ("secret.md", "a secret diary")
                    ]
                    for left in notes.glob(".ricordo-*"):
                        left.unlink()
                    engine.sync()
                    (notes / "plan.md").write_text(f"edit {met}", encoding="utf-8")
                assert met > 5
        assert engine.grep("secret") == []


@pytest.mark.parametrize("step", ["place", "flush_names"])
def test_a_folder_that_goes_away_in_the_middle_of_a_save_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    place = tmp_path / ".ricordo"
    place.mkdir()
    notes, aside = place / "knowledge" / "notes", tmp_path / "aside"
    owner: Any = files_folder if step == "place" else files_folder.FileChanges
    real = getattr(owner, step)

    def lost(*args: Any) -> None:
        if step == "place":
            real(*args)
        if not aside.exists():
            notes.rename(aside)
        if step == "flush_names":
            real(*args)

    monkeypatch.setattr(owner, step, lost)
    config = ConfigProvider({"embedding.provider": "none"})
    with Ricordo.open(place / "ricordo.db", config=config) as engine:
        engine.save("note:/plan", "the first plan", wait=False)
        assert engine.get("note:/plan").content == "the first plan"
    assert aside.exists()
    assert "the first plan" in (notes / "plan.md").read_text(encoding="utf-8")
