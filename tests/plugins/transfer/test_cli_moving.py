"""Moving a store on the command line: export, import."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ricordo.errors import StoreError
from ricordo.plugins.transfer.imports import Importer

FOREIGN = Path(__file__).parents[2] / "fixtures" / "foreign"


@pytest.fixture
def notes(house: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A house with a few notes in its store, and no model."""
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    house.write("plan.md", "# Plan\n\nPaint the boat, see [[keys]].")
    house.write("keys.md", "# Keys\n\nThe keys hang in the hall. ключ 鍵")
    house.run("add", "plan.md", "keys.md")
    house.run("edit", "plan.md", "--title", "The plan")
    return house


def test_an_export_goes_to_standard_output_and_back_in(notes: Any) -> None:
    first = notes.run("export")
    assert "2 items" in first.stderr
    assert first.stdout_bytes.count(b"\n") == len(first.stdout_bytes.splitlines())
    taken = notes.run("--store", "theirs.db", "import", "-", stdin=first.stdout_bytes)
    assert "2" in taken.stdout


def test_an_export_from_a_folder_that_the_user_trusts_brings_everything(notes: Any) -> None:
    first = notes.run("export")
    notes.write("mine/all.jsonl", first.stdout_bytes.decode())
    notes.run("trust", "mine", "--yes")
    notes.run("--store", "copy.db", "import", "mine/all.jsonl")
    assert notes.run("--store", "copy.db", "export").stdout_bytes == first.stdout_bytes


def test_export_and_import_say_what_they_did_in_json(notes: Any) -> None:
    shown = notes.json("export", "all.jsonl")
    assert shown["records"]["item"] == 2
    assert shown["bytes"] == Path(shown["file"]).stat().st_size
    assert notes.json("export", "all.jsonl", code=4)["code"] == "path_conflict"
    assert notes.json("export", "all.jsonl", "--force", "--no-log")["records"]["item"] == 2
    assert notes.json("export", code=2)["code"] == "usage"
    report = notes.json("--store", "copy.db", "import", "all.jsonl")
    assert (report["created"], report["failed"]) == (2, 0)
    assert {item["status"] for item in report["items"]} == {"created"}
    assert notes.json("--store", "copy.db", "import", "all.jsonl", "--on-conflict", "error", code=4)
    assert notes.json("--store", "copy.db", "import", "all.jsonl")["skipped"] == 2


def test_a_bad_export_is_refused_in_one_line(notes: Any) -> None:
    notes.run("export", "all.jsonl")
    whole = Path("all.jsonl").read_bytes()
    Path("cut.jsonl").write_bytes(whole[:-20])
    error = notes.json("--store", "copy.db", "import", "cut.jsonl", code=1)
    assert error["code"] == "unreadable"
    assert "cut off" in error["message"]
    assert error["hint"]
    assert notes.json("import", "nowhere.jsonl", code=3)["code"] == "not_found"


@pytest.mark.parametrize(
    ("name", "source", "created"),
    [("obsidian", "vault", 2), ("basic-memory", "basic-memory", 3), ("mem0", "mem0.json", 2)],
)
def test_other_programs_are_read_by_name(notes: Any, name: str, source: str, created: int) -> None:
    code = 1 if name == "mem0" else 0
    envelope = notes.envelope("import", "--from", name, str(FOREIGN / source), code=code)
    assert envelope["data"]["created"] == created


def test_other_verbs_do_not_pay_for_moving(notes: Any, imported: Callable[..., set[str]]) -> None:
    loaded = imported("search", "boat", "--no-track")
    assert loaded.isdisjoint({"ricordo.exchange.records", "ricordo.store.sql.item_records"})


def test_a_reader_that_goes_away_ends_an_export_quietly(notes: Any) -> None:
    with notes.start("export", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["format"] == "ricordo-export"
        process.stdout.close()
        assert process.stderr is not None
        errors = process.stderr.read()
        assert process.wait(60) == 0
    assert b"Traceback" not in errors


def test_a_store_is_migrated_into_one_that_was_searched_before(notes: Any) -> None:
    notes.run("--store", "own.db", "remember", "The boat is blue.", "--no-wait")
    notes.run("--store", "own.db", "search", "boat")
    notes.run("--store", "copy.db", "init")
    notes.run("--store", "copy.db", "search", "boat")
    shown = notes.json("migrate", "own.db", "copy.db")
    assert (shown["items"], shown["records"]["query"]) == (1, 1)
    notes.run("--store", "copy.db", "search", "keys")
    assert notes.json("migrate", "own.db", "copy.db")["written"] == 0
    lines = notes.run("--store", "copy.db", "export").stdout_bytes.splitlines()
    asked = [line["text"] for line in map(json.loads, lines) if line["record"] == "query"]
    assert sorted(asked) == ["boat", "boat", "keys"]


def test_a_copy_that_lacks_a_link_or_an_entry_of_a_log_is_no_copy(
    open_engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_engine()
    first, second = engine.remember("The boat is blue."), engine.remember("The keys hang in the hall.")
    engine.link(first.ref, second.ref)
    engine.search("boat")
    others = Importer.others
    for kind in ("link", "query"):
        monkeypatch.setattr(
            Importer, "others", lambda self, rows, kind=kind: others(self, [r for r in rows if r.type != kind])
        )
        with pytest.raises(StoreError, match=f"1 missing of type {kind}"):
            engine.migrate(tmp_path / f"without-{kind}.db")
