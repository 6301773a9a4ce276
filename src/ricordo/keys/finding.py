"""Finds the key of an encrypted store, and makes new ones: in the system's keyring, in a file, or by a passphrase.

``RICORDO_KEY_FILE`` names a key file, wherever the key was kept before, and ``RICORDO_PASSPHRASE`` has the passphrase,
which is asked for at a terminal.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ricordo.config.files import replace_file
from ricordo.errors import Error, LockedStore, MissingExtra, PathConflict, Unavailable, UsageError, WrongKey
from ricordo.frozen import frozen
from ricordo.keys.note import (
    KEY_FILE,
    KEYRING,
    PASSPHRASE,
    KeyNote,
    Stretching,
    check_of,
    is_encrypted,
    look_again,
    note_path,
    read_note,
    write_note,
)

KEY_BYTES = 32
SHORTEST_PASSPHRASE = 8
_SERVICE = "ricordo"
_EXTRA, _FOR = "encryption", "encrypted stores"

Ask = Callable[[str, bool], str]
"""Asks the person at the terminal for a passphrase: what for, and whether it is a new one, which is asked twice."""

_asking: Ask | None = None
_found: dict[tuple[str, bytes], bytes] = {}
"""The keys that this process found, by the place of the store and its key's check: stretching takes a while."""


@frozen
class StoreKey:
    """The key of a store, and the cipher it is for."""

    key: bytes
    cipher: str


def ask_with(ask: Ask | None) -> None:
    """Say how a person can be asked for a passphrase; without that, nobody is."""
    global _asking
    _asking = ask


def find_key(store: Path, key_file: str = "") -> StoreKey | None:
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
    return StoreKey(_found[name], note.cipher)


def make_key(store: Path, choice: str, *, key: bytes | None = None) -> StoreKey:
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
    return StoreKey(key, note.cipher)


def forget_key(store: Path) -> None:
    """Remove the note of a store that is plain now, and its key from the keyring; a key file is the user's."""
    with suppress(Error):
        note = read_note(store)
        if note.by == KEYRING:
            _forget_in_keyring(note.id)
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
        kept = _from_keyring(store, note)
        return bytes.fromhex(kept)
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


def _forget_in_keyring(identity: str) -> None:
    with suppress(_keyring_errors()):
        _keyring().delete_password(_SERVICE, identity)
