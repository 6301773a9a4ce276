"""Starts the copy of a day, after the answer and in a process of its own, so that nobody waits for it.

Every command asks whether a copy is due, which takes one look at a file. A store is copied on a day on which it is used
and that it was not made on, so that those which are thrown away the same day cost nothing.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from ricordo.plugins.backups import FOLDER, LOG

if TYPE_CHECKING:
    from ricordo.engine.context import EngineContext, OpenEngine

SPARE = 1_000_000_000
"""How many bytes a copy leaves free on the disk: a full disk harms more than an old copy."""


def copy_when_due(engine: OpenEngine, *, now_and_then: bool = False) -> None:
    """Start the copy of today, unless there was one, or the store is of today itself."""
    context, today = engine._context, time.localtime()[:3]
    folder = f"{context.location}{FOLDER}"
    # SQLite writes to its own log, and to the file only now and then.
    if _day_of(f"{folder}/{LOG}") == today or _day_of(context.location) in (None, today) or not context.is_open:
        return
    store = context.unsynced_store
    if store.is_file and not store.foreign and store.usage.can_record() and context.config.get("store.copies_mb"):
        _start(context, folder)


def _start(context: EngineContext, folder: str) -> None:
    import shutil
    import subprocess
    import sys
    from contextlib import suppress
    from pathlib import Path

    from ricordo.config.files import replace_file
    from ricordo.hosting.background import start_detached
    from ricordo.plugins.backups.copies import thin_out

    size, room = context.unsynced_store.size(), int(context.config.get("store.copies_mb") * 1e6)
    with suppress(OSError):  # where nothing can be written, status says that there is no copy
        os.makedirs(folder, 0o700, exist_ok=True)  # noqa: PTH103 - a command that copies nothing does without pathlib
        replace_file(Path(folder, ".gitignore"), b"*\n")  # neither git nor 'add' takes them in
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
        log = os.open(f"{folder}/{LOG}", flags, 0o600)
        try:
            os.utime(log)  # also where there was nothing to truncate
            thin_out(context.location, room - size)
            if size > room:
                why = f"the store has {size / 1e6:,.0f} MB, and store.copies_mb is {room / 1e6:,.0f}"
                os.write(log, why.encode())
            elif (free := shutil.disk_usage(folder).free) < size + SPARE:
                os.write(log, f"the disk has only {free / 1e6:,.0f} MB left".encode())
            else:
                target = f"{folder}/{time.strftime('%Y-%m-%d')}.db"
                ricordo = [sys.executable, "-P", "-m", "ricordo", "--store", context.location]
                start_detached([*ricordo, "backup", target], context.start, subprocess.DEVNULL, log)
        finally:
            os.close(log)


def _day_of(path: str) -> tuple[int, ...] | None:
    """The day on which a file was last written; None if there is none, as for a store on a server."""
    try:
        return time.localtime(os.stat(path).st_mtime)[:3]  # noqa: PTH116 - pathlib is slow
    except OSError:
        return None
