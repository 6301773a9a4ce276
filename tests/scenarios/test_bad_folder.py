"""A folder full of files that should not exist: each is reported by name and reason, the good ones are in."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ricordo import ConfigProvider, Ricordo, nofollow
from ricordo.ingest.formats import read
from ricordo.values.items import Saved
from ricordo.values.reports import AddReport

from ..conftest import error_of
from ..ingest import bad_files

POSIX = pytest.mark.skipif(os.name == "nt", reason="pipes, and names of any bytes, are for other systems")
COSTLY = {"wide.csv", "deep.json", "deep-objects.json", "deep.yaml", "deep-table.html", "deep-list.html"}
LONG_NAME = "f" * 200

# Why a file fails, by the start of its name.
REASONS = {
    "locked": "password",
    "zip-bomb": "would unpack to 64 MB",
    "many-parts": "25,000 parts",
    "lying-bomb": "damaged",
    "xml-bomb.docx": "defines XML entities",
    "xml-bomb.epub": "defines XML entities",
    "xml-bomb.xlsx": "not a readable spreadsheet",
    "outside-entity": "defines XML entities",
    "cut-chairs.pdf": "not a readable PDF",
    "cut-loom.docx": "damaged or cut off",
    "cut-kites.pptx": "damaged or cut off",
    "cut-seeds.xlsx": "damaged or cut off",
    "cut-letters.epub": "damaged or cut off",
    "cut-rainfall.ipynb": "not a notebook",
    "pages-in-a-circle.pdf": "pages cannot be read",
    "deep.docx": "Excessive depth",
    "forbidden.md": "Permission denied",
    "vanishing.md": "No such file",
    "bad\\xff.md": "not valid UTF-8",
}
BINARY = {"png.md", "png.txt", "png.docx", "gzip.csv", "old.doc", "form-in-itself.pdf"}
ODD_NAMES = ("emoji 🎉.md", "new\nline.md", "quote'\".md", "tab\t.md", "-dash.md", "漢字.md", "#half.md")


def fill(folder: Path) -> None:
    """The whole corpus, with a good file at either end of the walk."""
    bombs = {name: make() for name, make in bad_files.bombs().items()}
    corpus = bad_files.broken() | bombs | bad_files.looping_pdfs() | bad_files.nested()
    for name, data in corpus.items():
        if name not in COSTLY:
            (folder / name).write_bytes(data)
    for path in sorted(bad_files.FORMATS.glob("*/*")):
        data = path.read_bytes()
        (folder / f"cut-{path.name}").write_bytes(data[: len(data) // 2])
    for path in (bad_files.FORMATS.parent / "encrypted").iterdir():
        shutil.copy(path, folder)
    shutil.copy(bad_files.FORMATS / "pdf" / "chairs.pdf", folder / "misnamed.txt")
    for extension in bad_files.EXTENSIONS:
        (folder / f"empty.{extension}").touch()
    for name in (*ODD_NAMES, "forbidden.md", "vanishing.md"):
        (folder / name).write_text(f"A good text in {name!r}.", encoding="utf-8")
    with (folder / "huge.txt").open("wb") as file:
        file.truncate(60_000_000)
    (folder / "0-first.md").write_text("The first good file speaks of cormorants.")
    (folder / "zz").mkdir()
    (folder / "zz" / "last.md").write_text("The last good file speaks of cormorants.")
    (folder / "loop").symlink_to(folder)
    (folder / "self").symlink_to("self")
    (folder / ".self").symlink_to(".self")
    (folder / "nowhere.md").symlink_to("not-there.md")
    if os.name != "nt":
        os.mkfifo(folder / "pipe.md")
        (folder / os.fsdecode(b"bad\xff.md")).write_text("whose name is not text")
        deep = folder / "long"
        while len(str(deep)) + 210 < 4_000:
            deep /= LONG_NAME
        deep.mkdir(parents=True)
        (deep / "end.md").write_text("At the end of a long path speak cormorants.")


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Ricordo, Path, AddReport]]:
    """The folder, and the store it was added to while one file vanished and another could not be opened."""
    folder = tmp_path_factory.mktemp("bad")
    fill(folder)

    def open_below(within: Path, path: Path) -> int:
        if path.name == "vanishing.md":
            path.unlink()
        if path.name == "forbidden.md":  # as root, whom no mode of a file stops
            raise PermissionError(13, "Permission denied", str(path))
        return nofollow.open_below(within, path)

    store = tmp_path_factory.mktemp("store") / "store.db"
    with (
        Ricordo.open(store, config=ConfigProvider({"embedding.provider": "none"})) as engine,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(read, "open_below", open_below)
        yield engine, folder, engine.add(folder)


def names(report: AddReport, folder: Path, status: str) -> dict[str, Saved]:
    return {item.ref.removeprefix(f"disk:{folder}/"): item for item in report.items if item.status == status}


def test_every_entry_is_accounted_for_once(bad: tuple[Ricordo, Path, AddReport]) -> None:
    _, folder, report = bad
    refs = [item.ref for item in report.items]
    assert len(refs) == len(set(refs))
    names_in_bytes = {os.fsencode(path) for path in folder.rglob("[!.]*") if path.is_symlink() or not path.is_dir()}
    entries = {entry.decode("utf-8", "backslashreplace") for entry in names_in_bytes} | {str(folder / "vanishing.md")}
    assert {ref.removeprefix("disk:") for ref in refs} == entries


def test_what_failed_says_why(bad: tuple[Ricordo, Path, AddReport]) -> None:
    _, folder, report = bad
    failed = names(report, folder, "failed")
    for start, reason in REASONS.items():
        matching = [name for name in failed if name.startswith(start)]
        assert matching, f"nothing that starts with {start} failed"
        for name in matching:
            assert reason in str(error_of(failed[name])["message"])
    assert all(error_of(item)["message"] and error_of(item)["code"] == "unreadable" for item in failed.values())


def test_the_good_files_are_in_and_found(bad: tuple[Ricordo, Path, AddReport]) -> None:
    engine, folder, report = bad
    hits = engine.search("cormorants", track=False).hits
    wanted = {"0-first.md", "last.md"} | ({"end.md"} if os.name != "nt" else set())
    assert {Path(hit.ref).name for hit in hits} == wanted
    assert max(len(hit.ref) for hit in hits) > 3_500 or os.name == "nt"
    created = names(report, folder, "created")
    for name in ODD_NAMES:
        assert name in created
        assert repr(name) in engine.get(f"disk:{folder}/{name}").content
    assert engine.get(f"disk:{folder}/misnamed.txt").title == "Report on the borrowed chairs"


def test_what_is_no_file_is_passed_over_with_a_reason(bad: tuple[Ricordo, Path, AddReport]) -> None:
    _, folder, report = bad
    reasons = {name: str(item.reason) for name, item in names(report, folder, "skipped").items()}
    expected = {
        "huge.txt": "60.0 MB is over the limit of 50 MB",
        "loop": "a link to a folder of the same tree",
        "self": "a link that leads back to itself",
        "nowhere.md": "a link to a file that does not exist",
        "pipe.md": "a named pipe, not a file",
    }
    if os.name == "nt":
        del expected["pipe.md"]
    assert set(reasons) == set(expected)
    assert all(reason in reasons[name] for name, reason in expected.items())


def test_binary_files_are_items_without_text_whose_bytes_are_kept(bad: tuple[Ricordo, Path, AddReport]) -> None:
    engine, folder, report = bad
    assert set(names(report, folder, "created")) >= BINARY
    for name in BINARY:
        item = engine.get(f"disk:{folder}/{name}")
        assert (item.fields.is_textual, item.content) == (False, "")
        assert engine.original(item.ref) == (folder / name).read_bytes()
        assert any(note.startswith(f"disk:{folder}/{name}: ") for note in report.notes)
    listed = {str(item.ref) for item in engine.list(limit=500) if not item.fields.is_textual}
    assert listed == {f"disk:{folder}/{name}" for name in BINARY}


def test_text_that_was_damaged_is_in_with_a_note(bad: tuple[Ricordo, Path, AddReport]) -> None:
    engine, folder, report = bad
    assert any("broken-utf8.md: 3 characters were replaced" in note for note in report.notes)
    assert engine.get(f"disk:{folder}/nul.md").content == "# Title\n\nwords"
    assert engine.get(f"disk:{folder}/empty.docx").content == ""


def test_a_second_round_says_the_same_of_what_failed_and_writes_nothing(
    bad: tuple[Ricordo, Path, AddReport],
) -> None:
    engine, folder, first = bad
    count, versions = engine.count(), engine.status()["versions"]
    again = engine.add(folder)
    assert again.count("created") == again.count("updated") == 0
    assert set(names(again, folder, "failed")) == set(names(first, folder, "failed")) - {"vanishing.md"}
    refreshed = engine.refresh(all=True)
    assert refreshed.count("updated", "created", "moved", "missing") == 0
    assert {item.ref for item in refreshed.items if item.status == "failed"} == {
        item.ref for item in again.items if item.status == "failed"
    }
    assert (engine.count(), engine.status()["versions"]) == (count, versions)


def test_the_store_is_sound_after_all_that(bad: tuple[Ricordo, Path, AddReport]) -> None:
    engine, _, _ = bad
    report = engine.doctor()
    assert report.ok, [check for check in report.checks if not check.ok]


@POSIX
@pytest.mark.skipif(os.name != "nt" and os.geteuid() == 0, reason="root may read everything")
def test_a_file_and_a_folder_that_may_not_be_read_fail_alone(engine: Ricordo, tmp_path: Path) -> None:
    for name in ("a.md", "b/c.md", "d.md"):
        (tmp_path / "notes" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "notes" / name).write_text("words")
    (tmp_path / "notes" / "a.md").chmod(0)
    (tmp_path / "notes" / "b").chmod(0)
    try:
        report = engine.add(tmp_path / "notes")
    finally:
        (tmp_path / "notes" / "b").chmod(0o700)
    assert set(names(report, tmp_path / "notes", "failed")) == {"a.md", "b"}
    assert set(names(report, tmp_path / "notes", "created")) == {"d.md"}


@POSIX
def test_a_folder_whose_name_is_not_text_fails_by_its_files(engine: Ricordo, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    (folder / "a.md").write_text("words")
    (item,) = engine.add(folder).items
    assert (item.status, item.ref.endswith("caf\\xe9/a.md")) == ("failed", True)


def test_a_file_that_needs_a_missing_library_names_the_extra(engine: Ricordo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ricordo.ingest.formats.read.find_spec", lambda name: None)
    (item,) = engine.add(bad_files.FORMATS / "pdf" / "chairs.pdf").items
    assert item.status == "failed"
    assert item.error == {
        "code": "missing_extra",
        "message": "PDF files need the extra 'documents', which is not installed",
        "hint": "pip install 'ricordo[documents]'",
    }


def test_a_line_without_end_is_taken_in_and_found(open_engine: Callable[..., Ricordo], tmp_path: Path) -> None:
    path = tmp_path / "line.txt"
    path.write_bytes(b"cormorant" + b"x" * 200_000 + b" heron " + b"words without end " * 20_000)
    engine = open_engine()
    assert engine.add(path).count("created") == 1
    (hit,) = engine.search("heron", track=False).hits
    assert (hit.lines, "heron" in hit.snippet) == ((1, 1), True)
