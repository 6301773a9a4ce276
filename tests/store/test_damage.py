"""Damage inside sound pages: it is noticed, named, mended where a sound copy exists, and the rest can be taken out."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from ricordo import CorruptStore, Ricordo
from ricordo.cli.program import program

Opener = Callable[..., Ricordo]


def change(engine: Ricordo, sql: str, *values: object) -> None:
    """Change a row behind the engine's back, as a flipped bit would."""
    with sqlite3.connect(engine.location) as raw:
        raw.execute(sql, values)
    raw.close()


def texts_check(engine: Ricordo, *, repair: bool = False) -> str:
    checks = {check.name: check for check in engine.doctor(repair=repair).checks}
    return "" if checks["texts"].ok else checks["texts"].detail


def test_a_changed_letter_is_noticed_by_get_and_doctor_and_the_item_is_named(engine: Ricordo) -> None:
    engine.save("note:/a", "the bridge is closed on Monday")
    engine.save("note:/b", "another text")
    change(engine, "UPDATE chunks SET text = replace(text, 'Monday', 'Sunday')")
    with pytest.raises(CorruptStore, match=r"note:/a.*version 1"):
        engine.get("note:/a")
    assert engine.get("note:/b").content == "another text"
    assert "note:/a version 1: its text is not what was saved" in texts_check(engine)
    assert not engine.doctor().ok


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE versions SET fields = replace(fields, 'river', 'rover')",
        "UPDATE versions SET fields = '{'",
        "UPDATE versions SET layout = x'00'",
        "UPDATE versions SET kind = 'memory'",
        "UPDATE chunks SET prefix = 'odd'",
        "UPDATE items SET hash = 'x'",
        "UPDATE items SET kind = 'memory'",
        "DELETE FROM chunks",
        "UPDATE chunks SET text = CAST(x'ff80' AS TEXT)",
    ],
)
def test_every_other_change_of_what_was_saved_is_noticed_too(open_engine: Opener, sql: str) -> None:
    engine = open_engine()
    engine.save("note:/a", "one text about a river", fields={"title": "the river"})
    engine.close()
    engine = open_engine()
    change(engine, sql)
    report = engine.doctor()
    assert not report.ok
    assert "note:/a" in next(check.detail for check in report.checks if check.name == "texts")


def test_nothing_is_rebuilt_from_damaged_texts(engine: Ricordo) -> None:
    engine.save("note:/a", "the bridge is closed on Monday")
    change(engine, "UPDATE chunks SET text = replace(text, 'Monday', 'Sunday')")
    report = engine.doctor(repair=True)
    assert not report.ok
    assert engine.search("Monday").hits, "the index still says what was saved"


def test_a_damaged_text_is_mended_from_the_file_it_came_from(engine: Ricordo, tmp_path: Path) -> None:
    file = tmp_path / "bridge.md"
    file.write_text("# Bridge\n\nIt is closed on Monday.\n", encoding="utf-8")
    engine.add(file)
    ref = str(engine.list()[0].ref)
    content = engine.get(ref).content
    change(engine, "UPDATE chunks SET text = replace(text, 'Monday', 'Sunday')")
    report = engine.doctor(repair=True)
    assert report.ok, report.checks
    assert engine.get(ref).content == content
    assert len(engine.history(ref)) == 1


def test_without_a_file_the_newest_sound_version_becomes_the_current_one(engine: Ricordo) -> None:
    engine.save("note:/a", "the first text is long enough to stand alone")
    engine.save("note:/a", "a second text that replaced it on Monday", on_conflict="overwrite")
    change(engine, "UPDATE chunks SET text = replace(text, 'Monday', 'Sunday')")
    engine.doctor(repair=True)
    assert engine.get("note:/a").content == "the first text is long enough to stand alone"
    assert [version.number for version in engine.history("note:/a")] == [3, 2, 1]


def test_salvage_takes_out_everything_but_what_is_damaged_and_it_can_be_imported(
    open_engine: Opener, tmp_path: Path
) -> None:
    engine = open_engine("hurt")
    for number in range(20):
        engine.save(f"note:/n{number}", f"text number {number} " * 5, wait=False)
    engine.link("note:/n1", "note:/n2", "supports")
    engine.save("note:/two", "first text", wait=False)
    engine.save("note:/two", "second text", on_conflict="overwrite", wait=False)
    change(engine, "UPDATE chunks SET text = 'changed' WHERE text LIKE 'text number 7 %'")
    change(engine, "UPDATE chunks SET text = 'changed' WHERE text = 'second text'")
    change(engine, "DELETE FROM chunks WHERE text LIKE 'text number 9 %'")
    report = engine.export(tmp_path / "rescued.jsonl", salvage=True)
    assert sorted(line.split(":/")[1].split()[0].rstrip(":") for line in report.left_out) == ["n7", "n9", "n9", "two"]
    copy = open_engine("copy")
    copy.import_(tmp_path / "rescued.jsonl")
    assert copy.count() == 20
    assert copy.get("note:/n3").content == "text number 3 " * 5
    assert copy.get("note:/two").content == "first text"
    assert copy.get("note:/n7").content == "changed", "what can be read is taken along"
    assert copy.doctor().ok, copy.doctor()


