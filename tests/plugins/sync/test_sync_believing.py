"""What a machine does not take in: files that are not what they seem, machines that were shut out, words of agents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo.errors import Forbidden, UsageError
from ricordo.plugins.sync.log import digest_of
from ricordo.speaking import as_agent
from ricordo.values.items import Entry

from .conftest import MakePlaces, Place, carry, settle

NOTE = "note:/keys"


@pytest.fixture
def two(make_places: MakePlaces) -> tuple[Place, Place]:
    desk, laptop = make_places("desk", "laptop")
    with desk.at() as engine:
        engine.save(NOTE, "Keys rotate every quarter.")
    desk.sync()
    return desk, laptop


def in_anothers_place(desk: Place, laptop: Place, name: Path) -> None:
    there = laptop.folder / "machines" / "0000000a" / name.parent.name / name.name
    there.parent.mkdir(parents=True)
    there.write_bytes((desk.folder / name).read_bytes())


def behind_a_link(desk: Place, laptop: Place, name: Path) -> None:
    (laptop.folder / name).parent.mkdir(parents=True)
    (laptop.folder / name).symlink_to(desk.folder / name)


def of_a_later_format(desk: Place, laptop: Place, name: Path) -> None:
    data = (desk.folder / name).read_bytes().replace(b'"version": 1', b'"version": 2', 1)
    there = laptop.folder / name.with_name(f"000001-{digest_of(data)}.jsonl")
    there.parent.mkdir(parents=True)
    there.write_bytes(data)


@pytest.mark.parametrize(
    ("forged", "said"),
    [
        (in_anothers_place, "in the place of another file"),
        (behind_a_link, "is no file of a log"),
        (of_a_later_format, "which this Ricordo does not know"),
    ],
)
def test_a_file_that_is_not_what_it_seems_is_said_and_not_taken_in(
    two: tuple[Place, Place], forged: Callable[[Place, Place, Path], None], said: str
) -> None:
    desk, laptop = two
    (name,) = desk.files()
    forged(desk, laptop, name)
    assert said in laptop.sync().problems[0]
    assert laptop.texts() == set()


def test_what_is_no_machine_is_left_alone(two: tuple[Place, Place]) -> None:
    desk, laptop = two
    (name,) = desk.files()
    there = laptop.folder / "machines" / "desk (conflicted copy)" / name.parent.name / name.name
    there.parent.mkdir(parents=True)
    there.write_bytes((desk.folder / name).read_bytes())
    report = laptop.sync()
    assert (report.taken, report.problems) == (0, ())


def test_a_machine_that_is_refused_is_asked_about_also_where_everybody_was_let_in(two: tuple[Place, Place]) -> None:
    desk, laptop = two
    settle(desk, laptop)
    with laptop.at() as engine:
        engine.sync_folder_accept("desk", off=True)
    with desk.at() as engine:
        engine.edit(NOTE, "Keys rotate every day.")
    desk.sync()
    carry(desk, laptop)
    [problem] = laptop.sync().problems
    assert "is not let in" in problem
    assert "'ricordo sync-folder accept " in problem
    assert laptop.texts() == {"Keys rotate every quarter."}


def test_an_agent_can_neither_choose_a_folder_nor_let_in_a_machine(make_places: MakePlaces) -> None:
    desk, laptop = make_places("desk", "laptop", trust_all=False)
    desk.sync()
    with desk.at() as engine:
        engine.save(NOTE, "Keys rotate every quarter.")
    desk.sync()
    carry(desk, laptop)
    with laptop.at() as engine, as_agent("claude-code"):
        with pytest.raises(Forbidden, match="let in a machine"):
            engine.sync_folder_accept("desk")
        with pytest.raises(Forbidden, match="where memory travels"):
            engine.sync_folder_add(laptop.home)


def test_what_programs_and_tools_of_a_machine_keep_stays_there(two: tuple[Place, Place]) -> None:
    desk, laptop = two
    with desk.at() as engine:
        engine.sync_folder_add(desk.folder, what=["notes", "documents"], trust_all=True)
        engine.save_many([Entry(ref="tool:/git/log", content="Shows commits.", kind="document")])
    settle(desk, laptop)
    assert laptop.texts() == {"Keys rotate every quarter."}


def test_what_the_user_said_of_a_folder_is_told_on_the_other_machine(two: tuple[Place, Place]) -> None:
    desk, laptop = two
    board = desk.home / "board"
    board.mkdir()
    (board / "fee.md").write_text("# Fee\n\nThe fee was raised to twelve euros.\n")
    for place in two:
        with place.at() as engine:
            engine.sync_folder_add(place.folder, what=["notes", "documents"], trust_all=True)
    with desk.at() as engine:
        engine.add(board)
        engine.describe_root(board, "minutes of the board")
    settle(desk, laptop)
    with laptop.at() as engine:
        assert [hit.context for hit in engine.search("fee").hits] == ["minutes of the board"]


def test_a_folders_key_is_not_one_of_a_keyring(two: tuple[Place, Place]) -> None:
    pytest.importorskip("cryptography", reason="the extra 'encryption' is not installed")
    desk, _ = two
    with desk.at() as engine, pytest.raises(UsageError, match="keyring is that of one machine"):
        engine.sync_folder_add(desk.folder, encrypt=True, key="keyring")
