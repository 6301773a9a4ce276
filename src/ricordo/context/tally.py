"""Counts requests, words, names, tools and files while a session is read, and can continue later.

The size of a tally is limited, however long the session is; it is stored with the session and makes no new version.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from ricordo.context.facet_rules import word_list
from ricordo.values.sessions import SessionEvent, SessionHint

MOST_REQUESTS = 12
LONGEST_REQUEST = 240
MOST_WORDS = 600
MOST_NAMES = 120
MOST_FILES = 60
_COUNTED = 4_000
"""How many characters of a message are counted; the rest is mostly pasted text, which says little about the session."""

_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_WORD = re.compile(r"[^\W\d_][\w-]{2,29}")
_NAME = re.compile(r"(?<=[a-z,;:(\"'] )[A-Z][a-zA-Z]+(?: [A-Z][a-zA-Z]+){0,2}|\b[A-Z][a-z]+[A-Z]\w{2,}")
_MADE_UP = re.compile(r"[0-9].*[0-9]|^(?:https?|www)$")


@dataclass(slots=True)
class Tally:
    """The counts of one session."""

    title: str = ""
    requests: list[str] = field(default_factory=list)
    request_count: int = 0
    words: dict[str, int] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    tools: dict[str, int] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    folder: str = ""
    branch: str = ""
    parent: str = ""
    started: str = ""

    @classmethod
    def from_dict(cls, plain: object) -> Self:
        """A tally from its saved state; values that are not valid are ignored."""
        known: dict[str, Any] = {}
        if isinstance(plain, Mapping):
            empty = cls()
            for one in fields(cls):
                value = plain.get(one.name)
                if type(value) is type(getattr(empty, one.name)):
                    known[one.name] = value
        return cls(**known)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def hint(self, hint: SessionHint) -> None:
        """Take in what a line says about the whole session: the first folder stays, and the last title wins."""
        self.title = hint.title[:200] or self.title
        self.folder = self.folder or hint.folder
        self.branch = self.branch or hint.branch
        self.parent = self.parent or hint.parent

    def take(self, event: SessionEvent, text: str, is_stop_word: Callable[[str], bool]) -> None:
        """Count an event; ``text`` is what is kept of it, without secrets."""
        if not self.started and event.at is not None:
            self.started = event.at.isoformat()
        if event.role == "tool":
            if event.direction == "sent" and event.tool:
                self.tools[event.tool] = self.tools.get(event.tool, 0) + 1
            for file in event.files:
                self.files.pop(file, None)  # the latest files come last
                self.files[file] = 1
            while len(self.files) > MOST_FILES:
                del self.files[next(iter(self.files))]
            return
        if event.is_aside or event.role == "system":
            return
        if event.is_request:
            self.request_count += 1
            if len(self.requests) < MOST_REQUESTS:
                self.requests.append(text[:LONGEST_REQUEST])
        self._count(_FENCE.sub(" ", text[:_COUNTED]), is_stop_word)

    def _count(self, text: str, is_stop_word: Callable[[str], bool]) -> None:
        common = word_list("common")
        for word in _WORD.findall(text):
            low = word.lower().rstrip("-_")
            if low not in common and not is_stop_word(low) and not _MADE_UP.search(low):
                self.words[low] = self.words.get(low, 0) + 1
        for name in _NAME.findall(text):
            self.names[name] = self.names.get(name, 0) + 1
        self.words = _most(self.words, MOST_WORDS)
        self.names = _most(self.names, MOST_NAMES)


def _most(counts: dict[str, int], limit: int) -> dict[str, int]:
    """Keep the most frequent once there are twice as many as allowed; among equals the latest, which may come again."""
    if len(counts) <= 2 * limit:
        return counts
    ordered = sorted(enumerate(counts.items()), key=lambda entry: (-entry[1][1], -entry[0]))[:limit]
    return dict(item for _, item in sorted(ordered))
