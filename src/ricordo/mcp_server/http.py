"""MCP as a part of the server over HTTP, and the token that the user's own programs show there.

The server checks host, origin, size and caller of every request before it comes here.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.hosting.credentials import SHORTEST_TOKEN
from ricordo.hosting.listening import allowed_hosts
from ricordo.mcp_server.service import LARGEST_ARGUMENTS, ToolService

if TYPE_CHECKING:
    from ricordo.hosting.threads import CallThreads
    from ricordo.mcp_server.sdk import McpOverHttp

ROOM_FOR_THE_ENVELOPE = 64 * 1024
TOKEN_FILE = "mcp-token"


def app_for(
    service: ToolService, threads: CallThreads, *, host: str = "127.0.0.1", names: Sequence[str] = ()
) -> McpOverHttp:
    """The ASGI application that answers MCP."""
    from ricordo.mcp_server.protocol import server_for
    from ricordo.mcp_server.sdk import McpOverHttp

    known = allowed_hosts(host, names)
    return McpOverHttp(
        server_for(service, threads),
        hosts=[*known, *(f"{name}:*" for name in known)],
        origins=[f"{scheme}://{name}{port}" for scheme in ("http", "https") for name in known for port in ("", ":*")],
        largest=LARGEST_ARGUMENTS + ROOM_FOR_THE_ENVELOPE,
    )


def own_token() -> tuple[str, Path]:
    """The token of this user, and the file it stands in; it is made when it is first needed.

    Every user of a machine can reach its loopback address, so a token is asked for there, too. A file that others could
    have read or written is not believed: it is written anew.
    """
    from ricordo.config.files import locked, replace_file, state_home

    file = state_home(os.environ) / TOKEN_FILE
    with locked(file):
        try:
            found = file.lstat()
            is_private = os.name != "posix" or (found.st_uid == os.getuid() and not found.st_mode & 0o077)
            token = file.read_text(encoding="ascii").strip() if is_private and stat.S_ISREG(found.st_mode) else ""
        except (OSError, ValueError):
            token = ""
        if len(token) < SHORTEST_TOKEN:
            token = secrets.token_urlsafe(32)
            file.unlink(missing_ok=True)
            replace_file(file, f"{token}\n".encode())
    return token, file
