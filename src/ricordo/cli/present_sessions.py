"""How sessions, timelines and points to fork from look to a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ricordo.cli.present_hits import replaced_text, short_ref
from ricordo.cli.present_items import local_time
from ricordo.cli.terminal import Screen, clean, clip, one_line

if TYPE_CHECKING:
    from ricordo.values.sessions import Happening, Routes, Session, Timeline, Turn

_ROLES = {"user": "green", "assistant": "cyan", "tool": "yellow"}
_LINE = 300


def show_sessions(screen: Screen, sessions: Sequence[Session]) -> None:
    """One line per session."""
    if not sessions:
        screen.note("there are no sessions yet; 'ricordo sessions add' takes them in")
    rows = [(one.id, local_time(one.ended), f"{one.count:,}", one.adapter, one.facets.title) for one in sessions]
    screen.table(("session", "last turn", "turns", "from", "title"), rows, right=(2,))


def show_session(screen: Screen, session: Session) -> None:
    """What it was about, then its turns."""
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
    name = screen.style(name, fg=_ROLES.get(turn.role))
    head = f"{screen.dim(f'{turn.seq:>4}  {local_time(turn.at)}')}  {name}{tail}"
    if screen.verbose:
        screen.line()
        screen.line(head)
        screen.line(clean(turn.text))
    else:
        screen.line(f"{head}  {clip(one_line(turn.text), max(40, screen.width - 45) if screen.is_terminal else _LINE)}")


def show_timeline(screen: Screen, timeline: Timeline) -> None:
    """When, what, and of which item."""
    if not timeline.events:
        screen.note("nothing happened in that time")
    rows = [(local_time(one.at), _what(one), one.title, short_ref(one.ref)) for one in timeline.events]
    screen.table(("when", "what", "title", "ref"), [(a, b, clip(one_line(c), _LINE), d) for a, b, c, d in rows])
    if timeline.more:
        screen.note("there is more before that; --limit shows it")


def _what(event: Happening) -> str:
    if event.what == "event":
        return event.role or event.direction
    if event.what == "session":
        return "session"
    replaced = replaced_text(event)
    return f"{event.what} {event.kind}" + (f" ({replaced})" if replaced else "")


def show_routes(screen: Screen, routes: Routes) -> None:
    """Where to fork, the best first, each with what it was about."""
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
