"""How sessions, and the points in them to continue from, look to a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ricordo.cli.show import LINE, local_time, shows
from ricordo.cli.terminal import Screen, clean, clip, one_line

if TYPE_CHECKING:
    from ricordo.plugins.sessions.values import Routes, Session, Turn

ROLES = {"user": "green", "assistant": "cyan", "tool": "yellow"}


@shows
def _show_sessions(screen: Screen, sessions: Sequence[Session]) -> None:
    rows = [(one.id, local_time(one.ended), f"{one.count:,}", one.adapter, one.facets.title) for one in sessions]
    empty = "there are no sessions yet; 'ricordo sessions add' takes them in"
    screen.table(("session", "last turn", "turns", "from", "title"), rows, right=(2,), empty=empty)


@shows
def _show_session(screen: Screen, session: Session) -> None:
    facets = session.facets
    screen.line(screen.bold(one_line(facets.title)))
    rows = {
        "session": session.id,
        "from": " ".join(filter(None, (session.adapter, session.folder, session.branch))),
        "when": f"{local_time(session.started)} to {local_time(session.ended)}, {session.count:,} turns",
        "summary": facets.summary,
        "keywords": ", ".join(facets.keywords),
        "entities": ", ".join(facets.entities),
        "topics": ", ".join(facets.topics),
        "tools": ", ".join(facets.tools),
        "files": ", ".join(facets.files),
    }
    for name, value in rows.items():
        if value:
            screen.line(f"{screen.dim(name.ljust(8))}  {one_line(value)}")
    for turn in session.turns:
        _show_turn(screen, turn)
    last = session.turns[-1].seq if session.turns else 0
    if last and last < session.count:
        screen.note(f"{session.count - last:,} more turns; --from {last + 1} goes on")


def _show_turn(screen: Screen, turn: Turn) -> None:
    marks = [name for name in ("praise", "correction", "frustration") if getattr(turn.facets, name)]
    tail = f"  {screen.dim(', '.join(marks))}" if marks else ""
    name = turn.role + (f" {turn.tool}" if turn.tool and turn.direction == "received" else "")
    name = screen.style(name, fg=ROLES.get(turn.role))
    head = f"{screen.dim(f'{turn.seq:>4}  {local_time(turn.at)}')}  {name}{tail}"
    if screen.verbose:
        screen.line()
        screen.line(head)
        screen.line(clean(turn.text))
    else:
        screen.line(f"{head}  {clip(one_line(turn.text), max(40, screen.width - 45) if screen.is_terminal else LINE)}")


@shows
def _show_routes(screen: Screen, routes: Routes) -> None:
    if not routes.forks:
        screen.note("no earlier session has anything like this; 'ricordo sessions add' takes sessions in")
    for place, fork in enumerate(routes.forks, start=1):
        score = f"{fork.score:.2f}"
        screen.line(f"{place}. {screen.bold(one_line(fork.title))}  {screen.dim(f'score {score}')}")
        when = f"  {local_time(fork.at)}" if fork.at else ""
        screen.line(f"   session {fork.session}  turn {fork.turn}  quality {fork.quality:.2f}{screen.dim(when)}")
        if fork.files:
            screen.line(screen.dim(f"   files {one_line(', '.join(fork.files[:6]))}"))
    for note in routes.notes:
        screen.note(f"note: {one_line(note)}")
