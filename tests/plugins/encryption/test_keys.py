"""Encrypted stores: where the key is kept, what is said when it is not there, and what lies readable."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ricordo import ConfigProvider, DamagedHeader, LockedStore, Ricordo, UsageError, WrongKey, log, vault
from ricordo.config.loading import StoreLocation
from ricordo.errors import CorruptStore, Unavailable
from ricordo.plugins.encryption.conversion import (
    decrypt_in_place,
    encrypt_in_place,
    hide_knowledge_files,
    keep_key_elsewhere,
    make_encrypted,
)

from .planted import found_in, words

pytest.importorskip("cryptography", reason="the extra 'encryption' is not installed")
pytest.importorskip("keyring", reason="the extra 'encryption' is not installed")

PASSPHRASE = "seven ferries and a lighthouse"


@pytest.fixture(autouse=True)
def fresh_process() -> Callable[[], None]:
    """Each test begins like a process of its own, and may do so again: no key is known."""

    def forget() -> None:
        vault._installed_vault.cache_clear()
        vault._encrypted.clear()

    forget()
    return forget


@pytest.fixture
def keyring(tmp_path: Path) -> Iterator[Path]:
    """A keyring that is a file."""
    import keyring as library

    from .keyring_in_a_file import FileKeyring

    before = library.get_keyring()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEST_KEYRING", str(tmp_path / "keyring.json"))
        library.set_keyring(FileKeyring())  # type: ignore[no-untyped-call]  # the library has no types for it
        yield tmp_path / "keyring.json"
    library.set_keyring(before)


def opened(path: Path, **settings: Any) -> Ricordo:
    return Ricordo.open(path, config=ConfigProvider({"embedding.provider": "none", **settings}))


def where(path: Path) -> StoreLocation:
    return StoreLocation(path, "flag")


@pytest.mark.parametrize("way", ["keyring", "passphrase", "file"])
def test_a_new_store_is_encrypted_from_its_first_byte_and_opens_wherever_its_key_is_kept(
    way: str, tmp_path: Path, keyring: Path, monkeypatch: pytest.MonkeyPatch, fresh_process: Callable[[], None]
) -> None:
    store, planted = tmp_path / "home" / "store.db", words(3)
    store.parent.mkdir()
    monkeypatch.setenv("RICORDO_PASSPHRASE", PASSPHRASE)
    make_encrypted(store, way if way != "file" else str(tmp_path / "store.key"))
    with opened(store) as engine:
        engine.save("note:/keys", " ".join(planted))
    fresh_process()
    with opened(store) as engine:
        assert engine.get("note:/keys").content == " ".join(planted)
        assert {"keyring": "keyring", "passphrase": "passphrase", "file": "store.key"}[way] in engine.status()[
            "encrypted"
        ]
        check = next(one for one in engine.doctor().checks if one.name == "encryption")
        assert check.ok
        assert "the store is encrypted" in check.detail
    assert found_in([store.parent], planted) == {}
    kept = vault.note_path(store).read_text()
    assert PASSPHRASE not in kept
    assert vault.find_key(store).hex() not in kept  # type: ignore[union-attr]


def test_a_machine_without_a_keyring_says_so_and_encrypts_nothing(tmp_path: Path) -> None:
    import keyring as library
    from keyring.backends.fail import Keyring

    before = library.get_keyring()
    library.set_keyring(Keyring())  # type: ignore[no-untyped-call]  # the library has no types for it
    try:
        with pytest.raises(Unavailable, match="keyring cannot be used here") as refused:
            make_encrypted(tmp_path / "store.db", "keyring")
    finally:
        library.set_keyring(before)
    assert "FILE" in refused.value.hint
    assert not vault.note_path(tmp_path / "store.db").exists()


def test_a_wrong_key_and_a_key_that_is_away_are_two_errors_and_each_says_what_to_do(
    tmp_path: Path, keyring: Path, monkeypatch: pytest.MonkeyPatch, fresh_process: Callable[[], None]
) -> None:
    by_phrase, by_file, by_keyring = (tmp_path / f"{name}.db" for name in ("phrase", "file", "keyring"))
    monkeypatch.setenv("RICORDO_PASSPHRASE", PASSPHRASE)
    make_encrypted(by_phrase, "passphrase")
    make_encrypted(by_file, str(tmp_path / "store.key"))
    make_encrypted(by_keyring, "keyring")
    for store in (by_phrase, by_file, by_keyring):
        opened(store).close()
    fresh_process()

    monkeypatch.setenv("RICORDO_PASSPHRASE", "another one")
    with pytest.raises(WrongKey, match="not the passphrase"):
        opened(by_phrase)
    monkeypatch.delenv("RICORDO_PASSPHRASE")
    with pytest.raises(LockedStore, match="needs its passphrase") as locked:
        opened(by_phrase)
    assert "RICORDO_PASSPHRASE" in locked.value.hint

    (tmp_path / "store.key").rename(tmp_path / "elsewhere")
    with pytest.raises(LockedStore, match="cannot be read"):
        opened(by_file)
    monkeypatch.setenv("RICORDO_KEY_FILE", str(tmp_path / "elsewhere"))
    opened(by_file).close()
    fresh_process()
    (tmp_path / "elsewhere").write_text("ab" * 32)
    with pytest.raises(WrongKey, match="not that of the store"):
        opened(by_file)
    (tmp_path / "elsewhere").write_text("no key")
    with pytest.raises(WrongKey, match="holds no key"):
        opened(by_file)
    monkeypatch.delenv("RICORDO_KEY_FILE")

    keyring.unlink()
    with pytest.raises(LockedStore, match="is not in the system's keyring"):
        opened(by_keyring)


def test_a_damaged_beginning_and_a_damaged_note_have_an_error_of_their_own(
    tmp_path: Path, fresh_process: Callable[[], None]
) -> None:
    store = tmp_path / "store.db"
    make_encrypted(store, str(tmp_path / "store.key"))
    with opened(store) as engine:
        engine.save("note:/keys", "Keys rotate every quarter.")
        engine.backup(tmp_path / "copy.db")
    whole, how = store.read_bytes(), vault.note_path(store).read_text()
    store.write_bytes(whole[:50] + bytes([whole[50] ^ 1]) + whole[51:])
    with pytest.raises(DamagedHeader, match="its key is right") as damaged:
        opened(store)
    assert "Restore a backup" in damaged.value.hint
    store.write_bytes(whole)
    phrase = {"salt": "00", "memory": 1 << 30, "passes": 1, "lanes": 1}
    endless = json.dumps({**json.loads(how), "by": "passphrase", "argon2id": phrase})
    unknown = json.dumps({**json.loads(how), "cipher": "none'; DROP TABLE items; --"})
    for text in (
        "",
        "{",
        "[]",
        endless,
        unknown,
        json.dumps({"format": "other"}),
        how.replace('"check": "', '"check": "xy'),
    ):
        vault.note_path(store).write_text(text)
        fresh_process()
        with pytest.raises(DamagedHeader, match="is damaged"):
            opened(store)
    vault.note_path(store).unlink()
    with pytest.raises(CorruptStore):
        opened(store)
    with opened(tmp_path / "copy.db") as engine:
        assert engine.get("note:/keys").content == "Keys rotate every quarter."


def test_a_store_is_encrypted_and_decrypted_where_it_lies_with_all_it_holds() -> None:
    place = Path(os.environ["RICORDO_DATA_HOME"])  # the user's own store has Markdown files
    store, planted, tmp_path = place / "ricordo.db", words(40), place.parent
    with opened(store) as engine:
        for at, word in enumerate(planted):
            engine.save(f"memory:/{word}", f"The {word} of {at}.", kind="memory")
        engine.edit(f"memory:/{planted[0]}", content=f"{planted[0]} again")
    assert len(list(store.parent.rglob("*.md"))) == len(planted)
    assert len(set().union(*found_in([store.parent], planted).values())) == len(planted)

    encrypt_in_place(where(store), str(tmp_path / "store.key"))
    assert found_in([store.parent, Path(os.environ["RICORDO_STATE_HOME"])], planted) == {}
    with pytest.raises(UsageError, match="encrypted already"):
        encrypt_in_place(where(store), "")
    with opened(store) as engine:
        assert engine.count() == len(planted)
        assert [one.number for one in engine.history(f"memory:/{planted[0]}")] == [2, 1]
        assert engine.search(planted[7]).hits[0].ref == f"memory:/{planted[7]}"
        engine.save(f"memory:/{planted[1]}", "more", kind="memory", on_conflict="overwrite")
        assert all(one.ok for one in engine.doctor().checks)
    assert list(store.parent.rglob("*.md")) == []

    decrypt_in_place(where(store))
    with opened(store) as engine:
        assert engine.count() == len(planted)
        assert engine.status()["encrypted"] is None
    assert len(list(store.parent.rglob("*.md"))) == len(planted)
    assert not vault.note_path(store).exists()


def test_knowledge_files_that_could_not_be_taken_in_are_never_removed() -> None:
    store = Path(os.environ["RICORDO_DATA_HOME"]) / "ricordo.db"
    with opened(store) as engine:
        engine.save("memory:/keep", "The original text.", kind="memory")
        engine.save("memory:/whole", "A text that stays as it is.", kind="memory")
    keep, broken = next(store.parent.rglob("keep.md")), next(store.parent.rglob("keep.md")).with_name("broken.md")
    edited = keep.read_text().replace("---\n", "---\nnumbers: [1\n", 1).replace("original text", "edit of hours")
    keep.write_text(edited)
    broken.write_text("---\ntitle: [x\n---\nhours of work\n")
    with opened(store) as engine:
        assert engine.sync().failed == 2
    with pytest.raises(UsageError, match=r"2 knowledge files could not be taken in: .*broken\.md, .*keep\.md"):
        encrypt_in_place(where(store), str(store.with_name("store.key")))
    assert (keep.read_text(), broken.read_text()) == (edited, "---\ntitle: [x\n---\nhours of work\n")
    assert vault.is_plain(store)
    with opened(store) as engine:
        hide_knowledge_files(engine.store, where(store), repair=True)
    assert keep.exists()
    assert broken.exists()
    assert not keep.with_name("whole.md").exists()


def test_nothing_is_encrypted_while_somebody_else_uses_the_store(tmp_path: Path) -> None:
    from ricordo import Unavailable

    store = tmp_path / "store.db"
    with opened(store) as engine:
        engine.save("note:/keys", "Keys rotate every quarter.")
        with pytest.raises(Unavailable, match="another process uses the store"):
            encrypt_in_place(where(store), str(tmp_path / "store.key"))
        assert not vault.note_path(store).exists()
        assert engine.get("note:/keys").content == "Keys rotate every quarter."


def test_a_key_moves_from_a_passphrase_to_a_file_and_the_store_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_process: Callable[[], None]
) -> None:
    store = tmp_path / "store.db"
    monkeypatch.setenv("RICORDO_PASSPHRASE", PASSPHRASE)
    make_encrypted(store, "passphrase")
    opened(store).close()
    before = store.read_bytes()
    keep_key_elsewhere(where(store), str(tmp_path / "store.key"))
    monkeypatch.delenv("RICORDO_PASSPHRASE")
    fresh_process()
    assert store.read_bytes() == before
    opened(store).close()
    opened(tmp_path / "plain.db").close()
    with pytest.raises(UsageError, match="is not encrypted"):
        keep_key_elsewhere(where(tmp_path / "plain.db"), "keyring")


def test_a_copy_of_an_encrypted_store_is_readable_only_if_that_is_said(tmp_path: Path) -> None:
    store, planted = tmp_path / "store.db", words(5)
    make_encrypted(store, str(tmp_path / "store.key"))
    with opened(store) as engine:
        engine.save("note:/keys", " ".join(planted))
        with pytest.raises(UsageError, match="its copy would not be"):
            engine.migrate(tmp_path / "copy.db")
        assert not (tmp_path / "copy.db").exists()
        engine.migrate(tmp_path / "sealed.db", encrypt=True, key=str(tmp_path / "other.key"))
        assert found_in([tmp_path], planted) == {}
        engine.migrate(tmp_path / "copy.db", decrypt=True)
    assert found_in([tmp_path], planted).keys() == {str(tmp_path / "copy.db")}


def test_a_passphrase_comes_from_a_descriptor_or_a_person_and_a_short_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_process: Callable[[], None]
) -> None:
    asked: list[bool] = []

    def prompt(what: str, *, confirmation_prompt: bool, **settings: Any) -> str:
        asked.append(confirmation_prompt)
        return PASSPHRASE

    monkeypatch.setattr("click.prompt", prompt)
    monkeypatch.setattr("ricordo.cli.terminal.person_answers", lambda: True)
    monkeypatch.setattr(log, "_to_file", False)
    with pytest.raises(LockedStore, match="nobody can be asked"):  # by a program that uses the library
        make_encrypted(tmp_path / "store.db", "passphrase")
    monkeypatch.setattr(log, "_to_file", True)
    make_encrypted(tmp_path / "store.db", "passphrase")
    opened(tmp_path / "store.db").close()
    fresh_process()
    opened(tmp_path / "store.db").close()
    assert asked == [True, False]
    fresh_process()
    monkeypatch.setattr("ricordo.cli.terminal.person_answers", lambda: False)
    monkeypatch.setenv("RICORDO_PASSPHRASE", PASSPHRASE)
    opened(tmp_path / "store.db").close()
    monkeypatch.setenv("RICORDO_PASSPHRASE", "short")
    with pytest.raises(UsageError, match="shorter than"):
        make_encrypted(tmp_path / "other.db", "passphrase")


def test_logs_and_temporary_files_of_a_program_with_an_encrypted_store_hold_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ricordo.hook_log import log as hook_log

    monkeypatch.setattr(log, "_to_file", True)
    make_encrypted(tmp_path / "store.db", str(tmp_path / "store.key"))
    opened(tmp_path / "store.db").close()
    planted = words(3)
    try:
        raise ValueError(planted[0])
    except ValueError as error:
        log.report(f"about {planted[1]}", error)
    hook_log("prompt", f"NotFound: there is no {planted[2]}")
    state = Path(os.environ["RICORDO_STATE_HOME"])
    assert "ValueError" in (state / "ricordo.log").read_text()
    assert "NotFound" in (state / "hooks.log").read_text()
    assert found_in([state], planted) == {}
    if Path("/dev/shm").is_dir():
        assert tempfile.gettempdir() == "/dev/shm"


def die_or_replace(path: Path, target: Path) -> None:
    if path.name == "store.db.partial":
        os.kill(os.getpid(), signal.SIGKILL)
    os.replace(path, target)  # noqa: PTH105 - it stands in for Path.replace


@pytest.mark.skipif(os.name != "posix", reason="a process kills itself")
@pytest.mark.parametrize("is_encrypted", [False, True])
def test_a_change_of_key_that_is_killed_leaves_the_store_as_it_was_and_is_finished_by_the_next(
    tmp_path: Path, is_encrypted: bool, fresh_process: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, key = tmp_path / "store.db", str(tmp_path / "store.key")
    with opened(store) as engine:
        engine.save("note:/keys", "Keys rotate every quarter.")
    if is_encrypted:
        encrypt_in_place(where(store), key)
    change = partial(decrypt_in_place, where(store)) if is_encrypted else partial(encrypt_in_place, where(store), key)
    if not (child := os.fork()):  # killed when all but the last step is done
        try:
            monkeypatch.setattr(Path, "replace", die_or_replace)
            change()
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    fresh_process()
    assert vault.is_plain(store) != is_encrypted
    if is_encrypted:
        with opened(store) as engine:
            (said,) = [one for one in engine.doctor().checks if one.name == "encryption"]
            assert "was cut short" in said.detail
    else:
        with pytest.raises(LockedStore, match="not encrypted, although the note on its key"):
            opened(store)
    change()
    fresh_process()
    assert vault.is_plain(store) == is_encrypted
    with opened(store) as engine:
        assert engine.get("note:/keys").content == "Keys rotate every quarter."
        assert all(one.ok for one in engine.doctor().checks)
    assert not list(tmp_path.glob("*.partial"))
