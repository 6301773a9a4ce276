"""Encryption on the command line, with the plugin and without it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ricordo.plugin import FOLDER
from ricordo.vault import note_path

pytest.importorskip("cryptography", reason="the extra 'encryption' is not installed")


def test_a_key_is_not_taken_without_encryption(house: Any, tmp_path: Path) -> None:
    assert "--encrypt" in house.run("init", "--key", str(tmp_path / "p.key"), code=2).stderr
    assert not (Path(house.folder) / ".ricordo").exists()


def test_a_store_that_is_not_there_is_not_called_encrypted(house: Any, tmp_path: Path) -> None:
    answer = house.run("migrate", "--encrypt", "typo.db", "--key", str(tmp_path / "k"), code=2)
    assert "there is no store at" in answer.stderr
    assert not (tmp_path / "k").exists()


def test_an_encrypted_store_without_the_note_on_its_key_is_told_as_such(house: Any, tmp_path: Path) -> None:
    house.run("init", "--encrypt", "--key", str(tmp_path / "p.key"))
    house.run("remember", "The kettle is red.")
    [note] = Path(house.folder).rglob("*-key")
    note.rename(tmp_path / "note")
    assert "ends in -key" in house.run("search", "kettle", code=5).stderr
    for words in (["migrate", "--decrypt"], ["migrate", "--encrypt"], ["init", "--encrypt"]):
        assert note.name in house.run(*words, code=5).stderr
    (tmp_path / "note").rename(note)
    assert "red" in house.run("search", "kettle").stdout


def test_without_the_plugin_an_encrypted_store_is_refused_and_stays_as_it_is(house: Any, tmp_path: Path) -> None:
    house.run("init", "--encrypt", "--key", str(tmp_path / "p.key"))
    house.run("remember", "The kettle is red.")
    [note] = Path(house.folder).rglob("*-key")
    store = Path(str(note).removesuffix("-key"))
    before = store.read_bytes()
    fresh = tmp_path / "fresh.db"
    shutil.copy(note, note_path(fresh))
    site = tmp_path / "site" / "ricordo"
    left_out = shutil.ignore_patterns("encryption")  # what was compiled of the rest is used
    shutil.copytree(Path(FOLDER).parent, site, copy_function=os.symlink, ignore=left_out)

    def run(*words: str, code: int) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "ricordo", *words],
            cwd=house.folder, capture_output=True, check=False, text=True,
            env={**os.environ, "PYTHONPATH": str(site.parent), "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    for words in (
        ["search", "kettle"],
        ["remember", "The pot is blue."],
        ["backup", "copy.db"],
        ["doctor", "--repair"],
    ):
        assert "nothing is installed that can encrypt or decrypt the store" in run(*words, code=5)
    assert "ricordo[encryption]" in run("--store", str(fresh), "remember", "The pot is blue.", code=5)
    assert not fresh.exists()
    assert store.read_bytes() == before
    assert "--encrypt" not in run("init", "--help", code=0) + run("migrate", "--help", code=0)
    assert "--encrypt" not in run("sync-folder", "add", "--help", code=0)
    assert "blue" in run("--store", str(tmp_path / "plain.db"), "remember", "The pot is blue.", code=0)
    assert "red" in house.run("search", "kettle").stdout
