"""What an agent gets for a task or on a topic: the answers of ``context`` and ``gather``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from ricordo.frozen import frozen
from ricordo.values.plain import Plain

NO_ROOM = "no room"
"""Why what would be told is left out where the budget is spent."""
HOW_TO_READ = {
    "skill": ("(read one with: ricordo skills show NAME)", "(read one with get: skill:/NAME)"),
    "item": ("(read one with: ricordo get REF)", "(read one with get)"),
}
"""How what is only named can be read: by a command, and by a tool of the MCP server."""


@frozen
class ContextPart(Plain):
    """One piece of a context: its section, item and lines, and how many tokens it takes with its label."""

    section: str
    """always, contextual, passage, gathered, skill, tool or recent."""
    ref: str
    title: str = ""
    lines: tuple[int, int] | None = None
    tokens: int = 0
    score: float | None = None
    fenced: bool = False
    """Whether it comes from outside, and so is put into a fence as data."""
    cut: bool = False
    """Whether only its beginning is there."""


@frozen
class LeftOut(Plain):
    """An item that would belong into the context, and why it is not in it."""

    ref: str
    reason: str


@frozen
class LineSection:
    """A section of a context that names items, each in one line; passages are shown besides."""

    name: str
    heading: str
    most: int
    """The most tokens that it may take."""
    rows: Sequence[tuple[ContextPart, tuple[str, ...]]]
    """The items, the best first, and what their lines say."""
    outside: bool = False
    """Whether others than the user wrote all of it."""


@frozen
class ContextReport(Plain):
    """The text for an agent, never more than ``budget`` tokens, and how it was made."""

    text: str
    tokens: int
    budget: int
    parts: tuple[ContextPart, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    warnings: tuple[str, ...] = field(default=())

    def no_room(self) -> tuple[LeftOut, ...]:
        """What was left out because the budget was spent."""
        return tuple(one for one in self.left_out if one.reason == NO_ROOM)

    def spent(self, *sections: str) -> int:
        """Tokens of the parts of these sections, with labels, without the headings of sections."""
        return sum(part.tokens for part in self.parts if part.section in sections)
