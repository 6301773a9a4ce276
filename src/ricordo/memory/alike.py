"""Finds pairs among many memories that say nearly the same or contradict each other, without comparing all with all.

Two memories are compared if they share a word that few others have. Their claims are read once each.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from ricordo.frozen import frozen
from ricordo.memory.contradictions import first_conflict
from ricordo.memory.duplicates import NEAR, hold_together, plain_text
from ricordo.memory.statements import Claim, statements
from ricordo.values.items import Fields

RARE = 40
"""A word that more memories have than this joins no pair."""
TELLING = 4
"""By so many of its rarest words is a memory compared."""
MOST_COMPARED = 20
"""With so many others, those that share the most words first."""
LONGEST = 2_000
"""Longer texts are no single facts: only whether they are the same is looked at."""


@frozen
class ComparedMemory:
    """A memory as it is compared with others."""

    text: str
    at: datetime
    """When its text last changed."""
    fields: Fields


@frozen
class Pair:
    """Two memories, the older first. ``contradiction`` says how they contradict each other; it is empty for two that
    say the same.
    """

    older: int
    newer: int
    contradiction: str = ""


def pairs(told: Mapping[int, ComparedMemory]) -> Iterator[Pair]:
    """The pairs among some memories that say the same or contradict each other.

    A memory is the older of one pair at most, so that each can be dealt with for itself.
    """
    texts = {n: plain_text(one.text) for n, one in told.items()}
    claims = {n: statements(told[n].text) for n, text in texts.items() if len(text) <= LONGEST}
    seen: set[int] = set()
    for one, other in _candidates(texts, claims):
        older, newer = sorted((one, other), key=lambda n: (told[n].at, n))
        if older in seen:
            continue
        why = ""
        if texts[one] != texts[other]:
            if hold_together(told[one].fields, told[other].fields):
                why = first_conflict(claims[older], claims[newer])
            if not why and not _is_near(texts[one], texts[other]):
                continue
        seen.add(older)
        yield Pair(older, newer, why)


def _candidates(texts: Mapping[int, str], claims: Mapping[int, Sequence[Claim]]) -> Iterator[tuple[int, int]]:
    """Pairs worth comparing: those with the same text, and those that share a rare word."""
    by_text: defaultdict[str, list[int]] = defaultdict(list)
    for n, text in texts.items():
        by_text[text].append(n)
    for group in by_text.values():
        yield from ((n, group[-1]) for n in group[:-1])
    words = {n: frozenset(word for claim in some for word in claim.words) for n, some in claims.items()}
    count = Counter(word for some in words.values() for word in some)
    having: defaultdict[str, list[int]] = defaultdict(list)
    for n, some in words.items():
        for word in sorted(some, key=lambda word: (count[word], word))[:TELLING]:
            if 1 < count[word] <= RARE:
                having[word].append(n)
    for n, some in words.items():
        shared = Counter(other for word in some for other in having.get(word, ()) if other > n)
        for other, _ in sorted(shared.items(), key=lambda one: (-one[1], one[0]))[:MOST_COMPARED]:
            if texts[n] != texts[other]:
                yield n, other


def _is_near(one: str, other: str) -> bool:
    from rapidfuzz import fuzz

    return fuzz.ratio(one, other, score_cutoff=NEAR * 100) > 0
