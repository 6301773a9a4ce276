"""What people do to the files, and what becomes of it: edits, new files, renames, deletions, mistakes, conflicts."""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.conftest import import_trusted

from ricordo import Conflict, NotFound, StoreError
from ricordo.errors import StaleVersion
from ricordo.memory.files import mirror as knowledge_store
from ricordo.values.reports import SyncReport

from .conftest import House


def said(report: SyncReport) -> list[tuple[str, str]]:
    return [(item.ref, item.status) for item in report.items]


def test_an_edit_in_the_file_is_a_version_at_the_next_search(house: House) -> None:
    engine = house.open()
    engine.remember("The keys rotate every quarter.", ref="keys", title="Keys")
    house.edit("memories/keys.md", "quarter", "fortnight")
    house.edit("memories/keys.md", "title: Keys", "title: Rotation\nimportance: 5\ncolour: red")
    later = house.open()
    assert [hit.ref for hit in later.search("fortnight").hits] == ["memory:/keys"]
    item = later.get("memory:/keys")
    assert (item.version, item.fields.title, item.fields.importance) == (2, "Rotation", 5)
    assert item.fields.metadata == {"colour": "red"}
    assert "quarter" in later.get("memory:/keys", version=1).content


def test_a_file_that_says_it_is_of_the_future_is_as_of_now(house: House) -> None:
    engine = house.open()
    engine.remember("The keys rotate every quarter.", ref="keys")
    [line] = [line for line in house.read("memories/keys.md").splitlines() if line.startswith("updated: ")]
    house.edit("memories/keys.md", line, "updated: 2999-01-01T00:00:00Z")
    later = house.open()
    later.sync()
    assert later.get("memory:/keys").updated_at <= datetime.now(UTC)


