"""Chooses the passages of the hits that are worth showing: strong ones, no two alike, neighbours joined.

It reads texts from the store and gives each passage a value; ``build`` decides how many of them fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import UTC, datetime

from ricordo.frozen import frozen
from ricordo.models.base import TokenCounter
from ricordo.search.candidates import OUT_OF_TIME
from ricordo.store.base import Store
from ricordo.store.query import Shown
from ricordo.text.alike import SAME_PASSAGE, content_words, shingles
from ricordo.text.asking import asks, repeats, states
from ricordo.trust.fence import clean
from ricordo.trust.level import is_outside
from ricordo.values.hits import Hit
from ricordo.values.items import MOVED, Item, Ref
from ricordo.values.kinds import CHECKPOINT, REMEMBERED_KINDS, SESSION
from ricordo.values.provenance import is_own_tool

CUT = " …"
_MOST_LETTERS = 64
"""Tokens of prose are shorter than this, so no more letters per token need to be counted."""


class Tokens:
    """Counts with one counter, and remembers what it counted."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._seen: dict[str, int] = {}

    def of(self, text: str) -> int:
        if text not in self._seen:
            self._seen[text] = self._counter.count_tokens([text])[0]
        return self._seen[text]

    def of_all(self, texts: Sequence[str]) -> int:
        return sum(map(self.of, texts))

    def cut(self, text: str, room: int) -> str:
        """The beginning of a text that takes at most ``room`` tokens with the mark of the cut; empty if nothing
        fits.
        """
        room -= self._counter.count_tokens([CUT])[0]
        if room < 1:
            return ""
        low, high = 0, min(len(text), room * _MOST_LETTERS)
        while low < high:
            middle = (low + high + 1) // 2
            if self._counter.count_tokens([text[:middle]])[0] <= room:
                low = middle
            else:
                high = middle - 1
        beginning = text[:low]
        # End with a whole line or word if there is one near.
        for sign, share in (("\n", 0.7), (" ", 0.5)):
            at = beginning.rfind(sign)
            if low < len(text) and at > low * share:
                beginning = beginning[:at]
                break
        beginning = beginning.rstrip()
        return beginning + CUT if beginning else ""


WEAK = 0.4
"""Passages with less than this part of the best one's value are left out."""
ANOTHER = 0.8
"""A passage's value is multiplied by this for each better passage of its item, so that other items come first."""
_CITED = re.compile(r"(.*): (changed|gone|moved|replaced)\b.*", re.DOTALL)


@frozen
class ContextPassage:
    """A part of an item's text: its chunks ``first`` to ``last``, their lines, and their value."""

    item: Item
    ref: str
    text: str
    lines: tuple[int, int]
    value: float
    first: int = 0
    last: int = 0
    place: str = ""
    snippet: str = ""
    """The part of the text that matched, on one line, where the search made one."""

    @property
    def outside(self) -> bool:
        return is_outside(self.item)


def may_be_shown(item: Item) -> bool:
    """Whether an item may be shown: live items are, and those that are apart; checkpoints only route."""
    is_point = item.kind == SESSION and item.fields.category == CHECKPOINT
    return not is_point and item.is_current


def if_valid(hit: Hit) -> float:
    """What a hit would score if it were valid now."""
    return hit.score / OUT_OF_TIME if hit.validity else hit.score


def passages_of(hits: Sequence[Hit], stores: Mapping[str, Store]) -> list[ContextPassage]:
    """The passages that matched, best first; the value of each is its share of its hit's score."""
    passages: list[ContextPassage] = []
    for tier, store in stores.items():
        if held := [hit for hit in hits if hit.tier == tier and hit.evidence]:
            with store.index.snapshot():
                passages += _passages_in(store, held)
    return sorted(passages, key=lambda passage: (-passage.value, passage.ref, passage.first))


def _passages_in(store: Store, hits: Sequence[Hit]) -> Iterator[ContextPassage]:
    """The same for the hits of one store, with three calls of the store, however many hits there are."""
    numbers = store.items.numbers([Ref.parse(hit.ref) for hit in hits])
    contradicting = store.items.numbers([Ref.parse(hit.contradicted_by) for hit in hits if hit.contradicted_by])
    items = store.items.get_many([*numbers.values(), *contradicting.values()])
    newer = {str(ref): items[n] for ref, n in contradicting.items() if n in items}
    now = datetime.now(UTC)
    chosen: list[tuple[int, Item, Hit]] = []
    for hit in hits:
        n = numbers.get(Ref.parse(hit.ref))
        item = items.get(n) if n is not None else None
        if n is None or item is None or not may_be_shown(item) or item.validity(now):
            continue
        if item.kind == SESSION:  # a turn has no title, so it is shown under that of its session
            item = replace(item, fields=replace(item.fields, title=hit.title))
        chosen.append((n, item, hit))
    wanted = [Shown(n, tuple(part.chunk for part in hit.evidence), item.version) for n, item, hit in chosen]
    texts = store.index.passages(wanted).texts if wanted else {}
    for n, item, hit in chosen:
        passages = {passage.chunk: passage for passage in texts.get(n, ())}
        best = max((part.score for part in hit.evidence), default=0.0)
        for place, part in enumerate(hit.evidence):
            passage = passages.get(part.chunk)
            text = clean(passage.text) if passage is not None else ""
            if passage is None or not text.strip():
                continue
            value = hit.score * (part.score / best if best > 0 else 1.0) * ANOTHER**place
            doubts = (contradicted_by(newer.get(hit.contradicted_by)), no_longer_sure(text, hit.citations))
            where = ", ".join(filter(None, (part.place, *doubts)))
            at = passage.position
            yield ContextPassage(item, hit.ref, text, passage.lines, value, at, at, where, clean(part.text))


