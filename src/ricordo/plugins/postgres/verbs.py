"""Verbs for a team that shares a store on a server: team init, invite, remove, status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ricordo.engine.context import OpenEngine
from ricordo.errors import UsageError
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.plugins.postgres.team import Team
    from ricordo.plugins.postgres.values import TeamInvitation, TeamMember, TeamReport
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import NAME_TEXT


class TeamVerbs(OpenEngine):
    """Makes a team of a store on a server, and says who may do what in it."""

    @verb(
        "admin",
        "look after",
        "Make a team of a store on a server.",
        path="team init",
        examples=("ricordo team init --store postgresql://ann@db/work?schema=red",),
        creates=True,
    )
    def team_init(self) -> TeamReport:
        """Makes two groups of roles on the server, readers and writers, and grants them the store's tables. Only you,
        who own them, and their members read or write it. The model in force becomes the team's: members who use another
        one are told. Your role must be allowed to make roles, or to administer the two groups where they are made
        already. Running it again repairs what is missing.
        """
        backlog = self._context.models.backlog()
        team = self._team()
        team.make(backlog.fingerprint if backlog is not None else "")
        return team.report()

    @verb(
        "admin",
        "look after",
        "Make somebody a member, and print the one line that they run.",
        path="team invite",
        examples=("ricordo team invite bob --role writer",),
    )
    def team_invite(
        self,
        name: Annotated[str, Say("The name of a role on the server; one is made if there is none.", longest=NAME_TEXT)],
        *,
        role: Annotated[str, Say("What they may do.", choices=("reader", "writer"), shown="ROLE")] = "writer",
    ) -> TeamInvitation:
        """A new login gets a password, which stands in that line and is shown this once. A member who is invited again
        has the new role from then on.
        """
        return self._team().invite(name, role)

    @verb(
        "admin", "look after", "Take a member out of the team.", path="team remove",
        examples=("ricordo team remove bob",),
    )  # fmt: skip
    def team_remove(self, name: Annotated[str, Say("The member.", longest=NAME_TEXT)]) -> tuple[TeamMember, ...]:
        """They see nothing of the store from then on, and their connections end, if your role may end them. What they
        wrote stays, and so does their login on the server. Returns who is left.
        """
        self._team().remove(name)
        return self._team().members()

    @verb(
        "read",
        "look after",
        "Show the team's members, model, size and slowest questions.",
        path="team status",
        examples=("ricordo team status",),
    )
    def team_status(self) -> TeamReport:
        """Of each member what they may do, and how many connections they have open. Also how far replicas are behind,
        if the server has any and tells.
        """
        return self._team().report()

    def _team(self) -> Team:
        team: Team | None = getattr(self._context.store, "team", None)
        if team is None:
            raise UsageError(
                "a team shares a store on a server, and this one is a file",
                hint="Name one with ‹store=postgresql://user@host/database›; see docs/scaling.md.",
            )
        return team
