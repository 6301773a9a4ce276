"""Folders that were added: looking before adding, what is left out, leaving one, and following one that moved."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ricordo import ConfigProvider, NotFound, Ricordo, Unavailable
from ricordo.config.files import standing_in

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40
PLAIN = {"embedding.provider": "none"}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    for name in ("a.md", "deep/b.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"the text of {name}")
    return folder


def test_a_dry_run_says_what_would_be_added_and_adds_nothing(engine: Ricordo, notes: Path) -> None:
    engine.add(notes / "a.md")
    report = engine.add(notes, "https://example.org/page", dry_run=True)
    shown = {one.ref.rpartition("/")[2]: one.status for one in report.items}
    assert shown == {"a.md": "skipped", "b.md": "would be added", "page": "would be fetched"}
    assert "1 file of" in report.notes[0]
    assert engine.count() == 1
    assert engine.roots() == ()


def test_what_programs_leave_in_folders_is_left_out_and_told(engine: Ricordo, notes: Path) -> None:
    for name in ("node_modules/x/index.js", "venv/lib/y.py", "__pycache__/z.txt", "dist/out.js", "uv.lock"):
        (notes / name).parent.mkdir(parents=True, exist_ok=True)
        (notes / name).write_text("made by a program")
    report = engine.add(notes)
    left_out = {one.ref.rpartition("/")[2] for one in report.items if one.reason and "ingest.ignore" in one.reason}
    assert left_out == {"node_modules", "venv", "__pycache__", "dist", "uv.lock"}
    assert engine.count() == 2


def test_an_ignore_file_or_the_setting_takes_such_a_folder_in(open_engine: object, notes: Path) -> None:
    (notes / "dist").mkdir()
    (notes / "dist" / "out.md").write_text("wanted")
    (notes / ".ricordoignore").write_text("!dist/\n")
    engine = open_engine("one")  # type: ignore[operator]
    engine.add(notes)
    assert engine.count() == 3
    (notes / ".ricordoignore").unlink()
    other = open_engine("two", **{"ingest.ignore": []})  # type: ignore[operator]
    other.add(notes)
    assert other.count() == 3


def test_a_file_without_text_is_listed_and_not_copied_unless_the_setting_says_so(
    open_engine: object, tmp_path: Path
) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(PICTURE)
    engine = open_engine("one")  # type: ignore[operator]
    engine.add(path)
    item = engine.get(path)
    assert (item.fields.mime_type, item.fields.metadata["bytes"]) == ("image/png", len(PICTURE))
    assert engine.original(path) == PICTURE  # from the disk, as long as it is the same file
    path.write_bytes(PICTURE + b"more")
    with pytest.raises(Unavailable, match="not kept"):
        engine.original(path)
    assert [one.status for one in engine.refresh(path).items] == ["updated"]
    keeping = open_engine("two", **{"ingest.keep_binaries": True})  # type: ignore[operator]
    keeping.add(path)
    assert keeping.original(path) == PICTURE + b"more"


def test_a_folder_can_be_left_and_its_items_stay(engine: Ricordo, notes: Path) -> None:
    engine.add(notes)
    assert [(root.path, root.items, root.is_there) for root in engine.roots()] == [(str(notes), 2, True)]
    engine.forget_root(notes)
    (notes / "new.md").write_text("not wanted")
    engine.refresh(all=True)
    assert engine.count() == 2
    with pytest.raises(NotFound):
        engine.forget_root(notes)


def test_removing_a_folder_leaves_it_too(engine: Ricordo, notes: Path) -> None:
    engine.add(notes)
    engine.rm(f"{notes}/")
    assert engine.roots() == ()
    engine.refresh(all=True)
    assert engine.count() == 0


def test_names_of_files_are_meant_as_seen_from_the_callers_folder(
    engine: Ricordo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        (folder / "docs").mkdir(parents=True)
        (folder / "docs" / "a.md").write_text(f"the plan of {folder.name}")
    monkeypatch.chdir(here)
    with standing_in(there):  # as a server does the work of a caller
        for source in ("docs/a.md", "docs/*.md", "docs/**/*.md", "docs"):
            added = {item.ref for item in engine.add(source, on_conflict="overwrite").items}
            assert added == {f"disk:{there}/docs/a.md"}, source
        [missing] = engine.add("docs/b.md").items
        assert missing.error is not None
        assert f"Did you mean docs/a.md? It was looked for in {there}." in missing.error["hint"]
        assert engine.forget_root("docs").path == str(there / "docs")
        engine.backup("copy.db")
    assert (there / "copy.db").exists()


def test_relocate_moves_refs_with_their_history_and_fields(engine: Ricordo, notes: Path, tmp_path: Path) -> None:
    engine.add(notes)
    engine.edit(notes / "a.md", fields={"tags": ["mine"]})  # type: ignore[arg-type]
    moved = tmp_path / "elsewhere"
    shutil.move(notes, moved)
    assert [one.status for one in engine.relocate(notes, moved).items] == ["moved", "moved"]
    item = engine.get(moved / "a.md")  # type: ignore[arg-type]
    assert (item.fields.tags, len(engine.history(moved / "a.md"))) == (("mine",), 3)  # type: ignore[arg-type]
    assert [root.path for root in engine.roots()] == [str(moved)]
    assert {one.status for one in engine.refresh(all=True).items} == {"unchanged"}


def test_pruning_keeps_the_items_of_a_folder_that_is_gone_as_a_whole(
    engine: Ricordo, notes: Path, tmp_path: Path
) -> None:
    engine.add(notes)
    shutil.move(notes, tmp_path / "elsewhere")
    report = engine.refresh(all=True, prune=True)
    assert {one.status for one in report.items} == {"missing"}
    assert "roots move" in report.notes[0]
    assert engine.count() == 2


def test_the_documents_of_a_project_follow_it_when_it_is_renamed(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "docs").mkdir(parents=True)
    (project / "docs" / "a.md").write_text("the plan")
    (project / "b.md").write_text("another")
    (project / ".ricordo").mkdir()
    with Ricordo.open(project / ".ricordo" / "ricordo.db", config=ConfigProvider(PLAIN)) as engine:
        engine.add(project / "docs", project / "b.md")
    renamed = tmp_path / "renamed"
    project.rename(renamed)
    with Ricordo.open(renamed / ".ricordo" / "ricordo.db", config=ConfigProvider(PLAIN)) as engine:
        report = engine.refresh(all=True, prune=True)
        assert "followed" in report.notes[0]
        assert sorted(str(item.ref) for item in engine.list()) == [f"disk:{renamed}/b.md", f"disk:{renamed}/docs/a.md"]
        assert [root.path for root in engine.roots()] == [str(renamed / "docs")]


@pytest.mark.parametrize(("there", "followed"), [(1, 0), (2, 0), (3, 3)])
def test_a_project_counts_as_moved_when_most_of_its_missing_files_are_there(
    tmp_path: Path, there: int, followed: int
) -> None:
    """A copy of a few files beside other missing ones is no sign that the project moved."""
    project, old = tmp_path / "project", tmp_path / "old"
    for folder in (project / ".ricordo", old):
        folder.mkdir(parents=True)
    for number in range(4):
        (old / f"{number}.md").write_text(f"the text of number {number}")
    with Ricordo.open(project / ".ricordo" / "ricordo.db", config=ConfigProvider(PLAIN)) as engine:
        engine.add(*old.iterdir())
        for number in range(there):
            shutil.copy(old / f"{number}.md", project)
        shutil.rmtree(old)
        report = engine.refresh(all=True)
        moved = [item for item in engine.list() if str(item.ref).startswith(f"disk:{project}/")]
        assert (bool(moved), any("followed" in note for note in report.notes)) == (bool(followed), bool(followed))
