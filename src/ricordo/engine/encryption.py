"""Encrypts a store where it lies or a copy of it, decrypts it, keeps its key elsewhere, and says what lies readable.

Markdown files of memories are text that everybody can read, so an encrypted store has none, unless the setting
``knowledge.folder`` names a folder for them.
"""

from __future__ import annotations

import os
from pathlib import Path

from ricordo import registry, told_log
from ricordo.config.files import state_home
from ricordo.config.loading import ConfigProvider, StoreLocation
from ricordo.config.places import knowledge_place
from ricordo.engine.context import EngineContext, OpenEngine
from ricordo.errors import CorruptStore, UsageError
from ricordo.keys.keys import find_key, forget_key, is_encrypted, is_plain, look_again, make_key, note_path, way_of
from ricordo.keys.seal import holds_secrets
from ricordo.plugin import ask
from ricordo.store.base import Store
from ricordo.values.reports import Check


def make_encrypted(place: Path, choice: str) -> str:
    """Make a key for a store that does not exist yet, which is encrypted then; returns how the key is kept."""
    if place.exists() and place.stat().st_size:
        refuse_without_note(place)
        if is_encrypted(place):
            return way_of(place)
        raise UsageError(f"the store {place} exists and is not encrypted", hint="‹:migrate --encrypt› encrypts it.")
    make_key(place, choice)
    return way_of(place)


def refuse_without_note(place: Path) -> None:
    """Say of a store that nobody can read, and that has no note on its key, that the note may be missing."""
    if place.exists() and place.stat().st_size and not note_path(place).exists() and not is_plain(place):
        raise CorruptStore(
            f"the store {place} cannot be read: it is encrypted, or damaged",
            hint=f"If it is encrypted, its file {note_path(place).name} must lie beside it: bring that back.",
        )


def check_encryption(context: EngineContext, *, repair: bool) -> Check | None:
    """What ``doctor`` says about encryption; None if the store is not encrypted and was not meant to be."""
    location = context.located.location
    if location.address:
        return None
    if not holds_secrets(context.location):
        if not note_path(location.path).exists():
            return None
        return Check(
            "encryption", False, "the store is not encrypted, although there is a note on its key:"
            " 'ricordo migrate --encrypt' was cut short, or a plain copy was put in its place"
        )  # fmt: skip
    if left := hide_knowledge_files(context.unsynced_store, location, repair=repair):
        readable = f"{left:,} Markdown files of memories lie readable beside the encrypted store"
        return Check("encryption", False, readable, repaired=repair)
    text = f"the store is encrypted; its key is {way_of(location.path)}"
    if context.knowledge is not None:
        text += f". Its memories lie readable in {context.knowledge.folder.path}, because knowledge.folder names it"
    return Check("encryption", True, text)


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
    known = {name: row for name, row in files.items() if name in present and not row.problem}
    if repair:
        for name, row in known.items():
            try:
                with folder.changes(durable=True) as changes:
                    changes.take(name, row)
            except FileChanged:
                continue
        store.knowledge.note((), tuple(files))
    return len(known)


def refuse_silent_decryption(source: str, target: StoreLocation, *, encrypt: bool, decrypt: bool) -> None:
    """Refuse to copy an encrypted store to where everybody can read it, unless that is said."""
    if encrypt and target.address:
        raise UsageError("a store on a server cannot be encrypted here", hint="Leave out ‹encrypt›.")
    is_kept = encrypt or (not target.address and is_encrypted(target.path))
    if holds_secrets(source) and not is_kept and not decrypt:
        raise UsageError(
            f"the store {source} is encrypted, and its copy would not be",
            hint="‹encrypt› encrypts the copy, too; ‹decrypt› says that it is to be readable.",
        )


def encrypt_in_place(location: StoreLocation, choice: str) -> str:
    """Encrypt a store where it lies, and remove the Markdown files that say the same; returns how the key is kept."""
    path = _file_of(location)
    if not path.exists():
        return make_encrypted(path, choice)
    refuse_without_note(path)
    if is_encrypted(path):
        raise UsageError(
            f"the store {path} is encrypted already", hint="‹:migrate --rekey› changes how its key is kept."
        )
    _settle(path, refuse_readable=True)
    made = make_key(path, choice)
    try:
        registry.change_key(path, None, made)
    finally:
        if is_plain(path):  # it failed, and nothing was changed
            forget_key(path)
    look_again(path)
    forget_what_was_noted(path)
    with OpenEngine.open(path, create=False) as engine:
        hide_knowledge_files(engine.store, location, repair=True)
    return way_of(path)


def decrypt_in_place(location: StoreLocation) -> None:
    """Make an encrypted store readable for everybody who can read its file."""
    path = _file_of(location)
    _refuse_plain(path)
    _settle(path)
    registry.change_key(path, find_key(path), None)
    forget_key(path)


def keep_key_elsewhere(location: StoreLocation, choice: str) -> str:
    """Keep the key of an encrypted store in another way; the store itself is not rewritten."""
    path = _file_of(location)
    _refuse_plain(path)
    key = find_key(path)
    assert key is not None, "an encrypted store has a key, or finding it failed"
    make_key(path, choice, key=key)
    return way_of(path)


def forget_what_was_noted(path: Path) -> None:
    """Remove what was written about a store in the folder for logs while it was plain: it quotes refs and texts."""
    home = state_home(os.environ)
    for pattern in ("last-searches.json", "ricordo.log*", "hooks.log*", "tool-calls*", "tool-results/*.txt"):
        for file in home.glob(pattern):
            file.unlink(missing_ok=True)
    told_log.forget(str(path))


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
