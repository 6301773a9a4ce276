"""Documents by reference: other machines learn which files and pages there are, and nothing of what is in them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ricordo.errors import NotFound
from ricordo.exchange.codec import BadRecord, encode
from ricordo.exchange.entries import REFERENCE, LogEntry, ReferenceBody, entry_from, reference_name
from ricordo.values.items import Entry
from ricordo.values.syncing import DocumentElsewhere

from .conftest import MakePlaces, Place, carry, settle

TEXT = "# Deployment\n\nThe cluster restarts on Sunday nights.\n"
PAGE = "url:/https://example.org/guide"


@pytest.fixture
def two(make_places: MakePlaces) -> tuple[Place, Place]:
    desk, laptop = make_places("desk", "laptop")
    send(desk)
    return desk, laptop


def send(place: Place, *what: str) -> None:
    with place.at() as engine:
        engine.sync_folder_add(place.folder, what=what or ("memories", "references"), trust_all=True)


def put(place: Place, name: str = "guide.md", text: str = TEXT) -> Path:
    """A file of a machine, added there with a tag."""
    file = place.home / "docs" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    with place.at() as engine:
        engine.add(file, fields={"tags": ["ops"]}, on_conflict="overwrite")
    return file


def seen(place: Place, *words: str, machine: str = "") -> list[DocumentElsewhere]:
    with place.at() as engine:
        return list(engine.sync_folder_documents(*words, machine=machine).documents)


def in_files(place: Place, word: str) -> bool:
    return any(word.encode() in file.read_bytes() for file in place.folder.rglob("*.jsonl"))


def test_the_other_machine_learns_the_name_and_nothing_of_the_text(two: tuple[Place, Place]) -> None:
    desk, laptop = two
    file = put(desk)
    settle(desk, laptop)
    (one,) = seen(laptop)
    assert (one.machine, one.ref, one.title, one.tags) == ("desk", f"disk:{file}", "Deployment", ("ops",))
    assert (one.size, one.item) == (len(TEXT), "")
    assert not in_files(desk, "Sunday")
    assert laptop.texts() == set()
    assert seen(desk) == [], "what a machine has itself is not elsewhere"
    assert seen(laptop, "deploy", "OPS", machine="desk") == [one]
    assert seen(laptop, "deploy", "kitchen") == seen(laptop, machine="phone") == []


def test_it_follows_edits_removals_and_what_is_brought_back(two: tuple[Place, Place]) -> None:
    desk, laptop = two
    file = put(desk)
    settle(desk, laptop)
    put(desk, text=TEXT.replace("Deployment", "Operations"))
    settle(desk, laptop)
    assert [one.title for one in seen(laptop)] == ["Operations"]
    with desk.at() as engine:
        engine.rm(f"disk:{file}")
    settle(desk, laptop)
    assert seen(laptop) == []
    with desk.at() as engine:
        engine.restore(f"disk:{file}")
    settle(desk, laptop)
    assert [one.title for one in seen(laptop)] == ["Operations"]
    before = desk.files()
    desk.sync()
    assert desk.files() == before, "nothing new is nothing said"


def test_of_an_erased_document_no_name_stays_in_any_file_or_store(two: tuple[Place, Place]) -> None:
    desk, laptop = two
    file = put(desk, "zanzibar.md")
    settle(desk, laptop)
    assert in_files(laptop, "zanzibar")
    with desk.at() as engine:
        engine.rm(f"disk:{file}")
    settle(desk, laptop)
    with desk.at() as engine:
        engine.rm(f"disk:{file}", purge=True)
    settle(desk, laptop)
    assert seen(laptop) == []
    for place in two:
        assert not in_files(place, "zanzibar")
        with place.at() as engine:
            log = engine.store.sync
            assert log is not None
            told = [entry for folder in log.folders() for _, entry in log.unwritten(folder)]
            assert not [entry for entry in told if "zanzibar" in str(entry.body)]


def test_what_is_here_too_is_said_and_what_can_be_had_is_added(
    two: tuple[Place, Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, laptop = two
    monkeypatch.setattr(Path, "home", lambda: desk.home)
    put(desk)
    put(desk, "other.md", "# Other\n\nAnother text.\n")
    desk.sync()
    carry(desk, laptop)
    monkeypatch.setattr(Path, "home", lambda: laptop.home)
    laptop.sync()
    assert [one.source for one in seen(laptop)] == ["", ""]
    with laptop.at() as engine, pytest.raises(NotFound, match="can be added here"):
        engine.sync_folder_bring()
    mine = laptop.home / "docs" / "guide.md"
    mine.parent.mkdir()
    mine.write_text(TEXT)
    assert [one.source for one in seen(laptop)] == [str(mine), ""]
    with laptop.at() as engine:
        assert engine.sync_folder_bring("deployment").count("created") == 1
        assert engine.get(f"disk:{mine}").fields.tags == ("ops",)
    assert [one.item for one in seen(laptop)] == [f"disk:{mine}", ""]
    with laptop.at() as engine, pytest.raises(NotFound):  # what is here already is not added again
        engine.sync_folder_bring("deployment")


def test_a_page_can_be_read_from_the_web_here(two: tuple[Place, Place]) -> None:
    desk, laptop = two
    page = Entry(ref=PAGE, content="A page.", kind="document", fields={"title": "Guide"})
    with desk.at() as engine:
        engine.save_many([page])
    settle(desk, laptop)
    assert [(one.ref, one.source, one.item) for one in seen(laptop)] == [(PAGE, "https://example.org/guide", "")]
    with laptop.at() as engine:
        engine.save_many([Entry(ref=PAGE, content="The page as it is now.", kind="document")])
    assert [one.item for one in seen(laptop)] == [PAGE]


def test_what_travels_whole_or_no_more_is_no_reference(two: tuple[Place, Place]) -> None:
    desk, laptop = two
    put(desk)
    settle(desk, laptop)
    send(desk, "memories")
    settle(desk, laptop)
    assert seen(laptop) == []
    send(desk, "references", "documents")
    settle(desk, laptop)
    assert seen(laptop) == []
    assert laptop.texts() == {TEXT}


def test_three_machines_know_the_same_however_files_arrive(make_places: MakePlaces) -> None:
    places = make_places("desk", "laptop", "phone")
    for place in places:
        send(place)
    chance = random.Random(5)
    for step in range(40):
        place = chance.choice(places)
        name = f"{chance.randrange(4)}.md"
        with place.at() as engine:
            known = [str(item.ref) for item in engine.list()]
        if chance.random() < 0.3 and known:
            with place.at() as engine:
                engine.rm(chance.choice(known), purge=chance.random() < 0.5)
        else:
            put(place, name, f"# Title {step}\n\nText.\n")
        if chance.random() < 0.5:
            place.sync()
            carry(place, chance.choice([one for one in places if one is not place]))
    settle(*places)
    held = {place.name: _titles(place) for place in places}
    for place in places:
        said: dict[str, set[str]] = {}
        for one in seen(place):
            said.setdefault(one.machine, set()).add(one.title)
        assert said == {name: titles for name, titles in held.items() if name != place.name and titles}


def _titles(place: Place) -> set[str]:
    with place.at() as engine:
        return {item.fields.title for item in engine.list()}


@pytest.mark.parametrize(
    "changed",
    [
        {"writer": "00000002"},
        {"body": {"state": "lost"}},
        {"body": {"ref": "disk:/a/../../etc/passwd"}},
        {"body": {"below_home": "../../etc/passwd"}},
    ],
)
def test_what_is_said_about_a_document_must_be_its_machines_own_and_stay_in_place(changed: dict[str, object]) -> None:
    body = encode(ReferenceBody("here", "disk:/a.md", "a.md", "A"))
    said = {"kind": REFERENCE, "item": reference_name("00000001", "X"), "clock": 1, "writer": "00000001", "parents": []}
    assert isinstance(entry_from({**said, "body": body}), LogEntry)
    extra = changed.get("body", {})
    assert isinstance(extra, dict)
    with pytest.raises(BadRecord):
        entry_from({**said, **changed, "body": {**body, **extra}})


def test_the_files_of_another_machine_in_a_copied_store_are_not_said_to_be_here(
    make_places: MakePlaces, tmp_path: Path
) -> None:
    (desk,) = make_places("desk")
    put(desk)
    with desk.at() as engine:
        engine.backup(tmp_path / "copy.db")
    (laptop,) = make_places("laptop")
    laptop.restore(tmp_path / "copy.db")
    send(laptop)
    assert laptop.sync().written == 0
