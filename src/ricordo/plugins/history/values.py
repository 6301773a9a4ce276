"""Values about why lines are there. They only hold data."""

from __future__ import annotations

from dataclasses import field
from datetime import datetime

from ricordo.frozen import frozen
from ricordo.values.plain import LEFT_OUT_WHEN_EMPTY, Plain, rounded


@frozen
class ToldThen(Plain):
    """An item that an agent had been told, in the version of that day. ``through`` is a hook's event or a question."""

    ref: str
    version: int
    at: datetime
    title: str
    text: str
    through: str = ""
    since: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """What became of it since; empty if it still says the same."""
    session_known: bool = True
    """Whether the log names the session; if not, an agent was told it while the session went on."""


@frozen
class WritingTurn(Plain):
    """A turn that may have written lines, and what the user had asked for.

    ``match`` says how it is known: by the very ``line``, ``reformatted`` (the same statement in another form),
    ``around`` (lines that say nothing by themselves go with their neighbours), or ``file``: it is only known to have
    changed the file.
    """

    ref: str
    session: str
    turn: int
    at: datetime
    tool: str
    file: str
    match: str
    score: float = field(metadata=rounded(2))
    asked: str = ""
    """The sentence of the user that fits the lines best."""
    request: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """The turn in which the user said it."""
    told: tuple[ToldThen, ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)


@frozen
class Cause(Plain):
    """Lines that one commit and one turn wrote, the best turn first; ``commit`` is empty if they are not committed."""

    file: str
    first: int
    last: int
    text: str
    commit: str = ""
    author: str = ""
    committed_at: datetime | None = None
    summary: str = ""
    name_then: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """What the file was called in the commit, if that was another name."""
    turns: tuple[WritingTurn, ...] = ()


@frozen
class Correction(Plain):
    """What became of a memory: what it said when agents were told it, and what holds instead."""

    ref: str
    how: str
    was: str
    now: str = ""
    now_ref: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)


@frozen
class BlameReport(Plain):
    """The answer to ``blame``: why lines are there, or which lines rest on what was corrected since."""

    causes: tuple[Cause, ...] = ()
    corrections: tuple[Correction, ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)
    notes: tuple[str, ...] = ()
