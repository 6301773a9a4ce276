"""How a team looks to a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ricordo.cli.show import shows
from ricordo.cli.terminal import Screen, one_line

if TYPE_CHECKING:
    from ricordo.plugins.postgres.values import TeamInvitation, TeamMember, TeamReport


@shows
def _show_team(screen: Screen, report: TeamReport) -> None:
    screen.line(f"{report.store}: {report.bytes / 1e6:,.1f} MB on the server")
    screen.line(f"model: {report.model or 'none chosen yet'}")
    if report.lag_seconds is not None:
        screen.line(f"the furthest replica is {report.lag_seconds:,.1f} s behind")
    _show_members(screen, report.members)
    if report.slowest:
        screen.line("slowest questions of the last seven days:")
        screen.table(
            ("ms", "when", "question"), [(f"{slow.ms:,.0f}", slow.at, one_line(slow.text)) for slow in report.slowest]
        )


@shows
def _show_members(screen: Screen, members: Sequence[TeamMember]) -> None:
    screen.table(("member", "role", "connections"), [(who.name, who.role, str(who.connections)) for who in members])


@shows
def _show_invitation(screen: Screen, invitation: TeamInvitation) -> None:
    screen.line(invitation.command)
    if invitation.is_new_login:
        screen.note(f"{invitation.name} runs this in a project's folder; the password in it is shown this once")
    else:
        screen.note(f"{invitation.name} runs this in a project's folder, with the password of that login")
