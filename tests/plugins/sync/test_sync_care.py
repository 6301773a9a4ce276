"""What must not happen on the side of a sync: texts that lie readable, erased texts that stay, machines that come in
by way of others, and one folder that stops all.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import zlib
from pathlib import Path
from typing import Any

import pytest

from ricordo.errors import NotFound, UsageError

from .conftest import MakePlaces, Place, carry, settle

PASSPHRASE = "correct horse battery staple"


def joined(place: Place, **options: object) -> None:
    with place.at() as engine:
        engine.sync_folder_add(place.folder, trust_all=True, **options)  # type: ignore[arg-type]


def holds(folder: Path, word: str) -> bool:
    return any(word.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_folder_with_encrypted_files_is_not_joined_readably(
    make_places: MakePlaces, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_PASSPHRASE", PASSPHRASE)
    desk, laptop = Place(tmp_path, "desk", 1), Place(tmp_path, "laptop", 2)
    joined(desk, encrypt=True)
    shutil.copytree(desk.folder, laptop.folder, dirs_exist_ok=True)
    with pytest.raises(UsageError, match="are encrypted"):
        joined(laptop)
    with laptop.at() as engine:
        assert engine.sync_folder_status().folders == ()
    joined(laptop, encrypt=True)
    joined(laptop, what=["memories"])  # it is known as encrypted by now
    for place in (desk, laptop):
        place.close()


def test_a_key_without_encryption_is_refused(make_places: MakePlaces, tmp_path: Path) -> None:
    (desk,) = make_places("desk")
    with pytest.raises(UsageError, match="encrypted"), desk.at() as engine:
        engine.sync_folder_add(desk.folder, key=str(tmp_path / "k"))


def test_a_folder_that_is_refused_does_not_change_what_travels(make_places: MakePlaces, tmp_path: Path) -> None:
    (desk,) = make_places("desk")
    with desk.at() as engine:
        engine.sync_folder_add(desk.folder, what=["memories"])
        with pytest.raises(NotFound):
            engine.sync_folder_add(tmp_path / "nowhere", what=["memories", "notes"])
        with pytest.raises(UsageError):
            engine.sync_folder_add(desk.folder, what=["memories", "notes"], key="k")
        assert engine.sync_folder_status().what == ("memories",)


def test_a_folder_that_is_named_again_goes_on_letting_in_all(make_places: MakePlaces) -> None:
    desk, laptop = make_places("desk", "laptop")
    with desk.at() as engine:
        engine.sync_folder_add(desk.folder, what=["memories", "notes"])
    with laptop.at() as engine:
        engine.save("note:/keys", "Keys rotate every quarter.")
    settle(desk, laptop)
    assert "Keys rotate every quarter." in desk.texts()


@pytest.mark.parametrize("name", ["", " ", "FILE", "me@nas:/srv/ricordo"])
def test_what_is_no_folder_is_refused(make_places: MakePlaces, tmp_path: Path, name: str) -> None:
    (desk,) = make_places("desk")
    (tmp_path / "FILE").write_text("no folder")
    wanted = str(tmp_path / name) if name == "FILE" else name
    with pytest.raises(UsageError) as caught, desk.at() as engine:
        engine.sync_folder_add(wanted)
    assert "mkdir" not in str(caught.value.hint)


def test_a_store_that_syncs_readably_is_not_encrypted_on_the_side(make_places: MakePlaces, tmp_path: Path) -> None:
    from ricordo.config.loading import ConfigProvider, locate_store
    from ricordo.plugins.encryption.conversion import encrypt_in_place

    (desk,) = make_places("desk")
    with desk.at() as engine:
        engine.remember("The tide turns at six.")
        config = engine.config
    desk.close()
    with desk.at():
        pass
    desk.close()
    place = locate_store(str(desk.store), ConfigProvider()(), tmp_path)
    os.environ["RICORDO_DATA_HOME"] = str(desk.home / "data")
    with pytest.raises(UsageError, match="syncs through") as caught:
        encrypt_in_place(place, str(tmp_path / "k"))
    assert "sync-folder add" in str(caught.value.hint)
    assert not (tmp_path / "k").exists()
    assert desk.store.read_bytes().startswith(b"SQLite format 3")
    assert config is not None


def test_what_is_erased_after_the_last_folder_was_removed_goes_from_the_store(make_places: MakePlaces) -> None:
    (desk,) = make_places("desk")
    with desk.at() as engine:
        engine.remember("Bagpipes are played on Sunday.")
        desk.sync()
        engine.sync_folder_rm(desk.folder)
        engine.rm("memory:/bagpipes-are-played-on-sunday", purge=True)
        from ricordo.plugins.sync.verbs import sync_what_changed

        sync_what_changed(engine, now_and_then=True)
    desk.close()
    with sqlite3.connect(desk.store) as raw:
        bodies = [row[0] for row in raw.execute("SELECT body FROM sync_entries")]
    plain = [
        zlib.decompress(body) if isinstance(body, bytes) and body[:1] == b"x" else str(body).encode() for body in bodies
    ]
    assert bodies
    assert not [one for one in plain if b"Bagpipes" in one]


def test_erased_text_that_comes_back_in_an_old_file_is_removed_again(make_places: MakePlaces, tmp_path: Path) -> None:
    desk, laptop = make_places("desk", "laptop")
    with desk.at() as engine:
        engine.remember("An okapi was seen at night.")
    settle(desk, laptop)
    shutil.copytree(desk.folder, tmp_path / "old")
    with desk.at() as engine:
        engine.rm("memory:/an-okapi-was-seen-at-night", purge=True)
    settle(desk, laptop)
    assert not holds(desk.folder, "okapi")
    shutil.copytree(tmp_path / "old" / "machines" / desk.id, desk.folder / "machines" / desk.id, dirs_exist_ok=True)
    assert holds(desk.folder, "okapi")
    desk.sync()
    desk.sync()
    assert not holds(desk.folder, "okapi")
    assert desk.texts() == laptop.texts() == set()


def test_what_a_machine_that_is_not_let_in_says_does_not_come_in_through_another(make_places: MakePlaces) -> None:
    desk, laptop, phone = make_places("desk", "laptop", "phone", trust_all=False)
    with phone.at() as engine:
        engine.remember("The phone says hello.")
    for place in (desk, laptop, phone):
        place.sync()
    for source in (desk, laptop, phone):
        for target in (desk, laptop, phone):
            if source is not target:
                carry(source, target)
    with laptop.at() as engine:
        engine.remember("The laptop says hello.")
        laptop.sync()
        engine.sync_folder_accept(phone.id)
    laptop.sync()
    assert "The phone says hello." in laptop.texts()
    desk.sync()
    carry(laptop, desk)
    with desk.at() as engine:
        engine.sync_folder_accept(laptop.id)
    with laptop.at() as engine:  # its files are gone, so that it passes on all that it knows
        shutil.rmtree(laptop.folder / "machines")
        laptop.sync()
    carry(laptop, desk)
    desk.sync()
    assert "The laptop says hello." in desk.texts()
    assert "The phone says hello." not in desk.texts()
    with desk.at() as engine:
        engine.sync_folder_accept(phone.id)
    desk.sync()
    assert "The phone says hello." in desk.texts()


def test_a_folder_that_cannot_be_written_does_not_stop_the_others(
    make_places: MakePlaces, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ricordo.errors import Unavailable
    from ricordo.plugins.sync.log import MachineFiles

    (desk,) = make_places("desk")
    broken, write = desk.folder, MachineFiles.write

    def refuse(self: MachineFiles, *given: Any, **named: Any) -> object:
        if self.folder == broken:
            raise Unavailable("it cannot be written", hint="Make room.")
        return write(self, *given, **named)

    good = tmp_path / "good"
    good.mkdir()
    monkeypatch.setattr(MachineFiles, "write", refuse)
    with desk.at() as engine:
        engine.sync_folder_add(good)
        engine.remember("The kettle is red.")
    report = desk.sync()
    assert report.problems == ("it cannot be written. Make room.",)
    assert holds(good, "kettle")


def test_an_emptied_encrypted_folder_gets_the_note_on_its_key_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_PASSPHRASE", PASSPHRASE)
    desk, laptop = Place(tmp_path, "desk", 1), Place(tmp_path, "laptop", 2)
    joined(desk, encrypt=True)
    with desk.at() as engine:
        engine.remember("The kettle is red.")
    desk.sync()
    for path in desk.folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    desk.sync()
    shutil.copytree(desk.folder, laptop.folder, dirs_exist_ok=True)
    joined(laptop, encrypt=True)
    laptop.sync()
    assert laptop.texts() == {"The kettle is red."}
    for place in (desk, laptop):
        place.close()


def test_adding_a_folder_and_letting_in_a_machine_sync_at_once(make_places: MakePlaces) -> None:
    """So that the few commands of the documentation are enough."""
    desk, laptop = make_places("desk", "laptop", trust_all=False)
    with desk.at() as engine:
        engine.remember("The kettle is red.")
        desk.sync()
    carry(desk, laptop)
    with laptop.at() as engine:
        assert engine.sync_folder_accept("desk").waiting == 0
    assert laptop.texts() == {"The kettle is red."}


def test_many_small_files_of_a_log_become_few(make_places: MakePlaces, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ricordo.plugins.sync.run.MOST_FILES", 10)
    desk, laptop = make_places("desk", "laptop")
    most = 0
    for number in range(25):
        with desk.at() as engine:
            engine.save("note:/kettle", f"Kettle {number}.", on_conflict="overwrite")
        desk.sync()
        most = max(most, len(desk.files()))
        if number == 13:  # it knows some of it from the files that are gone soon
            carry(desk, laptop)
            laptop.sync()
    assert most <= 11
    assert len(desk.files()) < 10
    carry(desk, laptop)
    laptop.sync()
    for place in (desk, laptop):
        with place.at() as engine:
            assert engine.get("note:/kettle").content == "Kettle 24."
            assert {version.number for version in engine.history("note:/kettle")} >= set(range(10, 26))


def test_a_sync_without_news_writes_nothing(make_places: MakePlaces) -> None:
    """Also if a machine is not let in: a write would make other processes with this store sync again, and so on."""
    desk, laptop = make_places("desk", "laptop", trust_all=False)
    desk.sync()
    with desk.at() as engine:
        engine.remember("The kettle is red.")
    desk.sync()
    carry(desk, laptop)
    assert laptop.sync().problems
    with sqlite3.connect(laptop.store) as raw:
        before = raw.execute("PRAGMA data_version").fetchone()
        assert laptop.sync().problems
        assert raw.execute("PRAGMA data_version").fetchone() == before


def test_an_item_under_a_path_with_dots_arrives_with_all_others_and_leads_nowhere(make_places: MakePlaces) -> None:
    desk, laptop = make_places("desk", "laptop")
    for place in (desk, laptop):
        place.close()
        place.knowledge.mkdir()
    with desk.at() as engine:
        engine.save("note:/keys", "Keys rotate every quarter.")
        for name, ref in (("plan", "note:/projects/./plan"), ("out", "note:/../../../out")):
            (desk.knowledge / f"notes/{name}.md").write_text(f"---\nref: {ref}\n---\nThe text of {name}.\n")
    desk.close()  # the next engine looks at the files again
    with desk.at() as engine:
        assert engine.count() == 3
    desk.sync()
    carry(desk, laptop)
    assert laptop.sync().problems == ()
    assert laptop.texts() == {"Keys rotate every quarter.", "The text of plan.", "The text of out."}
    kept = [
        path.relative_to(laptop.knowledge / "notes")
        for path in laptop.home.parent.rglob("*.md")
        if desk.home not in path.parents
    ]
    assert sorted(map(str, kept)) == ["_/_/_/out.md", "keys.md", "projects/_/plan.md"]
    with laptop.at() as engine:
        assert engine.get("note:/../../../out").content == "The text of out."
        engine.rm("note:/../../../out", purge=True)
        engine.rm("note:/projects/./plan")
        engine.restore("note:/projects/./plan")
        engine.mv("note:/projects/./plan", "note:/projects/plan")
        assert {str(item.ref) for item in engine.list()} == {"note:/keys", "note:/projects/plan"}
