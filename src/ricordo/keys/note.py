"""The note beside an encrypted store that says how its key is found: ``ricordo.db-key``, never the key itself.

A store is encrypted if its file does not begin as a plain one does. The note is written before the file is encrypted
and removed after it was decrypted, so that a crash in between leaves a store that can be opened.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

from ricordo.config.files import read_bytes, replace_file
from ricordo.errors import DamagedHeader
from ricordo.frozen import frozen

END = "-key"
"""How the name of the note ends, behind that of the store."""
CIPHER = "aegis"
"""AEGIS-256, which also notices changes; by far the cheapest of those that SQLite3 Multiple Ciphers has."""
KEYRING, PASSPHRASE, KEY_FILE = "keyring", "passphrase", "file"
_CIPHERS = (CIPHER,)
_MOST_MEMORY, _MOST_PASSES, _MOST_LANES = 1_048_576, 20, 16
"""A note may come with somebody else's store: it must not make this machine work for hours."""
_FORMAT = "ricordo-key"
_VERSION = 1
_PLAIN = b"SQLite format 3\0"


@frozen
class Stretching:
    """How a passphrase becomes a key (Argon2id): what was chosen when the store was encrypted."""

    salt: bytes
    memory: int = 65_536
    """In KiB."""
    passes: int = 3
    lanes: int = 4


@frozen
class KeyNote:
    """How the key of one store is found, and how to tell whether it is the right one."""

    id: str
    by: str
    check: bytes
    file: str = ""
    """Where the key file is."""
    stretching: Stretching | None = None
    wrapped: bytes = b""
    """The store's key, encrypted with the one that the passphrase makes."""
    cipher: str = CIPHER

    def fits(self, key: bytes) -> bool:
        """Whether a key is the one of this store."""
        return hmac.compare_digest(check_of(key), self.check)


def check_of(key: bytes) -> bytes:
    """What tells the right key from others and does not help to find it."""
    return hmac.new(key, b"ricordo: is this the key?", hashlib.sha256).digest()


def note_path(store: Path) -> Path:
    """Where the note of a store is."""
    return Path(f"{store}{END}")


_encrypted: set[str] = set()
"""The stores that this process found encrypted. Their files are not opened again to look: closing a file ends the locks
that SQLite has on it in this process.
"""


def is_encrypted(store: Path) -> bool:
    """Whether a store is encrypted, or will be when it is made."""
    name = str(store.absolute())
    if not note_path(store).exists():
        return False
    if name not in _encrypted and not is_plain(store):
        _encrypted.add(name)
    return name in _encrypted


def look_again(store: Path) -> None:
    """The store was encrypted or decrypted just now; nobody has it open."""
    _encrypted.discard(str(store.absolute()))


def is_plain(store: Path) -> bool:
    """Whether the file of a store begins as one that everybody can read."""
    try:
        with store.open("rb") as file:
            return file.read(len(_PLAIN)) == _PLAIN
    except OSError:
        return False


def read_note(store: Path) -> KeyNote:
    """How the key of an encrypted store is found."""
    path = note_path(store)
    try:
        plain: Any = json.loads(read_bytes(path) or b"")
        if (plain["format"], plain["version"]) != (_FORMAT, _VERSION) or plain["cipher"] not in _CIPHERS:
            raise ValueError
        stretched = plain.get("argon2id")
        note = KeyNote(
            str(plain["id"]),
            str(plain["by"]),
            bytes.fromhex(plain["check"]),
            str(plain.get("file", "")),
            None
            if stretched is None
            else Stretching(
                bytes.fromhex(stretched["salt"]), int(stretched["memory"]), int(stretched["passes"]),
                int(stretched["lanes"]),
            ),
            bytes.fromhex(plain.get("wrapped", "")),
            plain["cipher"],
        )  # fmt: skip
        if note.stretching is not None and not _is_bearable(note.stretching):
            raise ValueError
        return note
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DamagedHeader(
            f"{path}, which says how the key of the store is found, is damaged",
            hint=f"Put back the copy that lies beside a backup of the store; there it is called NAME{END}.",
        ) from None


def _is_bearable(how: Stretching) -> bool:
    return how.memory <= _MOST_MEMORY and how.passes <= _MOST_PASSES and how.lanes <= _MOST_LANES


def write_note(store: Path, note: KeyNote) -> None:
    """Write the note beside a store."""
    plain: dict[str, Any] = {
        "format": _FORMAT, "version": _VERSION, "id": note.id, "cipher": note.cipher, "by": note.by,
        "check": note.check.hex(),
    }  # fmt: skip
    if note.file:
        plain["file"] = note.file
    if note.stretching is not None:
        how = note.stretching
        plain["argon2id"] = {
            "salt": how.salt.hex(), "memory": how.memory, "passes": how.passes, "lanes": how.lanes,
        }  # fmt: skip
        plain["wrapped"] = note.wrapped.hex()
    replace_file(note_path(store), json.dumps(plain, indent=1).encode())
