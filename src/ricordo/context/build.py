"""Decides what an agent is shown for a task, within a budget of tokens.

1. Items that every agent gets, whole, the most important first. If they do not fit, those that are used most and are
   newest come first among the equally important, and the last is cut, with a warning.
2. A part of the rest for skills and tools, as one line each, and for what happened lately, if asked for.
3. Up to half of what is left for items that are loaded when they share words with the task.
4. The best passages for the task, while they fit, several short ones rather than one long; or, if asked for, all
   evidence on it in order of time (``gather``).
5. Items that did not fit are named, if there is room for their names.

The same material always gives the same text. The engine finds the material.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from ricordo.context.gather import Gatherer
from ricordo.context.passages import ContextPassage, ShownTexts, Tokens, merged, newest_first, strong
from ricordo.frozen import frozen
from ricordo.models.base import TokenCounter
from ricordo.text.alike import content_words
from ricordo.trust.fence import LONGEST_LINE, Told, clean, frame, joined, told_item, told_line, told_names
from ricordo.trust.level import is_outside
from ricordo.values.context import HOW_TO_READ, NO_ROOM, ContextPart, ContextReport, LeftOut, LineSection
from ricordo.values.items import Item
from ricordo.values.kinds import SESSION
from ricordo.values.log import Happening

LINES_SHARE = 4
"""The largest part of the budget left after step 1 that a section of lines may take: a quarter."""
MOST_FOR_EVENTS = 400
EVENTS_SHARE = 5
LONGEST_NAMED = 400
"""How many letters the line of a skill or a tool has at most."""
SMALLEST = 24
"""A text is not cut to fewer tokens than this (without its label), because less is of no use."""
MOST_FOR_NOTE = 60
NOTE_SHARE = 12
NOT_NOW = ("not valid yet", "no longer valid")
MOST_NAMES = 8

HEADINGS = {
    "always": "## Always",
    "contextual": "## Notes for tasks like this",
    "passage": "## From memory",
    "gathered": "## From memory, in order of time",
}
LATELY = "## Lately"


@frozen
class Material:
    """All that could be shown, before anything is chosen; every list is in order of preference."""

    always: Sequence[Item] = ()
    contextual: Sequence[ContextPassage] = ()
    rules: Sequence[ContextPassage] = ()
    """The user's memories about what the task asks to do."""
    passages: Sequence[ContextPassage] = ()
    gathered: Sequence[ContextPassage] = ()
    lines: Sequence[LineSection] = ()
    """What plugins add, such as skills and tools."""
    events: Sequence[Happening] = ()
    left_out: Sequence[LeftOut] = ()
    warnings: Sequence[str] = ()
    doubts: Mapping[str, str] = field(default_factory=dict)
    """By ref: why what every agent gets should not be taken for true as it stands."""
    task: str = ""
    words_of: Callable[[str], AbstractSet[str]] = content_words
    """The words of a text by which it is told whether two memories are about one subject."""
    own: Collection[str] = ()
    """The refs of those lines, events and items left out that are the user's own words."""


@dataclass(slots=True)
class _Section:
    """The blocks of one section, and the parts that they show."""

    name: str
    frame: tuple[Told, Told]
    """What stands before and after its blocks."""
    gap: str = "\n\n"
    blocks: list[Told] = field(default_factory=list)
    parts: list[ContextPart] = field(default_factory=list)

    def text(self) -> Told:
        return joined(self.frame[0], joined(*self.blocks, gap=self.gap), self.frame[1], gap="\n")


