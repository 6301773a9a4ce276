"""The names that agents' programs give to this program's own tools."""

from __future__ import annotations

import re

_OWN_TOOL = re.compile(r"(?:^|[_./:-])ricordo(?:_{1,2}|[./:-])[a-z]")


def is_own_tool(name: str) -> bool:
    """Whether a tool is one of this program's own, as agents' programs name them.

    ``mcp__ricordo__search`` (Claude Code), ``mcp__plugin_ricordo_ricordo__search`` (its plugin), ``ricordo__search``
    (Codex), ``mcp_ricordo_search`` (Gemini CLI), ``ricordo_search`` (opencode).
    """
    return _OWN_TOOL.search(name) is not None
