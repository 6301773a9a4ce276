"""How the work of a hook offers its answers, and how the process that prints one listens to it.

It imports as little as possible, because every prompt waits for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

TYPE_CHECKING = False  # type checkers take it for true; importing typing costs milliseconds that every prompt waits
if TYPE_CHECKING:
    from typing import Any

DEFAULT_SECONDS = 2.0
"""The limit until the settings have been read."""
LARGEST_PAYLOAD = 8_000_000
"""Bytes of a payload that are read; a prompt that a person wrote is shorter."""

_RESERVE = 0.05
"""Seconds of the limit that ending the process takes."""
_SHARE_OF_HOST = 0.85
"""How much of the calling program's time is used: it counts from before our process started."""


class Outlet:
    """The child's side: it says how long the work may take, and offers answers; the last one offered counts."""

    def __init__(self, send: Callable[[bytes], None], started: float, within: float = 0.0) -> None:
        self._send = send
        self._started = started
        self._limit = DEFAULT_SECONDS
        self._within = within * _SHARE_OF_HOST
        self._has_answer = False
        self.note_items: Callable[[], None] | None = None
        """Writes down which items the last answer shows; None if that is not wanted."""

    def limit(self, seconds: float) -> None:
        self._limit = seconds
        self._send(f"limit {seconds}\n".encode())

    def offer(self, answer: Mapping[str, Any]) -> None:
        import json

        self.offer_text(json.dumps(answer).encode())

    def offer_text(self, answer: bytes) -> None:
        """The same for an answer that is JSON already, in one line."""
        self._has_answer = True
        self._send(b"answer " + answer + b"\n")

    @property
    def left(self) -> float:
        """The share of the time that is left."""
        return 1 - (time.monotonic() - self._started) / self._limit

    @property
    def seconds_left(self) -> float:
        """How long an answer may still take. A running server gets all of it: the hook alone would take longer.

        A program that gives its hooks more time than the limit still gets an answer from a server that hangs.
        """
        return max(0.0, self.left * self._limit - _RESERVE)

    @property
    def at_most(self) -> float:
        """How long the first answer may take: as long as the caller waits."""
        longer = 0.0 if self._has_answer else max(0.0, self._within - self._limit)
        return max(0.0, self.left * self._limit + longer - _RESERVE)


class Listener:
    """The parent's side: hears what an outlet sends."""

    def __init__(self, started: float, within: float = 0.0) -> None:
        self.answer = b"{}"
        self._started = started
        self._limit = DEFAULT_SECONDS
        self._within = within * _SHARE_OF_HOST
        self._has_answer = False
        self._rest = b""

    @property
    def seconds_left(self) -> float:
        """How long to go on listening: with an answer until the limit, without one as long as the caller waits."""
        limit = self._limit if self._has_answer else max(self._limit, self._within)
        return self._started + limit - _RESERVE - time.monotonic()

    @property
    def seconds(self) -> float:
        """How long it took by now."""
        return time.monotonic() - self._started

    def outcome(self, *, ended: bool) -> str:
        """What became of the hook, whose work ended or ran out of time."""
        from ricordo.hook_log import ANSWERED, SAID_LESS, SAID_NOTHING, SILENT

        if ended:
            return SILENT if self.answer == b"{}" else ANSWERED
        return SAID_LESS if self._has_answer else SAID_NOTHING

    def hear(self, part: bytes) -> None:
        *lines, self._rest = (self._rest + part).split(b"\n")
        for line in lines:
            word, _, value = line.partition(b" ")
            if word == b"limit":
                self._limit = float(value)
            elif word == b"answer":
                self.answer, self._has_answer = value, True
