"""Pairs of memories that say the same or contradict each other, and the links between those that contradict."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from ricordo.frozen import frozen
from ricordo.memory.duplicates import CLAIMING, DuplicateFinder
from ricordo.plugins.upkeep.contradictions import Claim, first_conflict, statements
from ricordo.store.base import Store
from ricordo.store.query import Passages
from ricordo.store.values import PreparedItem
from ricordo.text.alike import NEAR, plain_text, ratio
from ricordo.values.items import Fields, Item, Ref
from ricordo.values.times import parse_time

CONTRADICTS = "contradicts"
MOST_TEXTS = 100
"""If more texts than this change at once, only the first ones are compared; ``review`` finds the rest."""
RARE = 40
"""A word that more memories have than this joins no pair."""
RAREST = 4
"""By so many of its rarest words is a memory compared."""
MOST_COMPARED = 20
"""With so many others, those that share the most words first."""
LONGEST = 2_000
"""Longer texts are no single facts: only whether they are the same is looked at."""


@frozen
class Pair:
    """Two memories, the older first. ``contradiction`` says how they contradict each other; it is empty for two that
    say the same.
    """

    older: int
    newer: int
    contradiction: str = ""


def pairs(memories: Mapping[int, Item], contents: Mapping[int, str]) -> Iterator[Pair]:
    """The pairs among some memories that say the same or contradict each other.

    A memory is the older of one pair at most, so that each can be dealt with for itself.
    """
    texts = {n: plain_text(content) for n, content in contents.items()}
    claims = {n: statements(contents[n]) for n, text in texts.items() if len(text) <= LONGEST}
    paired: set[int] = set()
    for candidates in _candidates(texts, claims):
        older, newer = sorted(candidates, key=lambda n: (memories[n].updated_at, n))
        if older in paired:
            continue
        why = ""
        if texts[older] != texts[newer]:
            if overlap(memories[older].fields, memories[newer].fields):
                why = first_conflict(claims[older], claims[newer])
            first, second = candidates
            if not why and not ratio(texts[first], texts[second], NEAR):
                continue
        paired.add(older)
        yield Pair(older, newer, why)


def _candidates(texts: Mapping[int, str], claims: Mapping[int, Sequence[Claim]]) -> Iterator[tuple[int, int]]:
    """Pairs worth comparing: those with the same text, and those that share a rare word."""
    by_text: defaultdict[str, list[int]] = defaultdict(list)
    for n, text in texts.items():
        by_text[text].append(n)
    for group in by_text.values():
        yield from ((n, group[-1]) for n in group[:-1])
    words_of = {n: frozenset(word for claim in group for word in claim.words) for n, group in claims.items()}
    count = Counter(word for words in words_of.values() for word in words)
    by_word: defaultdict[str, list[int]] = defaultdict(list)
    for n, words in words_of.items():
        for word in sorted(words, key=lambda word: (count[word], word))[:RAREST]:
            if 1 < count[word] <= RARE:
                by_word[word].append(n)
    for n, words in words_of.items():
        shared = Counter(other for word in words for other in by_word.get(word, ()) if other > n)
        for other, _ in sorted(shared.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_COMPARED]:
            if texts[n] != texts[other]:
                yield n, other


def overlap(fields: Fields, other: Fields) -> bool:
    """Whether there is a time at which both hold; a text without times holds from now on."""

    def moment(text: str | None, default: datetime) -> datetime:
        return parse_time(text) if text else default

    now, never = datetime.now(UTC), datetime.max.replace(tzinfo=UTC)
    begin = max(moment(fields.valid_from, now), moment(other.valid_from, now))
    return begin < min(moment(fields.valid_until, never), moment(other.valid_until, never))


def contradicted(prepared: PreparedItem, passages: Passages) -> dict[int, str]:
    """Which of some items the text contradicts, and why; what holds at another time is no contradiction."""
    if prepared.draft.kind not in CLAIMING:
        return {}
    newer = statements(prepared.draft.content)
    reasons = {
        n: first_conflict(statements(passages.texts[n][0].text), newer)
        for n, other in passages.items.items()
        if passages.texts[n] and other.ref != prepared.draft.ref and overlap(prepared.draft.fields, other.fields)
    }
    return {n: why for n, why in reasons.items() if why}


def link_contradicted(store: Store, prepared: Mapping[int, PreparedItem]) -> dict[int, str]:
    """Link items that got another text and what they contradict now, the newer to the older; returns notes."""
    finder, notes = DuplicateFinder(store), {}
    for n, text in list(prepared.items())[:MOST_TEXTS]:
        if text.draft.kind not in CLAIMING:
            continue
        refs = [candidate.ref for candidate in finder.near(text, finder.alike(text)) if candidate.contradiction]
        for ref in refs:
            other = store.items.require(Ref.parse(ref))
            items = store.items.get_many([n, other])
            is_newer = items[n].updated_at >= items[other].updated_at  # a file may be older than what was saved since
            link(store, *((n, other) if is_newer else (other, n)))
        if refs:
            notes[n] = f"contradicts {', '.join(refs)}"
    return notes


def link(store: Store, newer: int, older: int) -> None:
    """Link a memory to one that it contradicts."""
    store.links.remove(newer, older, CONTRADICTS)  # one from before an edit says nothing any more
    store.links.add(newer, older, CONTRADICTS)
