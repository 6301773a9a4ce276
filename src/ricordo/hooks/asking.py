"""Asks a running server for a hook's answer. It imports as little as possible, because every prompt waits for it.

The server answers in milliseconds, because its store is open and its model is loaded. When there is no server, or it
does not answer in time, the hook does the work itself.
"""

from __future__ import annotations

import os

from ricordo._version import __version__
from ricordo.hosting.packing import packed
from ricordo.hosting.running import ask, read_running


def ask_server(event: str, content: bytes, *, store: str | None, tier: str | None, seconds: float) -> bytes | None:
    """The server's answer, a JSON object; None when no server runs, or when this one cannot answer for us."""
    running = read_running()
    if running is None or running.version != __version__:
        return None
    try:
        folder = os.getcwd()  # noqa: PTH109 - pathlib is slow to import
        if store and "://" not in store:
            store = os.path.abspath(store)  # noqa: PTH100 - the same
        body = packed((folder, store or "", tier or "", *own_variables()), content)
        status, answer = ask(running, f"/api/v1/hook/{event}", body, seconds)
    except (OSError, ValueError):
        return None
    return answer if status == 200 and answer.startswith(b"{") else None


def own_variables() -> list[str]:
    """The variables that settings may come from, with their values."""
    return [f"{name}={value}" for name, value in os.environ.items() if name.startswith("RICORDO_")]
