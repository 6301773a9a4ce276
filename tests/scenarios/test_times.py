"""When a file changed, as it says itself or as its disk says, and days as people name them."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ricordo import Ricordo
from ricordo.values.days import spoken_day
from ricordo.values.items import parse_time

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


def test_a_mail_carries_the_date_it_was_sent(engine: Ricordo, tmp_path: Path) -> None:
    mail = "From: a@example.org\nSubject: Keys\nDate: Tue, 3 Mar 2020 10:00:00 +0000\n\nThe keys are under the mat.\n"
    written(tmp_path / "one.eml", mail, datetime.now(UTC))
    engine.add(tmp_path)
    assert refs(engine, "keys before:2020-03-04 after:2020-03-02") == ["one.eml"]


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
