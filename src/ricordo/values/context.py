"""What an agent is told for a task, and what was kept from it: the answers of ``context`` and ``skills``."""

from __future__ import annotations

from dataclasses import asdict, field
from typing import Any

from ricordo.frozen import frozen


@frozen
class Skill:
    """A skill as one sees it before reading it: its name, what it is for, and where it lies."""

    name: str
    description: str
    ref: str
    location: str = ""
    """The SKILL.md it was read from, or the address a listing gave; relative paths in a skill start there."""
    scope: str = ""
    """Whose it is: workspace, user, system or listed."""
    tier: str = ""
    score: float | None = None

    def to_dict(self) -> dict[str, Any]:
        plain = asdict(self)
        if self.score is None:
            del plain["score"]
        return plain


@frozen
class ContextPart:
    """One piece of a context: why it is there, whose it is, which lines, and what it costs with its label."""

    section: str
    """always, contextual, passage, skill or recent."""
    ref: str
    title: str = ""
    lines: tuple[int, int] | None = None
    tokens: int = 0
    score: float | None = None
    fenced: bool = False
    """Whether it comes from outside, and so stands in a fence as data."""
    cut: bool = False
    """Whether only its beginning is there."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"lines": list(self.lines) if self.lines else None}


@frozen
class LeftOut:
    """Something that would have belonged there, and why it does not stand there."""

    ref: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@frozen
class ContextReport:
    """The text to put before an agent, never more than ``budget`` tokens, and how it came about."""

    text: str
    tokens: int
    budget: int
    parts: tuple[ContextPart, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    warnings: tuple[str, ...] = field(default=())

    def spent(self, *sections: str) -> int:
        """Tokens of the parts of these sections, labels included, headings of sections not."""
        return sum(part.tokens for part in self.parts if part.section in sections)

    def to_dict(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "tokens": self.tokens,
            "budget": self.budget,
            "parts": [part.to_dict() for part in self.parts],
            "left_out": [one.to_dict() for one in self.left_out],
            "warnings": list(self.warnings),
        }
