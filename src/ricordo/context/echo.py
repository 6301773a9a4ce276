"""Leaves out passages of sessions that only repeat the task itself, or what was said in the session that asks.

Without this, a question that was asked in three sessions would find itself three times, and there would be no room for
the passage that holds the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ricordo.context.build_passages import ContextPassage
from ricordo.text.echoes import repeats
from ricordo.text.stopwords import STOP_WORDS
from ricordo.text.words import fold
from ricordo.values.items import Item, Ref
from ricordo.values.kinds import SESSION
from ricordo.values.own_tools import is_own_tool

_WORD = re.compile(r"\w+")


class EchoFilter:
    """Drops passages that repeat one task, asked in one session (``session`` is its id, or empty), and the notes of the
    program that asks, because it reads them itself.
    """

    def __init__(self, task: str, session: str = "", program: str = "") -> None:
        self._asked = _words(task)
        self._session = session
        self._program = program

    def without_echoes(self, passages: Iterable[ContextPassage]) -> list[ContextPassage]:
        """The passages that do not repeat the task or the session."""
        return [one for one in passages if not self._is_echo(one.item, one.text)]

    def is_own(self, ref: Ref) -> bool:
        """Whether an item belongs to the session that asks, and so is known there."""
        return bool(self._session) and ref.drive == SESSION and ref.path.split("/")[1] == self._session

    def _is_echo(self, item: Item, text: str) -> bool:
        if self._program and item.ref.drive == "program" and item.ref.path.split("/")[1] == self._program:
            return True
        if item.kind != SESSION:
            return False
        if self.is_own(item.ref) or is_own_tool(str(item.fields.metadata.get("tool") or "")):
            return True
        persons = item.fields.metadata.get("role", "user") == "user"  # or the list of requests of a session's item
        return repeats(_words(text), self._asked, is_persons=persons)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(fold(text))) - STOP_WORDS["english"]
