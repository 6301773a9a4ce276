"""Whatever verb is called first after a knowledge file was edited by hand, it works on the edited text.

The verbs are listed here by what they do; a new verb of ``Ricordo`` that is in no list fails the last test.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ricordo import NotFound, Ricordo

from .conftest import House

Verb = Callable[[Ricordo, Path], Any]
NOTE = "note:/keys"

READING: dict[str, Verb] = {
    "backup": lambda engine, folder: engine.backup(folder / "copy.db"),
    "context": lambda engine, folder: engine.context("keys"),
    "count": lambda engine, folder: engine.count(),
    "diff": lambda engine, folder: engine.diff(NOTE),
    "explain": lambda engine, folder: engine.explain("keys", NOTE),
    "export": lambda engine, folder: engine.export(folder / "all.jsonl"),
    "graph": lambda engine, folder: engine.graph(),
    "get": lambda engine, folder: engine.get(NOTE),
    "grep": lambda engine, folder: engine.grep("keys"),
    "history": lambda engine, folder: engine.history(NOTE),
    "links": lambda engine, folder: engine.links(NOTE),
    "log": lambda engine, folder: engine.log(),
    "list": lambda engine, folder: engine.list(),
    "original": lambda engine, folder: engine.original(NOTE),
    "place_of": lambda engine, folder: engine.place_of(NOTE),
    "review": lambda engine, folder: engine.review(),
    "roots": lambda engine, folder: engine.roots(),
    "route": lambda engine, folder: engine.route("rotate the keys"),
    "search": lambda engine, folder: engine.search("keys"),
    "session": lambda engine, folder: engine.session("unknown"),
    "sessions": lambda engine, folder: engine.sessions(),
    "similar": lambda engine, folder: engine.similar(NOTE),
    "skill": lambda engine, folder: engine.skill("unknown"),
    "skills_search": lambda engine, folder: engine.skills_search("keys"),
    "status": lambda engine, folder: engine.status(),
    "sync_folder_status": lambda engine, folder: engine.sync_folder_status(),
    "tags": lambda engine, folder: engine.tags(),
    "tiers": lambda engine, folder: engine.tiers(),
    "timeline": lambda engine, folder: engine.timeline(),
    "tree": lambda engine, folder: engine.tree(),
    "blame": lambda engine, folder: engine.blame(rests_on=NOTE),
}
REPORTS_WHAT_DIFFERS = {"doctor"}
ASKS_NO_ITEMS = {
    "close", "models", "open", "profiles", "resolve", "tier", "team_init", "team_invite", "team_remove",
    "team_status", "index",
}  # fmt: skip
"""They use an answer, the settings, the server or the name alone; an id is looked up, and that is tested below."""
WRITING = {
    "add", "correct", "deps_add", "describe_root", "edit", "embed", "feedback", "forget", "forget_root", "import_",
    "link", "mv", "name_machine", "refresh", "relocate", "remember", "restore", "rm", "save", "save_many",
    "sync_folder_accept", "sync_folder_add", "sync_folder_now",
    "sync_folder_rm", "migrate", "promote",
    "sessions_add", "skills_add", "sync", "tag", "trust", "undo", "unlink", "use_model", "watch",
}  # fmt: skip


@pytest.fixture
def edited(house: House) -> House:
    """A note whose file was edited by hand after all engines were closed."""
    house.open().save(NOTE, "The keys rotate every quarter.")
    house.close()
    house.edit("notes/keys.md", "every quarter", "every month")
    return house


def stored_text(engine: Ricordo) -> str:
    """What the store holds, read without a look at the files."""
    items = engine._context.unsynced_store.items
    return items.get(items.require(engine.resolve(NOTE))).content


@pytest.mark.parametrize("name", sorted(READING))
def test_a_hand_edit_is_taken_in_before_the_verb_reads(name: str, edited: House, tmp_path: Path) -> None:
    engine = edited.open()
    assert "every quarter" in stored_text(engine)
    with suppress(NotFound):
        READING[name](engine, tmp_path)
    assert "every month" in stored_text(engine)


def test_an_export_and_a_backup_hold_the_edited_text(edited: House, tmp_path: Path) -> None:
    edited.open().export(tmp_path / "all.jsonl")
    assert "every month" in (tmp_path / "all.jsonl").read_text(encoding="utf-8")
    edited.edit("notes/keys.md", "every month", "every week")
    edited.open().backup(tmp_path / "copy.db")
    with Ricordo.open(tmp_path / "copy.db") as copy:
        assert "every week" in copy.get(NOTE, track=False).content


def test_a_hand_edit_is_no_part_of_the_step_that_takes_it_in(edited: House) -> None:
    engine = edited.open()
    engine.save("note:/other", "Another text.")
    assert "every month" in stored_text(engine)
    assert engine.undo(list=True).steps[0].refs == ("note:/other",)
    engine.undo()
    assert "every month" in stored_text(engine)


def test_the_doctor_reports_a_hand_edit_and_changes_nothing(edited: House) -> None:
    engine = edited.open()
    problems = [check.detail for check in engine.doctor().checks if not check.ok]
    assert problems == ["notes/keys.md is new or changed"]
    assert "every quarter" in stored_text(engine)


def test_an_item_that_a_hand_made_file_brings_is_found_by_its_id(edited: House) -> None:
    first = edited.open()
    identity = first.get(NOTE).id
    first.rm(NOTE, purge=True)
    edited.close()
    edited.write("notes/back.md", f"---\nid: {identity}\n---\nThe keys are back.\n")
    assert str(edited.open().resolve(identity)) == "note:/back"


def test_every_public_verb_is_in_one_of_the_lists() -> None:
    verbs = {name for name in dir(Ricordo) if not name.startswith("_") and callable(getattr(Ricordo, name))}
    assert verbs == READING.keys() | REPORTS_WHAT_DIFFERS | ASKS_NO_ITEMS | WRITING
