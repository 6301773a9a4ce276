"""Chooses the evidence on a topic that covers most of it within a budget of tokens, and puts it in order of time.

A search gives the best first, and the ten best often say the same thing in ten ways. Here each piece is shown in a few
words, and each next one is chosen for what it adds: it fits the topic, it differs from those chosen so far, and it
comes from another item, session or day. Room that is left over goes into longer pieces. The engine finds the passages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ricordo.context.passages import ContextPassage, ShownTexts, Tokens
from ricordo.text.alike import content_words
from ricordo.trust.fence import LONGEST_REF, LONGEST_TITLE, Told, joined, one_line, told_text
from ricordo.values.context import HOW_TO_READ, ContextPart
from ricordo.values.kinds import REMEMBERED_KINDS, SESSION

EXCERPT = 24
"""How many tokens of a passage are shown at first; more of it if there is room in the end."""
SMALLEST = 12
"""A piece is not cut to fewer tokens than this, because less is of no use."""
LIKENESS = 0.1
"""How much of a piece's value is lost if it says the same as one that was chosen before."""
NEW_SOURCE = 0.05
NEW_DAY = 0.05
"""What a piece gains if it is the first of its item or session, and the first of its day."""
LONGEST_LINE = 2000
HEADING = "Oldest first"


@dataclass(slots=True)
class _Choice:
    """A passage that may be shown: when it is from, the session it belongs to, and its words."""

    passage: ContextPassage
    at: datetime
    session: str
    words: frozenset[str]
    short: str = ""
    shown: str = ""

    @property
    def order(self) -> tuple[datetime, str, int, str, int]:
        passage = self.passage
        return self.at, self.session, passage.item.fields.seq or 0, passage.ref, passage.first

    @property
    def source(self) -> str:
        return self.session or self.passage.ref

    @property
    def heading(self) -> str:
        day = f"{self.at:%Y-%m-%d}"
        if self.passage.item.kind != SESSION or not self.session:
            return day
        title = one_line(self.passage.item.fields.title.rpartition(" (")[0], LONGEST_TITLE)
        return " ".join(filter(None, (day, f"session:/{one_line(self.session, LONGEST_TITLE)}", title)))

    def line(self, text: str) -> str:
        """The piece on one line: for a turn its time, number and speaker, for others their ref and lines."""
        item, passage = self.passage.item, self.passage
        if item.kind == SESSION and self.session and item.fields.seq is not None:
            label = f"{self.at:%H:%M} /{item.fields.seq} {one_line(str(item.fields.metadata.get('role', '')), 20)}"
        else:
            first, last = passage.lines
            lines = f"lines {first}-{last}" if item.kind == "document" and first > 0 else ""
            parts = (one_line(passage.ref, LONGEST_REF), lines, one_line(passage.place, LONGEST_TITLE))
            label = " ".join(filter(None, parts))
        return f"- {label.rstrip()}: {text}"


class Gatherer:
    """Spends one budget on the passages of one topic."""

    def __init__(self, passages: Sequence[ContextPassage], budget: int, tokens: Tokens) -> None:
        self._budget = budget
        self._tokens = tokens
        self._choices = self._each_once(passages)
        self._best = max((choice.passage.value for choice in self._choices), default=0.0) or 1.0

    def gather(self) -> tuple[Told, list[ContextPart]]:
        """The evidence that covers most of the topic, as one text and piece by piece, oldest first."""
        chosen = self._chosen()
        text = self._text(chosen)
        while chosen and self._tokens.of(text) > self._budget:
            chosen.pop()
            text = self._text(chosen)
        text = self._grown(chosen, text)
        parts = []
        for choice in sorted(chosen, key=lambda choice: choice.order):
            passage = choice.passage
            title, is_cut = passage.item.title_with(passage.text), choice.shown != one_line(passage.text, LONGEST_LINE)
            tokens = self._tokens.of(choice.shown)
            parts.append(
                ContextPart(
                    "gathered", passage.ref, title, passage.lines, tokens, passage.value, fenced=True, cut=is_cut
                )
            )
        return text, parts

    def _each_once(self, passages: Sequence[ContextPassage]) -> list[_Choice]:
        """The passages, best first, without those that say the same as a better one."""
        seen = ShownTexts()
        choices = []
        for passage in passages:
            if seen.same_as(passage.text) is not None:
                continue
            seen.add(passage.ref, passage.text)
            item = passage.item
            is_said = item.kind == SESSION or item.kind in REMEMBERED_KINDS
            at = item.created_at if is_said else item.updated_at  # of a file or page, when it was last changed
            choices.append(_Choice(passage, at, item.fields.thread or "", content_words(passage.text)))
        return choices

    def _chosen(self) -> list[_Choice]:
        """The pieces that are shown, in the order in which they were chosen."""
        chosen: list[_Choice] = []
        left = list(self._choices)
        likeness = [0.0] * len(left)
        seen: set[str] = set()
        room = self._budget - self._tokens.of(self._text(()))
        while left and room > SMALLEST:
            at = max(range(len(left)), key=lambda at: self._gain(left[at], likeness[at], seen))
            choice = left.pop(at)
            likeness.pop(at)
            text = one_line(choice.passage.snippet or choice.passage.text, LONGEST_LINE)
            choice.short = choice.shown = text if self._tokens.of(text) <= EXCERPT else self._tokens.cut(text, EXCERPT)
            headed = 0 if choice.heading in seen else self._tokens.of(choice.heading)
            cost = self._tokens.of(choice.line(choice.shown)) + headed
            if cost > room:
                continue
            room -= cost
            chosen.append(choice)
            seen |= {choice.source, choice.heading, f"{choice.at:%Y-%m-%d}"}
            likeness = [max(likest, _alike(choice, other)) for likest, other in zip(likeness, left, strict=True)]
        return chosen

    def _gain(self, choice: _Choice, likeness: float, seen: set[str]) -> float:
        """What a piece adds to those that were chosen."""
        new = NEW_SOURCE * (choice.source not in seen) + NEW_DAY * (f"{choice.at:%Y-%m-%d}" not in seen)
        return choice.passage.value / self._best + new - LIKENESS * likeness

    def _grown(self, chosen: Sequence[_Choice], text: Told) -> Told:
        """Spend what is left on whole passages, the most valuable first."""
        for choice in sorted(chosen, key=lambda choice: -choice.passage.value):
            whole = one_line(choice.passage.text, LONGEST_LINE)
            if whole == choice.shown:
                continue
            spare = self._budget - self._tokens.of(text)
            more = self._tokens.of(choice.short) + spare
            choice.shown = whole if self._tokens.of(whole) <= more else self._tokens.cut(whole, more)
            longer = self._text(chosen)
            if len(choice.shown) <= len(choice.short) or self._tokens.of(longer) > self._budget:
                choice.shown = choice.short
                continue
            text = longer
        return text

    def _text(self, chosen: Sequence[_Choice]) -> Told:
        """All of it in one fence, each piece on a line of its own, so that none can look like another or end it."""
        lines: list[str] = []
        heading = ""
        for choice in sorted(chosen, key=lambda choice: choice.order):
            if choice.heading != heading:
                heading = choice.heading
                lines.append(heading)
            lines.append(choice.line(choice.shown))
        if not lines:
            return joined()
        return joined(f"{HEADING} {HOW_TO_READ['item'][0]}", told_text("\n".join(lines), outside=True), gap="\n")


def _alike(first: _Choice, second: _Choice) -> float:
    """How much of the shorter text's words the two share, from 0 to 1."""
    fewer = min(len(first.words), len(second.words))
    return len(first.words & second.words) / fewer if fewer else 0.0
