"""When it was last looked what should be tidied in a store, and how much was found: a small file of the user."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from ricordo.config.files import locked, read_bytes, replace_file, state_home
from ricordo.errors import Error

FILE_NAME = "tidy.json"
DAY = 86_400.0
MOST_STORES = 200


def note_look(location: str, found: int) -> None:
    """Write down how much a look found; if that cannot be written, the next look does."""
    with suppress(Error, OSError), locked(_file(), 0.5):
        known = {**_read(), location: {"at": time.time(), "found": found}}
        latest = sorted(known.items(), key=lambda one: one[1]["at"])[-MOST_STORES:]
        replace_file(_file(), json.dumps(dict(latest), indent=1).encode())


def found_last(location: str) -> int | None:
    """How much the last look found; None if nobody looked yet."""
    known = _read().get(location)
    return known["found"] if known is not None else None


def is_due(location: str) -> bool:
    """Whether the last look is a day ago."""
    known = _read().get(location)
    return known is None or time.time() - known["at"] >= DAY


def _file() -> Path:
    return state_home(os.environ) / FILE_NAME


def _read() -> dict[str, dict[str, Any]]:
    try:
        found: Any = json.loads(read_bytes(_file()) or b"{}")
        return {str(name): {"at": float(one["at"]), "found": int(one["found"])} for name, one in found.items()}
    except (ValueError, AttributeError, TypeError, KeyError, Error):
        return {}