def test_salvage_of_a_sound_store_leaves_nothing_out(engine: Ricordo, tmp_path: Path) -> None:
    engine.save("note:/a", "one")
    engine.save("note:/a", "two", on_conflict="overwrite")
    assert engine.export(tmp_path / "all.jsonl", salvage=True).left_out == ()


def test_a_backup_is_checked_and_names_what_was_damaged_already(engine: Ricordo, tmp_path: Path) -> None:
    engine.save("note:/a", "the bridge is closed on Monday")
    report = engine.backup(tmp_path / "one.db")
    assert (report.items, report.damaged) == (1, ())
    change(engine, "UPDATE chunks SET text = replace(text, 'Monday', 'Sunday')")
    report = engine.backup(tmp_path / "two.db")
    assert report.damaged == ("note:/a version 1: its text is not what was saved",)
    assert (tmp_path / "two.db").exists()


def test_the_commands_say_what_is_damaged_and_end_with_1(engine: Ricordo, tmp_path: Path) -> None:
    engine.save("note:/a", "the bridge is closed on Monday")
    change(engine, "UPDATE chunks SET text = replace(text, 'Monday', 'Sunday')")
    store = ["--store", engine.location]
    exported = CliRunner().invoke(program, [*store, "--json", "export", "--salvage", str(tmp_path / "x.jsonl")])
    assert exported.exit_code == 1
    assert json.loads(exported.stdout)["error"]["code"] == "corrupt"
    got = CliRunner().invoke(program, [*store, "get", "note:/a"])
    assert got.exit_code == 5
    assert "damaged" in got.stderr
    assert "--salvage" in got.stderr


def test_a_row_that_makes_no_sense_is_told_as_damage_and_not_as_a_trace(engine: Ricordo) -> None:
    engine.save("note:/a", "some words")
    change(engine, "UPDATE versions SET layout = x'0102'")
    with pytest.raises(CorruptStore, match="cannot be read"):
        engine.get("note:/a")


def copied(store: Path, to: Path) -> Path:
    """A copy of the store as it is on disk now, with its log, as after a crash."""
    for end in ("", "-wal", "-mark"):
        if Path(f"{store}{end}").exists():
            Path(f"{to}{end}").write_bytes(Path(f"{store}{end}").read_bytes())
            Path(f"{to}{end}").chmod(0o600)
    return to


@pytest.mark.parametrize("where", [20, 0.1, 0.5, 0.99], ids=["the head", "early", "the middle", "the end"])
def test_a_log_that_lost_its_end_to_a_flipped_bit_is_noticed(open_engine: Opener, tmp_path: Path, where: float) -> None:
    engine = open_engine("whole")
    for number in range(20):
        engine.save(f"note:/n{number}", f"text {number}")
    store = copied(tmp_path / "whole.db", tmp_path / "copy.db")
    log = Path(f"{store}-wal")
    data = bytearray(log.read_bytes())
    data[where if isinstance(where, int) else int(len(data) * where)] ^= 4
    log.write_bytes(data)
    damaged = open_engine("copy")
    assert len(damaged.list(limit=100)) < 20 or where == 0.99
    (check,) = [one for one in damaged.doctor().checks if not one.ok]
    assert "pages written to it are lost" in check.detail
    damaged.save("note:/later", "written later")
    damaged.close()
    later = open_engine("copy")
    assert not later.doctor().ok, "it is told until somebody has seen to it"
    assert later.doctor(repair=True).ok
    assert later.doctor().ok


def test_a_log_that_is_whole_raises_no_alarm(open_engine: Opener, tmp_path: Path) -> None:
    engine = open_engine("whole")
    for number in range(5):
        engine.save(f"note:/n{number}", f"text {number}")
        copy = copied(tmp_path / "whole.db", tmp_path / f"copy{number}.db")
        assert open_engine(copy.stem).doctor().ok
    engine.store.database.checkpoint()  # type: ignore[attr-defined]  # the log begins anew
    engine.save("note:/after", "text after")
    assert open_engine(copied(tmp_path / "whole.db", tmp_path / "anew.db").stem).doctor().ok
    engine.close()
    assert not (tmp_path / "whole.db-mark").exists(), "nothing is left once the log is gone"


@pytest.mark.parametrize("table", ["items", "versions", "chunks"])
def test_salvage_writes_what_can_be_read_around_a_damaged_page_and_names_the_rest(
    open_engine: Opener, tmp_path: Path, table: str
) -> None:
    engine = open_engine("hurt")
    for number in range(40):
        engine.save(f"note:/n{number}", f"text number {number} about the river " * 30, wait=False)
    engine.close()
    with sqlite3.connect(engine.location) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = raw.execute("PRAGMA page_size").fetchone()[0]
        pages = raw.execute(
            "SELECT pageno FROM dbstat WHERE name=? AND pagetype='leaf' ORDER BY pageno", (table,)
        ).fetchall()
    raw.close()
    with Path(engine.location).open("r+b") as file:
        file.seek((pages[len(pages) // 2][0] - 1) * size)
        file.write(b"\xff" * 100)
    report = open_engine("hurt").export(tmp_path / "rescued.jsonl", salvage=True)
    assert report.left_out
    copy = open_engine("copy")
    copy.import_(tmp_path / "rescued.jsonl")
    assert 30 <= copy.count() < 40
    assert copy.doctor().ok
