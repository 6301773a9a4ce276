"""The names that agents' programs give to this program's own tools."""

from __future__ import annotations

import re
from collections.abc import Mapping

_OWN_TOOL = re.compile(r"(?:^|[_./:-])ricordo(?:_{1,2}|[./:-])[a-z]")

_READS_RESOURCES = frozenset({"ReadMcpResourceTool", "read_mcp_resource"})
"""Tools of Claude Code and Codex that read a resource of the MCP server that the call names."""


def called_name(name: str, given: object, namespace: object = None) -> str:
    """The name of a tool with the server that a call names beside it, so that calls of one server are known by it.

    Codex writes ``search`` and, beside it, the namespace ``mcp__ricordo``; one tool reads the resources of all servers.
    """
    if isinstance(namespace, str) and namespace:
        return f"{namespace}__{name}"
    if name in _READS_RESOURCES and isinstance(given, Mapping):
        server, address = str(given.get("server") or ""), str(given.get("uri") or "")
        if server or address.startswith("ricordo:"):
            return f"{server or 'ricordo'}__{name[0].lower()}{name[1:]}"
    return name


def is_own_tool(name: str) -> bool:
    """Whether a tool is one of this program's own, as agents' programs name them.

    ``mcp__ricordo__search`` (Claude Code), ``mcp__plugin_ricordo_ricordo__search`` (its plugin), ``ricordo__search``
    (Codex), ``mcp_ricordo_search`` (Gemini CLI), ``ricordo_search`` (opencode).
    """
    return _OWN_TOOL.search(name) is not None
