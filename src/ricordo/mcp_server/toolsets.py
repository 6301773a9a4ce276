"""Which tools there are: the core ones, and sets of more that are asked for by name."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from ricordo.errors import UsageError

if TYPE_CHECKING:
    from ricordo.mcp_server.tool import Tool

TOOLSETS = ("core", "memory", "context", "vault", "knowledge", "sessions", "tools", "verbs")
_MODULES = {"tools": "gateway"}
"""Where a set stands in a module of another name."""


def chosen(names: Sequence[str]) -> dict[str, Tool]:
    """The core tools and those of the sets, by name; a tool that two sets share is there once.

    The set ``tools`` comes without the core tools when it is asked for alone: a gateway is there to be small.
    """
    found: dict[str, Tool] = {}
    for name in names if set(names) == {"tools"} else ("core", *names):
        if name not in TOOLSETS:
            raise UsageError(f"there is no toolset '{name}'", hint=f"One of: {', '.join(TOOLSETS)}.")
        for tool in import_module(f"ricordo.mcp_server.{_MODULES.get(name, name)}_tools").TOOLS:
            found.setdefault(tool.name, tool)
    return found
