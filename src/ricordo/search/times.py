"""When a question says that something was: "what did we decide last week", "the first time", "the latest".

What was said or done at that time gains a part of what its score lacks to 1, and ``explain`` shows it as a step. It is
a signal and no filter, because people err about days, and a page that answers may be older. Only records of the past
have a time that says something: turns of sessions, commits, memories; a file has the day of its last change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice

from ricordo.frozen import frozen
from ricordo.search.exact import raised
from ricordo.search.present import HitReader, Ranked
from ricordo.search.transcripts import is_record
from ricordo.values.day_words import MOST_WORDS, in_english, may_begin
from ricordo.values.days import SPOKEN, WEEKDAYS, spoken_days
from ricordo.values.items import Item
from ricordo.values.kinds import REMEMBERED_KINDS, SESSION

LOOKED_AT = 60
"""How many of the best hits are looked at; questions without a time are not looked at at all."""
GAIN = 0.25
"""What a hit of that time gains of the way to a score of 1."""
NEAR = 0.6
"""For "first" and "latest", the part of the best score that a hit must have to be compared by its time."""
_DAY = re.compile(
    r"\b(?:(?P<since>since|after|(?:in|over|during|within)\s+the(?=\s+last))\s+|(?P<before>before|until)\s+|(?P<on>on)\s+)?"
    rf"(?P<day>yesterday|today|{SPOKEN}|(?<=\s)(?:{'|'.join(WEEKDAYS)}))\b(?!['’])",
    re.IGNORECASE,
)
_NEWEST = re.compile(r"\b(?:latest|newest|most\s+recent(?:ly)?|(?:the\s+)?last\s+time)\b", re.IGNORECASE)
_OLDEST = re.compile(
    r"\b(?:earliest|(?:the|for\s+the|a)\s+first\s+time|(?:did|have)\s+(?:i|we|you)\s+first|at\s+first|originally)\b",
    re.IGNORECASE,
)


@frozen
class Said:
    """The time that a question names: its words, and when it begins and ends."""

    words: str
    start: datetime
    end: datetime

    def has(self, moment: datetime) -> bool:
        return self.start <= moment < self.end


def time_in(text: str, now: datetime) -> Said | None:
    """The first time that a question names; ``now`` is in local time.

    >>> time_in("what did we decide last week about keys", datetime(2026, 11, 18, 9)).words
    'last week'
    >>> time_in("how are keys kept", datetime(2026, 11, 18, 9))
    """
    found = _DAY.search(text)
    if found is not None and (found["day"].lower() not in WEEKDAYS or found["since"] or found["before"] or found["on"]):
        said = _said(found[0], found["day"], now)
        if said is not None and found["since"]:
            return Said(said.words, said.start, datetime.max.replace(tzinfo=UTC))
        if said is not None and found["before"]:
            return Said(said.words, datetime.min.replace(tzinfo=UTC), said.start)
        return said
    words = text.strip(" ?.!").split()
    places = [at for at, word in enumerate(words) if may_begin(word)]
    for count in range(MOST_WORDS, 1, -1):  # single words of other languages are too often words of this one
        for at in (place for place in places if place + count <= len(words)):
            name = " ".join(words[at : at + count])
            if (english := in_english(name)) != name:
                return _said(name, english, now)
    return None


def _said(words: str, day: str, now: datetime) -> Said | None:
    try:
        days = spoken_days(day, now)
        return Said(words, *(one.astimezone(UTC) for one in days)) if days is not None else None
    except (OverflowError, OSError, ValueError):  # before the first day that a date can name
        return None


def _has_a_time(item: Item) -> bool:
    return item.kind == SESSION or item.kind in REMEMBERED_KINDS or is_record(str(item.ref))


class SaidTimes:
    """Looks at hits for the time that a question names."""

    def __init__(self, text: str) -> None:
        self._time = time_in(text, datetime.now())  # local time, as days are meant
        self._newest = self._time is None and _NEWEST.search(text) is not None
        self._oldest = self._time is None and not self._newest and _OLDEST.search(text) is not None

    def first(self, ranked: Iterable[Ranked], reader: HitReader, *, full: bool = False) -> Iterable[Ranked]:
        """The hits, those of the time that was asked for raised; as they are where none was."""
        if not (self._time or self._newest or self._oldest):
            return ranked
        rest = iter(ranked)
        head = list(islice(rest, LOOKED_AT))
        reader.read(head, contents=full)
        records = [(entry, item) for entry in head if _has_a_time(item := reader.item(entry))]
        gains = self._of_the_time(records) if self._time else self._by_order(records)
        head = [raised(entry, *gains[entry.n]) if entry.n in gains else entry for entry in head]
        head.sort(key=lambda entry: -entry.score)
        return (*head, *rest)

    def _of_the_time(self, records: Sequence[tuple[Ranked, Item]]) -> Mapping[int, tuple[str, float]]:
        said = self._time
        if said is None:
            return {}
        why = f"it is of the time that was asked for ({said.words})"
        return {entry.n: (why, GAIN) for entry, item in records if said.has(item.updated_at)}

    def _by_order(self, records: Sequence[tuple[Ranked, Item]]) -> Mapping[int, tuple[str, float]]:
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
