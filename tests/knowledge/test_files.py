"""What a knowledge file says, and what saving, moving and removing do to it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ricordo import ConfigProvider, Conflict, Ricordo
from ricordo.memory.files.format import file_name, read, ref_of, render
from ricordo.values.items import Fields, Item, Ref
from ricordo.values.times import parse_time

from .conftest import House


def front(text: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(text.split("---\n")[1])
    return found


def test_a_memory_is_a_file_with_all_its_fields_in_front(house: House) -> None:
    engine = house.open()
    saved = engine.remember(
        "Keys rotate: every quarter.\n\nAsk Ada.", title="Keys: rotation", tags=["ops", "a, b"], importance=4,
        severity="warning", valid_until="2027-01-01T00:00:00Z", loading="always", decay_protected=True,
        thread="t", seq=3, metadata={"owner": "Ada", "title": "not the title", "parts": [1, 2.5, None, {"x": "yes"}]},
    )  # fmt: skip
    assert house.files() == ["memories/keys-rotation.md"]
    assert sorted(path.name for path in house.folder.iterdir()) == ["articles", "memories", "notes"]
    text = house.read("memories/keys-rotation.md")
    assert text.endswith("---\n\nKeys rotate: every quarter.\n\nAsk Ada.\n")
    says = front(text)
    assert says["id"] == saved.id
    assert (says["title"], says["tags"], says["importance"]) == ("Keys: rotation", ["ops", "a, b"], 4)
    assert says["metadata"] == {"title": "not the title"}
    assert says["parts"] == [1, 2.5, None, {"x": "yes"}]


def test_deleting_the_store_loses_nothing_that_people_set(house: House) -> None:
    engine = house.open()
    engine.remember("One.", title=" spaced ", category="", context="yes", metadata={"id": "z", "n": 1e300, "-": "#"})
    engine.remember("Two.\r\nwith its line ends\n", kind="note", ref="note:/Con/a: b?", tags=["x"], immutable=True)
    engine.save("article:/plain", "no Markdown here", structure="text")
    engine.remember("Three.", kind="note")
    engine.forget("note:/three")
    engine.edit("memory:/spaced", fields={"importance": 2})
    before = {str(item.ref): engine.get(item.ref) for item in engine.list() if item.ref.drive != "x"}
    before["note:/three"] = engine.get("note:/three")
    house.forget_store()
    engine = house.open()
    assert engine.sync().to_dict()["failed"] == 0
    for ref, item in before.items():
        again = engine.get(ref)
        assert (again.id, again.ref, again.kind, again.state) == (item.id, item.ref, item.kind, item.state)
        assert (again.content, again.content_hash) == (item.content, item.content_hash)
        assert (again.fields, again.created_at, again.updated_at) == (item.fields, item.created_at, item.updated_at)


_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_TEXT, _TEXT, _TEXT, st.dictionaries(_TEXT.filter(str.strip), _VALUES, max_size=4))
def test_whatever_is_written_is_read_back(content: str, title: str, description: str, metadata: dict[str, Any]) -> None:
    fields = Fields(title=title, description=description, mime_type="text/markdown", metadata=metadata)
    moment = parse_time("2026-11-15T10:30:00.123456Z")
    identity = "0193a000-0000-7000-8000-000000000001"
    item = Item(identity, Ref("note", "/x"), "note", "live", 1, "", content, fields, moment, moment)
    says = read(render(item, "notes/x.md"), "notes/x.md")
    assert says.text == content
    assert Fields().with_changes(says.fields) == fields
    assert (says.id, says.ref, says.created, says.updated) == (item.id, item.ref, moment, moment)


@given(_TEXT)
def test_any_ref_has_a_file_name_that_every_system_takes(path: str) -> None:
    name = file_name(Ref("note", f"/{path}"), "note")
    for part in name.removesuffix(".md").split("/"):
        assert part
        assert not set(part) & set('<>:"\\|?*\n\t')
        assert len(part.encode()) <= 121
        assert part.rstrip(". ") == part
        assert not part.startswith((".", "~", "#"))
        assert part.split(".")[0].lower() not in {"con", "nul", "aux", "com1", "lpt9"}
    assert ref_of(name).drive == "note"


@pytest.mark.parametrize("name", [".plans", "~draft", "#todo", "deep/.plans"])
def test_a_ref_that_begins_like_a_temporary_file_has_a_file_that_is_seen(house: House, name: str) -> None:
    house.open().save(f"note:/{name}", "The keys rotate every quarter.")
    house.forget_store()
    assert house.open().get(f"note:/{name}").content == "The keys rotate every quarter."


def test_two_refs_that_some_systems_cannot_tell_apart_have_two_files(house: House) -> None:
    engine = house.open()
    engine.remember("Small letters.", ref="note:/keys", kind="note")
    engine.remember("Capital letters, and something else.", ref="note:/Keys", kind="note")
    assert house.files() == ["notes/Keys-2.md", "notes/keys.md"]
    house.forget_store()
    engine = house.open()
    engine.sync()
    assert engine.get("note:/Keys").content.startswith("Capital")


def test_rm_takes_the_file_and_restore_brings_it_back(house: House) -> None:
    engine = house.open()
    engine.remember("A plan.", kind="note", ref="plan", title="Plan")
    before = house.read("notes/plan.md")
    engine.rm("note:/plan")
    assert house.files() == []
    engine.restore("note:/plan")
    seal = re.compile(r'^sealed: "\d{16} [0-9a-f]{64}"$', re.MULTILINE)  # it says when, too
    assert seal.sub("", house.read("notes/plan.md")) == seal.sub("", before)
    engine.rm("note:/plan", purge=True)
    assert house.files() == []
    assert engine.sync().to_dict()["checked"] == 0


def test_forget_marks_the_file_and_taking_the_mark_away_brings_it_back(house: House) -> None:
    engine = house.open()
    engine.remember("A plan.", kind="note", ref="plan")
    engine.forget("note:/plan")
    assert front(house.read("notes/plan.md"))["archived"] is True
    assert engine.list() == []
    house.edit("notes/plan.md", "archived: true\n", "")
    engine.sync()
    assert [str(item.ref) for item in engine.list()] == ["note:/plan"]


def test_correct_supersede_and_merge_write_both_files(house: House) -> None:
    engine = house.open()
    engine.remember("The office is in Lisbon.", ref="office")
    engine.correct("memory:/office", "The office moved to Porto.")
    assert house.files() == ["memories/office.md", "memories/the-office-moved-to-porto.md"]
    assert "archived: true" in house.read("memories/office.md")
    backups = "Backups of all databases run every night at two on the big server in the cellar."
    engine.remember(backups, ref="backups")
    engine.remember(f"{backups} Ada knows.", on_duplicate="merge")
    assert "Ada knows." in house.read("memories/backups.md")
    assert front(house.read("memories/backups.md"))["merged_from"][0]["source"] == "user"


def test_a_move_renames_the_file_and_leaves_no_empty_folder(house: House) -> None:
    engine = house.open()
    engine.remember("A plan.", kind="note", ref="a/b/plan")
    engine.mv("note:/a/b/plan", "note:/plan")
    assert house.files() == ["notes/plan.md"]
    assert sorted(path.name for path in house.folder.rglob("*") if path.is_dir()) == ["articles", "memories", "notes"]
    assert [version.ref.path for version in engine.history("note:/plan")] == ["/plan", "/a/b/plan"]


def test_entities_and_documents_stay_in_the_store(house: House, tmp_path: Path) -> None:
    (tmp_path / "own.md").write_text("My own file.")
    engine = house.open()
    engine.remember("Ada Lovelace", kind="entity")
    engine.add(tmp_path / "own.md", kind="note")
    engine.save("agent:/log", "A document.")
    assert not house.folder.exists()
    assert (tmp_path / "own.md").read_text() == "My own file."


def test_a_store_elsewhere_has_no_files_unless_a_folder_is_set(tmp_path: Path) -> None:
    plain = {"embedding.provider": "none"}
    with Ricordo.open(tmp_path / "x.db", config=ConfigProvider(plain)) as engine:
        engine.remember("A memory.")
        assert engine.status()["knowledge"] is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.db"]
    given = {**plain, "knowledge.folder": str(tmp_path / "mine")}
    with Ricordo.open(tmp_path / "x.db", config=ConfigProvider(given)) as engine:
        engine.search("memory")
        assert (tmp_path / "mine/memories/a-memory.md").is_file()
        assert engine.status()["knowledge"]["files"] == 1
    with Ricordo.open(tmp_path / "x.db", config=ConfigProvider({**given, "knowledge.enabled": False})) as engine:
        engine.remember("Another thing altogether.")
    assert len(list((tmp_path / "mine/memories").iterdir())) == 1


def test_what_changed_while_files_were_switched_off_is_written_by_sync(house: House) -> None:
    house.open().remember("A plan.", ref="plan")
    house.open().remember("Gone soon.", ref="gone")
    off = house.open(**{"knowledge.enabled": False})
    off.edit("memory:/plan", fields={"title": "New"})
    off.rm("memory:/gone")
    report = house.open().sync()
    assert {item.status for item in report.items} <= {"written"}
    assert house.files() == ["memories/plan.md"]
    assert "title: New" in house.read("memories/plan.md")


def test_a_folder_that_cannot_be_written_refuses_the_save_and_keeps_the_store_as_it_was(house: House) -> None:
    engine = house.open()
    house.folder.mkdir()
    (house.folder / "memories").write_text("in the way")
    with pytest.raises(Exception, match="cannot be made"):
        engine.remember("A plan.")
    assert engine.list() == []


def test_an_immutable_item_keeps_its_text_whatever_is_done_to_its_file(house: House) -> None:
    engine = house.open()
    engine.remember("The launch code is blue.", ref="code", immutable=True)
    house.edit("memories/code.md", "blue", "red")
    report = engine.sync()
    assert report.failed == 1
    assert "immutable" in (report.items[0].error or {})["message"]
    assert "blue" in engine.get("memory:/code").content
    (house.folder / "memories/code.md").unlink()
    engine.sync()
    assert "blue" in house.read("memories/code.md")
    with pytest.raises(Conflict):
        engine.rm("memory:/code")
    assert house.files() == ["memories/code.md"]


def test_an_id_and_a_source_of_another_program_stay_in_place_when_the_file_is_rewritten(house: House) -> None:
    house.write("notes/theirs.md", "---\nid: zettel-17\nsource: a book\nauto_category: reading\n---\nWhat I read.\n")
    engine = house.open()
    assert engine.get("note:/theirs").fields.category == "reading"
    before = engine.get("note:/theirs").id
    engine.edit("note:/theirs", fields={"tags": ["mine"]})
    text = house.read("notes/theirs.md")
    assert "\nid: zettel-17\n" in text
    assert "\nsource: a book\n" in text
    house.forget_store()
    item = house.open().get("note:/theirs")
    assert (item.id, item.fields.tags) == (before, ("mine",))
    assert (item.fields.metadata["id"], item.fields.metadata["source"]) == ("zettel-17", "a book")
