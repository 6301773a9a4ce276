"""Recovers the temporary files that a killed process left in a knowledge folder.

A file is replaced by exchanging it with a new one, and only then compared with what was expected. A process that is
killed in between leaves the replaced file under a temporary name. That file may hold what a person saved a moment
before, so it becomes a version of its item before it is removed, unless its text is in the history already.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ricordo.errors import Error
from ricordo.memory import knowledge_files
from ricordo.memory.file_exchange import place, read_regular, swap
from ricordo.memory.knowledge_folder import KnowledgeFolder, Leftover, claim
from ricordo.store.base import Store

ABANDONED_SECONDS = 3600
"""An older leftover is taken for abandoned, even if a process with the number in its name is running."""


def recover(store: Store, folder: KnowledgeFolder, take_in: Callable[[str], None]) -> list[str]:
    """Recover what killed processes left; ``take_in`` syncs one file. Returns the names of the files concerned."""
    concerned = []
    for left in sorted(folder.leftovers, key=lambda one: one.path.name):
        if is_abandoned(left):
            with suppress(OSError):  # another process may recover the same file
                mine = claim(left)
                _recover_one(store, folder, mine, left.name, take_in)
                concerned.append(left.name)
    return concerned


def is_abandoned(left: Leftover) -> bool:
    """Whether the process that made it is gone."""
    try:
        age = time.time() - left.path.lstat().st_ctime
    except OSError:
        return False
    if age > ABANDONED_SECONDS:
        return True
    if os.name != "posix" or left.pid == os.getpid():
        return False
    try:
        os.kill(left.pid, 0)  # signal 0 sends nothing; it only checks that the process exists
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _recover_one(store: Store, folder: KnowledgeFolder, mine: Path, name: str, take_in: Callable[[str], None]) -> None:
    target = folder.place(name)
    row = store.knowledge.files([name]).get(name)
    is_kept = _is_in_history(store, mine, name, None if row is None else row.item)
    if not os.path.lexists(target):
        if is_kept and row is None:
            mine.unlink()  # its item was removed, so the file is not needed
        else:
            place(mine, target)
            take_in(name)
        return
    if not is_kept:
        swap(mine, target)
        try:
            take_in(name)
        finally:
            swap(mine, target)
        take_in(name)
    mine.unlink()


def _is_in_history(store: Store, file: Path, name: str, n: int | None) -> bool:
    """Whether a version of the item has the text of the file."""
    try:
        says = knowledge_files.read(read_regular(file), name)
        if n is None and says.id:
            ref = store.items.ref_by_id(says.id)
            n = store.items.number(ref) if ref is not None else None
        if n is None:
            return False
        return any(
            store.items.get(n, version=version.number).content == says.text for version in store.items.history(n)
        )
    except (Error, OSError):
        return False  # a file that cannot be read is kept