def contradicted_by(newer: Item | None) -> str:
    """What is said of an item that a newer one contradicts. It stands outside of every fence, and whoever wrote the
    other one chose its name, with which a sentence can be said, too; so its id and its day are told.
    """
    return f"contradicted by item {newer.id} of {newer.updated_at:%Y-%m-%d}, which is newer" if newer else ""


def no_longer_sure(text: str, citations: Sequence[str]) -> str:
    """What is said of a text that cites what is not as it was: names that stand in it, and no others. That something
    moved is no reason to doubt.
    """
    matches = [match for citation in citations if (match := _CITED.fullmatch(citation))]
    named = [(match[1] if match[1] in text else "something", match[2]) for match in matches]
    moved = dict.fromkeys(f"cites {name}, which has moved" for name, state in named if state == MOVED)
    stale = dict.fromkeys(f"{name}, which is {state}" for name, state in named if state != MOVED)
    return ", ".join([*([f"no longer sure: cites {', '.join(stale)}"] if stale else []), *moved])


def strong(passages: Sequence[ContextPassage], weak: float = WEAK) -> list[ContextPassage]:
    """The passages whose value is near that of the best one."""
    floor = weak * max((passage.value for passage in passages), default=0.0)
    return [passage for passage in passages if passage.value >= floor]


def merged(passages: Sequence[ContextPassage]) -> list[ContextPassage]:
    """Join neighbouring passages of an item."""
    rows: list[ContextPassage] = []
    for passage in sorted(passages, key=lambda passage: (passage.ref, passage.first)):
        before = rows[-1] if rows else None
        if (
            before is None
            or (before.ref, before.last + 1) != (passage.ref, passage.first)
            or before.place
            or passage.place
        ):
            rows.append(passage)
            continue
        # A chunk ends where the next begins; the line break between them may have been trimmed.
        separator = " " if before.lines[1] == passage.lines[0] else "\n"
        rows[-1] = replace(
            before,
            text=before.text + separator + passage.text,
            lines=(before.lines[0], max(before.lines[1], passage.lines[1])),
            value=max(before.value, passage.value),
            last=passage.last,
        )
    return rows


SAME_SUBJECT = 0.5
"""Two memories are about one subject if they share this part of the words of the shorter one …"""
FEWEST_SHARED = 2
"""… and at least so many, or if both have the same words of the task, and this part of all that it has."""


def newest_first(
    passages: Sequence[ContextPassage], task: str, words_of: Callable[[str], AbstractSet[str]]
) -> list[ContextPassage]:
    """The passages, of memories about one subject the newest first, and each of them with its day."""
    if sum(passage.item.kind in REMEMBERED_KINDS for passage in passages) < FEWEST_SHARED:
        return list(passages)
    subjects: list[list[int]] = []
    asked = words_of(task)
    words = [words_of(passage.text) for passage in passages]
    for place, passage in enumerate(passages):
        if passage.item.kind not in REMEMBERED_KINDS:
            continue
        alike = (group for group in subjects if any(_one_subject(words[at], words[place], asked) for at in group))
        if same := next(alike, None):
            same.append(place)
        else:
            subjects.append([place])
    ordered = list(passages)
    for group in subjects:
        if len({passages[at].ref for at in group}) > 1:
            by_day = sorted((passages[at] for at in group), key=lambda passage: passage.item.updated_at, reverse=True)
            for place, passage in zip(group, by_day, strict=True):
                day = f"{passage.item.updated_at:%Y-%m-%d}"
                ordered[place] = replace(passage, place=", ".join(filter(None, (passage.place, day))))
    return ordered


def _one_subject(words: AbstractSet[str], other: AbstractSet[str], asked: AbstractSet[str]) -> bool:
    shared, of_task = len(words & other), words & asked
    if of_task and of_task == other & asked and len(of_task) >= SAME_SUBJECT * len(asked):
        return True
    return shared >= FEWEST_SHARED and shared >= SAME_SUBJECT * min(len(words), len(other))


class ShownTexts:
    """Keeps the texts shown so far, to recognise a passage that only repeats one."""

    def __init__(self) -> None:
        self._shown: list[tuple[str, frozenset[tuple[str, ...]]]] = []

    def same_as(self, text: str) -> str | None:
        """The ref of a text shown before that says nearly all of this one, if there is one."""
        mine = shingles(text)
        alike = (ref for ref, theirs in self._shown if mine and len(mine & theirs) >= SAME_PASSAGE * len(mine))
        return next(alike, None)

    def add(self, ref: str, text: str) -> None:
        self._shown.append((ref, shingles(text)))


class EchoFilter:
    """Drops passages that repeat one task, asked in one session (``session`` is its id, or empty), and the notes of the
    program that asks, because it reads them itself. For ``answers``, also turns of sessions that only ask anything, and
    what a program summed up of a session.
    """

    def __init__(self, task: str, session: str = "", program: str = "", *, answers: bool = True) -> None:
        self._answers = answers
        self._asked = content_words(task)
        self._session = session
        self._program = program

    def without_echoes(self, passages: Iterable[ContextPassage]) -> list[ContextPassage]:
        """The passages that do not repeat the task or the session."""
        return [passage for passage in passages if not self._is_echo(passage.item, passage.text)]

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
        role = item.fields.metadata.get("role", "user")  # or the list of requests of a session's item
        if self._answers and (role == "system" or (role == "user" and self._only_asks(item, text))):
            return True
        return repeats(content_words(text), self._asked, is_persons=role == "user")

    def _only_asks(self, item: Item, text: str) -> bool:
        is_list = item.fields.seq is None and text.startswith("- ")
        return not states(text) if is_list else asks(text)
