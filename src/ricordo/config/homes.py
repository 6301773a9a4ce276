"""Finds the folder for state without slow imports, because every hook and command looks there."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping


def state_folder(env: Mapping[str, str]) -> str:
    """The folder of logs and of what runs now (``RICORDO_STATE_HOME``, else the platform's)."""
    if given := env.get("RICORDO_STATE_HOME"):
        return os.path.expanduser(given)  # noqa: PTH111 - pathlib is what this module does without
    if "linux" in sys.platform:  # the same path as platformdirs gives; importing it would take longer than a hook may
        base = env.get("XDG_STATE_HOME", "").strip() or os.path.expanduser("~/.local/state")  # noqa: PTH111 - the same
        return os.path.join(base, "ricordo")  # noqa: PTH118 - the same
    import platformdirs

    return platformdirs.user_state_dir("ricordo", appauthor=False)
