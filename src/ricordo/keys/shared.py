"""The key of a folder through which machines sync: one for all of them, found by a passphrase or a key file.

The note on it lies in the folder itself. Each machine keeps the key in its store, which holds the same texts, so that
nobody is asked again.
"""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

from ricordo.config.files import replace_file
from ricordo.errors import UsageError
from ricordo.keys.finding import find_key, make_key, opened_with, sealed_with
from ricordo.keys.note import KEYRING, PASSPHRASE, note_path

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
        return make_key(place, choice or PASSPHRASE).key
    found = find_key(place, "" if choice == PASSPHRASE else choice)
    assert found is not None, "there is a note, or finding the key failed"
    return found.key


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
