"""The log of hooks: why one had no answer, without any text of the user's."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from ricordo.config.files import state_home
from ricordo.log import leaves_out_texts

LOG_NAME = "hooks.log"
LOG_BYTES = 200_000
"""A longer log is renamed to ``hooks.log.1``, in place of an older one."""
_LONGEST_REASON = 500


def log(event: str, reason: str) -> None:
    """Log why a hook had no answer, without any text of the user's. A log that cannot be written is no failure."""
    if leaves_out_texts():  # an error may quote what is in the store
        reason = f"{reason.partition(':')[0].split(' ')[0]} (texts are left out: the store is encrypted)"
    line = " ".join(f"{event or '(no event)'}: {reason}".split())[:_LONGEST_REASON]
    with suppress(OSError), open_log() as file:
        file.write(f"{datetime.now().astimezone().isoformat(timespec='seconds')} {line}\n".encode("utf-8", "replace"))


def log_path() -> Path:
    """Where the log is, whether or not there is one yet."""
    return state_home(os.environ) / LOG_NAME


def open_log() -> Any:
    """The log, opened for appending; it is renamed first if it is too long."""
    path = log_path()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(FileNotFoundError):
        if path.stat().st_size > LOG_BYTES:
            path.replace(path.with_name(LOG_NAME + ".1"))
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")
