"""What the verbs of a team return."""

from __future__ import annotations

from ricordo.frozen import frozen
from ricordo.values.plain import Plain

LEVELS = ("reader", "writer")
"""What a member may do: search and read, also for a backup; save, too."""


@frozen
class TeamMember(Plain):
    """A role of the server that is in a team."""

    name: str
    role: str
    """reader or writer, or owner, who owns the schema of the store."""
    connections: int
    """How many connections it has open now."""


@frozen
class TeamInvitation(Plain):
    """Somebody who was made a member."""

    name: str
    role: str
    command: str
    """The one line that the member runs. It holds a password if the login was made for it, and is shown this once."""
    is_new_login: bool


@frozen
class SlowQuery(Plain):
    """A question that took long."""

    text: str
    ms: float
    at: str


@frozen
class TeamReport(Plain):
    """What a team shares, and how its server does."""

    store: str
    model: str
    """The fingerprint of the model that the team's vectors are made with; only the owner changes it."""
    members: tuple[TeamMember, ...]
    bytes: int
    """What its tables take on the server's disk."""
    lag_seconds: float | None
    """How far the furthest replica is behind; None if there is none, or the server does not tell."""
    slowest: tuple[SlowQuery, ...]
    """The slowest questions of the last seven days."""
