"""The folder for state, and the logs in it, without slow imports, because every hook and command looks there."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

TYPE_CHECKING = False  # type checkers take it for true; importing typing costs milliseconds that every prompt waits
if TYPE_CHECKING:
    from typing import BinaryIO


def state_folder(env: Mapping[str, str]) -> str:
    """The folder of logs and of what runs now (``RICORDO_STATE_HOME``, else the platform's)."""
    if given := env.get("RICORDO_STATE_HOME"):
        return os.path.expanduser(given)  # noqa: PTH111 - pathlib is what this module does without
    if "linux" in sys.platform:  # the same path as platformdirs gives; importing it would take longer than a hook may
        base = env.get("XDG_STATE_HOME", "").strip() or os.path.expanduser("~/.local/state")  # noqa: PTH111 - the same
        return os.path.join(base, "ricordo")  # noqa: PTH118 - the same
    import platformdirs

    return platformdirs.user_state_dir("ricordo", appauthor=False)


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
