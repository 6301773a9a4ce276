"""Takes a compound that stands nowhere apart into two words that the store has: Besprechungsnotizen into Notizen and
Besprechung.

No dictionary is needed: both parts must be words of the store. A compound that occurs is left whole, so nothing changes
for words that are found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ricordo.store.asking import Ask, AskedWord
from ricordo.text.languages import UNKNOWN, language_of
from ricordo.text.words import Analyzer

if TYPE_CHECKING:
    from ricordo.store.parts import SearchIndex

LANGUAGES_WITH_COMPOUNDS = frozenset({"da", "de", "fi", "nl", "no", "sv"})
SHORTEST = 9
SHORTEST_PART = 4
_JOINTS = ("", "s", "es", "n", "en", "er", "e")
"""What may stand between the parts: Besprechung-s-notizen, Sonne-n-schein."""
PART = 0.5
"""What each part counts for: together they are the word that was asked for."""


def with_parts(ask: Ask, index: SearchIndex, analyzer: Analyzer) -> Ask:
    """An ask in which compounds that stand nowhere are replaced by their parts."""
    codes = LANGUAGES_WITH_COMPOUNDS.intersection(index.languages)
    if not codes or language_of(ask.text, short=True) not in (UNKNOWN, *codes):
        return ask
    words = {
        word: [pair for code in sorted(codes) for pair in _splits(word.written, analyzer.in_language(code))]
        for word in ask.words
        if word.written
    }
    terms = {term for word in words for term in word.terms}
    terms |= {term for splits in words.values() for pair in splits for term in pair}
    if not any(words.values()):
        return ask
    _, known = index.document_frequencies(terms)
    asked = {word.term for word in ask.words}
    found: list[AskedWord] = []
    for word in ask.words:
        pairs = [pair for pair in words.get(word, ()) if all(known.get(term) for term in pair)]
        if not pairs or any(known.get(term) for term in word.terms):
            found.append(word)
            continue
        best = max(pairs, key=lambda pair: min(map(len, pair)))
        found += [AskedWord(term, word.weight * PART) for term in best if term not in asked]
    return replace(ask, words=tuple(found))


def _splits(word: str, analyzer: Analyzer) -> Iterator[tuple[str, str]]:
    """The terms of the parts that a word may consist of."""
    if len(word) < SHORTEST or not word.isalpha():
        return
    for at in range(SHORTEST_PART, len(word) - SHORTEST_PART + 1):
        second = analyzer.terms(word[at:])
        for joint in _JOINTS:
            start = word[:at].removesuffix(joint)
            if len(start) < SHORTEST_PART or (joint and start == word[:at]):
                continue
            first = analyzer.terms(start)
            if len(first) == len(second) == 1:
                yield first[0], second[0]
