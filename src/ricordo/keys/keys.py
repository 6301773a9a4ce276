"""Keys of encrypted stores: the note beside a store that says how its key is found, and where keys are kept.

A key is in the system's keyring, in a file, or made from a passphrase. ``RICORDO_KEY_FILE`` names a key file, wherever
the key was kept before, and ``RICORDO_PASSPHRASE`` has the passphrase, which is asked for at a terminal.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ricordo.config.files import read_bytes, replace_file, write_json
from ricordo.errors import (
    DamagedHeader,
    Error,
    LockedStore,
    MissingExtra,
    PathConflict,
    Unavailable,
    UsageError,
    WrongKey,
)
from ricordo.frozen import frozen

_IN_MEMORY = Path("/dev/shm")
_LEAST_ROOM = 256_000_000


def keep_temporary_files_in_memory() -> None:
    """From now on, temporary files of this process are written to no disk; where that is impossible, as before."""
    with suppress(OSError):
        has_room = _IN_MEMORY.is_dir() and os.access(_IN_MEMORY, os.W_OK)
        if has_room and shutil.disk_usage(_IN_MEMORY).free >= _LEAST_ROOM:
            tempfile.tempdir = str(_IN_MEMORY)


END = "-key"
"""How the name of the note ends, behind that of the store."""
CIPHER = "aegis"
"""AEGIS-256, which also notices changes; by far the cheapest of those that SQLite3 Multiple Ciphers has."""
KEYRING, PASSPHRASE, KEY_FILE = "keyring", "passphrase", "file"
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

    def fits(self, key: bytes) -> bool:
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
        if (plain["format"], plain["version"], plain["cipher"]) != (_FORMAT, _VERSION, CIPHER):
            raise ValueError
        how = None
        if (stretched := plain.get("argon2id")) is not None:
            memory, passes, lanes = (int(stretched[name]) for name in ("memory", "passes", "lanes"))
            if memory > _MOST_MEMORY or passes > _MOST_PASSES or lanes > _MOST_LANES:
                raise ValueError
            how = Stretching(bytes.fromhex(stretched["salt"]), memory, passes, lanes)
        return KeyNote(
            str(plain["id"]),
            str(plain["by"]),
            bytes.fromhex(plain["check"]),
            str(plain.get("file", "")),
            how,
            bytes.fromhex(plain.get("wrapped", "")),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DamagedHeader(
            f"{path}, which says how the key of the store is found, is damaged",
            hint=f"Put back the copy that lies beside a backup of the store; there it is called NAME{END}.",
        ) from None


def write_note(store: Path, note: KeyNote) -> None:
    """Write the note beside a store."""
    plain: dict[str, Any] = {
        "format": _FORMAT, "version": _VERSION, "id": note.id, "cipher": CIPHER, "by": note.by,
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
    write_json(note_path(store), plain)


KEY_BYTES = 32
SHORTEST_PASSPHRASE = 8
_SERVICE = "ricordo"
_EXTRA, _FOR = "encryption", "encrypted stores"

Ask = Callable[[str, bool], str]
"""Asks the person at the terminal for a passphrase: what for, and whether it is a new one, which is asked twice."""

_asking: Ask | None = None
_found: dict[tuple[str, bytes], bytes] = {}
"""The keys that this process found, by the place of the store and its key's check: stretching takes a while."""


def ask_with(ask: Ask | None) -> None:
    """Say how a person can be asked for a passphrase; without that, nobody is."""
    global _asking
    _asking = ask


def find_key(store: Path, key_file: str = "") -> bytes | None:
    """The key of a store; None if it is not encrypted. An error says why it cannot be had, or that it is wrong.

    ``key_file`` is where it is on this machine, if the note was written on another one.
    """
    if not is_encrypted(store):
        return None
    note = read_note(store)
    name = str(store.absolute()), note.check
    if name not in _found:
        key = _look_up(store, note, key_file or os.environ.get("RICORDO_KEY_FILE", "").strip())
        if not note.fits(key):
            raise WrongKey(
                f"the key that was found is not that of the store {store}",
                hint=f"{note_path(store)} says that it is {_where(note)}. Put the right one there.",
            )
        _found[name] = key
    return _found[name]


