"""The verbs of a team: how its members and its numbers are shown."""

from __future__ import annotations

from collections.abc import Sequence

from ricordo.cli.terminal import Screen, one_line
from ricordo.cli.verb_group import verb_group
from ricordo.values.reports import TeamInvitation, TeamMember, TeamReport

team = verb_group(
    "team",
    examples=[
        "ricordo team init --store postgresql://ann@db/team",
        "ricordo team invite bob --role writer",
        "ricordo team members",
    ],
    details="A team shares a store on a server. Its members are roles of that server: readers search, writers save,"
    " owners upgrade and invite, and a backup role reads everything.",
    alone="status",
)


def show_team(screen: Screen, report: TeamReport) -> None:
    """Members, model, size, lag and slow questions."""
    screen.line(f"{report.store}: {report.bytes / 1e6:,.1f} MB on the server")
    screen.line(f"model: {report.model or 'none chosen yet'}")
    if report.lag_seconds is not None:
        screen.line(f"the furthest replica is {report.lag_seconds:,.1f} s behind")
    show_members(screen, report.members)
    if report.slowest:
        screen.line("slowest questions of the last seven days:")
        screen.table(
            ("ms", "when", "question"), [(f"{one.ms:,.0f}", one.at, one_line(one.text)) for one in report.slowest]
        )


def show_members(screen: Screen, found: Sequence[TeamMember]) -> None:
    """One line for each member."""
    screen.table(("member", "role", "connections"), [(one.name, one.role, str(one.connections)) for one in found])


def show_invitation(screen: Screen, invitation: TeamInvitation) -> None:
    """The line that the new member runs."""
    screen.line(invitation.command)
    if invitation.is_new_login:
        screen.note(f"{invitation.name} runs this in a project's folder; the password in it is shown this once")
    else:
        screen.note(f"{invitation.name} runs this in a project's folder, with the password of that login")
    if invitation.role == "backup":
        screen.note("for a backup, give the same address without what follows ? to pg_dump --enable-row-security")
