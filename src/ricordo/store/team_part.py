"""The part of a store on a server that knows its team."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ricordo.values.team import TeamInvitation, TeamMember, TeamReport


class Team(Protocol):
    """Who may read and write a workspace, and with which model."""

    @property
    def person(self) -> str:
        """The name by which the team knows whoever writes through this store; empty if there is no team."""
        ...

    def make(self, model: str) -> None: ...
    def invite(self, name: str, role: str) -> TeamInvitation: ...
    def members(self) -> tuple[TeamMember, ...]: ...
    def remove(self, name: str) -> None: ...
    def model(self) -> str:
        """The fingerprint that the team's vectors are made with; empty if none was chosen."""
        ...

    def allow_model(self, fingerprint: str) -> None:
        """Refuse another model than the team's, unless an owner chooses it."""
        ...

    def size(self) -> int:
        """The bytes on the server, of all workspaces that are stored together."""
        ...

    def report(self) -> TeamReport: ...
