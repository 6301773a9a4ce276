"""The settings of Ricordo's own servers, and of other servers whose tools it calls. A part of ``settings``."""

from __future__ import annotations

from ricordo.config.rules import setting
from ricordo.frozen import frozen


@frozen
class McpSettings:
    """The server that agents call, ``ricordo mcp``."""

    seconds: float = setting(30.0, "How long one call may take.", minimum=0.1, maximum=3600)


@frozen
class ToolsSettings:
    """Tools of other MCP servers: which may be called, and within what bounds."""

    allow: tuple[str, ...] = setting(
        (),
        "Tools that may be called though they do not say that they only read: patterns such as git/* or time/convert_*."
        " Never taken from a project's file.",
        own=True,
    )
    seconds: float = setting(
        20.0, "How long a server may take to start, or to answer a call.", minimum=0.1, maximum=3600
    )
    max_chars: int = setting(
        6000,
        "Characters of a result that are shown; the rest is kept and can be read later.",
        minimum=40,
        maximum=1_000_000,
    )
    suggested: int = setting(3, "How many fitting tools context names at most; 0 names none.", minimum=0, maximum=100)


@frozen
class ServeSettings:
    """The server of the page and the API, ``ricordo serve``."""

    host: str = setting("127.0.0.1", "Where to listen; an address that others can reach needs a token.", sensitive=True)
    port: int = setting(8610, "The port; 0 takes a free one.", minimum=0, maximum=65535, sensitive=True)
    names: tuple[str, ...] = setting((), "Other host names under which the server may be reached.", sensitive=True)
    seconds: float = setting(
        30.0, "How long one call may take; longer work continues as a task.", minimum=0.1, maximum=3600
    )
    request_seconds: float = setting(
        20.0,
        "How long a request may take to arrive, beyond a second for each 64 KB.",
        minimum=0.1,
        maximum=3600,
    )
    max_body_mb: float = setting(64.0, "Larger requests are refused.", sensitive=True, minimum=0.01, maximum=10_000)
    watch: bool = setting(True, "Follow the folders that were added, and take in what changes.")
