"""Encrypts a store where it lies or a copy of it, decrypts it, keeps its key elsewhere, and says what lies readable.

Markdown files of memories are text that everybody can read, so an encrypted store has none, unless the setting
``knowledge.folder`` names a folder for them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo import told_log
from ricordo.config.files import state_home
from ricordo.config.loading import ConfigProvider, StoreLocation, locate_store
from ricordo.config.places import knowledge_place
from ricordo.engine.context import EngineContext, OpenEngine
from ricordo.errors import CorruptStore, Unavailable, UsageError
from ricordo.plugin import ask
from ricordo.plugins.encryption.keys import CIPHER, forget_key, read_note, refuse_without_ciphers
from ricordo.store.base import Store
from ricordo.values.reports import Check
from ricordo.vault import Vault, is_encrypted, is_plain, look_again, note_path, vault

if TYPE_CHECKING:
    import apsw

_BUSY_MS = 5_000
"""How long to wait for others who have the file of a store open."""


def make_encrypted(place: Path, choice: str) -> str:
    """Make a key for a store that does not exist yet, which is encrypted then; returns how the key is kept."""
    if place.exists() and place.stat().st_size:
        refuse_without_note(place)
        if is_encrypted(place):
            return read_note(place).place
        raise UsageError(f"the store {place} exists and is not encrypted", hint="‹:migrate --encrypt› encrypts it.")
    _keys_of(place).make_key(place, choice)
    return read_note(place).place


def refuse_without_note(place: Path) -> None:
    """Say of a store that nobody can read, and that has no note on its key, that the note may be missing."""
    if place.exists() and place.stat().st_size and not note_path(place).exists() and not is_plain(place):
        raise CorruptStore(
            f"the store {place} cannot be read: it is encrypted, or damaged",
            hint=f"If it is encrypted, its file {note_path(place).name} must lie beside it: bring that back.",
        )


def check_encryption(context: EngineContext, repair: bool) -> Check | None:
    """What ``doctor`` says about encryption; None if the store is not encrypted and was not meant to be."""
    location = context.located.location
    if location.address:
        return None
    if not is_encrypted(context.location):
        if not note_path(location.path).exists():
            return None
        return Check(
            "encryption", False, "the store is not encrypted, although there is a note on its key:"
            " 'ricordo migrate --encrypt' was cut short, or a plain copy was put in its place"
        )  # fmt: skip
    if (copy := copy_of(location.path)).exists():
        if repair:
            copy.unlink()
        said = "'ricordo migrate --decrypt' was cut short, and left a copy that may be readable"
        return Check("encryption", False, f"{said}: {copy}", repaired=repair)
    if left := hide_knowledge_files(context.unsynced_store, location, repair=repair):
        readable = f"{left:,} Markdown files of memories lie readable beside the encrypted store"
        return Check("encryption", False, readable, repaired=repair)
    text = f"the store is encrypted; its key is {read_note(location.path).place}"
    if context.knowledge is not None:
        text += f". Its memories lie readable in {context.knowledge.folder.path}, because knowledge.folder names it"
    return Check("encryption", True, text)


def add_to_status(context: EngineContext, status: dict[str, Any]) -> None:
    """Say in the status of a store that it is encrypted, and how its key is kept."""
    if is_encrypted(context.location):
        status["encrypted"] = read_note(Path(context.location)).place


def hide_knowledge_files(store: Store, location: StoreLocation, *, repair: bool) -> int:
    """How many Markdown files of an encrypted store lie readable, which no setting asks for; ``repair`` removes them.

    A file that somebody changed since is left; it is taken in when the store is plain again.
    """
    from ricordo.memory.files.folder import FileChanged, KnowledgeFolder

    config = ConfigProvider()()
    place = knowledge_place(location, config)
    if place is None or config.knowledge.folder is not None:
        return 0
    folder = KnowledgeFolder(place)
    present = folder.scan()
    files = store.knowledge.files()
    # What could not be read is not in the store, so that the file is all there is of it.
    readable = {name: row for name, row in files.items() if name in present and not row.problem}
    if repair:
        for name, row in readable.items():
            try:
                with folder.changes(durable=True) as changes:
                    changes.take(name, row)
            except FileChanged:
                continue
        store.knowledge.note((), tuple(files))
    return len(readable)


def prepare_new_store(store: str, start: Path, options: Mapping[str, Any]) -> str:
    """Make the key of a store that ``init`` is about to make, if it is to be encrypted; what is said of it then."""
    key = options.get("key", "")
    if not options.get("encrypt"):
        if key:
            raise UsageError("‹key› says how a new store is encrypted", hint="Give ‹encrypt›, too, or leave out ‹key›.")
        return ""
    make_encrypted(locate_store(store, ConfigProvider()(), start).path, key)
    return "encrypted"


def prepare_copy(source: str, target: StoreLocation, *, encrypt: bool, decrypt: bool, key: str) -> None:
    """Make the key of a copy that is to be encrypted; refuse to copy an encrypted store to where everybody can read it,
    unless that is said.
    """
    if encrypt and target.address:
        raise UsageError("a store on a server cannot be encrypted here", hint="Leave out ‹encrypt›.")
    if is_encrypted(source) and not (encrypt or decrypt or (not target.address and is_encrypted(target.path))):
        raise UsageError(
            f"the store {source} is encrypted, and its copy would not be",
            hint="‹encrypt› encrypts the copy, too; ‹decrypt› says that it is to be readable.",
        )
    if encrypt:
        make_encrypted(target.path, key)


def encrypt_in_place(location: StoreLocation, choice: str) -> str:
    """Encrypt a store where it lies, and remove the Markdown files that say the same; returns how the key is kept."""
    path = _file_of(location)
    if not path.exists():
        return make_encrypted(path, choice)
    refuse_without_note(path)
    if is_encrypted(path):
        if _hide_the_rest(path, location):  # an attempt was cut short
            return read_note(path).place
        raise UsageError(
            f"the store {path} is encrypted already", hint="‹:migrate --rekey› changes how its key is kept."
        )
    note_path(path).unlink(missing_ok=True)  # of an attempt that was cut short: its key encrypts nothing
    _settle(path, refuse_readable=True)
    key = _keys_of(path).make_key(path, choice)
    try:
        _change_key(path, None, key)
    finally:
        if is_plain(path):  # it failed, and nothing was changed
            forget_key(path)
    look_again(path)
    _hide_the_rest(path, location)
    return read_note(path).place


def _hide_the_rest(path: Path, location: StoreLocation) -> int:
    """Remove what lies readable beside a store that is encrypted now; returns how many knowledge files that were."""
    copy_of(path).unlink(missing_ok=True)
    forget_what_was_noted(path)
    with OpenEngine.open(path, create=False) as engine:
        return hide_knowledge_files(engine.store, location, repair=True)


def decrypt_in_place(location: StoreLocation) -> None:
    """Make an encrypted store readable for everybody who can read its file."""
    path = _file_of(location)
    if note_path(path).exists() and is_plain(path):  # an attempt was cut short
        forget_key(path)
        return
    _refuse_plain(path)
    _settle(path)
    _change_key(path, _keys_of(path).find_key(path), None)
    forget_key(path)


def keep_key_elsewhere(location: StoreLocation, choice: str) -> str:
    """Keep the key of an encrypted store in another way; the store itself is not rewritten."""
    path = _file_of(location)
    _refuse_plain(path)
    key = _keys_of(path).find_key(path)
    _keys_of(path).make_key(path, choice, key=key)
    return read_note(path).place


def forget_what_was_noted(path: Path) -> None:
    """Remove what was written about a store in the folder for logs while it was plain: it quotes refs and texts."""
    home = state_home(os.environ)
    for pattern in ("last-searches.json", "ricordo.log*", "hooks.log*", "tool-calls*", "tool-results/*.txt"):
        for file in home.glob(pattern):
            file.unlink(missing_ok=True)
    told_log.forget(str(path))


def _keys_of(path: Path) -> Vault:
    return vault(f"the store {path}")


def _change_key(path: Path, before: bytes | None, after: bytes | None) -> None:
    """Encrypt a plain file, or decrypt one; nobody else may have it open.

    It is done to a copy that takes the file's place when it is whole, so that whoever is killed meanwhile leaves the
    file as it was.
    """
    import apsw  # slow, and a store on a server does without it

    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        if before is not None:
            _keys_of(path).unlock(connection, before)
        connection.set_busy_timeout(_BUSY_MS)
        try:
            connection.pragma("journal_mode", "delete")  # fails while anybody else has the file open
            connection.pragma("locking_mode", "exclusive")
            connection.execute("BEGIN EXCLUSIVE; COMMIT").fetchall()  # the lock stays until the connection is closed
        except apsw.BusyError:
            raise Unavailable(
                f"another process uses the store {path}",
                hint="End servers and agents that use it (‹:serve stop›), and try again.",
            ) from None
        with ExitStack() as undo:
            undo.callback(copy_of(path).unlink, missing_ok=True)
            _copy_with_key(path, connection, before, after)
            undo.pop_all()
    finally:
        connection.close()
    copy_of(path).replace(path)


def copy_of(path: Path) -> Path:
    """Where the copy of a store is, while it is encrypted or decrypted."""
    return path.with_name(f"{path.name}.partial")


def _copy_with_key(path: Path, source: apsw.Connection, before: bytes | None, after: bytes | None) -> None:
    """Copy a store, and give the copy another key. One that is not finished is thrown away, so it needs no journal."""
    import apsw

    place = copy_of(path)
    place.unlink(missing_ok=True)
    os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    copy = apsw.Connection(str(place), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        if before is not None:
            _keys_of(path).unlock(copy, before)
        copy.pragma("journal_mode", "off")
        copy.pragma("synchronous", "FULL")
        copy.pragma("temp_store", "MEMORY")
        with copy.backup("main", source, "main") as backup:
            backup.step()
        if after is None:
            copy.execute("PRAGMA rekey=''").fetchall()
        else:
            refuse_without_ciphers(copy)
            copy.execute(f"PRAGMA cipher='{CIPHER}'").fetchall()
            copy.execute(f"PRAGMA rekey='raw:{after.hex()}'").fetchall()
        copy.pragma("journal_mode", "wal")
    finally:
        copy.close()


def _settle(path: Path, *, refuse_readable: bool = False) -> None:
    """Take in the edits of knowledge files, write what waits, and close: nobody may have the file open.

    With ``refuse_readable``, a store is refused whose texts lie readable elsewhere, as a plugin may know, or in
    knowledge files that could not be taken in: these would be left readable, or lost.
    """
    with OpenEngine.open(path, create=False) as engine:
        engine.store.usage.can_record()
        if not refuse_readable:
            return
        ask("before_encryption", engine.store)
        unread = [row for row in engine.store.knowledge.files().values() if row.problem]
    if unread:
        names = ", ".join(row.name for row in unread[:3]) + (", …" if len(unread) > 3 else "")
        raise UsageError(
            f"{len(unread):,} knowledge file{'s' if len(unread) > 1 else ''} could not be taken in: {names}",
            hint="‹:sync› says why. Mend the files, or remove them; then encrypt the store.",
        )


def _file_of(location: StoreLocation) -> Path:
    if location.address:
        raise UsageError(
            "a store on a PostgreSQL server is encrypted by that server", hint="See its manual; here it is not done."
        )
    return location.path


def _refuse_plain(path: Path) -> None:
    if not path.exists():
        raise UsageError(f"there is no store at {path}", hint="Name another with ‹store›.")
    refuse_without_note(path)
    if not is_encrypted(path):
        raise UsageError(f"the store {path} is not encrypted", hint="‹:migrate --encrypt› encrypts it.")
