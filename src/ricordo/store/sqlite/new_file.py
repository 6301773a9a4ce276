"""Makes the file of a new store, which only its owner can read."""

from __future__ import annotations

import os
from pathlib import Path

from ricordo.errors import StoreError


def prepare_file(path: Path, create: bool) -> None:
    """Make the file and its folder unless it is there; an error says what stands in the way."""
    if path.is_dir():
        raise StoreError(f"{path} is a folder, not a store", hint=f"Did you mean {path / 'ricordo.db'}?")
    if path.exists():
        return
    if not create:
        raise StoreError(f"there is no store at {path}", hint="Run ‹:init› or add something first.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreError(
            f"cannot make a store at {path}: {error.strerror}", hint="Name a place you can write to with ‹store›."
        ) from error
