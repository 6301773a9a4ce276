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
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from ricordo.log import is_own_program, leave_out_texts
from ricordo.vault import END, is_encrypted, look_again, note_path

if TYPE_CHECKING:
    import apsw

CIPHER = "aegis"
"""AEGIS-256, which also notices changes; by far the cheapest of those that SQLite3 Multiple Ciphers has."""
KEYRING, PASSPHRASE, KEY_FILE = "keyring", "passphrase", "file"
_MOST_MEMORY, _MOST_PASSES, _MOST_LANES = 1_048_576, 20, 16
"""A note may come with somebody else's store: it must not make this machine work for hours."""
_FORMAT = "ricordo-key"
_VERSION = 1
KEY_BYTES = 32
SHORTEST_PASSPHRASE = 8
_SERVICE = "ricordo"
_EXTRA, _FOR = "encryption", "encrypted stores"
_IN_MEMORY = Path("/dev/shm")
_LEAST_ROOM = 256_000_000


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

    @property
    def place(self) -> str:
        """Where the key is, in words."""
        if self.by == KEYRING:
            return f"in the system's keyring, as '{_SERVICE}' {self.id}"
        return "made from a passphrase" if self.by == PASSPHRASE else f"in the file {self.file}"


def check_of(key: bytes) -> bytes:
    """What tells the right key from others and does not help to find it."""
    return hmac.new(key, b"ricordo: is this the key?", hashlib.sha256).digest()