def make_key(store: Path, choice: str, *, key: bytes | None = None) -> bytes:
    """Make a key for a store that is new or still plain, keep it as chosen, and write the note.

    ``choice`` is ``keyring``, ``passphrase``, the path of a key file (which is made if it is not there), or nothing:
    the keyring if there is one, else a passphrase. ``key`` is that of a store that keeps it and changes where it is.
    """
    if key is None and is_encrypted(store) and store.exists() and store.stat().st_size:
        raise PathConflict(f"{store} is encrypted already", hint="‹:migrate --rekey› changes how its key is kept.")
    _need_packages()
    chosen = choice or (KEYRING if _has_keyring() else PASSPHRASE)
    identity = secrets.token_hex(8)
    if chosen == KEYRING:
        key = key or secrets.token_bytes(KEY_BYTES)
        _keyring().set_password(_SERVICE, identity, key.hex())
        note = KeyNote(identity, KEYRING, check_of(key))
    elif chosen == PASSPHRASE:
        key = key or secrets.token_bytes(KEY_BYTES)
        how = Stretching(secrets.token_bytes(16))
        wrapped = sealed_with(_stretched(_passphrase(store, is_new=True), how), key)
        note = KeyNote(identity, PASSPHRASE, check_of(key), "", how, wrapped)
    else:
        place = Path(chosen).expanduser().absolute()
        key = _kept_in_file(place, key)
        note = KeyNote(identity, KEY_FILE, check_of(key), str(place))
    write_note(store, note)
    _found[str(store.absolute()), note.check] = key
    return key


def forget_key(store: Path) -> None:
    """Remove the note of a store that is plain now, and its key from the keyring; a key file is the user's."""
    with suppress(Error):
        note = read_note(store)
        if note.by == KEYRING:
            with suppress(_keyring_errors()):
                _keyring().delete_password(_SERVICE, note.id)
    note_path(store).unlink(missing_ok=True)
    look_again(store)


def way_of(store: Path) -> str:
    """How the key of an encrypted store is kept, in words."""
    return _where(read_note(store))


def _where(note: KeyNote) -> str:
    return {
        KEYRING: f"in the system's keyring, as '{_SERVICE}' {note.id}",
        PASSPHRASE: "made from a passphrase",
    }.get(note.by, f"in the file {note.file}")


def _look_up(store: Path, note: KeyNote, given: str) -> bytes:
    if given:
        held = _read_key_file(Path(given).expanduser(), store)
        if note.fits(held) or note.by == KEY_FILE:
            return held
    if note.by == KEY_FILE:
        return _read_key_file(Path(note.file), store)
    if note.by == KEYRING:
        return bytes.fromhex(_from_keyring(store, note))
    if note.stretching is None:
        return b""
    _need_packages()
    typed = _passphrase(store, is_new=False)
    key = opened_with(_stretched(typed, note.stretching), note.wrapped)
    if key is None:
        raise WrongKey(
            f"this is not the passphrase of the store {store}",
            hint="Try again; RICORDO_PASSPHRASE, if it is set, has another one. Without it the store cannot be read.",
        )
    return key


def _from_keyring(store: Path, note: KeyNote) -> str:
    if not _has_keyring():
        raise LockedStore(
            f"the key of the store {store} is in the system's keyring, which cannot be reached here",
            hint="Unlock it, or log in at the desktop. Where there is none, keep the key in a file:"
            " ‹:migrate --rekey --key FILE›, from where the keyring is.",
        )
    try:
        kept = _keyring().get_password(_SERVICE, note.id)
    except _keyring_errors() as problem:
        raise LockedStore(
            f"the system's keyring does not give the key of the store {store} ({problem})",
            hint="Unlock the keyring and try again.",
        ) from problem
    if not kept:
        raise LockedStore(
            f"the key of the store {store} is not in the system's keyring",
            hint=f"It was kept there as '{_SERVICE}' {note.id}. Bring it back from where the store was encrypted.",
        )
    return str(kept)


