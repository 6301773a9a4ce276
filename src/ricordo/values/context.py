"""What an agent gets for a task or on a topic: the answers of ``context``, ``gather`` and ``skills``."""

from __future__ import annotations

from dataclasses import field

from ricordo.frozen import frozen
from ricordo.values.plain import LEFT_OUT_WHEN_EMPTY, Plain

HOW_TO_READ = {
    "skill": ("(read one with: ricordo skills show NAME)", "(read one with get: skill:/NAME)"),
    "item": ("(read one with: ricordo get REF)", "(read one with get)"),
}
"""How what is only named can be read: by a command, and by a tool of the MCP server."""


@frozen
class Skill(Plain):
    """A skill in a list: its name, what it is for, and where it is."""

    name: str
    description: str
    ref: str
    location: str = ""
    """The SKILL.md it was read from, or the address a listing gave; relative paths in a skill start there."""
    scope: str = ""
    """Where it comes from: workspace, user, system or listed."""
    tier: str = ""
    score: float | None = field(default=None, metadata=LEFT_OUT_WHEN_EMPTY)


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
class ContextReport(Plain):
    """The text for an agent, never more than ``budget`` tokens, and how it was made."""

    text: str
    tokens: int
    budget: int
    parts: tuple[ContextPart, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    warnings: tuple[str, ...] = field(default=())

    def spent(self, *sections: str) -> int:
        """Tokens of the parts of these sections, with labels, without the headings of sections."""
        return sum(part.tokens for part in self.parts if part.section in sections)
