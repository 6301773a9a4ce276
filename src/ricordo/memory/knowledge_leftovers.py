"""Recovers the temporary files that a killed process left in a knowledge folder.

A file is replaced by exchanging it with a new one, and only then compared with what was expected. A process that is
killed in between leaves the replaced file under a temporary name. That file may hold what a person saved a moment
before, so it becomes a version of its item, below the current one, before it is removed, unless its text is in the
history already.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial

from ricordo.errors import Conflict, Error
from ricordo.memory import knowledge_files
from ricordo.memory.file_exchange import place, read_regular
from ricordo.memory.knowledge_folder import FileChanged, KnowledgeFolder, Leftover, claim
from ricordo.memory.knowledge_sync import Sync
from ricordo.nofollow import LinkedFolder, Spot
from ricordo.store.base import Store

_ATTEMPTS = 5
ABANDONED_SECONDS = 3600
"""An older leftover is taken for abandoned, even if a process with the number in its name is running."""


def recover(store: Store, folder: KnowledgeFolder, sync: Sync) -> list[str]:
    """Recover what killed processes left. Returns the names of the files concerned."""
    concerned = []
    for left in sorted(folder.leftovers, key=lambda one: one.spot.base):
        if is_abandoned(left):
            with suppress(OSError, LinkedFolder):  # another process may recover the same file
                _recover_one(store, folder, claim(left), left.name, sync)
                concerned.append(left.name)
    return concerned


def is_abandoned(left: Leftover) -> bool:
    """Whether the process that made it is gone."""
    try:
        age = time.time() - left.spot.lstat().st_ctime
    except (OSError, LinkedFolder):
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


def _recover_one(store: Store, folder: KnowledgeFolder, mine: Spot, name: str, sync: Sync) -> None:
    target = folder.spot(name)
    row = store.knowledge.files([name]).get(name)
    is_kept = _is_in_history(store, mine, name, None if row is None else row.item)
    if target.is_taken():
        if is_kept or _keep(sync, name, read_regular(mine)):
            mine.unlink()
    elif is_kept and row is None:
        mine.unlink()  # its item was removed, so the file is not needed
    else:
        place(mine, target)
        sync.take_in(name)


def _keep(sync: Sync, name: str, data: bytes) -> bool:
    """Make what a file held before a version of its item, below the current one; returns whether that was done."""
    for _ in range(_ATTEMPTS):
        sync.take_in(name)
        row = sync.store.knowledge.files([name]).get(name)
        read = sync.read(name, row) if row is not None and row.item is not None else None
        if row is None or row.item is None or read is None:
            return False
        try:
            now = sync.found(name, read, row)
            before = sync.found(name, replace(read, data=data), row)
            item = sync.store.items.get(row.item)
            with sync.store.transaction(durable=True, mirrored=False):
                if not sync.folder.holds(name, read):
                    raise FileChanged(name)
                put = partial(sync.store.changes.rewrite, row.item, durable=True, backlog=sync.backlog)
                put(sync.prepared(replace(before, says=replace(before.says, ref=now.says.ref))), base=item.version)
                put(sync.prepared(now), base=item.version + 1)
                if now.says.archived:
                    sync.store.changes.archive([row.item])
        except (FileChanged, Conflict):
            continue
        return True
    return False


def _is_in_history(store: Store, file: Spot, name: str, n: int | None) -> bool:
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
