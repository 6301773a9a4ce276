"""When a file changed, as it says itself or as its disk says, and days as people name them."""

from __future__ import annotations

import os
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ricordo import Ricordo
from ricordo.values.times import parse_time, spoken_day

NOON = datetime(2026, 11, 18, 12, 0)  # a Wednesday


def written(path: Path, text: str, when: datetime) -> Path:
    path.write_text(text)
    os.utime(path, (when.timestamp(), when.timestamp()))
    return path


def refs(engine: Ricordo, query: str) -> list[str]:
    return sorted(hit.ref.rpartition("/")[2] for hit in engine.search(query).hits)


def test_the_age_of_an_added_file_is_the_files_own(engine: Ricordo, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    written(tmp_path / "old.md", "bread with salt", now - timedelta(days=400))
    written(tmp_path / "new.md", "bread with seeds", now - timedelta(hours=1))
    written(tmp_path / "said.md", "---\ndate: 2020-02-03\n---\nbread of long ago", now)
    engine.add(tmp_path)
    assert refs(engine, "bread after:2024-01-01 before:tomorrow") == ["new.md", "old.md"]
    assert refs(engine, "bread before:2021-01-01") == ["said.md"]
    assert refs(engine, 'bread after:"30 days ago"') == refs(engine, "bread after:30 days ago") == ["new.md"]
    assert [item.ref.path.rpartition("/")[2] for item in engine.list()] == ["new.md", "old.md", "said.md"]


def test_a_file_that_changed_has_the_time_of_its_change(engine: Ricordo, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    path = written(tmp_path / "a.md", "one", now - timedelta(days=400))
    engine.add(path)
    changed = now - timedelta(days=10)
    written(path, "two", changed)
    engine.refresh(path)
    item = engine.get(path)  # type: ignore[arg-type]
    assert (item.content, item.version) == ("two", 2)
    assert abs(item.updated_at - changed) < timedelta(seconds=1)


def test_no_item_is_newer_than_now_whatever_its_file_says(engine: Ricordo, tmp_path: Path) -> None:
    ahead = datetime.now(UTC) + timedelta(days=400)
    path = written(tmp_path / "a.md", "one", ahead)
    said = written(tmp_path / "said.md", f"---\ndate: {ahead:%Y-%m-%d}\n---\none", datetime.now(UTC))
    engine.add(tmp_path)
    for file in (path, said):
        item = engine.get(file)  # type: ignore[arg-type]
        assert item.created_at <= item.updated_at <= datetime.now(UTC)
    written(path, "two", ahead + timedelta(days=1))
    engine.refresh(path)
    item = engine.get(path)  # type: ignore[arg-type]
    assert (item.content, item.updated_at <= datetime.now(UTC)) == ("two", True)
    assert refs(engine, "two after:tomorrow") == []


def test_a_mail_carries_the_date_it_was_sent(engine: Ricordo, tmp_path: Path) -> None:
    mail = "From: a@example.org\nSubject: Keys\nDate: Tue, 3 Mar 2020 10:00:00 +0000\n\nThe keys are under the mat.\n"
    written(tmp_path / "one.eml", mail, datetime.now(UTC))
    engine.add(tmp_path)
    assert refs(engine, "keys before:2020-03-04 after:2020-03-02") == ["one.eml"]


def git(folder: Path, *arguments: str, when: str = "2019-05-06T07:08:09Z") -> None:
    told = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when, "HOME": str(folder), "PATH": os.environ["PATH"]}
    named = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "core.autocrlf=false")
    subprocess.run(["git", *named, *arguments], cwd=folder, env=told, check=True, capture_output=True)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_file_of_a_checkout_is_as_old_as_its_last_commit_and_an_edited_one_as_its_edit(
    engine: Ricordo, tmp_path: Path
) -> None:
    now = datetime.now(UTC)
    folder = tmp_path / "work"
    (folder / "deep").mkdir(parents=True)
    git(folder, "init", "-q")
    for name in ("deep/old.md", "edited.md", "later.md"):
        (folder / name).write_text(f"bread of {name}")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    (folder / "later.md").write_text("bread, later")
    git(folder, "commit", "-q", "-a", "-m", "second", when="2021-05-06T07:08:09Z")
    written(folder / "edited.md", "bread, edited here", now - timedelta(days=3))
    written(folder / "untracked.md", "bread that git does not know", now - timedelta(days=2))
    engine.add(folder / "deep", folder / "edited.md", folder / "later.md", folder / "untracked.md")
    ages = {item.ref.path.rpartition("/")[2]: item.updated_at for item in engine.list()}
    assert ages["old.md"] == datetime(2019, 5, 6, 7, 8, 9, tzinfo=UTC)
    assert ages["later.md"] == datetime(2021, 5, 6, 7, 8, 9, tzinfo=UTC)
    assert abs(ages["edited.md"] - (now - timedelta(days=3))) < timedelta(seconds=1)
    assert abs(ages["untracked.md"] - (now - timedelta(days=2))) < timedelta(seconds=1)


@pytest.mark.skipif(shutil.which("git") is None or os.name != "posix", reason="needs git and a shell")
def test_the_settings_of_a_folder_cannot_make_git_run_a_program(engine: Ricordo, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.md").write_text("bread")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "diff.external", "gpg.program", "core.sshCommand"):
        git(folder, "config", name, str(trap))
    git(folder, "config", "log.showSignature", "true")
    engine.add(folder)
    assert engine.list()[0].updated_at.year == 2019
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("today", "2026-11-18"),
        ("yesterday", "2026-11-17"),
        ("monday", "2026-11-16"),
        ("wednesday", "2026-11-18"),
        ("last wednesday", "2026-11-11"),
        ("last week", "2026-11-09"),
        ("last-week", "2026-11-09"),
        ("this month", "2026-11-01"),
        ("last month", "2026-10-01"),
        ("last year", "2025-01-01"),
        ("3 days ago", "2026-11-15"),
        ("2w", "2026-11-04"),
    ],
)
def test_a_day_in_words_begins_at_its_midnight(said: str, day: str) -> None:
    found = spoken_day(said, NOON)
    assert found is not None
    assert found.isoformat() == f"{day}T00:00:00"


def test_words_that_name_no_day_are_no_date() -> None:
    assert spoken_day("someday", NOON) is None
    assert parse_time("yesterday") < datetime.now(UTC)
