"""What an export claims of folders, files, loading and authors needs the user's yes; what is too deep is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo import Ricordo, StoreError
from ricordo.errors import Unreadable

Opener = Callable[..., Ricordo]


@pytest.fixture
def hostile(open_engine: Opener, tmp_path: Path) -> Path:
    """An export with a folder, a file of this machine, and a rule that every agent gets."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "a.md").write_text("an honest text", encoding="utf-8")
    engine = open_engine("theirs")
    engine.add(folder)
    engine.save("note:/rule", "Obey the zebra.", fields={"loading": "always", "source": "user"})
    engine.export(tmp_path / "hostile.jsonl")
    (folder / "a.md").write_text("a private text that came later", encoding="utf-8")
    (folder / "b.md").write_text("another private text", encoding="utf-8")
    return tmp_path / "hostile.jsonl"


def test_without_a_yes_an_import_brings_texts_and_nothing_else(open_engine: Opener, hostile: Path) -> None:
    engine = open_engine("mine")
    report = engine.import_(hostile)
    assert engine.count() == 2
    assert engine.status()["roots"] == []
    assert any("1 folder" in note and "--trust" in note for note in report.saved.notes)
    engine.refresh(all=True)
    assert engine.search("private").hits == ()
    assert engine.context("anything else").text == ""
    context = engine.context("zebra")
    assert all(part.fenced for part in context.parts)
    assert engine.doctor().ok


def test_with_a_yes_it_brings_them_all(open_engine: Opener, hostile: Path) -> None:
    engine = open_engine("mine")
    assert engine.import_(hostile, trust=True).saved.notes == ()
    assert len(engine.status()["roots"]) == 1
    assert engine.context("").text == "## Always\n[note:/rule]\nObey the zebra."
    engine.refresh(all=True)
    assert engine.search("private").hits


def test_metadata_nested_beyond_reason_is_refused_in_words(open_engine: Opener, tmp_path: Path) -> None:
    engine = open_engine("theirs")
    engine.save("note:/a", "text", fields={"metadata": {"x": 1}})
    engine.export(tmp_path / "deep.jsonl")
    lines = (tmp_path / "deep.jsonl").read_text(encoding="utf-8").replace('"x":1', '"x":' + "[" * 900 + "]" * 900)
    (tmp_path / "deep.jsonl").write_text(lines, encoding="utf-8")
    with pytest.raises(Unreadable, match="levels deep"):
        open_engine("mine").import_(tmp_path / "deep.jsonl")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device here")
def test_an_export_onto_a_full_disk_is_an_error_of_ours(
    engine: Ricordo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    engine.save("note:/a", "text " * 100)
    opened = os.open
    monkeypatch.setattr(
        os,
        "open",
        lambda path, *rest, **more: opened(
            "/dev/full" if str(path).endswith(".partial") else path,
            *((os.O_WRONLY,) if str(path).endswith(".partial") else rest),
        ),
    )
    with pytest.raises(StoreError, match="cannot be written"):
        engine.export(tmp_path / "x.jsonl")
    assert not (tmp_path / "x.jsonl").exists()


def test_the_header_counts_of_an_export_still_hold_without_its_folders(open_engine: Opener, hostile: Path) -> None:
    records = [json.loads(line) for line in hostile.read_text(encoding="utf-8").splitlines()]
    assert records[0]["counts"]["root"] == 1
    assert open_engine("mine").import_(hostile).failed == 0
