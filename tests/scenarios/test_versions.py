"""What was true before stays known: versions, the bin, and searches as of a time."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ricordo import Conflict, NotFound, PathConflict, Ricordo, UsageError
from ricordo.values.hits import Filters


def refs(engine: Ricordo, query: str, **options: object) -> list[str]:
    return [hit.ref for hit in engine.search(query, **options).hits]  # type: ignore[arg-type]


def moment() -> datetime:
    """A time that lies strictly between what was done before and what is done after."""
    time.sleep(0.002)
    now = datetime.now(UTC)
    time.sleep(0.002)
    return now


def test_a_title_edit_is_a_new_version_and_its_hash_differs(engine: Ricordo) -> None:
    first = engine.save("note:/plan", "Ship on Friday.", fields={"title": "Plan"})
    second = engine.edit("note:/plan", fields={"title": "The plan"})
    assert (second.status, second.version, second.previous_version) == ("updated", 2, 1)
    assert second.content_hash != first.content_hash
    assert [version.number for version in engine.history("note:/plan")] == [2, 1]


def test_an_edit_that_changes_nothing_writes_nothing(engine: Ricordo) -> None:
    engine.save("note:/plan", "Ship on Friday.")
    saved = engine.edit("note:/plan", "Ship on Friday.")
    assert (saved.status, saved.reason) == ("skipped", "unchanged")
    assert len(engine.history("note:/plan")) == 1


def test_going_back_to_old_content_is_a_newer_version(engine: Ricordo) -> None:
    engine.save("note:/plan", "one")
    engine.edit("note:/plan", "two")
    saved = engine.restore("note:/plan", version=1)
    assert saved.version == 3
    assert engine.get("note:/plan").content == "one"
    assert engine.get("note:/plan", version=2).content == "two"


def test_an_old_version_is_not_found_by_a_normal_search_but_as_of_its_time(engine: Ricordo) -> None:
    engine.save("note:/office", "The office is in Lisbon.")
    before = moment()
    engine.edit("note:/office", "The office is in Porto.")
    assert refs(engine, "lisbon") == []
    assert refs(engine, "porto") == ["note:/office"]
    answer = engine.search("lisbon", as_of=before)
    assert [hit.ref for hit in answer.hits] == ["note:/office"]
    assert "Lisbon" in answer.hits[0].snippet
    assert refs(engine, "porto", as_of=before) == []
    assert engine.get("note:/office", as_of=before).content == "The office is in Lisbon."


def test_as_of_a_time_before_the_item_existed_finds_nothing(engine: Ricordo) -> None:
    before = moment()
    engine.save("note:/late", "a latecomer")
    assert refs(engine, "latecomer", as_of=before) == []
    with pytest.raises(NotFound):
        engine.get("note:/late", as_of=before)


def test_an_item_that_was_removed_and_restored_is_found_as_of_the_times_at_which_it_was_there(engine: Ricordo) -> None:
    engine.save("note:/office", "The office is in Lisbon.")
    at_first = moment()
    engine.edit("note:/office", "The office is in Porto.")
    then = moment()
    engine.rm("note:/office")
    meanwhile = moment()
    assert refs(engine, "porto", as_of=then) == []  # what is in the bin is not told
    engine.restore("note:/office")
    assert refs(engine, "lisbon", as_of=at_first) == ["note:/office"]
    assert refs(engine, "porto", as_of=then) == ["note:/office"]
    assert refs(engine, "porto", as_of=meanwhile) == []
    assert refs(engine, "porto") == ["note:/office"]
    assert refs(engine, "lisbon") == []


def test_a_removed_item_is_gone_from_search_and_comes_back_from_the_bin(engine: Ricordo) -> None:
    engine.save("note:/old", "mothballs and lavender")
    engine.rm("note:/old")
    assert refs(engine, "lavender") == []
    with pytest.raises(NotFound, match="in the bin"):
        engine.get("note:/old")
    engine.restore("note:/old")
    assert refs(engine, "lavender") == ["note:/old"]
    assert engine.doctor().ok


def test_a_new_item_at_a_removed_ref_inherits_nothing(engine: Ricordo) -> None:
    old = engine.save("note:/slot", "about whales", fields={"tags": ["sea"]})
    engine.rm("note:/slot")
    new = engine.save("note:/slot", "about trains")
    assert new.id != old.id
    assert new.version == 1
    assert engine.get("note:/slot").fields.tags == ()
    assert refs(engine, "whales") == []
    assert len(engine.history("note:/slot")) == 1


def test_purging_erases_every_word_from_the_file(engine: Ricordo) -> None:
    engine.save("note:/keep", "nothing to see")
    for number in range(3):
        engine.save(f"note:/n{number}", f"filler text {number}")
    engine.save("note:/secret", "the xylophonistically hidden word", fields={"title": "quizzaciously"})
    engine.edit("note:/secret", "the xylophonistically hidden word, edited")
    engine.rm("note:/secret", purge=True)
    engine.store.close()
    for name in Path(engine.location).parent.glob(f"{Path(engine.location).name}*"):
        data = name.read_bytes()
        for word in (b"xylophonist", b"quizzacious"):
            assert word not in data, name


def test_a_move_keeps_the_history_and_frees_the_old_ref(engine: Ricordo) -> None:
    engine.save("note:/a", "the same text")
    saved = engine.mv("note:/a", "note:/folder/b")
    assert saved.version == 2
    assert refs(engine, "same text") == ["note:/folder/b"]
    assert engine.get("note:/folder/b", version=1).ref.path == "/a"
    with pytest.raises(NotFound):
        engine.get("note:/a")
    engine.save("note:/a", "a newcomer")
    with pytest.raises(Conflict):
        engine.mv("note:/folder/b", "note:/a")


def test_an_immutable_item_refuses_edit_move_and_removal(engine: Ricordo) -> None:
    engine.save("memory:/rule", "Never deploy on Fridays.", fields={"immutable": True})
    for attempt in (
        lambda: engine.edit("memory:/rule", "Deploy whenever."),
        lambda: engine.mv("memory:/rule", "memory:/other"),
        lambda: engine.rm("memory:/rule"),
        lambda: engine.rm("memory:/rule", purge=True),
    ):
        with pytest.raises(Conflict, match="immutable"):
            attempt()
    assert engine.get("memory:/rule").content == "Never deploy on Fridays."


def test_only_the_asked_for_number_of_versions_is_kept(open_engine) -> None:  # type: ignore[no-untyped-def]
    engine = open_engine("short", **{"store.keep_versions": 3})
    engine.save("note:/n", "text 0")
    for number in range(1, 8):
        engine.edit("note:/n", f"text {number}")
    assert [version.number for version in engine.history("note:/n")] == [8, 7, 6]
    with pytest.raises(NotFound, match="no version 1"):
        engine.get("note:/n", version=1)
    assert engine.doctor().ok


def test_a_diff_shows_fields_and_text(engine: Ricordo) -> None:
    engine.save("note:/d", "alpha\nbeta\n", fields={"title": "One"})
    engine.edit("note:/d", "alpha\ngamma\n", fields={"title": "Two"})
    diff = engine.diff("note:/d")
    assert "-title: One" in diff
    assert "+title: Two" in diff
    assert "-beta" in diff
    assert "+gamma" in diff


def test_saving_over_an_item_needs_to_be_asked_for(engine: Ricordo) -> None:
    engine.save("agent:/x", "one")
    with pytest.raises(PathConflict, match="already exists"):
        engine.save("agent:/x", "two")
    assert engine.save("agent:/x", "two", on_conflict="overwrite").status == "updated"
    assert engine.save("agent:/x", "three", on_conflict="skip").status == "skipped"


def test_restoring_something_that_is_not_in_the_bin_asks_for_a_version(engine: Ricordo) -> None:
    engine.save("note:/n", "text")
    with pytest.raises(UsageError, match="not in the bin"):
        engine.restore("note:/n")


def test_a_wrong_ref_names_the_nearest(engine: Ricordo) -> None:
    engine.save("note:/signing-keys", "rotate them")
    with pytest.raises(NotFound) as caught:
        engine.get("note:/signing-key")
    assert "note:/signing-keys" in caught.value.hint


def test_every_name_of_an_item_leads_to_it(engine: Ricordo, tmp_path: Path) -> None:
    path = tmp_path / "a note.md"
    path.write_text("# Title\n\nbody\n")
    saved = engine.add(path).items[0]
    for name in (f"disk:{path}", str(path), path, saved.id, str(saved.id).upper()):
        assert engine.get(name).title == "Title"  # type: ignore[arg-type]


def test_an_item_in_the_bin_whose_name_is_taken_is_named_by_its_id(engine: Ricordo) -> None:
    first = engine.save("note:/a", "The first text.").id
    engine.rm("note:/a")
    engine.save("note:/a", "The second text.")
    with pytest.raises(UsageError, match="is not in the bin") as raised:
        engine.restore("note:/a")
    assert first is not None
    assert first in str(raised.value.hint)
    engine.mv("note:/a", "note:/b")
    engine.restore(first)
    assert {str(item.ref): engine.get(str(item.ref)).content for item in engine.list()} == {
        "note:/a": "The first text.", "note:/b": "The second text.",
    }  # fmt: skip


def test_two_slashes_of_a_ref_mean_one(engine: Ricordo) -> None:
    assert engine.remember("The office is in Porto.", ref="memory://office").ref == "memory:/office"
    assert engine.get("memory://office").content == "The office is in Porto."
    assert engine.save("note://plan", "Ship.").ref == "note:/plan"


def test_brackets_in_names_of_folders_are_found_as_they_stand(engine: Ricordo, tmp_path: Path) -> None:
    page = tmp_path / "app" / "[slug]" / "page.md"
    page.parent.mkdir(parents=True)
    page.write_text("A page with a slug.\n\nIts end.\n")
    engine.add(tmp_path / "app")
    for path in ("app/[slug]", f"{page.parent}/", "[slug]", "[s][x]*", "page.m[d]"):
        assert engine.count(Filters(paths=(path,))) == (path != "[s][x]*"), path
    assert [(match.line, match.text) for match in engine.grep("^$")] == [(2, "")]
