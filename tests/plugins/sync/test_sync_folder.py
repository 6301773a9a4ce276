"""Sync between machines through a folder: what arrives, what is kept twice, what is erased, and who is believed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ricordo.errors import NotFound, UsageError
from ricordo.trust.level import is_vouched

from .conftest import MakePlaces, Place, carry, settle


class Letters:
    """A model of vectors: texts with the same letters have the same one."""

    fingerprint, dimensions, max_tokens = "letters/26", 26, 256
    is_remote = False

    def embed_documents(self, texts: Any) -> Any:
        counts = [[text.lower().count(chr(97 + at)) for at in range(26)] for text in texts]
        vectors = np.array(counts, np.float32) + 0.01
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def embed_query(self, text: str) -> Any:
        return self.embed_documents([text])[0]


NOTE = "note:/keys"


@pytest.fixture
def two(make_places: MakePlaces) -> tuple[Place, Place]:
    desk, laptop = make_places("desk", "laptop")
    return desk, laptop


def note_on_both(desk: Place, laptop: Place, text: str = "Keys rotate every quarter.") -> str:
    with desk.at() as engine:
        saved = engine.save(NOTE, text)
    settle(desk, laptop)
    assert saved.id is not None
    return saved.id


def test_what_is_saved_on_one_machine_is_found_on_the_other_as_its_users_own_words(two: tuple[Place, Place]) -> None:
    desk, laptop = two
    note_on_both(desk, laptop)
    with laptop.at() as engine:
        item = engine.get(NOTE)
        assert item.content == "Keys rotate every quarter."
        assert is_vouched(item)
        assert item.provenance.machine == "desk#00000001"
        assert [str(hit.ref) for hit in engine.search("quarter").hits] == [NOTE]


def test_both_texts_are_kept_and_said_when_two_machines_edit_one_item(two: tuple[Place, Place]) -> None:
    desk, laptop = two
    note_on_both(desk, laptop)
    with desk.at() as engine:
        engine.edit(NOTE, "Keys rotate every month.")
    with laptop.at() as engine:
        engine.edit(NOTE, "Keys rotate every week.")
    desk.sync()
    carry(desk, laptop)
    assert laptop.sync().apart == (NOTE,)
    settle(desk, laptop)
    for place in two:
        with place.at() as engine:
            item = engine.get(NOTE)
            texts = {one.number: engine.get(NOTE, version=one.number).content for one in engine.history(NOTE)}
            assert sorted(texts.values()) == [
                "Keys rotate every month.", "Keys rotate every quarter.", "Keys rotate every week.",
            ]  # fmt: skip
            assert item.apart == (2, 3)
            assert [one.number for one in engine.history(NOTE) if one.apart] == [3, 2]
    assert desk.shown() == laptop.shown()
    with desk.at() as engine:
        engine.edit(NOTE, "Keys rotate every day.")
        desk.sync()
        assert engine.get(NOTE).apart == ()
    settle(desk, laptop)
    assert desk.shown() == laptop.shown()


def test_a_change_wins_over_a_removal_that_did_not_know_it(two: tuple[Place, Place]) -> None:
    desk, laptop = two
    note_on_both(desk, laptop)
    with desk.at() as engine:
        engine.rm(NOTE)
    with laptop.at() as engine:
        engine.edit(NOTE, "Keys rotate every week.")
    settle(desk, laptop)
    with desk.at() as engine:
        assert engine.get(NOTE).content == "Keys rotate every week."
    assert desk.shown() == laptop.shown()


def test_removals_archiving_and_names_travel(two: tuple[Place, Place]) -> None:
    desk, laptop = two
    with desk.at() as engine:
        for name in ("a", "b", "c"):
            engine.save(f"note:/{name}", f"Text {name}.")
    settle(desk, laptop)
    with laptop.at() as engine:
        engine.rm("note:/a")
        engine.forget("note:/b")
        engine.mv("note:/c", "note:/folder/d")
    settle(desk, laptop)
    with desk.at() as engine:
        assert [str(item.ref) for item in engine.list()] == ["note:/folder/d"]
    states = sorted(value[1] for value in desk.shown().values() if isinstance(value, tuple))
    assert states == ["archived", "deleted", "live"]
    assert desk.shown() == laptop.shown()


def test_two_items_with_one_name_both_stay(two: tuple[Place, Place]) -> None:
    desk, laptop = two
    for place in two:
        with place.at() as engine:
            engine.save(NOTE, f"Written on the {place.name}.")
    settle(desk, laptop)
    assert desk.shown() == laptop.shown()
    assert desk.texts() == {"Written on the desk.", "Written on the laptop."}
    with desk.at() as engine:
        other = next(str(item.ref) for item in engine.list() if str(item.ref) != NOTE)
        assert other.startswith("note:/keys-")
        engine.rm(NOTE, purge=True)
    settle(desk, laptop)
    with laptop.at() as engine:
        assert [str(item.ref) for item in engine.list()] == [NOTE], "the name is free again"
    assert desk.shown() == laptop.shown()


def test_a_name_may_pass_from_an_item_that_is_removed_to_an_older_one(two: tuple[Place, Place]) -> None:
    desk, laptop = two
    with desk.at() as engine:
        engine.save("note:/older", "The older one.")
        engine.save(NOTE, "The younger one.")
    settle(desk, laptop)
    with desk.at() as engine:
        engine.rm(NOTE)
        engine.mv("note:/older", NOTE)
    settle(desk, laptop)
    with laptop.at() as engine:
        assert engine.get(NOTE).content == "The older one."
    assert desk.shown() == laptop.shown()


def test_an_erased_text_is_gone_from_every_store_and_file_also_where_it_was_renamed_meanwhile(
    two: tuple[Place, Place],
) -> None:
    desk, laptop = two
    note_on_both(desk, laptop, "The word is xyzzyplugh.")
    with laptop.at() as engine:
        engine.mv(NOTE, "note:/renamed")
    with desk.at() as engine:
        engine.rm(NOTE, purge=True)
    settle(desk, laptop)
    assert desk.texts() == laptop.texts() == set()
    for place in two:
        place.close()
        for path in place.home.rglob("*"):
            assert not path.is_file() or b"xyzzyplugh" not in path.read_bytes(), path


def test_a_text_that_the_eraser_never_saw_stays(two: tuple[Place, Place]) -> None:
    desk, laptop = two
    note_on_both(desk, laptop, "The word is xyzzyplugh.")
    with laptop.at() as engine:
        engine.edit(NOTE, "There is no secret word.")
    with desk.at() as engine:
        engine.rm(NOTE, purge=True)
    settle(desk, laptop)
    assert desk.texts() == laptop.texts() == {"There is no secret word."}
    assert desk.shown() == laptop.shown()


def test_what_was_erased_may_be_written_again(two: tuple[Place, Place]) -> None:
    desk, laptop = two
    identity = note_on_both(desk, laptop)
    with desk.at() as engine:
        record = engine.store.transfer.item(engine.store.items.require(engine.resolve(NOTE)))
        engine.rm(NOTE, purge=True)
        desk.sync()
        engine.store.transfer.importer("skip", None).items([record])  # the same id and text, as from a hand-made file
        assert engine.get(NOTE).id == identity
        engine.edit(NOTE, "Something else.")
        engine.edit(NOTE, "Keys rotate every quarter.")
    settle(desk, laptop)
    assert desk.shown() == laptop.shown()
    with laptop.at() as engine:
        assert engine.get(NOTE).content == "Keys rotate every quarter."


def test_links_and_verdicts_travel(two: tuple[Place, Place]) -> None:
    desk, laptop = two
    with desk.at() as engine:
        engine.save("note:/a", "First.")
        engine.save("note:/b", "Second.")
        engine.link("note:/a", "note:/b", "supports")
        engine.feedback("first", "note:/a", "accepted")
    settle(desk, laptop)
    assert desk.shown() == laptop.shown()
    assert len(laptop.shown()) == 4
    with laptop.at() as engine:
        engine.unlink("note:/a", "note:/b")
    settle(desk, laptop)
    assert len(desk.shown()) == 3


def test_only_machines_that_were_let_in_are_believed(make_places: MakePlaces) -> None:
    desk, laptop = make_places("desk", "laptop", trust_all=False)
    with laptop.at() as engine:
        engine.save(NOTE, "Written on the laptop.")
    laptop.sync()
    carry(laptop, desk)
    report = desk.sync()
    assert "laptop (00000002)" in report.problems[0]
    assert desk.texts() == set()
    with desk.at() as engine:
        assert [one.let_in for one in engine.sync_folder_status().folders[0].machines if not one.is_this] == [False]
        engine.sync_folder_accept("laptop")
    assert desk.sync().problems == ()
    assert desk.texts() == {"Written on the laptop."}
    with desk.at() as engine:
        engine.sync_folder_accept("laptop", off=True)
    with laptop.at() as engine:
        engine.edit(NOTE, "Written later.")
    laptop.sync()
    carry(laptop, desk)
    assert desk.sync().problems
    assert "Written later." not in desk.texts()


def test_a_machine_that_was_restored_from_a_backup_gets_back_what_it_wrote_later(
    two: tuple[Place, Place], tmp_path: Path
) -> None:
    desk, laptop = two
    note_on_both(desk, laptop)
    with laptop.at() as engine:
        engine.backup(tmp_path / "old.db")
        engine.edit(NOTE, "Keys rotate every week.")
        engine.save("note:/later", "Written after the backup.")
    settle(desk, laptop)
    before = laptop.shown()
    laptop.restore(tmp_path / "old.db")
    with laptop.at() as engine:
        engine.save("note:/new", "Written after the restore.")
    names = set(laptop.files())
    laptop.sync()
    assert before.items() <= laptop.shown().items()
    assert names < set(laptop.files()), "what was written before is not overwritten"
    assert len({path.parent for path in laptop.files()}) == 2, "it goes on in another log"
    settle(desk, laptop)
    assert desk.shown() == laptop.shown()
    assert "Written after the restore." in desk.texts()


def test_nothing_is_lost_when_the_folder_is_emptied(make_places: MakePlaces) -> None:
    desk, laptop = make_places("desk", "laptop")
    for place in (desk, laptop):
        with place.at() as engine:
            engine.save(f"note:/{place.name}", f"Written on the {place.name}.")
    settle(desk, laptop)
    for place in (desk, laptop):
        shutil.rmtree(place.folder / "machines")
    desk.sync()
    (phone,) = make_places("phone")
    carry(desk, phone)  # the laptop never comes back
    phone.sync()
    assert phone.texts() == {"Written on the desk.", "Written on the laptop."}


def test_a_file_that_is_only_half_there_is_taken_in_when_it_is_whole(two: tuple[Place, Place]) -> None:
    desk, laptop = two
    with desk.at() as engine:
        engine.save(NOTE, "Keys rotate every quarter.")
    desk.sync()
    carry(desk, laptop)
    (name,) = desk.files()
    whole = (desk.folder / name).read_bytes()
    (laptop.folder / name).write_bytes(whole[:-20])
    assert laptop.sync().taken == 0
    (laptop.folder / name).write_bytes(whole)
    assert laptop.sync().created == 1
    assert laptop.sync().taken == 0, "a second time it says nothing new"


def test_a_ref_of_a_file_that_walks_through_folders_is_refused(two: tuple[Place, Place]) -> None:
    from ricordo.plugins.sync.log import digest_of

    desk, laptop = two
    with desk.at() as engine:
        engine.save(NOTE, "Keys rotate every quarter.")
    desk.sync()
    (name,) = desk.files()
    data = (desk.folder / name).read_bytes().replace(b"note:/keys", b"disk:/../x")
    there = laptop.folder / name.with_name(f"000001-{digest_of(data)}.jsonl")
    there.parent.mkdir(parents=True)
    there.write_bytes(data)
    report = laptop.sync()
    assert "walks through folders" in report.problems[0]
    assert laptop.texts() == set()


def test_entries_of_kinds_that_only_earlier_versions_wrote_are_skipped_and_that_is_said_once(
    two: tuple[Place, Place],
) -> None:
    from ricordo.plugins.sync.log import digest_of

    desk, laptop = two
    with desk.at() as engine:
        engine.save(NOTE, "Keys rotate every quarter.")
    desk.sync()
    (name,) = desk.files()
    data = (desk.folder / name).read_bytes()
    former = {"kind": "reference", "item": f"reference:{desk.id} x", "clock": 9, "writer": desk.id, "parents": []}
    data += json.dumps({**former, "body": {"state": "here", "ref": "disk:/a.md"}}).encode() + b"\n"
    there = laptop.folder / name.with_name(f"000001-{digest_of(data)}.jsonl")
    there.parent.mkdir(parents=True)
    there.write_bytes(data)
    (said,) = laptop.sync().problems
    assert "1 entries" in said
    assert laptop.texts() == {"Keys rotate every quarter."}
    assert laptop.sync().problems == ()


def test_what_an_earlier_version_wrote_down_of_proposals_and_references_leaves_the_log(
    two: tuple[Place, Place],
) -> None:
    from ricordo.plugins.sync import rows
    from ricordo.plugins.sync.log import LogEntry

    desk, laptop = two
    with desk.at() as engine:
        engine.save(NOTE, "Keys rotate every quarter.")
        with engine.store.database.write() as connection:  # type: ignore[attr-defined]
            connection.set_meta("sync_what", "memories,notes,proposals,references")
            body = {"text": "We deploy on Tuesdays.", "state": "waiting"}
            rows.add(connection, LogEntry("proposal", "proposal:/x", 1, desk.id, (), body), None)
    settle(desk, laptop)
    assert laptop.texts() == {"Keys rotate every quarter."}
    assert not any(b"Tuesdays" in (desk.folder / name).read_bytes() for name in desk.files())


def test_nobody_can_write_in_the_name_of_the_machine_itself(two: tuple[Place, Place]) -> None:
    from ricordo.plugins.sync.log import digest_of

    desk, laptop = two
    with desk.at() as engine:
        engine.save(NOTE, "Not written on the laptop.")
    desk.sync()
    (name,) = desk.files()
    data = (desk.folder / name).read_bytes().replace(desk.id.encode(), laptop.id.encode())
    there = laptop.folder / "machines" / laptop.id / name.parent.name / f"000001-{digest_of(data)}.jsonl"
    there.parent.mkdir(parents=True)
    there.write_bytes(data)
    assert "in the name of this machine" in laptop.sync().problems[0]
    assert laptop.texts() == set()


def test_what_leaves_the_bin_stays_where_it_was_brought_back(two: tuple[Place, Place]) -> None:
    desk, laptop = two
    note_on_both(desk, laptop)
    with desk.at() as engine:
        engine.rm(NOTE)
    settle(desk, laptop)
    with laptop.at() as engine:
        engine.restore(NOTE)
    with desk.at() as engine:
        engine.store.transfer.empty_bin(0)
    settle(desk, laptop)
    assert desk.texts() == laptop.texts() == {"Keys rotate every quarter."}
    assert desk.shown() == laptop.shown()


def test_what_was_brought_back_and_then_erased_is_gone_also_where_it_was_brought_back(two: tuple[Place, Place]) -> None:
    desk, laptop = two
    note_on_both(desk, laptop)
    with desk.at() as engine:
        engine.rm(NOTE)
    settle(desk, laptop)
    for place in two:
        with place.at() as engine:
            engine.restore(NOTE)
    with desk.at() as engine:
        engine.rm(NOTE, purge=True)
    settle(desk, laptop)
    assert desk.texts() == laptop.texts() == set()


def test_a_folder_that_is_gone_is_said_and_loses_nothing(two: tuple[Place, Place]) -> None:
    desk, laptop = two
    with desk.at() as engine:
        engine.save(NOTE, "Keys rotate every quarter.")
    desk.folder.rename(desk.home / "unplugged")
    assert "is not there" in desk.sync().problems[0]
    with desk.at() as engine:
        assert not engine.sync_folder_status().folders[0].is_there
        assert engine.sync_folder_status().folders[0].unwritten == 1
    (desk.home / "unplugged").rename(desk.folder)
    settle(desk, laptop)
    assert laptop.texts() == {"Keys rotate every quarter."}


def test_what_travels_is_chosen(make_places: MakePlaces) -> None:
    desk, laptop = make_places("desk", "laptop")
    with desk.at() as engine:
        engine.sync_folder_add(desk.folder, what=["memories"], trust_all=True)
        engine.save(NOTE, "A note.")
        engine.save("memory:/fact", "A memory.", kind="memory")
    settle(desk, laptop)
    assert laptop.texts() == {"A memory."}
    with laptop.at() as engine, pytest.raises(UsageError):
        engine.sync_folder_add(laptop.folder, what=["everything"])


def test_a_copy_of_a_store_on_another_machine_begins_with_the_same_versions(
    make_places: MakePlaces, tmp_path: Path
) -> None:
    (desk,) = make_places("desk")
    with desk.at() as engine:
        engine.save(NOTE, "Keys rotate every quarter.")
        engine.edit(NOTE, "Keys rotate every month.")
        engine.backup(tmp_path / "copy.db")
    (laptop,) = make_places("laptop")
    laptop.restore(tmp_path / "copy.db")
    laptop.join()
    settle(desk, laptop)
    assert desk.shown() == laptop.shown()
    with laptop.at() as engine:
        assert [one.number for one in engine.history(NOTE)] == [2, 1]
        assert engine.get(NOTE).apart == ()


def test_addresses_and_missing_folders_are_refused_with_another_way(make_places: MakePlaces, tmp_path: Path) -> None:
    (desk,) = make_places("desk")
    with desk.at() as engine:
        with pytest.raises(UsageError, match="is no folder of this machine"):
            engine.sync_folder_add("ftp://server/memory")
        with pytest.raises(NotFound, match="there is no folder"):
            engine.sync_folder_add(tmp_path / "nowhere")
        with pytest.raises(NotFound, match="does not sync through"):
            engine.sync_folder_rm(tmp_path)
        engine.sync_folder_rm(desk.folder)
        with pytest.raises(NotFound, match="syncs through no folder"):
            engine.sync_folder_now()


def test_files_say_who_wrote_them_and_which_came_before(two: tuple[Place, Place]) -> None:
    desk, _ = two
    for number in range(2):
        with desk.at() as engine:
            engine.save(f"note:/{number}", f"Text {number}.")
        desk.sync()
    first, second = (json.loads((desk.folder / name).read_bytes().splitlines()[0]) for name in desk.files())
    assert (first["machine"], first["name"], first["number"], first["previous"]) == ("00000001", "desk", 1, "")
    assert second["number"] == 2
    assert second["previous"] in desk.files()[0].name


def test_what_a_sync_brings_gets_its_vectors_however_much_it_is(
    make_places: MakePlaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.registry.embedder", lambda config: Letters())
    monkeypatch.setattr("ricordo.engine.context.MOST_AFTER_SMALL_WRITE", 1)
    desk, laptop = make_places("desk", "laptop")
    with desk.at() as engine:
        for name in ("anchor", "boat", "crane"):
            engine.save(f"note:/{name}", f"The {name} is old.")
    settle(desk, laptop)
    for place in (desk, laptop):
        with place.at() as engine:
            assert all(engine.get(f"note:/{name}").has_embedding for name in ("anchor", "boat", "crane"))
