"""Whether two words or texts say the same: one normal form, one ratio, and what counts as alike for what."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from ricordo.text.stopwords import STOP_WORDS
from ricordo.text.words import fold

SAME_PASSAGE = 0.8
"""A passage is shown once if this share of its runs of words was shown before."""
SAME_COMMAND = 0.5
"""Two commands at least as alike as this try the same."""
SHINGLE = 3
_WORD = re.compile(r"\w+")


def plain_text(text: str) -> str:
    """The text in the form in which it is compared: Unicode, case and white space make no difference."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def ratio(text: str, other: str, least: float = 0.0) -> float:
    """How alike two texts are letter by letter, from 0 to 1; 0 below ``least``, which is found out faster."""
    from rapidfuzz import fuzz

    return float(fuzz.ratio(text, other, score_cutoff=least * 100)) / 100.0


def content_words(text: str) -> frozenset[str]:
    """The words of a text, without English stop words."""
    return frozenset(_WORD.findall(fold(text))) - STOP_WORDS["english"]


def shingles(text: str) -> frozenset[tuple[str, ...]]:
    """Runs of three words; of a shorter text, all its words."""
    words = _WORD.findall(fold(text))
    if len(words) < SHINGLE:
        return frozenset({tuple(words)}) if words else frozenset()
    return frozenset(zip(*(words[at:] for at in range(SHINGLE)), strict=False))


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


def likely_words(word: str, vocabulary: Iterable[str], most: int = MOST_LIKELY) -> list[str]:
    """The known words that a word most likely means, the likeliest first; folded words on both sides.

    >>> likely_words("lifetmie", ["lifetime", "lifeline", "lift"])
    ['lifetime']
    >>> likely_words("0x8007", ["0x80070057", "0x90", "8007"])
    ['0x80070057']
    """
    from rapidfuzz.distance import OSA

    if any(sign.isdigit() for sign in word):
        longer = [(len(other), other) for other in vocabulary if len(word) >= SHORTEST_CODE and other.startswith(word)]
        return [other for _, other in sorted(longer)[:most]]
    if len(word) < SHORTEST_WORD:
        return []
    wrong = 2 if len(word) >= LONG_WORD else 1
    ranked: list[tuple[int, int, str]] = []
    for other in vocabulary:
        if abs(len(other) - len(word)) <= wrong:
            distance = OSA.distance(word, other, score_cutoff=wrong)
            if distance <= wrong:
                ranked.append((distance, abs(len(other) - len(word)), other))
                continue
        if not word.isascii() and _start(word, other) >= max(4.0, SAME_START * max(len(word), len(other))):
            ranked.append((wrong + 1, len(word) - _start(word, other), other))
    return [other for *_, other in sorted(ranked)[:most]]


def _start(word: str, other: str) -> int:
    """How many letters two words have in common before they differ."""
    return next((at for at, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other)))


def first_letters(words: Sequence[str]) -> list[str]:
    """The first letters of the words, because typing errors seldom concern the first letter."""
    return sorted({word[0] for word in words if word})
