"""Where sentences begin in a text, and which of them says most of what was asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from ricordo.patterns import late

_BETWEEN = late(
    r"""[.!?:。！？\n](?:(?<=[。！？])|(?<=\n)(?:\s*\n|(?=\s*(?:[*\-+|#>]|\d+\.)))|(?<!\n)\s+(?=[A-Z`*_\[("“]))"""
)
"""What stands between two sentences, lines of a list or paragraphs."""


def sentence_starts(text: str, end: int | None = None) -> list[int]:
    """Where the sentences of a text begin, up to a place, and at last where the text ends."""
    size = len(text)
    ends = [match.end() for match in _BETWEEN.finditer(text, 0, size if end is None else end)]
    return [0, *ends, size]


def answering(text: str, count: Callable[[str], int]) -> tuple[int, int] | None:
    """The sentence with most of the words asked for, by ``count``; the first of several.

    None if no sentence stands out: there is one alone, or none has a word. A heading is no sentence.

    >>> answering("One thing. Keys are kept in the safe. More.", lambda said: said.count("Keys"))
    (11, 37)
    >>> answering("# Keys\\nOne thing. More.", lambda said: said.count("Keys"))
    """
    spans = list(_sentences(text))
    counts = [count(text[start:end]) for start, end in spans]
    if len(spans) < 2 or not any(counts):
        return None
    start, end = spans[counts.index(max(counts))]
    return start, start + len(text[start:end].rstrip())


def sentences_with(text: str, count: Callable[[str], int]) -> str:
    """The sentences that have some of the words asked for, by ``count``; the whole text if none has.

    >>> sentences_with("Hello. It says 503. Retry three times. Thanks!", lambda said: "503" in said or "Retry" in said)
    'It says 503. Retry three times.'
    """
    said = [text[start:end].strip() for start, end in _sentences(text)]
    return " ".join(filter(count, said)) or text.strip()


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where each sentence begins and ends; a heading above one is left out."""
    for start, end in pairwise(sentence_starts(text)):
        while start < end and text.startswith("#", start):
            start = (text.find("\n", start, end) + 1) or end
        if text[start:end].strip():
            yield start, end