def read_note(store: Path) -> KeyNote:
    """How the key of an encrypted store is found."""
    path = note_path(store)
    try:
        plain: Any = json.loads(read_bytes(path) or b"")
        if (plain["format"], plain["version"], plain["cipher"]) != (_FORMAT, _VERSION, CIPHER):
            raise ValueError
        stretching = None
        if (argon2id := plain.get("argon2id")) is not None:
            memory, passes, lanes = (int(argon2id[name]) for name in ("memory", "passes", "lanes"))
            if memory > _MOST_MEMORY or passes > _MOST_PASSES or lanes > _MOST_LANES:
                raise ValueError
            stretching = Stretching(bytes.fromhex(argon2id["salt"]), memory, passes, lanes)
        return KeyNote(
            id=str(plain["id"]),
            by=str(plain["by"]),
            check=bytes.fromhex(plain["check"]),
            file=str(plain.get("file", "")),
            stretching=stretching,
            wrapped=bytes.fromhex(plain.get("wrapped", "")),
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
        plain["argon2id"] = {**asdict(note.stretching), "salt": note.stretching.salt.hex()}
        plain["wrapped"] = note.wrapped.hex()
    write_json(note_path(store), plain)


class Keys:
    """The keys that this process found or made (``vault.Vault``)."""

    def __init__(self) -> None:
        self._keys: dict[tuple[str, bytes], bytes] = {}
        """By the place of the store and its key's check: stretching a passphrase takes a while."""

    def find_key(self, store: Path, key_file: str = "") -> bytes:
        """The key of an encrypted store. An error says why it cannot be had, or that it is wrong.

        ``key_file`` is where it is on this machine, if the note was written on another one.
        """
        note = read_note(store)
        name = str(store.absolute()), note.check
        if name not in self._keys:
            key = _read_key(store, note, key_file or os.environ.get("RICORDO_KEY_FILE", "").strip())
            if not note.fits(key):
                raise WrongKey(
                    f"the key that was found is not that of the store {store}",
                    hint=f"{note_path(store)} says that it is {note.place}. Put the right one there.",
                )
            self._keys[name] = key
        return self._keys[name]

    def make_key(self, store: Path, choice: str, *, key: bytes | None = None) -> bytes:
        """Make a key for a store that is new or still plain, keep it as chosen, and write the note.

        ``choice`` is ``keyring``, ``passphrase``, the path of a key file (which is made if it is not there), or
        nothing: the keyring if there is one, else a passphrase. ``key`` is that of a store that keeps it and changes
        where it is.
        """
        if key is None and is_encrypted(store) and store.exists() and store.stat().st_size:
            raise PathConflict(f"{store} is encrypted already", hint="‹:migrate --rekey› changes how its key is kept.")
        _need_packages()
        choice = choice or (KEYRING if _has_keyring() else PASSPHRASE)
        identity = secrets.token_hex(8)
        if choice == KEYRING:
            key = key or secrets.token_bytes(KEY_BYTES)
            _keep_in_keyring(identity, key)
            note = KeyNote(identity, KEYRING, check_of(key))
        elif choice == PASSPHRASE:
            key = key or secrets.token_bytes(KEY_BYTES)
            stretching = Stretching(secrets.token_bytes(16))
            wrapped = self.seal(_stretch(_passphrase(store, is_new=True), stretching), key)
            note = KeyNote(identity, PASSPHRASE, check_of(key), stretching=stretching, wrapped=wrapped)
        else:
            place = Path(choice).expanduser().absolute()
            key = _key_of_file(place, key)
            note = KeyNote(identity, KEY_FILE, check_of(key), str(place))
        write_note(store, note)
        self._keys[str(store.absolute()), note.check] = key
        return key

    @staticmethod
    def unlock(connection: apsw.Connection, key: bytes) -> None:
        """Give a connection the key, before anything is read. From then on, logs of this process hold no texts."""
        refuse_without_ciphers(connection)
        leave_out_texts()
        if is_own_program():  # a program that uses us as a library decides itself where its files go
            _keep_temporary_files_in_memory()
        connection.execute(f"PRAGMA cipher='{CIPHER}'").fetchall()
        connection.execute(f"PRAGMA key='raw:{key.hex()}'").fetchall()

    @staticmethod
    def seal(key: bytes, data: bytes, nonce: bytes | None = None) -> bytes:
        """A text that only the key opens. A ``nonce`` that is given must differ for each text."""
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

        nonce = nonce or secrets.token_bytes(12)
        return nonce + ChaCha20Poly1305(key).encrypt(nonce, data, None)

    @staticmethod
    def unseal(key: bytes, sealed: bytes) -> bytes | None:
        """The text; None if it was sealed with another key, or is damaged."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

        try:
            return ChaCha20Poly1305(key).decrypt(sealed[:12], sealed[12:], None)
        except (InvalidTag, ValueError):
            return None


def refuse_without_ciphers(connection: apsw.Connection) -> None:
    """SQLite without ciphers would take no notice of the key, and write plain text."""
    if not connection.execute("PRAGMA cipher").fetchall():
        raise Unavailable(
            "the installed package 'apsw' cannot encrypt",
            hint="Put the other one in its place: pip uninstall apsw; pip install --force-reinstall apsw-sqlite3mc",
        )


def _keep_temporary_files_in_memory() -> None:
    """From now on, temporary files of this process are written to no disk; where that is impossible, as before."""
    with suppress(OSError):
        has_room = _IN_MEMORY.is_dir() and os.access(_IN_MEMORY, os.W_OK)
        if has_room and shutil.disk_usage(_IN_MEMORY).free >= _LEAST_ROOM:
            tempfile.tempdir = str(_IN_MEMORY)


def forget_key(store: Path) -> None:
    """Remove the note of a store that is plain now, and its key from the keyring; a key file is the user's."""
    with suppress(Error):
        note = read_note(store)
        if note.by == KEYRING:
            with suppress(_keyring_errors()):
                _keyring().delete_password(_SERVICE, note.id)
    note_path(store).unlink(missing_ok=True)
    look_again(store)


def _read_key(store: Path, note: KeyNote, key_file: str) -> bytes:
    if key_file:
        key = _read_key_file(Path(key_file).expanduser(), store)
        if note.fits(key) or note.by == KEY_FILE:
            return key
    if note.by == KEY_FILE:
        return _read_key_file(Path(note.file), store)
    if note.by == KEYRING:
        return bytes.fromhex(_from_keyring(store, note))
    if note.stretching is None:
        return b""
    _need_packages()
    unwrapped = Keys.unseal(_stretch(_passphrase(store, is_new=False), note.stretching), note.wrapped)
    if unwrapped is None:
        raise WrongKey(
            f"this is not the passphrase of the store {store}",
            hint="Try again; RICORDO_PASSPHRASE, if it is set, has another one. Without it the store cannot be read.",
        )
    return unwrapped


def _from_keyring(store: Path, note: KeyNote) -> str:
    if not _has_keyring():
        raise LockedStore(
            f"the key of the store {store} is in the system's keyring, which cannot be reached here",
            hint="Unlock it, or log in at the desktop. Where there is none, keep the key in a file:"
            " ‹:migrate --rekey --key FILE›, from where the keyring is.",
        )
    try:
        key = _keyring().get_password(_SERVICE, note.id)
    except _keyring_errors() as problem:
        raise LockedStore(
            f"the system's keyring does not give the key of the store {store} ({problem})",
            hint="Unlock the keyring and try again.",
        ) from problem
    if not key:
        raise LockedStore(
            f"the key of the store {store} is not in the system's keyring",
            hint=f"It was kept there as '{_SERVICE}' {note.id}. Bring it back from where the store was encrypted.",
        )
    return str(key)


def _passphrase(store: Path, *, is_new: bool) -> str:
    """The passphrase, from the environment or from a person at the terminal of a program of ours."""
    from ricordo.cli.terminal import person_answers

    passphrase = os.environ.get("RICORDO_PASSPHRASE", "")
    if not passphrase and is_own_program() and person_answers():
        import click

        passphrase = str(click.prompt(f"Passphrase of {store}", hide_input=True, confirmation_prompt=is_new, err=True))
    if not passphrase:
        where = "--key FILE" if is_new else "‹:migrate --rekey --key keyring›"
        raise LockedStore(
            f"the store {store} needs {'a' if is_new else 'its'} passphrase, and nobody can be asked here",
            hint=f"Set RICORDO_PASSPHRASE, or keep the key where programs find it: {where}.",
        )
    if is_new and len(passphrase) < SHORTEST_PASSPHRASE:
        raise UsageError(
            f"the passphrase is shorter than {SHORTEST_PASSPHRASE} letters", hint="Use several words; length counts."
        )
    return passphrase


def _key_of_file(place: Path, key: bytes | None) -> bytes:
    """The key in a file, which is made unless it is there."""
    if place.exists():
        existing = _read_key_file(place, place)
        if key is not None and existing != key:
            raise PathConflict(f"{place} holds another key", hint="Name a file that does not exist yet.")
        return existing
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


def _stretch(passphrase: str, how: Stretching) -> bytes:
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

    maker = Argon2id(
        salt=how.salt, length=KEY_BYTES, iterations=how.passes, lanes=how.lanes, memory_cost=how.memory
    )  # fmt: skip
    return maker.derive(passphrase.encode("utf-8", "surrogatepass"))


def _keyring() -> Any:
    try:
        import keyring
    except ImportError:
        raise MissingExtra(_EXTRA, _FOR) from None
    return keyring


def _keep_in_keyring(identity: str, key: bytes) -> None:
    """Write a key into the system's keyring; a machine without a desktop often has none."""
    try:
        _keyring().set_password(_SERVICE, identity, key.hex())
    except _keyring_errors() as problem:
        reason = " ".join(str(problem).partition(".")[0].split())[:200]
        raise Unavailable(
            f"the system's keyring cannot be used here ({reason}); nothing was encrypted",
            hint="Keep the key in a file instead (‹key› FILE), or make it from a passphrase (‹key› passphrase).",
        ) from problem


def _has_keyring() -> bool:
    """Whether the system has a keyring that can be reached from here."""
    try:
        return float(_keyring().get_keyring().priority) > 0
    except (Unavailable, RuntimeError):
        return False


def _keyring_errors() -> type[Exception]:
    from keyring.errors import KeyringError

    return KeyringError
