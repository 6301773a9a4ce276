"""How the causes of lines look to a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ricordo.cli.show import LINE, local_time, shows
from ricordo.cli.terminal import Screen, clip, one_line

if TYPE_CHECKING:
    from ricordo.plugins.history.values import BlameReport, Cause, ToldThen, WritingTurn

_HOW = {"reformatted": ", formatted since", "around": ", by the lines around it", "file": ", which changed this file"}


@shows
def _show_blame(screen: Screen, report: BlameReport) -> None:
    for what in report.corrections:
        screen.line(f"{screen.bold(one_line(what.ref))}  {screen.dim(one_line(what.how))}")
        screen.line(f"  was  {one_line(what.was)}")
        if what.now:
            screen.line(f"  now  {one_line(what.now)}")
    for cause in report.causes:
        _show_cause(screen, cause)
    for note in report.notes:
        screen.note(f"note: {one_line(note)}")


def _show_cause(screen: Screen, cause: Cause) -> None:
    lines = f"{cause.first}" if cause.first == cause.last else f"{cause.first}-{cause.last}"
    first, *more = [line for line in cause.text.splitlines() if line.strip()] or [""]
    room = max(40, screen.width - 30) if screen.is_terminal else LINE
    tail = screen.dim(f"  and {len(more)} more") if more else ""
    screen.line(f"{screen.bold(f'{one_line(cause.file)}:{lines}')}  {clip(one_line(first), room)}{tail}")
    if cause.commit:
        then = f"  (then {one_line(cause.name_then)})" if cause.name_then else ""
        about = f"{cause.commit[:12]}  {local_time(cause.committed_at)}  {one_line(cause.author)}"
        screen.line(f"  commit  {about}  {one_line(cause.summary)}{then}")
    else:
        screen.line("  commit  none yet")
    for number, turn in enumerate(cause.turns):
        _show_turn(screen, turn, "turn" if number == 0 else "or")


def _show_turn(screen: Screen, turn: WritingTurn, name: str) -> None:
    head = f"  {name.ljust(6)}  {turn.ref}  {local_time(turn.at)}  {turn.tool}{_HOW.get(turn.match, '')}"
    screen.line(head if name == "turn" else screen.dim(head))
    if name != "turn":
        return
    if turn.asked:
        screen.line(f"  asked   {one_line(turn.asked)}")
    for told in turn.told:
        _show_told(screen, told)


def _show_told(screen: Screen, told: ToldThen) -> None:
    since = f"; {told.since}" if told.since else ""
    unsure = "" if told.session_known else "; perhaps in another session"
    about = screen.dim(f"{told.ref} version {told.version}{since}{unsure}")
    screen.line(f"  told    {clip(one_line(told.text), 160)}  {about}")
