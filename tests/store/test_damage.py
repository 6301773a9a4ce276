"""Damage inside sound pages: it is noticed, named, mended where a sound copy exists, and the rest can be taken out."""

from __future__ import annotations

import json
import random
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.conftest import import_trusted

from ricordo import ConfigProvider, CorruptStore, Ricordo
from ricordo.cli.program import program
from ricordo.errors import StoreError
from ricordo.store.sqlite.store import SqliteStore

Opener = Callable[..., Ricordo]
NO_VECTORS = ConfigProvider({"embedding.provider": "none"})


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
    (mended,) = [check for check in engine.doctor(repair=True).checks if check.name == "mending"]
    assert "note:/a: version 2 is gone, version 1 stands in" in mended.detail
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
    assert sorted(line.split(":/")[1].split()[0].rstrip(":") for line in report.left_out) == [
        "n7",
        "n9",
        "n9",
        "two",
        "two",
    ]
    assert "note:/two: version 2 is gone, version 1 stands in" in report.left_out
    copy = open_engine("copy")
    copy.import_(tmp_path / "rescued.jsonl")
    assert copy.count() == 20
    assert copy.get("note:/n3").content == "text number 3 " * 5
    assert copy.get("note:/two").content == "first text"
    assert copy.get("note:/n7").content == "changed", "what can be read is taken along"
    assert copy.doctor().ok, copy.doctor()


def test_an_export_of_a_damaged_store_is_refused_and_says_what_can_be_done(engine: Ricordo, tmp_path: Path) -> None:
    engine.save("note:/a", "the bridge is closed on Monday")
    change(engine, "UPDATE versions SET layout = x'00'")
    with pytest.raises(CorruptStore, match="nothing is exported") as refused:
        engine.export(tmp_path / "out.jsonl")
    assert "export --salvage" in str(refused.value.hint)
    assert not (tmp_path / "out.jsonl").exists()


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


def test_a_flipped_bit_in_the_name_of_a_column_is_noticed_by_doctor_and_backup_and_mended(
    tmp_path: Path,
) -> None:
    store = tmp_path / "store.db"
    with Ricordo.open(store, config=NO_VECTORS) as engine:
        engine.save("note:/keys", "Keys rotate.", fields={"description": "When they change."})
    data = store.read_bytes()
    assert data.count(b"description TEXT") == 1
    store.write_bytes(data.replace(b"description TEXT", b"descripthon TEXT"))
    with Ricordo.open(store, config=NO_VECTORS) as engine:
        check = next(check for check in engine.doctor().checks if check.name == "schema")
        assert not check.ok
        assert "items has no column description but descripthon" in check.detail
        with pytest.raises(StoreError, match="no column description"):
            engine.backup(tmp_path / "copy.db")
        assert not (tmp_path / "copy.db").exists()
        assert next(check for check in engine.doctor(repair=True).checks if check.name == "schema").repaired
        assert all(check.ok for check in engine.doctor().checks if check.name in ("schema", "fields", "texts"))
        assert engine.get("note:/keys").fields.description == "When they change."
        engine.backup(tmp_path / "copy.db")


def test_a_damaged_text_that_was_rescued_says_that_it_is_damaged_wherever_it_goes(
    engine: Ricordo, open_engine: Opener, tmp_path: Path
) -> None:
    engine.save("note:/keys", "Keys rotate in March.")
    engine.save("note:/sound", "Sound.")
    change(engine, "UPDATE chunks SET text = replace(text, 'March', 'Narch')")
    engine.export(tmp_path / "rescued.jsonl", salvage=True)
    with open_engine("other") as other:
        import_trusted(other, tmp_path / "rescued.jsonl")
        item = other.get("note:/keys")
        assert (item.content, item.fields.metadata) == (
            "Keys rotate in Narch.",
            {"damaged": "its text is not what was saved"},
        )
        assert other.get("note:/sound").fields.metadata == {}
        other.export(tmp_path / "again.jsonl")
    assert "its text is not what was saved" in (tmp_path / "again.jsonl").read_text(encoding="utf-8")


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
    for end in ("", "-wal"):
        if Path(f"{store}{end}").exists():
            Path(f"{to}{end}").write_bytes(Path(f"{store}{end}").read_bytes())
            Path(f"{to}{end}").chmod(0o600)
    return to


TEXTS = {f"note:/n{number}": f"text number {number} about the river " * 30 for number in range(40)}


