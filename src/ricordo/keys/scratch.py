"""Keeps temporary files of programs that have an encrypted store open in memory, where the system offers that."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

_IN_MEMORY = Path("/dev/shm")
_LEAST_ROOM = 256_000_000


def keep_temporary_files_in_memory() -> None:
    """From now on, temporary files of this process are written to no disk; where that is impossible, as before."""
    with suppress(OSError):
        has_room = _IN_MEMORY.is_dir() and os.access(_IN_MEMORY, os.W_OK)
        if has_room and shutil.disk_usage(_IN_MEMORY).free >= _LEAST_ROOM:
            tempfile.tempdir = str(_IN_MEMORY)
