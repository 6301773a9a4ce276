"""What passes between the parts about sessions: events, facets, what happened when, points to fork from.

They hold data and say how it is spelled; reading transcripts, judging them and keeping them happens elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ricordo.frozen import frozen
from ricordo.values.plain import LEFT_OUT_WHEN_EMPTY, Plain, named

LONGEST_RESULT = 1_000
"""So much is kept of a tool's output; it is mostly long, and seldom asked for."""


def shortened(text: str, limit: int) -> str:
    """The beginning and the end of a text that is too long, with what is missing said in between."""
    if len(text) <= limit:
        return text
    tail = limit // 4
    left_out = len(text) - limit
    return f"{text[: limit - tail].rstrip()}\n[… {left_out:,} characters left out …]\n{text[-tail:].lstrip()}"


@frozen
class SessionEvent:
    """One thing that was said or done, as a transcript has it.

    ``key`` tells it from all others of the session, whenever it is read again. A key that starts with ``~`` is made of
    what the line says, so that a line that stands there twice is two events.
    """

    session: str
    key: str
    role: str
    """user, assistant, tool or system."""
    direction: str
    """received (by the agent) or sent."""
    text: str
    at: datetime | None = None
    tool: str = ""
    files: tuple[str, ...] = ()
    is_request: bool = False
    """A person's own words: what the agent then works on."""
    is_aside: bool = False
    """Said between the agent and a helper of its own, not with the person."""
    is_error: bool = False


@frozen
class SessionHint:
    """What a line says of the whole session; ``about`` names the event that a title must belong to, if one is named."""

    session: str
    title: str = ""
    about: str = ""
    folder: str = ""
    branch: str = ""
    parent: str = ""


@frozen
class TurnFacets(Plain):
    """How a person took what came before: ``sentiment`` from -1 to 1, and what the words amount to."""

    sentiment: float = 0.0
    correction: bool = False
    frustration: bool = False
    praise: bool = False

    def is_neutral(self) -> bool:
        return self == TurnFacets()


@frozen
class SessionFacets(Plain):
    """What a session was about."""

    title: str = ""
    summary: str = ""
    keywords: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


@frozen
class Checkpoint:
    """A point in a session to fork from: the last ``turn`` of the work on one request, which began at ``request``."""

    session: str
    request: int
    turn: int
    title: str
    text: str
    files: tuple[str, ...] = ()
    at: datetime | None = None


@frozen
class Turn(Plain):
    """An event as it is kept."""

    ref: str
    seq: int
    role: str
    direction: str
    at: datetime
    text: str
    tool: str = ""
    files: tuple[str, ...] = ()
    facets: TurnFacets = TurnFacets()


@frozen
class Session:
    """A session as it is kept; ``turns`` are there when one was asked for, ``count`` always says how many there are."""

    id: str
    ref: str
    facets: SessionFacets
    count: int
    started: datetime | None
    ended: datetime | None
    adapter: str = ""
    folder: str = ""
    branch: str = ""
    path: str = ""
    turns: tuple[Turn, ...] = ()

    def to_dict(self, *, with_turns: bool = True) -> dict[str, Any]:
        plain: dict[str, Any] = {"id": self.id, "ref": self.ref, **self.facets.to_dict(), "turn_count": self.count}
        for name in ("started", "ended"):
            moment: datetime | None = getattr(self, name)
            plain[name] = moment.isoformat() if moment else None
        plain |= {name: getattr(self, name) for name in ("adapter", "folder", "branch", "path")}
        return plain | ({"turns": [turn.to_dict() for turn in self.turns]} if with_turns else {})


@frozen
class Happening(Plain):
    """One line of a timeline. ``what`` is event, session, remembered, created, updated, forgotten or removed."""

    at: datetime
    what: str
    ref: str
    title: str
    kind: str
    thread: str | None = None
    seq: int | None = None
    direction: str = ""
    role: str = ""
    version: int | None = None
    corrected_by: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    superseded_by: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)


@frozen
class Timeline(Plain):
    """What happened, in the order it was asked for; ``more`` says that the limit left something out."""

    events: tuple[Happening, ...]
    since: datetime | None = None
    more: bool = False


@frozen
class Fork(Plain):
    """A point to fork from that suits a task: ``quality`` from 0 to 1 says how it went on, .5 that nobody said."""

    session: str
    turn: int
    title: str
    score: float
    quality: float
    ref: str
    files: tuple[str, ...] = ()
    at: datetime | None = None
    folder: str = ""
    snippet: str = ""


@frozen
class Routes(Plain):
    """The points to fork from for a task, the best first."""

    task: str
    forks: tuple[Fork, ...] = field(metadata=named("routes"))
    notes: tuple[str, ...] = ()


@frozen
class ThreadSpan:
    """How many turns a thread has, and from when to when."""

    count: int
    first: datetime | None = None
    last: datetime | None = None


@dataclass(slots=True)
class ReadCounts:
    """What reading a transcript came to, beside its events."""

    skipped: dict[str, int] = field(default_factory=dict)
    """Lines of unknown kinds, by kind."""
    bad: list[int] = field(default_factory=list)
    """Numbers of lines (counted from where reading began) that are no JSON."""
    bad_total: int = 0
    unfinished: bool = False
    """Whether the last line is still being written."""

    def skip(self, kind: str) -> None:
        self.skipped[kind] = self.skipped.get(kind, 0) + 1

    def notes(self, name: str) -> tuple[str, ...]:
        notes = []
        if self.skipped:
            kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.skipped.items())[:6])
            notes.append(f"{name}: passed over {_lines(sum(self.skipped.values()))} of unknown kinds ({kinds})")
        if self.bad_total:
            places = ", ".join(map(str, self.bad[:5]))
            notes.append(f"{name}: passed over {_lines(self.bad_total)} that cannot be read (line {places})")
        return tuple(notes)


def _lines(count: int) -> str:
    return f"{count:,} line{'' if count == 1 else 's'}"