def test_a_process_that_stays_sees_an_edit_at_its_next_search(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge_store, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(knowledge_store, "LOOK_SHARE", 0)
    engine = house.open()
    engine.remember("The keys rotate every quarter.", ref="keys")
    for word in ("fortnight", "decade", "century"):
        house.write("memories/keys.md", f"The keys rotate every {word}.\n")
        assert [hit.ref for hit in engine.search(word).hits] == ["memory:/keys"]
    assert engine.get("memory:/keys").version == 4


def test_a_process_that_stays_looks_again_each_time_a_while_has_passed(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1_000.0]
    monkeypatch.setattr(knowledge_store, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    engine = house.open()
    engine.remember("The keys rotate every quarter.", ref="keys")
    for word in ("fortnight", "decade", "century"):
        engine.search("keys")  # so that the last look is a moment ago
        house.write("memories/keys.md", f"The keys rotate every {word}.\n")
        clock[0] += knowledge_store.LOOK_SECONDS / 2
        assert engine.get("memory:/keys").content != f"The keys rotate every {word}.\n"
        clock[0] += knowledge_store.LOOK_SECONDS
        assert [hit.ref for hit in engine.search(word).hits] == ["memory:/keys"]


def test_syncing_twice_writes_nothing_and_touching_a_file_makes_no_version(house: House) -> None:
    engine = house.open()
    engine.remember("The keys rotate every quarter.", ref="keys")
    house.write("notes/mine.md", "# Mine\n\nBy hand.\n")
    engine.sync()
    texts = [house.read(name) for name in house.files()]
    os.utime(house.folder / "memories/keys.md")
    os.utime(house.folder / "notes/mine.md", (1, 1))
    for _ in range(2):
        report = engine.sync()
        assert (report.items, report.unchanged) == ((), 2)
    assert [engine.get(ref).version for ref in ("memory:/keys", "note:/mine")] == [1, 1]
    assert [house.read(name) for name in house.files()] == texts


def test_a_file_made_by_hand_becomes_an_item_and_is_left_as_it_is(house: House) -> None:
    engine = house.open()
    text = "---\ntags: [a, b]\nid: 2024-77\naliases: [x]\n---\n# The Title\n\nSome text.\n"
    house.write("articles/deep/how.md", text)
    assert said(engine.sync()) == [("article:/deep/how", "created")]
    item = engine.get("article:/deep/how")
    assert (item.kind, item.title, item.fields.tags, item.fields.source) == ("article", "The Title", ("a", "b"), "file")
    assert item.fields.metadata == {"id": "2024-77", "aliases": ["x"]}
    assert item.first_line == 6
    assert house.read("articles/deep/how.md") == text
    house.forget_store()
    engine = house.open()
    assert engine.search("some text").hits[0].id == item.id
    engine.edit("article:/deep/how", fields={"importance": 3})
    assert "aliases: [x]" in house.read("articles/deep/how.md")
    assert engine.get("article:/deep/how").fields.metadata == item.fields.metadata


def test_a_renamed_file_keeps_its_history_by_its_id_or_by_its_text(house: House) -> None:
    engine = house.open()
    engine.remember("The keys rotate every quarter.", ref="keys")
    house.write("notes/mine.md", "By hand.\n")
    engine.sync()
    ids = [engine.get(ref).id for ref in ("memory:/keys", "note:/mine")]
    (house.folder / "memories/keys.md").rename(house.folder / "memories/rotation.md")
    (house.folder / "notes/mine.md").rename(house.folder / "notes/ours.md")
    house.edit("memories/rotation.md", "quarter", "year")
    assert sorted(said(engine.sync())) == [("memory:/rotation", "moved"), ("note:/ours", "moved")]
    assert [engine.get(ref).id for ref in ("memory:/rotation", "note:/ours")] == ids
    assert [engine.get(ref).version for ref in ("memory:/rotation", "note:/ours")] == [2, 2]


def test_a_file_moved_to_another_folder_changes_its_kind(house: House) -> None:
    engine = house.open()
    engine.remember("Grown up.", kind="note", ref="x")
    (house.folder / "articles").mkdir(exist_ok=True)
    (house.folder / "notes/x.md").rename(house.folder / "articles/x.md")
    engine.sync()
    assert engine.get("article:/x").kind == "article"
    assert engine.history("article:/x")[1].kind == "note"


def test_a_file_that_takes_the_place_of_a_removed_one_is_followed(house: House) -> None:
    engine = house.open()
    for name in ("a", "b"):
        engine.remember(f"This is {name} and nothing else.", ref=name, on_duplicate="save")
    ids = {name: engine.get(f"memory:/{name}").id for name in "ab"}
    memories = house.folder / "memories"
    (memories / "a.md").unlink()
    (memories / "b.md").rename(memories / "a.md")
    engine.sync()
    assert engine.get("memory:/a").id == ids["b"]
    with pytest.raises(NotFound):
        engine.get("memory:/b")


@pytest.mark.parametrize("is_by_hand", [False, True])
def test_files_that_swap_their_names_keep_the_items_that_they_are_of(house: House, *, is_by_hand: bool) -> None:
    engine = house.open()
    names = ("a", "b", "c")
    for name in names:
        if is_by_hand:
            house.write(f"notes/{name}.md", f"This is {name}.\n")
        else:
            engine.save(f"note:/{name}", f"This is {name}.")
    engine.sync()
    ids = {name: engine.get(f"note:/{name}").id for name in names}
    notes = house.folder / "notes"
    (notes / "a.md").rename(notes / "held")
    for name, new in (("b", "a"), ("c", "b")):
        (notes / f"{name}.md").rename(notes / f"{new}.md")
    (notes / "held").rename(notes / "c.md")
    assert sorted(said(engine.sync())) == [(f"note:/{name}", "moved") for name in names]
    now = {name: engine.get(f"note:/{name}") for name in names}
    assert {name: (item.id, item.content.strip()) for name, item in now.items()} == {
        "a": (ids["b"], "This is b."), "b": (ids["c"], "This is c."), "c": (ids["a"], "This is a."),
    }  # fmt: skip
    assert [version.ref.path for version in engine.history("note:/a")] == ["/a", "/b"]
    assert engine.doctor().ok


def test_a_folder_in_the_place_of_a_file_stops_only_itself(house: House) -> None:
    engine = house.open(**{"knowledge.enabled": False})
    for name in ("a", "b", "c"):
        engine.save(f"note:/{name}", f"This is {name}.")
    (house.folder / "notes/b.md").mkdir(parents=True)
    engine = house.open()
    report = engine.sync()
    assert sorted(said(report)) == [("note:/a", "written"), ("note:/b", "failed"), ("note:/c", "written")]
    (error,) = (synced.error for synced in report.items if synced.error)
    assert error["message"] == "a folder has the place of the file notes/b.md"
    (house.folder / "notes/c.md").unlink()
    (house.folder / "notes/c.md").mkdir()
    house.edit("notes/a.md", "This is", "It is still")
    assert sorted(said(engine.sync())) == [("note:/a", "updated"), ("note:/b", "failed"), ("note:/c", "failed")]
    with pytest.raises(StoreError, match=r"a folder has the place of the file notes/c\.md"):
        engine.edit("note:/c", "Another text.")
    assert engine.get("note:/c").content == "This is c."
    for name in ("b", "c"):
        (house.folder / f"notes/{name}.md").rmdir()
    engine.sync(write=True)
    assert engine.doctor().ok


def test_a_file_is_read_whatever_the_case_of_its_ending(house: House) -> None:
    engine = house.open()
    house.write("notes/n8.MD", "Of a system that writes its names in capitals.\n")
    assert said(engine.sync()) == [("note:/n8", "created")]
    house.edit("notes/n8.MD", "capitals", "large letters")
    assert said(engine.sync()) == [("note:/n8", "updated")]
    assert house.files() == ["notes/n8.MD"]


def test_a_file_put_in_the_place_of_another_with_its_own_id_is_another_item(house: House, tmp_path: Path) -> None:
    other = House(tmp_path / "other")
    theirs = other.open().remember("Theirs.", ref="x")
    engine = house.open()
    ours = engine.remember("Ours.", ref="x")
    house.write("memories/x.md", other.read("memories/x.md"))
    other.close()
    engine.sync()
    assert (engine.get("memory:/x").id, engine.get("memory:/x").content) == (theirs.id, "Theirs.")
    assert ours.id != theirs.id
    assert engine.status()["in_bin"] == 1


def test_a_copy_of_a_file_is_an_item_of_its_own(house: House) -> None:
    engine = house.open()
    engine.remember("The keys rotate every quarter.", ref="keys")
    shutil.copy(house.folder / "memories/keys.md", house.folder / "memories/keys copy.md")
    report = engine.sync()
    assert said(report) == [("memory:/keys copy", "created")]
    assert "has the same id as" in report.notes[0]
    assert engine.get("memory:/keys copy").id != engine.get("memory:/keys").id
    ids = {str(item.ref): item.id for item in engine.list()}
    house.forget_store()
    engine = house.open()
    engine.sync()
    assert {str(item.ref): item.id for item in engine.list()} == ids


def test_a_deleted_file_takes_its_item_to_the_bin_and_brings_it_back_when_it_returns(house: House) -> None:
    engine = house.open()
    engine.remember("The keys rotate every quarter.", ref="keys")
    text = house.read("memories/keys.md")
    (house.folder / "memories/keys.md").unlink()
    assert said(engine.sync()) == [("memory:/keys", "removed")]
    assert engine.search("keys").hits == ()
    house.write("memories/keys.md", text)
    engine.sync()
    assert len(engine.history("memory:/keys")) == 2
    engine.rm("memory:/keys")
    engine.restore("memory:/keys")
    assert house.files() == ["memories/keys.md"]


def test_a_folder_that_vanished_as_a_whole_takes_nothing_with_it(house: House) -> None:
    engine = house.open()
    engine.remember("The keys rotate every quarter.", ref="keys")
    house.folder.rename(house.place / "elsewhere")
    assert len(house.open().search("keys").hits) == 1
    with pytest.raises(Exception, match="is gone"):
        engine.sync()
    assert not engine.doctor().ok
    assert said(engine.sync(write=True)) == [("memory:/keys", "written")]
    assert house.files() == ["memories/keys.md"]


def test_another_folder_gets_the_files_and_none_of_them_counts_as_gone(house: House, tmp_path: Path) -> None:
    house.open().remember("The keys rotate every quarter.", ref="keys")
    (tmp_path / "vault/notes").mkdir(parents=True)
    (tmp_path / "vault/notes/mine.md").write_text("Mine.\n")
    engine = house.open(**{"knowledge.folder": str(tmp_path / "vault")})
    assert sorted(str(item.ref) for item in engine.list()) == ["memory:/keys", "note:/mine"]
    assert said(engine.sync()) == [("memory:/keys", "written")]
    sealed = house.read("memories/keys.md").splitlines()
    unsealed = [line for line in sealed if not line.startswith("sealed: ")]
    assert (tmp_path / "vault/memories/keys.md").read_text().splitlines() == unsealed


def test_all_files_that_vanish_at_once_are_only_removed_when_asked(house: House) -> None:
    engine = house.open()
    engine.remember("Herons eat fish.", ref="herons")
    engine.remember("Trains run on rails.", ref="trains")
    shutil.rmtree(house.folder / "memories")
    assert house.open().count() == 2
    assert sorted(said(house.open().sync(write=True))) == [("memory:/herons", "written"), ("memory:/trains", "written")]
    (house.folder / "memories/herons.md").unlink()
    assert house.open().count() == 1


def test_many_files_that_vanish_at_once_are_only_removed_when_asked(house: House) -> None:
    engine = house.open()
    for number in range(30):
        house.write(f"notes/{number}.md", f"Note {number}.\n")
    engine.sync()
    for number in range(25):
        (house.folder / f"notes/{number}.md").unlink()
    assert house.open().count() == 30
    assert house.open().sync().count("removed") == 25


def test_broken_front_matter_is_told_each_time_and_loses_nothing(house: House) -> None:
    engine = house.open()
    engine.remember("The keys rotate every quarter.", ref="keys", title="Keys")
    good = house.read("memories/keys.md")
    house.edit("memories/keys.md", "title: Keys", "title: [Keys")
    house.write("notes/never.md", "---\ntitle: x\nno end\n")
    broken = house.read("memories/keys.md")
    for _ in range(2):
        report = engine.sync()
        assert [item.file for item in report.items if item.status == "failed"] == ["memories/keys.md", "notes/never.md"]
    assert engine.get("memory:/keys").content == "The keys rotate every quarter."
    with pytest.raises(Conflict, match="changed by hand"):
        engine.edit("memory:/keys", fields={"importance": 1})
    assert house.read("memories/keys.md") == broken
    assert not engine.doctor().ok
    house.write("memories/keys.md", good)
    (house.folder / "notes/never.md").unlink()
    assert engine.sync().failed == 0
    assert engine.get("memory:/keys").version == 1
    assert engine.doctor().ok


@pytest.mark.parametrize(
    "name", ["notes/x.md~", "notes/.x.md.swp", "notes/#x.md#", "notes/.#x.md", "notes/~$x.md", "notes/4913", "x.md",
             "notes/.hidden/x.md", "other/x.md"],
)  # fmt: skip
def test_editors_temporary_files_are_not_seen(house: House, name: str) -> None:
    engine = house.open()
    house.write(name, "Not yet saved.\n")
    assert engine.sync().to_dict()["checked"] == 0
    assert engine.count() == 0


def test_a_change_in_both_places_keeps_both_as_versions_and_says_so(house: House) -> None:
    engine = house.open()
    engine.remember("First.", ref="x")
    house.open(**{"knowledge.enabled": False}).edit("memory:/x", "From the store.")
    house.edit("memories/x.md", "First.", "From the file.")
    report = engine.sync()
    assert said(report) == [("memory:/x", "conflict")]
    assert "version 2" in report.items[0].reason
    assert [engine.get("memory:/x", version=n).content for n in (1, 2, 3)] == [
        "First.", "From the store.", "From the file.",
    ]  # fmt: skip
    assert engine.get("memory:/x").content == "From the file."
    assert engine.sync().items == ()


def test_an_edit_on_top_of_a_file_that_was_just_changed_keeps_that_change_and_says_so(house: House) -> None:
    engine = house.open()
    engine.remember("First.", ref="x")
    engine.get("memory:/x")
    house.edit("memories/x.md", "First.", "By hand.")
    saved = engine.edit("memory:/x", "By the engine.")
    assert "changed meanwhile" in (saved.reason or "")
    assert [engine.get("memory:/x", version=n).content for n in (1, 2, 3)] == ["First.", "By hand.", "By the engine."]
    house.edit("memories/x.md", "By the engine.", "By hand again.")
    engine.edit("memory:/x", fields={"title": "T"})
    assert engine.get("memory:/x").content == "By hand again."
    house.edit("memories/x.md", "By hand again.", "And again.")
    engine.forget("memory:/x")
    assert "And again." in house.read("memories/x.md")


def test_an_edit_of_an_older_version_says_that_there_is_a_newer_one(house: House) -> None:
    engine = house.open()
    engine.remember("First.", ref="x")
    house.edit("memories/x.md", "First.", "By hand.")
    engine.sync()
    with pytest.raises(StaleVersion, match="at version 2 by now, and the change was made on version 1"):
        engine.edit("memory:/x", "Made of the first.", base=1)
    assert engine.edit("memory:/x", "Made of the second.", base=2).reason is None


def test_an_export_taken_into_another_project_writes_its_files_there(house: House, tmp_path: Path) -> None:
    engine = house.open()
    engine.remember("Alive.", title="One", tags=["x"])
    engine.remember("Forgotten.", kind="note", ref="two")
    engine.forget("note:/two")
    engine.remember("Removed.", ref="three")
    engine.rm("memory:/three")
    engine.export(tmp_path / "one.jsonl")
    other = House(tmp_path / "other")
    second = other.open()
    import_trusted(second, tmp_path / "one.jsonl")
    seal = re.compile(r'^sealed: "\d{16} [0-9a-f]{64}"$', re.MULTILINE)  # holds in its own project alone
    texts = [{name: seal.sub("", one.read(name)) for name in one.files()} for one in (house, other)]
    assert texts[0] == texts[1]
    second.export(tmp_path / "two.jsonl")
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    assert second.sync().items == ()
    import_trusted(second, tmp_path / "one.jsonl", on_conflict="overwrite")
    assert other.files() == house.files()
    other.close()


def test_a_file_made_by_hand_is_not_written_over_by_a_new_memory(house: House) -> None:
    engine = house.open()
    engine.list()
    house.write("memories/keys.md", "Mine.\n")
    saved = engine.remember("The keys rotate.", title="Keys")
    assert saved.ref == "memory:/keys-2"
    assert house.read("memories/keys.md") == "Mine.\n"
    assert engine.get("memory:/keys").content == "Mine."


def test_links_in_files_lead_to_other_files(house: House) -> None:
    engine = house.open()
    house.write("notes/a.md", "See [[b]].\n")
    house.write("notes/b.md", "B.\n")
    engine.sync()
    assert [link.target for link in engine.links("note:/a").links] == ["note:/b"]


def test_watch_follows_the_knowledge_folder_without_being_told(house: House) -> None:
    engine = house.open()
    stop = threading.Event()
    seen = threading.Event()
    watching = threading.Thread(target=engine.watch, kwargs={"on_event": lambda event: seen.set(), "stop": stop})
    watching.start()
    try:
        deadline = time.monotonic() + 200
        while not seen.is_set() and time.monotonic() < deadline:
            house.write("notes/seen.md", f"Seen soon {time.monotonic()}.\n")
            seen.wait(0.3)
    finally:
        stop.set()
        watching.join()
    assert seen.is_set()
    assert house.open().get("note:/seen").content.startswith("Seen soon")


def test_a_secret_that_is_added_or_saved_in_bulk_as_a_memory_is_redacted(house: House, tmp_path: Path) -> None:
    from ricordo import Entry

    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    (tmp_path / "own.md").write_text(f"# Token {secret}\n\nIt is {secret}.\n")
    engine = house.open()
    report = engine.save_many([Entry("memory:/one", f"token {secret}", kind="memory"), Entry("note:/two", secret)])
    assert all(item.redacted for item in report.items)
    assert engine.add(tmp_path / "own.md", as_ref="memory:/three").items[0].redacted
    assert engine.add(text=f"token {secret}", as_ref="note:/four").items[0].redacted
    assert not engine.add(text=f"token {secret}", as_ref="note:/five", allow_secrets=True).items[0].redacted
    texts = "".join(house.read(name) for name in house.files() if "five" not in name)
    assert secret not in texts
    assert secret in house.read("notes/five.md")
    assert secret in (tmp_path / "own.md").read_text()


def test_two_tiers_are_both_looked_at(house: House, tmp_path: Path) -> None:
    team = House(tmp_path / "team")
    team.open().remember("The team eats at noon.", ref="lunch")
    engine = house.open(**{"tiers.team": str(team.place / "ricordo.db")})
    assert len(engine.search("noon").hits) == 1
    team.edit("memories/lunch.md", "noon", "midnight")
    other = house.open(**{"tiers.team": str(team.place / "ricordo.db")})
    assert [hit.ref for hit in other.search("midnight").hits] == ["memory:/lunch"]
    team.close()


def test_a_file_with_both_sides_of_a_merge_is_named(house: House) -> None:
    engine = house.open()
    house.write("memories/harbour.md", "<<<<<<< HEAD\nIt opens at six.\n=======\nAt eight.\n>>>>>>> branch\n")
    assert [note for note in engine.sync().notes if note.startswith("memories/harbour.md holds both sides of a merge")]
    house.write("memories/harbour.md", "It opens at eight.\n")
    assert not engine.sync().notes
    front = "---\n<<<<<<< HEAD\ntitle: Harbour\n=======\ntitle: Port\n>>>>>>> branch\n---\nIt opens at eight.\n"
    house.write("memories/harbour.md", front)
    (failed,) = engine.sync().items
    assert "holds both sides of a merge" in str(failed.error)
    assert engine.get("memory:/harbour").content.strip() == "It opens at eight."
