"""How tools of other MCP servers, and what they answer, look to a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ricordo.cli.terminal import Screen, clean

if TYPE_CHECKING:
    from ricordo.values.tools import ToolEntry, ToolResult


def show_tools(screen: Screen, found: Sequence[ToolEntry]) -> None:
    """A line each: score if there is one, name, whether it can be called, what it is for."""
    scored = any(one.score is not None for one in found)
    head = (*(("score",) if scored else ()), "tool", "call", "what it is for")
    screen.table(
        head,
        [
            (
                *((f"{one.score or 0.0:.3f}",) if scored else ()),
                one.name,
                "yes" if one.callable else "no",
                one.description or one.title,
            )
            for one in found
        ],
    )


def show_result(screen: Screen, answer: ToolResult) -> None:
    """Print the text; how to read on goes to standard error."""
    screen.line(clean(answer.text))
    if answer.failed:
        screen.warn("the server answered with an error")
    if answer.next_char is not None:
        screen.note(
            f"{answer.chars:,} characters in all; read on: ricordo tools result {answer.id} --start {answer.next_char}"
        )
