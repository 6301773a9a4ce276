"""Encrypts a store where it lies, decrypts it, or keeps its key elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

from ricordo import registry, told_log
from ricordo.config.files import state_home
from ricordo.config.loading import StoreLocation
from ricordo.engine.encrypted import hide_knowledge_files, make_encrypted, refuse_without_note
from ricordo.engine.opening import OpenEngine
from ricordo.errors import UsageError
from ricordo.keys.keys import find_key, forget_key, is_encrypted, is_plain, look_again, make_key, way_of


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
    _settle(path)
    _refuse_readable_folders(path)
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
    make_key(path, choice, key=key.key)
    return way_of(path)


def forget_what_was_noted(path: Path) -> None:
    """Remove what was written about a store in the folder for logs while it was plain: it quotes refs and texts."""
    home = state_home(os.environ)
    for pattern in ("last-searches.json", "ricordo.log*", "hooks.log*", "tool-calls*.jsonl", "tool-results/*.txt"):
        for file in home.glob(pattern):
            file.unlink(missing_ok=True)
    told_log.forget(str(path))


def _settle(path: Path) -> None:
    """Take in the edits of knowledge files, write what waits, and close: nobody may have the file open."""
    with OpenEngine.open(path, create=False) as engine:
        engine.store.usage.can_record()


def _refuse_readable_folders(path: Path) -> None:
    """Refuse to encrypt a store whose texts lie readable in a folder through which it syncs, or in knowledge files that
    could not be taken in: these would be left readable, or lost.
    """
    with OpenEngine.open(path, create=False) as engine:
        from ricordo.sync.state import sync_log

        log = sync_log(engine.store)
        folders = log.folders() if log is not None else []
        unread = [row for row in engine.store.knowledge.files().values() if row.problem]
    if unread:
        names = ", ".join(row.name for row in unread[:3]) + (", …" if len(unread) > 3 else "")
        raise UsageError(
            f"{len(unread):,} knowledge file{'s' if len(unread) > 1 else ''} could not be taken in: {names}",
            hint="‹:sync› says why. Mend the files, or remove them; then encrypt the store.",
        )
    if readable := [folder.path for folder in folders if not folder.key]:
        raise UsageError(
            f"the store syncs through {readable[0]}, where its texts are readable",
            hint=f"Encrypt that first: ‹:sync-folder add {readable[0]} --encrypt›; or end it: ‹:sync-folder rm"
            f" {readable[0]}›. After that, ‹:sync-folder add {readable[0]} --readable› brings a readable one back.",
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
