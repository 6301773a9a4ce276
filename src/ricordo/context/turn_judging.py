"""Who says how a person's message takes what came before it: the language model that is set, or else the rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ricordo.context.facet_rules import is_read
from ricordo.context.facets import SPOKEN, facets_by_model, turn_facets
from ricordo.context.session_items import is_spoken
from ricordo.errors import Unavailable
from ricordo.values.sessions import SessionEvent, TurnFacets

if TYPE_CHECKING:
    from ricordo.models.base import LLM

JUDGED_AT_ONCE = 40
"""This many messages are shown to a language model in one call."""


class TurnJudge:
    """Judges messages. A model that does not answer is not asked again: one wait for it is enough."""

    def __init__(self, llm: LLM | None) -> None:
        self.llm = llm
        self.unread = 0
        """How many messages are in a language that the rules do not read."""

    def by_model(self, events: Sequence[SessionEvent], text_of: Callable[[SessionEvent], str]) -> dict[int, TurnFacets]:
        """By the identity of an event, what the language model says of it; empty without one."""
        spoken = [event for event in events if is_spoken(event)]
        found: dict[int, TurnFacets] = {}
        for at in range(0, len(spoken), JUDGED_AT_ONCE):
            if self.llm is None:
                break
            some = spoken[at : at + JUDGED_AT_ONCE]
            try:
                judged = facets_by_model([text_of(event) for event in some], self.llm)
            except Unavailable:
                self.llm = None
            else:
                found |= {id(event): one for event, one in zip(some, judged, strict=True) if one is not None}
        return found

    def by_rules(self, event: SessionEvent, text: str) -> TurnFacets | None:
        """What the rules say of a message; None if they do not read its language, or if no person said it."""
        if not is_spoken(event):
            return None
        facets = turn_facets(text)
        if facets.is_neutral() and not is_read(text[:SPOKEN]):
            self.unread += 1
            return None
        return facets
