"""Asks whatever of ours is running for a hook's answer: the server, or an MCP server that an agent's program started.

They answer in milliseconds, because their store is open and their model is loaded. When there is none, or it does not
answer in time, the hook does the work itself. It imports as little as possible, because every prompt waits for it.
"""

from __future__ import annotations

import os

from ricordo._version import __version__
from ricordo.hosting.packing import packed
from ricordo.hosting.running import ask, forget_helper, read_helpers, read_running
from ricordo.hosting.surroundings import own_surroundings

TYPE_CHECKING = False  # type checkers take it for true; importing typing costs milliseconds that every prompt waits
if TYPE_CHECKING:
    from ricordo.hosting.running import RunningServer

PROGRAM_VARIABLES = (
    "CLAUDECODE", "CURSOR_AGENT", "CODEX_SANDBOX_NETWORK_DISABLED", "GEMINI_CLI", "QWEN_CODE", "CLINE_ACTIVE",
    "OPENCODE",
)  # fmt: skip
"""Variables by which a hook's program is known; whoever answers goes by the hook's, not by its own."""
SHARE_FOR_HELPERS = 0.5
"""How much of the time an MCP server gets: it may be busy with a call, and then the hook still does the work itself."""
HELPERS_ASKED = 2
"""How many MCP servers are asked before the hook does the work itself."""


def ask_server(event: str, content: bytes, *, store: str | None, tier: str | None, seconds: float) -> bytes | None:
    """The answer, a JSON object; None when nothing of ours runs, or when it cannot answer for us."""
    path = f"/api/v1/hook/{event}"
    running = read_running()
    if running is not None and running.version == __version__:
        return _asked(running, path, _body(content, store, tier), seconds)
    helpers = [one for one in read_helpers() if one.version == __version__]
    for one in helpers[:HELPERS_ASKED]:
        answer = _asked(one, path, _body(content, store, tier), seconds * SHARE_FOR_HELPERS / HELPERS_ASKED)
        if answer is not None:
            return answer
    return None


def _body(content: bytes, store: str | None, tier: str | None) -> bytes:
    folder = os.getcwd()  # noqa: PTH109 - pathlib is slow to import
    if store and "://" not in store:
        store = os.path.abspath(store)  # noqa: PTH100 - the same
    program = [f"{name}={os.environ[name]}" for name in PROGRAM_VARIABLES if name in os.environ]
    return packed((folder, store or "", tier or "", *own_surroundings(), *program), content)


def _asked(running: RunningServer, path: str, body: bytes, seconds: float) -> bytes | None:
    try:
        status, answer = ask(running, path, body, seconds)
    except ConnectionRefusedError:  # it ended without saying so
        forget_helper(running.pid)
        return None
    except (OSError, ValueError):
        return None
    return answer if status == 200 and answer.startswith(b"{") else None
