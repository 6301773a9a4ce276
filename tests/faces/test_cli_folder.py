"""Folders, bad files and standard input on the command line: the lines, the envelope and the exit code."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
FORMATS = Path(__file__).parent.parent / "fixtures"


@pytest.fixture
def mixed(house: Any) -> Any:
    """A house with a folder of good, binary, large and broken files, and no vectors."""
    house.run("config", "set", "embedding.provider", "none")
    house.run("config", "set", "ingest.max_file_mb", "0.1")
    house.write("stuff/good.md", "# Good\n\nThe cormorant dries its wings.")
    house.write("stuff/also.txt", "Another good one.")
    house.write("stuff/logo.png", PICTURE)
    house.write("stuff/large.txt", "x" * 200_000)
    house.write("stuff/locked.pdf", (FORMATS / "encrypted" / "locked.pdf").read_bytes())
    house.write("stuff/broken.docx", b"PK\x03\x04 word/document.xml")
    house.write("stuff/good.md~", "a backup")
    return house


def test_a_bad_file_stops_nothing_and_the_exit_code_says_so(mixed: Any) -> None:
    shown = mixed.run("add", "stuff", code=1)
    assert shown.stdout == "3 created, 2 skipped, 2 failed\n"
    for line in (
        "error: stuff/locked.pdf: locked.pdf is encrypted and needs a password",
        "error: stuff/broken.docx: broken.docx is damaged or cut off: File is not a zip file",
        "skipped stuff/large.txt: 0.2 MB is over the limit of 0.1 MB (ingest.max_file_mb)",
        "skipped stuff/good.md~: left behind by an editor",
        "logo.png is a binary file (image/png); it is kept without text",
    ):
        assert line in shown.stderr
    assert "cormorant" in mixed.run("search", "cormorant").stdout


def test_the_envelope_accounts_for_every_file(mixed: Any) -> None:
    data = mixed.envelope("add", "stuff", code=1)["data"]
    assert set(data) == {"created", "updated", "skipped", "failed", "items", "notes"}
    assert [data[name] for name in ("created", "updated", "skipped", "failed")] == [3, 0, 2, 2]
    items = {Path(item["ref"]).name: item for item in data["items"]}
    assert set(items) == {path.name for path in (mixed.folder / "stuff").iterdir()}
    assert all(item["ref"].startswith("disk:/") for item in data["items"])
    assert items["locked.pdf"]["error"] == {
        "code": "unreadable",
        "message": "locked.pdf is encrypted and needs a password",
        "hint": "Save a copy without the password.",
    }
    assert "over the limit" in items["large.txt"]["reason"]


def test_a_file_without_text_is_listed_and_comes_back_byte_by_byte(mixed: Any) -> None:
    mixed.run("add", "stuff", code=1)
    listed = {Path(item["ref"]).name: item for item in mixed.json("list")["items"]}
    assert listed["logo.png"]["is_textual"] is False
    assert listed["logo.png"]["size"] == len(PICTURE)
    assert mixed.run("get", "stuff/logo.png").stdout_bytes == PICTURE
    assert mixed.json("get", "stuff/logo.png")["content"] == ""


def test_a_second_add_creates_nothing_and_a_changed_file_is_refreshed(mixed: Any) -> None:
    mixed.run("add", "stuff", code=1)
    path = mixed.write("stuff/good.md", "# Good\n\nThe bittern booms.")
    os.utime(path, ns=(path.stat().st_mtime_ns, path.stat().st_mtime_ns + 1_000_000))
    shown = mixed.run("add", "stuff", code=1)
    assert "5 skipped, 2 failed" in shown.stdout
    assert "use 'ricordo refresh'" in shown.stderr
    plain = mixed.envelope("refresh", "--all", code=1)["data"]
    assert {name: plain[name] for name in ("checked", "updated", "unchanged", "missing", "chunks", "failed")} == {
        "checked": 5, "updated": 1, "unchanged": 2, "missing": 0, "chunks": 1, "failed": 2,
    }  # fmt: skip
    assert "bittern" in mixed.run("search", "bittern").stdout


def test_missing_files_are_named_and_prune_removes_them(house: Any) -> None:
    house.run("config", "set", "embedding.provider", "none")
    house.write("notes/a.md", "the heron")
    house.write("notes/b.md", "the egret")
    house.run("add", "notes")
    (house.folder / "notes/a.md").unlink()
    shown = house.run("refresh", "--all")
    assert "missing notes/a.md" in shown.stdout
    assert "--prune" in shown.stderr
    assert "removed notes/a.md" in house.run("refresh", "notes", "--prune").stdout
    assert house.json("refresh", "--all")["checked"] == 1
    house.run("refresh", code=2)
    house.run("refresh", "nowhere/", code=3)


def test_standard_input_needs_a_name_and_stands_alone(house: Any) -> None:
    assert "--as" in house.json("add", "-", stdin="x", code=2)["hint"]
    house.run("add", "-", "a.md", "--as", "note:/x", stdin="x", code=2)
    shown = house.run("add", "-", "--as", "note:/x", "--no-wait", stdin="The heron waits.")
    assert shown.stdout == "created note:/x (version 1)\n"
    assert house.run("get", "note:/x").stdout == "The heron waits."
    assert house.run("add", "-", "--as", "note:/x", stdin="Another.").stdout.startswith("skipped note:/x")
    assert house.run("get", "note:/x").stdout == "The heron waits."


def test_an_empty_standard_input_is_an_empty_item(house: Any) -> None:
    house.run("add", "-", "--as", "note:/empty", stdin="")
    assert house.json("get", "note:/empty")["content"] == ""


def test_many_reasons_and_notes_are_counted_not_printed(house: Any) -> None:
    house.run("config", "set", "embedding.provider", "none")
    for number in range(30):
        house.write(f"pictures/{number}.png", PICTURE + bytes([number]))
    shown = house.run("add", "pictures")
    assert shown.stdout == "30 created\n"
    assert shown.stderr.count("kept without text") == 20
    assert "10 more notes" in shown.stderr
    assert "30 skipped: already in the store" in house.run("add", "pictures").stderr


def test_the_terminal_names_this_machine_and_says_what_is_on_others(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.write("notes/a.md", "a zebra")
    monkeypatch.setenv("RICORDO_STORE", str(house.folder / "shared.db"))
    house.run("add", "notes")
    assert house.run("roots", "name", "laptop").stdout == "machine: laptop\n"
    monkeypatch.setenv("RICORDO_DATA_HOME", str(house.folder / "another home"))
    assert "on laptop" in house.run("search", "zebra").stdout
    assert "on laptop" in house.run("list").stdout
    assert "on laptop" in house.run("roots").stdout
    assert "1 file of the machine laptop left alone" in house.run("refresh", "--all").stderr
    assert "machine laptop" in house.run("rm", "notes/a.md", code=2).stderr
    assert house.json("roots", "move", "--from-machine", "laptop")["items"][0]["status"] == "moved"
    assert "on laptop" not in house.run("list").stdout


def test_roots_are_listed_left_and_relocated(house: Any) -> None:
    house.write("notes/a.md", "the plan")
    assert house.json("add", "notes", "--dry-run")["items"][0]["status"] == "would be added"
    house.run("add", "notes")
    assert [root["items"] for root in house.json("roots")["roots"]] == [1]
    (house.folder / "notes").rename(house.folder / "papers")
    assert house.json("roots", "move", "notes", "papers")["items"][0]["status"] == "moved"
    assert house.json("roots", "rm", "papers")["path"].endswith("papers")
    assert house.json("roots")["roots"] == []
    assert "no folder was added" in house.run("roots").stderr
