"""What is encrypted beside a store: its small files, and the files of a folder through which machines sync."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

from ricordo.config.files import replace_file
from ricordo.errors import Error, UsageError
from ricordo.keys.keys import KEYRING, PASSPHRASE, find_key, is_encrypted, make_key, note_path, opened_with, sealed_with
from ricordo.values.store_addresses import is_address


class Seal:
    """Seals and opens for one store."""

    def __init__(self, key: bytes) -> None:
        self._key = hmac.new(key, b"ricordo: beside the store", hashlib.sha256).digest()

    def sealed(self, value: Any) -> str:
        """A value of JSON that only the store's key opens."""
        return base64.b64encode(sealed_with(self._key, json.dumps(value).encode())).decode()

    def opened(self, text: str) -> Any:
        """The value; None if it was sealed by another key, or is damaged."""
        try:
            found = opened_with(self._key, base64.b64decode(text))
        except ValueError:
            return None
        return None if found is None else json.loads(found)


def seal_of(store: str) -> Seal | None:
    """What seals for a store, by its path; None if it is not encrypted. An error if its key cannot be had."""
    if not store or is_address(store):
        return None
    key = find_key(Path(store))
    return None if key is None else Seal(key)


def seal_at_hand(store: str) -> Seal | None:
    """The same for a reader, who does without what cannot be opened."""
    try:
        return seal_of(store)
    except Error:
        return None


def holds_secrets(store: str) -> bool:
    """Whether nothing of a store may lie about readable, by its path."""
    return bool(store) and not is_address(store) and is_encrypted(Path(store))


_NAME = "ricordo-sync"
_SEALED = b"ricordo-sync sealed 1\n"


def folder_key(folder: Path, choice: str) -> bytes:
    """The key of a folder, made by the first machine that asks. ``choice`` is ``passphrase`` or a key file."""
    place = folder / _NAME
    if choice == KEYRING:
        raise UsageError(
            "a keyring is that of one machine, and the key of a folder is shared",
            hint="Use a passphrase or a key file.",
        )
    if not has_key(folder):
        return make_key(place, choice or PASSPHRASE)
    found = find_key(place, "" if choice == PASSPHRASE else choice)
    assert found is not None, "there is a note, or finding the key failed"
    return found


def has_key(folder: Path) -> bool:
    """Whether the files of a folder are encrypted: then a note in it says how the key is found."""
    return note_path(folder / _NAME).exists()


def note_in(folder: Path) -> bytes:
    """The note on the key of a folder; empty if there is none."""
    return note_path(folder / _NAME).read_bytes() if has_key(folder) else b""


def put_note(folder: Path, note: bytes) -> None:
    """Write the note again, after the folder was emptied: a machine that joins finds the same key by it."""
    replace_file(note_path(folder / _NAME), note)


def sealed_file(key: bytes, data: bytes) -> bytes:
    """What is written to the folder for some bytes: for the same bytes always the same."""
    nonce = hmac.new(key, b"ricordo: nonce" + data, hashlib.sha256).digest()[:12]
    return _SEALED + sealed_with(key, data, nonce)


def is_sealed(data: bytes) -> bool:
    """Whether a file of a folder is encrypted."""
    return data.startswith(_SEALED)


def opened_file(key: bytes, data: bytes) -> bytes | None:
    """The bytes of an encrypted file; None if another key sealed it, or it was changed."""
    return opened_with(key, data[len(_SEALED) :])
