"""Values about sessions: events, facets, checkpoints.

They only hold data; other modules read transcripts, judge them and store them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ricordo.frozen import frozen
from ricordo.values.plain import NOT_SHOWN, Plain, named

LONGEST_RESULT = 1_000
"""How many characters of a tool's output are kept; outputs are mostly long, and seldom needed."""


def shortened(text: str, limit: int) -> str:
    """The beginning and the end of a text that is too long, with a note in between that says how much is missing."""
    if len(text) <= limit:
        return text
    tail = limit // 4
    left_out = len(text) - limit
    return f"{text[: limit - tail].rstrip()}\n[… {left_out:,} characters left out …]\n{text[-tail:].lstrip()}"


@frozen
class SessionEvent:
    """One thing that was said or done, as it is in a transcript.

    ``key`` identifies it within the session, however often it is read. A key that starts with ``~`` is made from the
    content of its line; a line that occurs twice is two events.
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
    """Whether the user wrote it; the agent then works on it."""
    is_aside: bool = False
    """Whether it was said between the agent and a sub-agent, not with the user."""
    is_error: bool = False
    wrote: Mapping[str, str] = field(default_factory=dict)
    """By file, the marks of the lines that it wrote (``text.line_marks``)."""


@frozen
class SessionHint:
    """What a line says about the whole session; ``about`` is the event to which a title belongs, if the line names
    one.
    """

    session: str
    title: str = ""
    about: str = ""
    folder: str = ""
    branch: str = ""
    parent: str = ""


@frozen
class TurnFacets(Plain):
    """How a user judged the answer before: ``sentiment`` from -1 to 1, and whether it is a correction, frustration or
    praise.
    """

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
    """An event as it is stored."""

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
class Session(Plain):
    """A session as it is stored; ``turns`` are given only for a single session, ``count`` always says how many there
    are.
    """

    id: str
    ref: str
    facets: SessionFacets = field(metadata=NOT_SHOWN)
    count: int = field(metadata=named("turn_count"))
    started: datetime | None
    ended: datetime | None
    adapter: str = ""
    folder: str = ""
    branch: str = ""
    path: str = ""
    turns: tuple[Turn, ...] = ()

    def to_dict(self, *, with_turns: bool = True) -> dict[str, Any]:
        shown = {"id": self.id, "ref": self.ref} | self.facets.to_dict() | Plain.to_dict(self)
        return {name: value for name, value in shown.items() if with_turns or name != "turns"}


@frozen
class Fork(Plain):
    """A checkpoint that fits a task. ``quality`` is from 0 (it went badly) to 1 (it went well), and .5 if nobody
    said.
    """

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
    """The checkpoints for a task, the best first."""

    task: str
    forks: tuple[Fork, ...] = field(metadata=named("routes"))
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class ReadCounts:
    """What reading a transcript found apart from events."""

    skipped: dict[str, int] = field(default_factory=dict)
    """Lines of unknown kinds, by kind."""
    bad: list[int] = field(default_factory=list)
    """Numbers of lines (counted from where reading began) that are not JSON."""
    bad_total: int = 0

    def skip(self, kind: str) -> None:
        self.skipped[kind] = self.skipped.get(kind, 0) + 1

    def notes(self, name: str) -> tuple[str, ...]:
        notes = []
        if self.skipped:
            kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.skipped.items())[:6])
            notes.append(f"{name}: skipped {_lines(sum(self.skipped.values()))} of unknown kinds ({kinds})")
        if self.bad_total:
            places = ", ".join(map(str, self.bad[:5]))
            notes.append(f"{name}: skipped {_lines(self.bad_total)} that cannot be read (line {places})")
        return tuple(notes)


def _lines(count: int) -> str:
    return f"{count:,} line{'' if count == 1 else 's'}"


_READS_RESOURCES = frozenset({"ReadMcpResourceTool", "read_mcp_resource"})
"""Tools of Claude Code and Codex that read a resource of the MCP server that the call names."""


def called_name(name: str, given: object, namespace: object = None) -> str:
    """The name of a tool with the server that a call names beside it, so that calls of one server are known by it.

    Codex writes ``search`` and, beside it, the namespace ``mcp__ricordo``; one tool reads the resources of all servers.
    """
    if isinstance(namespace, str) and namespace:
        return f"{namespace}__{name}"
    if name in _READS_RESOURCES and isinstance(given, Mapping):
        server, address = str(given.get("server") or ""), str(given.get("uri") or "")
        if server or address.startswith("ricordo:"):
            return f"{server or 'ricordo'}__{name[0].lower()}{name[1:]}"
    return name
