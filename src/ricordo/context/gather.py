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
        one = self.passage
        return self.at, self.session, one.item.fields.seq or 0, one.ref, one.first

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
        item, one = self.passage.item, self.passage
        if item.kind == SESSION and self.session and item.fields.seq is not None:
            label = f"{self.at:%H:%M} /{item.fields.seq} {one_line(str(item.fields.metadata.get('role', '')), 20)}"
        else:
            first, last = one.lines
            lines = f"lines {first}-{last}" if item.kind == "document" and first > 0 else ""
            parts = (one_line(one.ref, LONGEST_REF), lines, one_line(one.place, LONGEST_TITLE))
            label = " ".join(filter(None, parts))
        return f"- {label.rstrip()}: {text}"


class Gatherer:
    """Spends one budget on the passages of one topic."""

    def __init__(self, passages: Sequence[ContextPassage], budget: int, tokens: Tokens) -> None:
        self._budget = budget
        self._tokens = tokens
        self._choices = self._each_once(passages)
        self._best = max((one.passage.value for one in self._choices), default=0.0) or 1.0

    def gather(self) -> tuple[Told, list[ContextPart]]:
        """The evidence that covers most of the topic, as one text and piece by piece, oldest first."""
        chosen = self._chosen()
        text = self._text(chosen)
        while chosen and self._tokens.of(text) > self._budget:
            chosen.pop()
            text = self._text(chosen)
        text = self._grown(chosen, text)
        parts = []
        for one in sorted(chosen, key=lambda one: one.order):
            passage = one.passage
            title, is_cut = passage.item.title_with(passage.text), one.shown != one_line(passage.text, LONGEST_LINE)
            tokens = self._tokens.of(one.shown)
            parts.append(
                ContextPart(
                    "gathered", passage.ref, title, passage.lines, tokens, passage.value, fenced=True, cut=is_cut
                )
            )
        return text, parts

    def _each_once(self, passages: Sequence[ContextPassage]) -> list[_Choice]:
        """The passages, best first, without those that say the same as a better one."""
        seen = ShownTexts()
        found = []
        for one in passages:
            if seen.same_as(one.text) is not None:
                continue
            seen.add(one.ref, one.text)
            item = one.item
            is_said = item.kind == SESSION or item.kind in REMEMBERED_KINDS
            at = item.created_at if is_said else item.updated_at  # of a file or page, when it was last changed
            found.append(_Choice(one, at, item.fields.thread or "", content_words(one.text)))
        return found

    def _chosen(self) -> list[_Choice]:
        """The pieces that are shown, in the order in which they were chosen."""
        chosen: list[_Choice] = []
        left = list(self._choices)
        likeness = [0.0] * len(left)
        seen: set[str] = set()
        room = self._budget - self._tokens.of(self._text(()))
        while left and room > SMALLEST:
            at = max(range(len(left)), key=lambda at: self._gain(left[at], likeness[at], seen))
            one = left.pop(at)
            likeness.pop(at)
            text = one_line(one.passage.snippet or one.passage.text, LONGEST_LINE)
            one.short = one.shown = text if self._tokens.of(text) <= EXCERPT else self._tokens.cut(text, EXCERPT)
            headed = 0 if one.heading in seen else self._tokens.of(one.heading)
            cost = self._tokens.of(one.line(one.shown)) + headed
            if cost > room:
                continue
            room -= cost
            chosen.append(one)
            seen |= {one.source, one.heading, f"{one.at:%Y-%m-%d}"}
            likeness = [max(known, _alike(one, other)) for known, other in zip(likeness, left, strict=True)]
        return chosen

    def _gain(self, one: _Choice, likeness: float, seen: set[str]) -> float:
        """What a piece adds to those that were chosen."""
        new = NEW_SOURCE * (one.source not in seen) + NEW_DAY * (f"{one.at:%Y-%m-%d}" not in seen)
        return one.passage.value / self._best + new - LIKENESS * likeness

    def _grown(self, chosen: Sequence[_Choice], text: Told) -> Told:
        """Spend what is left on whole passages, the most valuable first."""
        for one in sorted(chosen, key=lambda one: -one.passage.value):
            whole = one_line(one.passage.text, LONGEST_LINE)
            if whole == one.shown:
                continue
            spare = self._budget - self._tokens.of(text)
            more = self._tokens.of(one.short) + spare
            one.shown = whole if self._tokens.of(whole) <= more else self._tokens.cut(whole, more)
            longer = self._text(chosen)
            if len(one.shown) <= len(one.short) or self._tokens.of(longer) > self._budget:
                one.shown = one.short
                continue
            text = longer
        return text

    def _text(self, chosen: Sequence[_Choice]) -> Told:
        """All of it in one fence, each piece on a line of its own, so that none can look like another or end it."""
        lines: list[str] = []
        heading = ""
        for one in sorted(chosen, key=lambda one: one.order):
            if one.heading != heading:
                heading = one.heading
                lines.append(heading)
            lines.append(one.line(one.shown))
        if not lines:
            return joined()
        return joined(f"{HEADING} {HOW_TO_READ['item'][0]}", told_text("\n".join(lines), outside=True), gap="\n")


def _alike(one: _Choice, other: _Choice) -> float:
    """How much of the shorter text's words the two share, from 0 to 1."""
    fewer = min(len(one.words), len(other.words))
    return len(one.words & other.words) / fewer if fewer else 0.0
