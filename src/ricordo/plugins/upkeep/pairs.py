"""Pairs of memories that say the same or contradict each other, and the links between those that contradict."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from ricordo.frozen import frozen
from ricordo.memory.compare import OPPOSITE, SAME, compare
from ricordo.memory.duplicates import CLAIMING, DuplicateFinder, overlap
from ricordo.memory.remember import BESIDE
from ricordo.memory.statements import statements
from ricordo.store.base import Store
from ricordo.store.values import PreparedItem
from ricordo.text.alike import plain_text
from ricordo.values.items import Item, Ref

if TYPE_CHECKING:
    from ricordo.models.base import Vectors

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
NEAR = 0.75
"""Memories whose meanings are at least so near are compared, …"""
MOST_NEAR = 10_000
"""… unless there are more than this; then a rare word must join them."""
_ROWS = 1_000


@frozen
class Pair:
    """Two memories, the older first. ``contradiction`` says how they contradict each other; it is empty for two that
    say the same.
    """

    older: int
    newer: int
    contradiction: str = ""


def pairs(
    memories: Mapping[int, Item], contents: Mapping[int, str], vectors: Mapping[int, Vectors], kept: Collection[Pair]
) -> Iterator[Pair]:
    """The pairs among some memories that say the same or contradict each other, but for those that are kept both.

    A memory is the older of one pair at most, so that each can be dealt with for itself.
    """
    texts = {n: plain_text(content) for n, content in contents.items()}
    paired: set[int] = set()
    for candidates in _candidates(texts, vectors):
        older, newer = sorted(candidates, key=lambda n: (memories[n].updated_at, n))
        if older in paired or Pair(older, newer) in kept or Pair(newer, older) in kept:
            continue
        cosine = float(vectors[older] @ vectors[newer]) if older in vectors and newer in vectors else None
        found = compare(contents[older], contents[newer], cosine)
        if found.relation == SAME or (
            found.relation == OPPOSITE and overlap(memories[older].fields, memories[newer].fields)
        ):
            paired.add(older)
            yield Pair(older, newer, found.why)


def _candidates(texts: Mapping[int, str], vectors: Mapping[int, Vectors]) -> Iterator[tuple[int, int]]:
    """Pairs worth comparing: those with the same text, those that share a rare word, and those of near meanings."""
    by_text: defaultdict[str, list[int]] = defaultdict(list)
    for n, text in texts.items():
        by_text[text].append(n)
    for group in by_text.values():
        yield from ((n, group[-1]) for n in group[:-1])
    words_of = {
        n: frozenset(stem for said in statements(text) for stem in said.stems)
        for n, text in texts.items()
        if len(text) <= LONGEST
    }
    count = Counter(word for words in words_of.values() for word in words)
    by_word: defaultdict[str, list[int]] = defaultdict(list)
    for n, words in words_of.items():
        for word in sorted(words, key=lambda word: (count[word], word))[:RAREST]:
            if 1 < count[word] <= RARE:
                by_word[word].append(n)
    near = _near(vectors)
    for n, words in words_of.items():
        shared = Counter(other for word in words for other in by_word.get(word, ()) if other > n)
        shared.update(dict.fromkeys(near.get(n, ()), MOST_COMPARED))
        for other, _ in sorted(shared.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_COMPARED]:
            if texts[n] != texts[other]:
                yield n, other


def _near(vectors: Mapping[int, Vectors]) -> dict[int, list[int]]:
    """Of each memory the later ones whose meaning is near."""
    import numpy as np

    numbers = sorted(vectors)
    if len(numbers) > MOST_NEAR:
        return {}
    near: dict[int, list[int]] = {}
    table = np.array([vectors[n] for n in numbers])
    for start in range(0, len(numbers), _ROWS):
        cosines = table[start : start + _ROWS] @ table[start:].T
        for row, column in np.argwhere(np.triu(cosines, 1) >= NEAR).tolist():
            near.setdefault(numbers[start + row], []).append(numbers[start + column])
    return near


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
    """Link a memory to one that it contradicts; that both were kept, was said of other texts."""
    for pair in ((newer, older), (older, newer)):
        store.links.remove(*pair, BESIDE)
    store.links.remove(newer, older, CONTRADICTS)  # one from before an edit says nothing any more
    store.links.add(newer, older, CONTRADICTS)
