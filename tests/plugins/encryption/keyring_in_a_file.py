"""A keyring for tests, which is a file: the library finds it by PYTHON_KEYRING_BACKEND."""

from __future__ import annotations

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend


class FileKeyring(KeyringBackend):
    """Keeps passwords in the file that TEST_KEYRING names."""

    priority = 5

    def _read(self) -> dict[str, str]:
        path = Path(os.environ["TEST_KEYRING"])
        return dict(json.loads(path.read_text())) if path.exists() else {}

    def _write(self, kept: dict[str, str]) -> None:
        Path(os.environ["TEST_KEYRING"]).write_text(json.dumps(kept))

    def get_password(self, service: str, username: str) -> str | None:
        return self._read().get(f"{service} {username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self._write({**self._read(), f"{service} {username}": password})

    def delete_password(self, service: str, username: str) -> None:
        kept = self._read()
        kept.pop(f"{service} {username}", None)
        self._write(kept)
