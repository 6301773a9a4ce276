"""Puts first what is called exactly as the query says: by its title, its file name, a heading, or words in a row.

The two sides of a search know which words a passage has, not where they stand. Somebody who types a heading or copies
half a sentence wants that very place, so the best hits are looked at once more: what is named by the query comes before
what only holds its words. ``explain`` shows what a hit gains or loses by it, as a step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, islice

from ricordo.frozen import frozen
from ricordo.patterns import late
from ricordo.search.present import HitReader, Marker
from ricordo.search.ranking import Ranked
from ricordo.text.words import Analyzer, fold, folded_words
from ricordo.values.items import Item
from ricordo.values.kinds import RECORD_DRIVES, REMEMBERED_KINDS, SESSION
from ricordo.values.times import (
    LOOSE,
    MONTHS,
    SPOKEN,
    WEEKDAYS,
    WRITTEN,
    YEAR,
    in_english,
    may_begin,
    names_alone,
    plain,
    spoken_days,
    with_english_dates,
)
from ricordo.values.times import MOST_WORDS as DAY_WORDS

LOOKED_AT = 20
"""How many of the best hits are looked at; what is named by the query has all of its words, and is among them."""
MOST_WORDS = 16
"""A longer query is a text, and not the name of anything."""
COVERED = 0.6
"""The share of the query's words that a hit's best passage must have, by rarity, to be looked at."""
SAME_TERMS = 0.25
"""What a hit gains of the way to a score of 1 if its title or a heading has the words of the query in other forms."""
IN_A_ROW = 0.4
FEWEST_IN_A_ROW = 4
"""A passage that has at least so many words of the query in a row, and more than half of them, gains that share."""


@frozen
class ExactMatch:
    """What a query says of a hit word for word."""

    place: int = 0
    """Of hits with a name that is the query, the higher precedes; 0 if it has none."""
    why: str = ""
    gain: float = 0.0
    """What it gains of the way to a score of 1."""


class ExactNames:
    """Looks at hits for what a query says word for word."""

    def __init__(self, analyzer: Analyzer, text: str) -> None:
        self._analyzer = analyzer
        self.words = tuple(folded_words(text))
        self._terms = frozenset(analyzer.query_terms(text)) if len(self.words) <= MOST_WORDS else frozenset()
        self._enough = max(FEWEST_IN_A_ROW, len(self.words) // 2 + 1)

    def first(
        self, ranked: Iterable[Ranked], reader: HitReader, last: int, *, full: bool = False, ahead: bool = False
    ) -> Iterable[Ranked]:
        """The hits, those before others that are named by the query.

        What is looked at is read together with the page that ends at ``last``, because over a network every call is a
        trip; with ``full``, which reads whole texts, only the page is looked at. Nothing else can come onto the page,
        unless a later step ranks it again: ``ahead`` reads what that will want, too.
        """
        if not 0 < len(self.words) <= MOST_WORDS:
            return ranked
        rest = iter(ranked)
        head = list(islice(rest, last if full else max(LOOKED_AT, last)))
        looked_at = [entry for entry in head[:LOOKED_AT] if entry.member.coverage >= COVERED]
        if not looked_at:
            return chain(head, rest)
        covering = {entry.n for entry in looked_at}
        wanted = [entry for place, entry in enumerate(head) if ahead or place < last or entry.n in covering]
        reader.read(wanted, contents=full)
        matches = self._matches(looked_at, reader)
        if not matches:
            return chain(head, rest)
        gaining = {n: (match.why, match.gain) for n, match in matches.items() if match.gain}
        head = [raised(entry, *gaining[entry.n]) if entry.n in gaining else entry for entry in head]
        best = max(entry.score for entry in head)  # of those with words in a row, too: a name says more
        named = {n: match for n, match in matches.items() if match.place}
        head = [entry.scored(best, named[entry.n].why) if entry.n in named else entry for entry in head]
        head.sort(key=lambda entry: (-entry.score, -named[entry.n].place if entry.n in named else 0))
        return chain(head, rest)  # what is beyond the page is seldom asked for

    def _matches(self, entries: Sequence[Ranked], reader: HitReader) -> dict[int, ExactMatch]:
        """What the query says of hits, by number; turns of sessions have no names."""
        items = [(entry, reader.item(entry)) for entry in entries]
        looked_at = [(entry.n, item, reader.texts(entry)) for entry, item in items if item.kind != SESSION]
        headings = {
            n: [part.heading.rpartition(" › ")[2] for part in texts if part.heading] for n, _, texts in looked_at
        }
        marker = Marker(self._terms, self._analyzer)
        marker.look_at([name for n, item, _ in looked_at for name in (item.title, *headings[n])])
        matches = {
            n: self._match(item, headings[n], [part.text for part in texts], marker) for n, item, texts in looked_at
        }
        return {n: match for n, match in matches.items() if match is not None}

    def _match(self, item: Item, headings: Sequence[str], texts: Sequence[str], marker: Marker) -> ExactMatch | None:
        """What the query says of an item word for word."""
        names = [
            (3, "its title", item.title),
            (2, "its file name", item.ref.path.rpartition("/")[2].partition(".")[0]),
            *[(1, "a heading", heading) for heading in headings],
        ]
        first = self.words[0]
        for place, what, name in names:
            if first not in name.lower() and name.isascii():
                continue  # most names need no closer look
            if tuple(folded_words(name)) == self.words:
                return ExactMatch(place, f"{what} is the query: as high as the best")
        for name in (item.title, *headings):
            if marker.share_of(name) == 1.0 and frozenset(self._analyzer.query_terms(name)) == self._terms:
                return ExactMatch(0, "a title or heading has the words of the query", SAME_TERMS)
        if len(self.words) < self._enough:
            return None
        held = [text for text in texts if self._may_stand_in_a_row(fold(text))]
        longest = max((in_a_row(self.words, folded_words(text)) for text in held), default=0)
        if longest >= self._enough:
            return ExactMatch(0, f"{longest} words of the query in a row", IN_A_ROW * longest / len(self.words))
        return None

    def _may_stand_in_a_row(self, text: str) -> bool:
        """Whether a folded text has enough of the query's words in a row, wherever they stand; most need no closer
        look.
        """
        row = 0
        for word in self.words:
            row = row + 1 if word in text else 0
            if row >= self._enough:
                return True
        return False


def raised(entry: Ranked, why: str, gain: float) -> Ranked:
    """A hit that gains a part of the way to a score of 1, for a reason that is shown."""
    return entry.scored(entry.score + (1.0 - entry.score) * gain, f"{why}: {gain:.2f} of what is missing to 1")


def in_a_row(query: Sequence[str], text: list[str]) -> int:
    """The length of the longest run of a query's words that stands in a text.

    >>> in_a_row(("the", "pod", "is", "evicted"), "why the pod is gone".split())
    3
    """
    best = 0
    words, asked, most, end = list(query), frozenset(query), len(query), len(text)
    for at in [at for at, word in enumerate(text) if word in asked]:  # few words of a text are asked for
        for start in range(most):
            while (
                start + best < most
                and at + best < end
                and words[start : start + best + 1] == text[at : at + best + 1]  # a longer run than the best
            ):
                best += 1
    return best


LOOKED_AT_FOR_TIMES = 60
"""How many of the best hits are looked at; questions without a time are not looked at at all."""
GAIN = 0.25
"""What a hit of that time gains of the way to a score of 1."""
NEAR = 0.6
"""For "first" and "latest", the part of the best score that a hit must have to be compared by its time."""
_DAY = late(
    r"\b(?:(?P<since>since|after|(?:in|over|during|within)\s+the(?=\s+(?:last|past)))\s+|(?P<before>before|until)\s+"
    r"|(?P<within>in|during)\s+|(?P<on>on|from|of|between)\s+)?"
    rf"(?P<day>yesterday|today|{SPOKEN}|{LOOSE}|(?<=\s)(?:{'|'.join(WEEKDAYS)})|(?<![\w./-])(?:{WRITTEN})"
    rf"|(?<=\s)(?:{'|'.join(MONTHS)}|{YEAR}))"
    rf"(?:\s+(?:and|to|until|till)\s+(?P<to>{WRITTEN}))?(?![\w/-]|\.\w)",
    re.IGNORECASE,
)
_YEAR_AT_END = late(rf"{YEAR}$")
_NEWEST = late(r"\b(?:latest|newest|most\s+recent(?:ly)?|(?:the\s+)?last\s+time)\b", re.IGNORECASE)
_OLDEST = late(
    r"\b(?:earliest|(?:the|for\s+the|a)\s+first\s+time|(?:did|have)\s+(?:i|we|you)\s+first|at\s+first|originally)\b",
    re.IGNORECASE,
)

_DAY_SIGNS = ("day", "week", "month", "year", "19", "20", *MONTHS)
_SHORT_MONTHS = tuple(month[:3] for month in MONTHS)
_NEWEST_SIGNS = ("latest", "newest", "recent", "last")
_OLDEST_SIGNS = ("earliest", "first", "originally")
"""One of these is in every match of those, whose compilation takes as long as a search."""


@frozen
class NamedTime:
    """The time that a question names: its words, and when it begins and ends."""

    words: str
    start: datetime
    end: datetime

    def has(self, moment: datetime) -> bool:
        return self.start <= moment < self.end


def time_in(text: str, now: datetime) -> NamedTime | None:
    """The first time that a question names; ``now`` is in local time.

    >>> time_in("what did we decide last week about keys", datetime(2026, 11, 18, 9)).words
    'last week'
    >>> time_in("how are keys kept", datetime(2026, 11, 18, 9))
    """
    has_number = any(map(text.__contains__, "0123456789"))
    english = with_english_dates(text) if has_number or not text.isascii() else text
    holds = english.casefold().__contains__
    may_name = any(map(holds, _DAY_SIGNS)) or (has_number and any(map(holds, _SHORT_MONTHS)))
    for match in _DAY.finditer(english) if may_name else ():
        day = match["day"]
        asked = match["since"] or match["before"] or match["within"]
        if day.lower() in (*WEEKDAYS, *MONTHS):  # "we march on" names no time
            asked = asked or match["on"]
        elif not day.isdigit():  # as a year does, unlike "of 2024 words"
            asked = day
        if not asked:
            continue
        last_day = match["to"] or day
        if match["to"] and (year := _YEAR_AT_END.search(last_day)) and not _YEAR_AT_END.search(day):
            day = f"{day} {year[0]}"  # between 3 March and 5 April 2025
        named, last = (_named(match[0], one, now) for one in (day, last_day))
        if named is None or last is None:
            continue
        if match["since"]:
            return replace(named, end=datetime.max.replace(tzinfo=UTC))
        if match["before"]:
            return NamedTime(named.words, datetime.min.replace(tzinfo=UTC), named.start)
        return replace(named, end=max(named.end, last.end))
    words = [word.rstrip("?.!,;:") for word in text.split()]
    places = [at for at, word in enumerate(words) if may_begin(word)]
    for count in range(DAY_WORDS, 0, -1):
        for at in (place for place in places if place + count <= len(words)):
            name = " ".join(words[at : at + count])
            if count == 1 and plain(name) not in names_alone():  # most are too often words of this language
                continue
            if (english := in_english(name)) != name:
                return _named(name, english, now)
    return None


def _named(words: str, day: str, now: datetime) -> NamedTime | None:
    try:
        days = spoken_days(day, now)
        return NamedTime(words, *(day_time.astimezone(UTC) for day_time in days)) if days is not None else None
    except (OverflowError, OSError, ValueError):  # before the first day that a date can name
        return None


class QuestionTime:
    """Looks at hits for the time that a question names."""

    def __init__(self, text: str) -> None:
        self._time = time_in(text, datetime.now())  # local time, as days are meant
        holds = text.casefold().__contains__ if self._time is None else "".__contains__
        self._newest = any(map(holds, _NEWEST_SIGNS)) and _NEWEST.search(text) is not None
        self._oldest = not self._newest and any(map(holds, _OLDEST_SIGNS)) and _OLDEST.search(text) is not None

    def first(self, ranked: Iterable[Ranked], reader: HitReader, *, full: bool = False) -> Iterable[Ranked]:
        """The hits, those of the time that was asked for raised; as they are where none was."""
        if not (self._time or self._newest or self._oldest):
            return ranked
        rest = iter(ranked)
        head = list(islice(rest, LOOKED_AT_FOR_TIMES))
        reader.read(head, contents=full)
        kinds = (SESSION, *REMEMBERED_KINDS)
        items = [(entry, reader.item(entry)) for entry in head]
        records = [(entry, item) for entry, item in items if item.kind in kinds or item.ref.drive in RECORD_DRIVES]
        if (time := self._time) is not None:
            gain = (f"it is of the time that was asked for ({time.words})", GAIN)
            gains = {entry.n: gain for entry, item in records if time.has(item.updated_at)}
        else:
            gains = self._by_order(records)
        head = [raised(entry, *gains[entry.n]) if entry.n in gains else entry for entry in head]
        head.sort(key=lambda entry: -entry.score)
        return (*head, *rest)

    def _by_order(self, records: Sequence[tuple[Ranked, Item]]) -> dict[int, tuple[str, float]]:
        """The newest or oldest of those that match nearly as well as the best gains most, and the last nothing."""
        best = max((entry.score for entry, _ in records), default=0.0)
        near = [(item.updated_at, entry.n) for entry, item in records if entry.score >= NEAR * best]
        times = sorted({moment for moment, _ in near}, reverse=self._newest)
        why = f"the {'newest' if self._newest else 'oldest'} was asked for, and of {len(times)} times it is of the"
        last = len(times) - 1
        places = {moment: place for place, moment in enumerate(times)}
        return {
            n: (f"{why} {places[moment] + 1}.", GAIN * (1.0 - places[moment] / last))
            for moment, n in near
            if last and places[moment] < last
        }
