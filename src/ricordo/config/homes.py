"""Finds the folder for state without slow imports, because every hook and command looks there."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

MCP_FOLDER = "mcp"
"""In the folder for state: what MCP servers answered first, and the last list of resources in each folder."""
PAGE = "page-"
"""How the names of those lists begin."""


def state_folder(env: Mapping[str, str]) -> str:
    """The folder of logs and of what runs now (``RICORDO_STATE_HOME``, else the platform's)."""
    if given := env.get("RICORDO_STATE_HOME"):
        return os.path.expanduser(given)  # noqa: PTH111 - pathlib is what this module does without
    if "linux" in sys.platform:  # the same path as platformdirs gives; importing it would take longer than a hook may
        base = env.get("XDG_STATE_HOME", "").strip() or os.path.expanduser("~/.local/state")  # noqa: PTH111 - the same
        return os.path.join(base, "ricordo")  # noqa: PTH118 - the same
    import platformdirs

    return platformdirs.user_state_dir("ricordo", appauthor=False)


def forget_listed_titles(env: Mapping[str, str]) -> None:
    """Remove the lists of resources that MCP servers kept: something was erased, and its title may be in them."""
    folder = os.path.join(state_folder(env), MCP_FOLDER)  # noqa: PTH118 - pathlib is what this module does without
    try:
        for name in os.listdir(folder):  # noqa: PTH208 - the same
            if name.startswith(PAGE):
                os.unlink(os.path.join(folder, name))  # noqa: PTH108, PTH118 - the same
    except OSError:
        return  # there are none, or another process was faster
