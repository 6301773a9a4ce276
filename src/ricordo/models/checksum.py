"""Is a model file the one that was published? Read in full once per installation, then remembered.

The memory is a small JSON file in the user's cache folder, keyed by path, size and time of change. Losing it costs one
more reading (about 20 ms for the shipped model), so that failing to write it is no error.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

from ricordo.errors import Unavailable


def verify(file: Path, sha256: str, cache: Path | None = None) -> None:
    """Raise ``Unavailable`` unless the file has that SHA-256. ``cache`` is the folder of the memory."""
    try:
        state = file.stat()
        known = [state.st_size, state.st_mtime_ns, sha256]
        memory = (cache or _user_cache()) / "verified-models.json"
        verified = _read(memory)
        if verified.get(str(file)) == known:
            return
        with file.open("rb") as content:
            found = hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise Unavailable(f"the model file {file} cannot be read: {error}", hint=_HINT) from error
    if found != sha256:
        raise Unavailable(f"the model file {file} is damaged: its SHA-256 is {found}, not {sha256}", hint=_HINT)
    _write(memory, {**verified, str(file): known})


_HINT = "Reinstall ricordo (pip install --force-reinstall ricordo), or restore the file."


def _user_cache() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("ricordo")


def _read(memory: Path) -> dict[str, Any]:
    try:
        verified = json.loads(memory.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return verified if isinstance(verified, dict) else {}


def _write(memory: Path, verified: dict[str, Any]) -> None:
    from ricordo.config.files import replace_file

    with contextlib.suppress(Unavailable):
        replace_file(memory, json.dumps(verified).encode())
