"""The command sync-folder: it runs after saves by itself, and says what is wrong with an exit code."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import House


def test_a_folder_is_named_and_written_to_after_each_command_that_changes_something(
    house: House, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    house.run("save", "note:/keys", "-", stdin="Keys rotate every quarter.")
    house.run("sync-folder", "add", str(shared))
    assert len(list(shared.rglob("*.jsonl"))) == 1  # it syncs at once
    assert house.run("sync-folder", "now").stdout == "0 changes written, 0 changes taken in\n"
    house.run("save", "note:/more", "-", stdin="Keys are kept in the vault.")
    assert len(list(shared.rglob("*.jsonl"))) == 2
    house.run("get", "note:/more")
    assert len(list(shared.rglob("*.jsonl"))) == 2
    assert house.json("sync-folder", "status")["folders"][0]["unwritten"] == 0
    house.run("sync-folder", "rm", str(shared))
    assert house.json("sync-folder")["folders"] == []


def test_a_machine_that_is_not_let_in_and_a_folder_that_is_gone_are_said_with_an_exit_code(
    house: House, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    log = shared / "machines" / "0badcafe" / "00000001"
    log.mkdir(parents=True)
    (log / f"000001-{'0' * 32}.jsonl").write_text(json.dumps({"name": "strange machine"}) + "\n")
    house.run("save", "note:/keys", "-", stdin="Keys rotate every quarter.")
    house.run("sync-folder", "add", str(shared))
    assert "strange machine (0badcafe)" in house.json("sync-folder", "now", code=1)["message"]
    assert "strange machine (0badcafe): not let in" in house.run("sync-folder").stdout
    shared.rename(tmp_path / "unplugged")
    assert "is not there" in house.json("sync-folder", "now", code=1)["message"]
    assert house.json("sync-folder", "status")["folders"][0]["is_there"] is False
