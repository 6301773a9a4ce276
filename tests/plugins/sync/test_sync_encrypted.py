"""A folder of sync whose files are encrypted: one key for all machines, and nothing readable in the folder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from ricordo import UsageError, WrongKey, vault
from ricordo.plugins.encryption.conversion import make_encrypted

from .conftest import MakePlaces, Place, settle

pytest.importorskip("cryptography", reason="the extra 'encryption' is not installed")

WORD = "zqlighthouse"


def readable(place: Place) -> list[Path]:
    return [path for path in place.folder.rglob("*") if path.is_file() and WORD.encode() in path.read_bytes()]


def encrypted(place: Place, key: Path) -> None:
    with place.at() as engine:
        engine.sync_folder_add(place.folder, trust_all=True, encrypt=True, key=str(key))


def test_machines_with_the_key_agree_and_the_folder_holds_no_word(make_places: MakePlaces, tmp_path: Path) -> None:
    desk, laptop = make_places("desk", "laptop")
    with desk.at() as engine:
        engine.save("note:/ferry", f"The {WORD} is at the ferry.")
    settle(desk, laptop)
    assert readable(desk)
    encrypted(desk, tmp_path / "shared.key")  # a folder that was plain: its files are written anew
    shutil.copy(desk.folder / "ricordo-sync-key", laptop.folder)
    encrypted(laptop, tmp_path / "shared.key")
    with laptop.at() as engine:
        engine.edit("note:/ferry", content=f"The {WORD} is red.")
    settle(desk, laptop)
    assert readable(desk) == readable(laptop) == []
    assert desk.shown() == laptop.shown()
    assert f"The {WORD} is red." in desk.texts()
    with desk.at() as engine:
        (folder,) = engine.sync_folder_status().folders
        assert folder.is_encrypted
        assert {one.name for one in folder.machines} == {"desk", "laptop"}
        assert all(not one.waiting for one in folder.machines)


def test_a_machine_without_the_key_and_a_file_without_encryption_are_not_taken_in(
    make_places: MakePlaces, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, laptop = make_places("desk", "laptop")
    encrypted(desk, tmp_path / "shared.key")
    with desk.at() as engine:
        engine.save("note:/ferry", f"The {WORD} is at the ferry.")
    with laptop.at() as engine:
        engine.save("note:/plain", "Who reads the folder reads this.")
    settle(desk, laptop)
    assert any("it is encrypted" in problem for problem in laptop.sync().problems)
    assert any("it is not encrypted" in problem for problem in desk.sync().problems)
    assert WORD not in " ".join(laptop.texts())
    assert "Who reads the folder reads this." not in desk.texts()

    shutil.copy(desk.folder / "ricordo-sync-key", laptop.folder)
    vault._installed_vault.cache_clear()
    (tmp_path / "other.key").write_text("ab" * 32)
    with pytest.raises(WrongKey):
        encrypted(laptop, tmp_path / "other.key")
    encrypted(laptop, tmp_path / "shared.key")
    settle(desk, laptop)
    assert desk.shown() == laptop.shown()
    assert len(desk.texts()) == 2


def test_the_texts_of_an_encrypted_store_go_to_a_folder_in_the_clear_only_if_that_is_said(tmp_path: Path) -> None:
    place = Place(tmp_path, "desk", 9)
    make_encrypted(place.store, str(tmp_path / "store.key"))
    with place.at() as engine:
        with pytest.raises(UsageError, match="would be readable"):
            engine.sync_folder_add(place.folder)
        with pytest.raises(UsageError, match="a keyring is that of one machine"):
            engine.sync_folder_add(place.folder, encrypt=True, key="keyring")
        os.environ.pop("RICORDO_PASSPHRASE", None)
        assert not engine.sync_folder_add(place.folder, readable=True).is_encrypted
    place.close()
