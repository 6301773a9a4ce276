"""What the verbs of skills answer."""

from __future__ import annotations

from dataclasses import field

from ricordo.frozen import frozen
from ricordo.values.plain import LEFT_OUT_WHEN_EMPTY, Plain


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
