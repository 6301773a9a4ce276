"""Asks a running server for a hook's answer. It imports as little as possible, because every prompt waits for it.

The server answers in milliseconds, because its store is open and its model is loaded. When there is no server, or it
does not answer in time, the hook does the work itself.
"""

from __future__ import annotations

import json
import os
from typing import Any

from ricordo.http_api.running import ask, read_running


def ask_server(
    event: str, content: bytes, *, store: str | None, tier: str | None, seconds: float
) -> dict[str, Any] | None:
    """The server's answer; None when no server runs, or when this one cannot answer for us."""
    running = read_running()
    if running is None:
        return None
    try:
        asked = {
            "payload": content.decode("utf-8", "replace"),
            "store": os.path.abspath(store) if store and "://" not in store else store,  # noqa: PTH100 - pathlib is slow
            "tier": tier,
            "folder": os.getcwd(),  # noqa: PTH109 - the same
            "env": {name: value for name, value in os.environ.items() if name.startswith("RICORDO_")},
        }
        status, body = ask(running, f"/api/v1/hook/{event}", json.dumps(asked).encode(), seconds)
        return dict(json.loads(body)["answer"]) if status == 200 else None
    except (OSError, ValueError, LookupError, TypeError):
        return None
