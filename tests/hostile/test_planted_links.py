"""Links in a folder that somebody else made lead nowhere: not out of it, not into devices, not into our own store."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ricordo import Ricordo

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
    assert sorted(item.ref.rpartition("/")[2] for item in report.items if item.status == "created") == [
        "a.md",
        "same.md",
    ]
    assert engine.search("diary").hits == ()
    reasons = {Path(item.ref).name: item.reason or "" for item in report.items if item.status == "skipped"}
    assert {"diary.md", "all", "zero.txt", "innocent.txt"} <= reasons.keys()
    assert all("leads out of the folder" in reasons[name] for name in ("diary.md", "all", "zero.txt"))


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
