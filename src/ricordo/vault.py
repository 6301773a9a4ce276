"""Encrypted stores, as far as the core knows them: which files are encrypted, and what a plugin does for these.

Without such a plugin an encrypted store is refused, and every other store works.
"""

from __future__ import annotations

import base64
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ricordo.errors import Error, LockedStore
from ricordo.plugin import installed
from ricordo.values.store_addresses import is_address

if TYPE_CHECKING:
    import apsw

END = "-key"
"""How the name of the note ends that says how the key of a store is found; it lies beside the store."""
_PLAIN = b"SQLite format 3\0"


class Vault(Protocol):
    """Has the keys of encrypted files, and encrypts with them (``Plugin.vault``)."""

    def find_key(self, store: Path, key_file: str = "") -> bytes:
        """The key of an encrypted store. An error says why it cannot be had, or that it is wrong."""

    def make_key(self, store: Path, choice: str, *, key: bytes | None = None) -> bytes:
        """Make a key for a new store, or take its ``key``; keep it where the user chooses, and write the note."""

    def unlock(self, connection: apsw.Connection, key: bytes) -> None:
        """Give a connection the key before anything is read."""

    def seal(self, key: bytes, data: bytes, nonce: bytes | None = None) -> bytes:
        """Encrypt bytes. A ``nonce`` that is given must differ for each text."""

    def unseal(self, key: bytes, sealed: bytes) -> bytes | None:
        """The bytes; None if they were sealed with another key, or are damaged."""


def vault(subject: str) -> Vault:
    """What encrypts and decrypts; an error if it is not installed and ``subject`` needs it."""
    if (keys := _installed_vault()) is None:
        raise LockedStore(
            f"nothing is installed that can encrypt or decrypt {subject}",
            hint="Ricordo's plugin 'encryption' can: pip install --force-reinstall 'ricordo[encryption]'. Nothing was"
            " changed.",
        )
    return keys


@cache
def _installed_vault() -> Vault | None:
    return next((plugin.load(plugin.vault)() for plugin in installed().values() if plugin.vault), None)


def note_path(store: Path) -> Path:
    """Where the note on the key of a store is."""
    return Path(f"{store}{END}")


_encrypted: set[str] = set()
"""The stores that this process found encrypted. Their files are not opened again to look: closing a file ends the locks
that SQLite has on it in this process.
"""


def is_encrypted(store: str | Path) -> bool:
    """Whether a store is encrypted, or will be when it is made, so that nothing of it may lie about readable. One on a
    server never is.
    """
    if not store or (isinstance(store, str) and is_address(store)):
        return False
    path = Path(store).absolute()
    if not note_path(path).exists():
        return False
    if str(path) not in _encrypted and not is_plain(path):
        _encrypted.add(str(path))
    return str(path) in _encrypted


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


def find_key(store: Path) -> bytes | None:
    """The key of a store; None if it is not encrypted. An error if it was, and a readable file lies in its place."""
    if note_path(store).exists() and is_plain(store):
        raise LockedStore(
            f"the store {store} is not encrypted, although the note on its key lies beside it",
            hint="If somebody put a readable copy in its place, bring the store back. If not, ‹:migrate --encrypt› or"
            " ‹:migrate --decrypt› goes on with what was cut short.",
        )
    return vault(f"the store {store}").find_key(store) if is_encrypted(store) else None


class Seal:
    """Seals what is kept of an encrypted store outside of it."""

    def __init__(self, keys: Vault, key: bytes) -> None:
        import hmac

        self._vault = keys
        self._key = hmac.digest(key, b"ricordo: beside the store", "sha256")

    def sealed(self, value: Any) -> str:
        """A value of JSON that only the store's key opens."""
        return base64.b64encode(self._vault.seal(self._key, json.dumps(value).encode())).decode()

    def opened(self, text: str) -> Any:
        """The value; None if it was sealed by another key, or is damaged."""
        try:
            data = self._vault.unseal(self._key, base64.b64decode(text))
        except ValueError:
            return None
        return None if data is None else json.loads(data)


def seal_of(store: str) -> Seal | None:
    """What seals for a store, by its path; None if it is not encrypted. An error if its key cannot be had."""
    if not is_encrypted(store):
        return None
    keys = vault(f"the store {store}")
    return Seal(keys, keys.find_key(Path(store)))


def seal_at_hand(store: str) -> Seal | None:
    """The same for a reader, who does without what cannot be opened."""
    try:
        return seal_of(store)
    except Error:
        return None