class Builder:
    """Spends one budget."""

    def __init__(self, material: Material, budget: int, counter: TokenCounter) -> None:
        self.material = material
        self.budget = budget
        self.tokens = Tokens(counter)
        self.room = budget
        self.shown_texts = ShownTexts()
        headings = HEADINGS | {section.name: section.heading for section in material.lines} | {"recent": LATELY}
        self.sections = {name: _Section(name, frame(heading, outside=False)) for name, heading in headings.items()}
        passages = (*material.contextual, *material.rules, *material.passages)
        items = (*material.always, *(passage.item for passage in passages))
        self.own = {*material.own, *(str(item.ref) for item in items if not is_outside(item))}
        self.left_out: list[LeftOut] = list(material.left_out)
        self.warnings: list[str] = list(material.warnings)

    def build(self) -> ContextReport:
        """The text, and which items are in it, cut or left out."""
        note = min(MOST_FOR_NOTE, self.budget // NOTE_SHARE)
        self._always(note)
        self.room -= note
        events = [
            (
                ContextPart("recent", one.ref),
                (f"{one.at:%Y-%m-%d %H:%M}", one.role or one.what, _named(one), one.title),
            )
            for one in self.material.events
        ]
        for section in self.material.lines:
            self._lines(section, LINES_SHARE, ": ", LONGEST_NAMED)
        self._lines(LineSection("recent", LATELY, MOST_FOR_EVENTS, events), EVENTS_SHARE)
        self._passages("contextual", [*self.material.contextual, *self.material.rules], self.room // 2)
        self._passages("passage", strong(self.material.passages), self.room)
        self._gathered()
        return self._report()

    def _always(self, note: int) -> None:
        """Items that every agent gets, whole while they fit. The first that does not fit is cut; those after it are
        left out.
        """
        ordered = sorted(self.material.always, key=lambda item: (-(item.fields.importance or 3), str(item.ref)))
        blocks = [(item, self._item_block(item, clean(item.content))) for item in ordered]
        whole = self.tokens.of_all([text for _, text in blocks]) + self._heading("always")
        spare = 0
        if whole > self.room:
            spare = note
            blocks.sort(key=lambda block: _preference(block[0]), reverse=True)
        full = False
        for item, text in blocks:
            ref = str(item.ref)
            if not full and self._cost("always", text) <= self.room - spare:
                self._add("always", text, _part("always", item))
                self.shown_texts.add(ref, item.content)
            elif not full:
                full = True
                room = self.room - spare - self._heading("always")
                body = self._shortened_text(partial(self._item_block, item), clean(item.content), room)
                if body:
                    shorter = self._item_block(item, body)
                    self._add("always", shorter, replace(_part("always", item), cut=True))
                    self.shown_texts.add(ref, shorter)
                else:
                    self.left_out.append(LeftOut(ref, NO_ROOM))
            else:
                self.left_out.append(LeftOut(ref, NO_ROOM))
        if full:
            self.warnings.append(
                f"items that every agent gets take {whole} tokens, and the budget is {self.budget}:"
                " the least important part was cut"
            )

    def _item_block(self, item: Item, text: str) -> Told:
        fields = item.fields
        doubt = self.material.doubts.get(str(item.ref), "")
        return told_item(str(item.ref), fields.title, fields.about, text, outside=is_outside(item), place=doubt)

    def _lines(self, lines: LineSection, share: int, gap: str = " ", longest: int = LONGEST_LINE) -> None:
        """A line for each part, while they fit into their share of the room. If any of them is not the user's own, one
        fence stands around all.
        """
        outside = lines.outside or any(part.ref not in self.material.own for part, _ in lines.rows)
        section = self.sections[lines.name]
        section.frame, section.gap = frame(lines.heading, outside=outside), "\n"
        before = self.room
        most = min(lines.most, before // share)
        for part, words in lines.rows:
            text = told_line(*words, gap=gap, outside=outside, longest=longest)
            if before - self.room + self._cost(lines.name, text) <= most:
                self._add(lines.name, text, replace(part, fenced=outside))
            else:
                self.left_out.append(LeftOut(part.ref, "no room for another line"))

    def _passages(self, name: str, passages: Sequence[ContextPassage], most: int) -> None:
        """The best passages while they fit; a passage that says nothing new is skipped."""
        chosen: list[ContextPassage] = []
        cut: set[tuple[str, int]] = set()
        room = min(most, self.room) - self._heading(name)
        for passage in passages:
            if (same := self.shown_texts.same_as(passage.text)) is not None:
                if same != passage.ref:
                    self.left_out.append(LeftOut(passage.ref, f"says the same as {same}"))
                continue
            if self.tokens.of(self._passage_block(passage)) > room:
                text = self._shortened_text(partial(self._passage_block, passage), passage.text, room)
                if not text:
                    self.left_out.append(LeftOut(passage.ref, NO_ROOM))
                    continue
                first, last = passage.lines
                passage = replace(
                    passage, text=text, lines=(first, min(last, first + text.count("\n")) if first > 0 else last)
                )
                cut.add((passage.ref, passage.first))
            room -= self.tokens.of(self._passage_block(passage))
            chosen.append(passage)
            self.shown_texts.add(passage.ref, passage.text)
        whole = [passage for passage in chosen if (passage.ref, passage.first) not in cut]
        shortened = [passage for passage in chosen if (passage.ref, passage.first) in cut]
        best: dict[str, float] = {}
        for passage in chosen:
            best[passage.ref] = max(best.get(passage.ref, 0.0), passage.value)
        ordered = sorted(
            [*merged(whole), *shortened], key=lambda passage: (-best[passage.ref], passage.ref, passage.first)
        )
        for passage in newest_first(ordered, self.material.task, self.material.words_of):
            part = ContextPart(
                name, passage.ref, passage.item.title_with(passage.text), passage.lines, score=round(passage.value, 6),
                fenced=passage.outside,
                cut=(passage.ref, passage.first) in cut,
            )  # fmt: skip
            self._add(name, self._passage_block(passage), part)

    def _gathered(self) -> None:
        """The evidence in order of time, as one block with a part for each piece."""
        passages = [passage for passage in self.material.gathered if self.shown_texts.same_as(passage.text) is None]
        room = self.room - self._heading("gathered")
        text, parts = Gatherer(passages, room, self.tokens).gather()
        if parts:
            self.room -= self._cost("gathered", text)
            self.sections["gathered"].blocks.append(text)
            self.sections["gathered"].parts += parts

    def _passage_block(self, passage: ContextPassage, text: str | None = None) -> Told:
        fields = passage.item.fields
        return told_item(
            passage.ref, fields.title, fields.about, passage.text if text is None else text,
            outside=passage.outside, lines=passage.lines, place=passage.place,
        )  # fmt: skip

    def _shortened_text(self, make: Callable[[str], Told], body: str, room: int) -> str:
        """The longest beginning of a text whose block fits into the room; empty if that would be too short."""
        inside = room - self.tokens.of(make("")) - 2  # 2: a fence may need more backticks with the text in it
        if inside < SMALLEST:
            return ""
        text = self.tokens.cut(body, inside)
        while text and self.tokens.of(make(text)) > room:
            inside -= max(1, self.tokens.of(make(text)) - room)
            text = self.tokens.cut(body, inside) if inside >= SMALLEST else ""
        return text

    def _heading(self, name: str) -> int:
        section = self.sections[name]
        return 0 if section.blocks else self.tokens.of_all(section.frame)

    def _cost(self, name: str, text: str) -> int:
        return self._heading(name) + self.tokens.of(text)

    def _add(self, name: str, text: Told, part: ContextPart) -> None:
        self.room -= self._cost(name, text)
        section = self.sections[name]
        section.blocks.append(text)
        section.parts.append(replace(part, tokens=self.tokens.of(text)))

    def _report(self) -> ContextReport:
        text = self._text()
        # With the shipped tokenizer the tokens of the parts add up to those of the whole; else the end is cut.
        while (count := self.tokens.of(text)) > self.budget:
            section = next(filled for filled in reversed(self.sections.values()) if filled.blocks)
            section.blocks.pop()
            self.left_out.append(LeftOut(section.parts.pop().ref, NO_ROOM))
            text = self._text()
        text = joined(text, self._note(self.budget - count))
        parts = tuple(part for section in self.sections.values() for part in section.parts)
        left_out = tuple(dict.fromkeys(self.left_out))
        return ContextReport(text, self.tokens.of(text), self.budget, parts, left_out, tuple(self.warnings))

    def _text(self) -> Told:
        return joined(*(section.text() for section in self.sections.values() if section.blocks))

    def _note(self, room: int) -> Told:
        """The names of items that did not fit, as many as there is room for."""
        told = {part.ref for section in self.sections.values() for part in section.parts}
        refs = dict.fromkeys(entry.ref for entry in self.left_out if entry.reason == NO_ROOM and entry.ref not in told)
        fewest = 0 if told else 1  # a count alone, with nothing shown, helps nobody
        forms = (
            self._named("Left out:", refs, count, after)
            for count in range(min(len(refs), MOST_NAMES), fewest - 1, -1)
            for after in (f" {HOW_TO_READ['item'][0]}", "")
        )
        note = next((form for form in forms if self.tokens.of(form) <= room), joined()) if refs else joined()
        return self._with_expired(note, told, room)

    def _with_expired(self, note: Told, told: Collection[str], room: int) -> Told:
        """The note, and which items were left out because they are not valid now, if there is room for that."""
        refs = dict.fromkeys(entry.ref for entry in self.left_out if entry.reason in NOT_NOW and entry.ref not in told)
        for count in range(min(len(refs), MOST_NAMES), 0, -1):
            line = self._named("Left out, because it is not valid now:", refs, count)
            whole = joined(note, line, gap="\n")
            if self.tokens.of(whole) <= room:
                return whole
        return note

    def _named(self, before: str, refs: Collection[str], count: int, after: str = "") -> Told:
        """So many of the names, and how many there are more."""
        names = list(refs)[:count]
        return told_names(
            before, names, len(refs) - count, outside=any(ref not in self.own for ref in names), after=after
        )


def _preference(item: Item) -> tuple[int, int, datetime]:
    """By which of the items that every agent gets are told first if not all fit: importance, use, day."""
    return item.fields.importance or 3, item.retrieval_count + item.access_count, item.updated_at


def _named(event: Happening) -> str:
    """The ref; a turn is told by its words alone."""
    return "" if event.kind == SESSION else event.ref


def _part(section: str, item: Item) -> ContextPart:
    return ContextPart(section, str(item.ref), item.title, fenced=is_outside(item))
