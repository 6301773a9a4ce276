"""Finds known words that an unknown word may mean: it may be mistyped, the start of a code, or have another ending."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

SHORTEST_WORD = 5
"""Shorter words are not corrected, because too many words differ from them in one letter."""
LONG_WORD = 8
"""From this length on, two letters may be wrong."""
SHORTEST_CODE = 4
SAME_START = 0.6
"""Two words count as forms of one word if this share of their letters, from the start, is the same."""
MOST_LIKELY = 3
MOST_LOOKED_UP = 4 * MOST_LIKELY
"""More are looked up than are meant, because some of them may have stood only in texts that are gone."""


def likely_words(word: str, known: Iterable[str], most: int = MOST_LIKELY) -> list[str]:
    """The known words that a word most likely means, the likeliest first; folded words on both sides.

    >>> likely_words("lifetmie", ["lifetime", "lifeline", "lift"])
    ['lifetime']
    >>> likely_words("0x8007", ["0x80070057", "0x90", "8007"])
    ['0x80070057']
    """
    from rapidfuzz.distance import OSA

    if any(sign.isdigit() for sign in word):
        found = [(len(other), other) for other in known if len(word) >= SHORTEST_CODE and other.startswith(word)]
        return [other for _, other in sorted(found)[:most]]
    if len(word) < SHORTEST_WORD:
        return []
    wrong = 2 if len(word) >= LONG_WORD else 1
    ranked: list[tuple[int, int, str]] = []
    for other in known:
        if abs(len(other) - len(word)) <= wrong:
            distance = OSA.distance(word, other, score_cutoff=wrong)
            if distance <= wrong:
                ranked.append((distance, abs(len(other) - len(word)), other))
                continue
        if not word.isascii() and _start(word, other) >= max(4.0, SAME_START * max(len(word), len(other))):
            ranked.append((wrong + 1, len(word) - _start(word, other), other))
    return [other for *_, other in sorted(ranked)[:most]]


def _start(one: str, other: str) -> int:
    """How many letters two words have in common before they differ."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def first_letters(words: Sequence[str]) -> list[str]:
    """The first letters of the words, because typing errors seldom concern the first letter."""
    return sorted({word[0] for word in words if word})
