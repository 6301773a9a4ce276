"""The user's folders, and the logs in one of them, without slow imports, because every hook and command looks there."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

TYPE_CHECKING = False  # type checkers take it for true; importing typing costs milliseconds that every prompt waits
if TYPE_CHECKING:
    from typing import BinaryIO

_ON_LINUX = {"state": "~/.local/state", "config": "~/.config", "data": "~/.local/share", "cache": "~/.cache"}


def state_folder(env: Mapping[str, str]) -> str:
    """The folder of logs and of what runs now (``RICORDO_STATE_HOME``, else the platform's)."""
    return user_folder("state", env)


def user_folder(kind: str, env: Mapping[str, str]) -> str:
    """The folder of a kind (``state``, ``config``, ``data``, ``cache``): the one that is set, else the platform's."""
    if folder := env.get(f"RICORDO_{kind.upper()}_HOME"):
        return os.path.expanduser(folder)  # noqa: PTH111 - pathlib is what this module does without
    if "linux" in sys.platform:  # the same path as platformdirs gives; importing it would take longer than a hook may
        base = env.get(f"XDG_{kind.upper()}_HOME", "").strip() or os.path.expanduser(_ON_LINUX[kind])  # noqa: PTH111
        return os.path.join(base, "ricordo")  # noqa: PTH118 - the same
    import platformdirs

    return str(getattr(platformdirs, f"user_{kind}_dir")("ricordo", appauthor=False))


def open_log(path: str, longest: int) -> BinaryIO:
    """A log of lines that only its owner can read, opened for appending. One that is too long is renamed first, to
    ``path.1``.
    """
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120 - the same
    try:
        if os.stat(path).st_size > longest:  # noqa: PTH116 - the same
            os.replace(path, f"{path}.1")  # noqa: PTH105 - the same
    except FileNotFoundError:
        pass
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")
