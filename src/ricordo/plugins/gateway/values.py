"""Tools of other MCP servers: what is known about a tool, the result of a call, and reports about servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ricordo.frozen import frozen
from ricordo.values.hits import Filters
from ricordo.values.plain import LEFT_OUT_WHEN_EMPTY, Plain

TOOLS = Filters(kinds=("tool",))
"""The items that stand for tools."""


@frozen
class ToolEntry(Plain):
    """A tool, resource or prompt of a server, as it is listed."""

    name: str
    """``SERVER/NAME``: what describe and call take."""
    server: str
    title: str
    description: str
    ref: str
    what: str = "tool"
    """tool, resource or prompt."""
    callable: bool = False
    why_not: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """Why it cannot be called, if it cannot."""
    schema: Mapping[str, Any] = field(default_factory=dict, metadata=LEFT_OUT_WHEN_EMPTY)
    hints: Mapping[str, bool] = field(default_factory=dict, metadata=LEFT_OUT_WHEN_EMPTY)
    score: float | None = field(default=None, metadata=LEFT_OUT_WHEN_EMPTY)


@frozen
class ToolResult(Plain):
    """The result of a call. ``text`` is at most as long as was asked for; the whole is kept under ``id``."""

    name: str
    text: str
    failed: bool = False
    id: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    chars: int = 0
    """How long the whole is."""
    next_char: int | None = field(default=None, metadata=LEFT_OUT_WHEN_EMPTY)
    """Where to read on, if this is not the end."""
    mime_type: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    ms: float = 0.0
    blocks: tuple[Mapping[str, Any], ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)
    """Images, sounds, links and files of the answer, in the form of MCP."""

    @property
    def failure(self) -> tuple[str, str, str] | None:
        """The code, message and hint of what a command says if the call failed."""
        from ricordo.cli.terminal import one_line

        return ("tool_failed", one_line(self.text)[:300], "The tool's server says so.") if self.failed else None


@frozen
class ServerFound(Plain):
    """A server that one of the user's programs knows; ``starts`` is what adding it would run or reach."""

    name: str
    program: str
    path: str
    starts: str
    known: bool = False
    """Whether the user allowed it before, exactly as it is now."""
    from_project: bool = False
    """Whether it is in a project's file, which somebody else may have written."""


@frozen
class ServerReport(Plain):
    """What became of one server's tools: counts, and what was left out of them and why."""

    server: str
    status: str
    """listed, unavailable or removed."""
    tools: int = 0
    resources: int = 0
    prompts: int = 0
    created: int = 0
    updated: int = 0
    removed: int = 0
    problem: str = ""
    notes: tuple[str, ...] = ()


@frozen
class ToolsReport(Plain):
    """What became of each server."""

    servers: tuple[ServerReport, ...]
    notes: tuple[str, ...] = ()

    @property
    def failed(self) -> int:
        return sum(1 for server in self.servers if server.status == "unavailable")

    @property
    def failure(self) -> tuple[str, str, str] | None:
        """The code, message and hint of what a command says if servers failed."""
        return ("some_failed", f"{self.failed} of {len(self.servers)} servers failed", "") if self.failed else None
