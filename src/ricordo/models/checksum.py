"""Checks that a model file is the one that was published. A file is read in full once; the result is remembered.

Results are kept in a small JSON file in the user's cache folder, by the model file's path, size and time of change. If
that file is lost, the model is read once more (about 20 ms for the shipped one), so failing to write it is no error.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

from ricordo.errors import Unavailable

_HINT = "Reinstall ricordo (pip install --force-reinstall ricordo), or restore the file."


def verify(file: Path, sha256: str, cache: Path | None = None, *, hint: str = _HINT) -> None:
    """Raise ``Unavailable`` unless the file has that SHA-256. ``cache`` is the folder where results are kept."""
    try:
        state = file.stat()
        known = [state.st_size, state.st_mtime_ns, sha256]
        results = (cache or user_cache()) / "verified-models.json"
        verified = _read(results)
        if verified.get(str(file)) == known:
            return
        with file.open("rb") as content:
            found = hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise Unavailable(f"the model file {file} cannot be read: {error}", hint=hint) from error
    if found != sha256:
        raise Unavailable(f"the model file {file} is damaged: its SHA-256 is {found}, not {sha256}", hint=hint)
    _write(results, {**verified, str(file): known})


def user_cache() -> Path:
    """The folder for what can be made again."""
    from platformdirs import user_cache_path

    return user_cache_path("ricordo")


def _read(results: Path) -> dict[str, Any]:
    try:
        verified = json.loads(results.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return verified if isinstance(verified, dict) else {}


def _write(results: Path, verified: dict[str, Any]) -> None:
    from ricordo.config.files import replace_file

    with contextlib.suppress(Unavailable):
        replace_file(results, json.dumps(verified).encode())