Hurt = tuple[Path, dict[str, list[int]]]
"""The file of a closed store, and the pages of each of its tables and indexes, by ``TABLE KIND``."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Hurt:
    """A store of forty notes."""
    path = tmp_path_factory.mktemp("whole") / "whole.db"
    with Ricordo.open(path, config=NO_VECTORS) as engine:
        for ref, text in TEXTS.items():
            engine.save(ref, text, wait=False)
        engine.link("note:/n1", "note:/n2", "supports")
    with sqlite3.connect(path) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        rows = raw.execute("SELECT name || ' ' || pagetype, pageno FROM dbstat ORDER BY pageno").fetchall()
    raw.close()
    pages: dict[str, list[int]] = {}
    for name, page in rows:
        pages.setdefault(name, []).append(page)
    return path, pages


@pytest.fixture
def hurt(whole: Hurt, tmp_path: Path) -> Hurt:
    """A copy of it, to be damaged."""
    return copied(whole[0], tmp_path / "hurt.db"), whole[1]


def overwrite(store: Path, page: int, *, head_only: bool = False) -> None:
    """Damage a page: all of it, or its first 100 bytes."""
    with store.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 100 if head_only else random.Random(page).randbytes(4096))


def rescued(store: Path, open_engine: Opener) -> tuple[Ricordo, tuple[str, ...]]:
    """A new store with what an export of a damaged one says, and what that names as damaged."""
    out = store.with_name("rescued.jsonl")
    with Ricordo.open(store, create=False) as engine:
        left_out = engine.export(out, salvage=True, force=True).left_out
    copy = open_engine("copy")
    import_trusted(copy, out)
    assert copy.doctor().ok, copy.doctor()
    return copy, left_out


def texts_of(engine: Ricordo) -> dict[str, str]:
    return {str(item.ref): engine.get(item.ref).content for item in engine.list(limit=100)}


@pytest.mark.parametrize("table", ["versions", "chunks"])
def test_salvage_writes_what_can_be_read_around_a_damaged_page_and_names_the_rest(
    hurt: Hurt, open_engine: Opener, table: str
) -> None:
    store, pages = hurt
    leaves = pages[f"{table} leaf"]
    overwrite(store, leaves[len(leaves) // 2], head_only=True)
    copy, left_out = rescued(store, open_engine)
    assert left_out
    saved = texts_of(copy)
    assert 25 <= len(saved) < 40
    assert saved.items() <= TEXTS.items()


def test_a_store_that_cannot_be_opened_names_what_may_still_help(hurt: Hurt, tmp_path: Path) -> None:
    store, pages = hurt
    overwrite(store, pages["sqlite_schema leaf"][0])
    before = store.read_bytes()
    exported = CliRunner().invoke(program, ["--store", str(store), "export", "--salvage", str(tmp_path / "x.jsonl")])
    assert exported.exit_code == 5
    for help_ in ("backup", "knowledge folder", f"sqlite3 {store} .recover"):
        assert help_ in " ".join(exported.stderr.split())
    assert store.read_bytes() == before
    assert not (tmp_path / "x.jsonl").exists()


def _closed_by_another_thread(store: SqliteStore) -> None:
    with store.database.read() as connection:
        other = threading.Thread(target=store.close)
        other.start()
        other.join()
        connection.rows("SELECT value FROM meta")


def test_a_store_that_another_thread_closes_in_the_middle_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="the store is closed"):
        _closed_by_another_thread(SqliteStore(tmp_path / "store.db"))


DAMAGED = [
    ("items", "fields"), ("items", "metadata"), ("items", "provenance"), ("versions", "fields"),
    ("versions", "marks"), ("versions", "provenance"), ("versions", "layout"), ("chunks", "text"),
    ("audit", "provenance"), ("items", "drive"), ("versions", "drive"),
    ("query_log", "refs"), ("query_log", "asker"), ("steps", "provenance"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "column"), DAMAGED)
def test_a_damaged_row_costs_itself_alone_and_is_named(open_engine: Opener, table: str, column: str) -> None:
    engine = open_engine()
    for number in range(3):
        engine.save(f"note:/n{number}", f"The otters of river {number} swim at noon.", wait=False)
    engine.edit("note:/n0", "The otters of river 0 swim at night.", wait=False)
    engine.search("otters")
    engine.rm("note:/n0")
    engine.close()
    engine = open_engine()
    row = {"items": "path = '/n1'", "versions": "item = 2", "chunks": "item = 2"}.get(table, "TRUE")
    value = b"\1" if column == "layout" else "{damaged"
    change(engine, f"UPDATE {table} SET {column} = ? WHERE {row}", value)
    engine.close()
    engine = open_engine()
    refs = {str(item.ref) for item in engine.list()}
    assert "note:/n2" in refs
    assert len(refs) == 2
    assert "note:/n2" in {hit.ref for hit in engine.search("otters swim at noon").hits}
    assert engine.get("note:/n2").content == "The otters of river 2 swim at noon."
    assert "river 2" in engine.context("which otters swim at noon").text
    assert "note:/n2" in {event.ref for event in engine.timeline().events}
    assert engine.tree()
    assert engine.log().entries is not None
    assert engine.undo(list=True).steps
    report = engine.doctor()
    assert not report.ok
    assert any(not check.ok for check in report.checks if check.name in ("records", "texts"))


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("segments", "chunk_ids", b"odd"), ("segments", "states", b"\1\1\1"),
        ("segments", "lengths", b"odd"), ("postings", "data", b"odd"), ("postings", "data", b""),
    ],
)  # fmt: skip
def test_a_damaged_part_of_the_keyword_index_costs_itself_alone_and_is_made_again(
    open_engine: Opener, table: str, column: str, value: bytes
) -> None:
    engine = open_engine()
    engine.save("note:/lost", "The otters of the first river swim.", wait=False)
    engine.save("note:/found", "The otters of the second river swim.", wait=False)
    number = "id" if table == "segments" else "segment"
    change(engine, f"UPDATE {table} SET {column} = ? WHERE {number} = (SELECT min(id) FROM segments)", value)
    engine.close()
    engine = open_engine()
    answer = engine.search("otters river")
    assert {hit.ref for hit in answer.hits} == {"note:/found"}
    assert any("ricordo doctor --repair" in one for one in answer.meta.degraded)
    assert engine.remember("Beavers build dams in winter.", wait=False).status == "created"
    assert "keyword index" in {check.name for check in engine.doctor().checks if not check.ok}
    assert engine.doctor(repair=True).ok
    answer = engine.search("otters river")
    assert ({hit.ref for hit in answer.hits}, answer.meta.degraded) == ({"note:/lost", "note:/found"}, ())


def test_who_did_something_is_unknown_after_a_repair_where_only_that_was_damaged(engine: Ricordo) -> None:
    engine.save("note:/a", "the bridge is closed on Monday")
    change(engine, "UPDATE items SET provenance = '{'")
    change(engine, "UPDATE versions SET provenance = '{'")
    (records,) = [check for check in engine.doctor(repair=True).checks if check.name == "records"]
    assert "1 of items.provenance, 1 of versions.provenance" in records.detail
    assert engine.doctor().ok
    assert engine.get("note:/a").provenance.author == "unknown"


@pytest.mark.parametrize(
    "statements", ["DROP TABLE audit", "DROP TABLE secrets; CREATE TABLE secrets(item INTEGER, kind TEXT, count TEXT)"]
)
def test_a_table_that_is_not_as_this_version_makes_it_is_named_by_doctor_and_backup(
    engine: Ricordo, tmp_path: Path, statements: str
) -> None:
    engine.save("note:/a", "the bridge is closed on Monday")
    with sqlite3.connect(engine.location) as raw:
        raw.executescript(statements)
    raw.close()
    (schema,) = [check for check in engine.doctor().checks if check.name == "schema"]
    assert not schema.ok
    with pytest.raises(StoreError, match="damaged, and so would be its backup"):
        engine.backup(tmp_path / "copy.db")


@pytest.mark.parametrize(
    "statements", ["DROP INDEX items_updated", "DROP INDEX items_kind; CREATE INDEX items_kind ON items(kind)"]
)
def test_an_index_that_is_missing_is_made_again(engine: Ricordo, statements: str) -> None:
    engine.save("note:/a", "the bridge is closed on Monday")
    with sqlite3.connect(engine.location) as raw:
        raw.executescript(statements)
    raw.close()
    (schema,) = [check for check in engine.doctor().checks if check.name == "schema"]
    assert "missing indexes: items_" in schema.detail
    engine.doctor(repair=True)
    assert engine.doctor().ok


def test_a_backup_names_records_that_cannot_be_read(engine: Ricordo, tmp_path: Path) -> None:
    engine.save("note:/a", "the bridge is closed on Monday")
    change(engine, "UPDATE steps SET provenance = '{'")
    assert engine.backup(tmp_path / "one.db").damaged == ("steps.provenance version 0: 1 values cannot be read",)
