"""Which version of the MCP SDK is installed: the clients of 1.x and 2.x are called differently."""

from __future__ import annotations


def is_second() -> bool:
    """Whether the SDK is 2.x, which has other names for some things than 1.x."""
    from mcp.shared import exceptions

    return hasattr(exceptions, "MCPError")