def _passphrase(store: Path, *, is_new: bool) -> str:
    typed = os.environ.get("RICORDO_PASSPHRASE", "")
    if not typed and _asking is not None:
        typed = _asking(f"Passphrase of {store}", is_new)
    if not typed:
        where = "--key FILE" if is_new else "‹:migrate --rekey --key keyring›"
        raise LockedStore(
            f"the store {store} needs {'a' if is_new else 'its'} passphrase, and nobody can be asked here",
            hint=f"Set RICORDO_PASSPHRASE, or keep the key where programs find it: {where}.",
        )
    if is_new and len(typed) < SHORTEST_PASSPHRASE:
        raise UsageError(
            f"the passphrase is shorter than {SHORTEST_PASSPHRASE} letters", hint="Use several words; length counts."
        )
    return typed


def _kept_in_file(place: Path, key: bytes | None) -> bytes:
    """The key in a file, which is made unless it is there."""
    if place.exists():
        held = _read_key_file(place, place)
        if key is not None and held != key:
            raise PathConflict(f"{place} holds another key", hint="Name a file that does not exist yet.")
        return held
    if not place.parent.is_dir():
        raise UsageError(f"there is no folder {place.parent}", hint=f"Make it first: mkdir -p {place.parent}")
    key = key or secrets.token_bytes(KEY_BYTES)
    replace_file(place, key.hex().encode() + b"\n")
    return key


def _read_key_file(place: Path, store: Path) -> bytes:
    try:
        if place.exists() and not place.is_file():
            raise ValueError
        with place.open("rb") as file:
            key = bytes.fromhex(file.read(1_000).decode("ascii").strip())
    except OSError as problem:
        raise LockedStore(
            f"the key of the store {store} is in {place}, which cannot be read: {problem.strerror}",
            hint="Mount or connect what holds the file, or name it with RICORDO_KEY_FILE.",
        ) from None
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise WrongKey(f"{place} holds no key", hint=f"A key file has {2 * KEY_BYTES} hexadecimal digits.")
    return key


def _need_packages() -> None:
    try:
        import cryptography  # noqa: F401 - only whether it is there
    except ImportError:
        raise MissingExtra(_EXTRA, _FOR) from None


def _stretched(typed: str, how: Stretching) -> bytes:
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

    maker = Argon2id(
        salt=how.salt, length=KEY_BYTES, iterations=how.passes, lanes=how.lanes, memory_cost=how.memory
    )  # fmt: skip
    return maker.derive(typed.encode("utf-8", "surrogatepass"))


def sealed_with(key: bytes, text: bytes, nonce: bytes | None = None) -> bytes:
    """A text that only the key opens. A ``nonce`` that is given must differ for each text."""
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    nonce = nonce or secrets.token_bytes(12)
    return nonce + ChaCha20Poly1305(key).encrypt(nonce, text, None)


def opened_with(key: bytes, sealed: bytes) -> bytes | None:
    """The text; None if it was sealed with another key, or is damaged."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    try:
        return ChaCha20Poly1305(key).decrypt(sealed[:12], sealed[12:], None)
    except (InvalidTag, ValueError):
        return None


def _keyring() -> Any:
    try:
        import keyring
    except ImportError:
        raise MissingExtra(_EXTRA, _FOR) from None
    return keyring


def _has_keyring() -> bool:
    """Whether the system has a keyring that can be reached from here."""
    try:
        return float(_keyring().get_keyring().priority) > 0
    except (Unavailable, RuntimeError):
        return False


def _keyring_errors() -> type[Exception]:
    from keyring.errors import KeyringError

    return KeyringError
