"""Finds checkpoints: points in a session to fork from, where the work on a request ends. What the user says next shows
how good they are.

A checkpoint is made when the next request comes, and for the last request at the end of the session. A request that
only says "go on" continues the one before, and so does a correction; thanks end a request. A request made twice in a
session gives one checkpoint.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from typing import Any, Self

from ricordo.context.facets import first_line, is_only_praise, turn_facets
from ricordo.values.sessions import Checkpoint, SessionEvent, TurnFacets

LONGEST_REQUEST = 900
LONGEST_ANSWER = 600
MOST_FILES = 25
MOST_KNOWN = 400
_GO_ON = re.compile(
    r"(?:(?:ok(?:ay)?|yes|yep|yeah|y|sure|right|please|and|now|fine|good|k|then|let'?s|just|you can)[\s,.!]*)*"
    r"(?:continue|go(?: on| ahead)?|proceed|do (?:it|that|so)|next|keep going|carry on|resume|try again|retry|again)?"
    r"(?:[\s,.!]*(?:please|now|then))*[\s.!]*",
    re.IGNORECASE,
)


@dataclass(slots=True)
class CheckpointMaker:
    """Follows one session; its state can be saved, so that it can continue later."""

    session: str = ""
    request: int = 0
    """The place of the request being worked on; 0 while there is none."""
    asked: str = ""
    turn: int = 0
    answer: str = ""
    files: list[str] = field(default_factory=list)
    at: str = ""
    known: list[str] = field(default_factory=list)
    """Hashes of the requests that have a checkpoint already."""

    @classmethod
    def from_dict(cls, session: str, plain: object) -> Self:
        """A maker from its saved state; values that are not valid are ignored."""
        made = cls(session)
        if isinstance(plain, Mapping):
            for one in fields(cls):
                value = plain.get(one.name)
                if one.name != "session" and type(value) is type(getattr(made, one.name)):
                    setattr(made, one.name, value)
        return made

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def take(self, event: SessionEvent, seq: int, text: str, at: datetime) -> Checkpoint | None:
        """Take in an event; returns a checkpoint if the event ends a request that is worth forking from."""
        if event.is_aside or event.role == "system":
            return None
        if event.is_request:
            return self._request(seq, text, turn_facets(text).correction)
        if self.request and event.role in ("assistant", "tool"):
            self.turn, self.at = seq, at.isoformat()
            if event.role == "assistant":
                self.answer = text[:LONGEST_ANSWER]
            self.files = list(dict.fromkeys([*self.files, *event.files]))[-MOST_FILES:]
        return None

    def _request(self, seq: int, text: str, corrects: bool) -> Checkpoint | None:
        if self.request and goes_on(text):
            return None
        ended = self.current()
        if ended is not None:
            self.known = [*self.known, _mark(self.asked)][-MOST_KNOWN:]
        before = self.asked if self.request and corrects else ""
        asked = f"{before}\n\n{text}" if before else text
        self.request, self.asked = (0, "") if is_only_praise(text) else (seq, asked[:LONGEST_REQUEST])
        self.turn, self.answer, self.files, self.at = 0, "", [], ""
        return ended

    def current(self) -> Checkpoint | None:
        """A checkpoint of the request being worked on; None if there is no answer yet, or if it was asked before."""
        if not self.request or not self.turn or _mark(self.asked) in self.known:
            return None
        parts = [self.asked, self.answer, f"Files: {', '.join(self.files)}" if self.files else ""]
        return Checkpoint(
            self.session,
            self.request,
            self.turn,
            first_line(self.asked),
            "\n\n".join(filter(None, parts)),
            tuple(self.files),
            datetime.fromisoformat(self.at) if self.at else None,
        )


def goes_on(text: str) -> bool:
    """Whether a message only says that the work on the request before it should go on."""
    return _GO_ON.fullmatch(text.strip()) is not None


def _mark(text: str) -> str:
    plain = " ".join(re.findall(r"\w+", text.lower()))
    return hashlib.blake2b(plain.encode(), digest_size=6).hexdigest()


HEARD = (1.0, 0.5, 0.25)
"""The weights of the first, second and third message of the user about a request after its checkpoint."""


def quality(reactions: Sequence[TurnFacets]) -> float:
    """From 0 to 1: praise raises it, corrections and frustration lower it; .5 when nothing of the kind was said.

    >>> quality([]), quality([TurnFacets(praise=True)]) > .8, quality([TurnFacets(correction=True)]) < .2
    (0.5, True, True)
    """
    value = 0.5
    for weight, facets in zip(HEARD, reactions, strict=False):
        value += weight * (0.4 * facets.praise - 0.35 * facets.correction - 0.4 * facets.frustration)
    return round(max(0.0, min(1.0, value)), 3)
