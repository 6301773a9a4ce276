"""Finds the entities that a text mentions: their titles as whole words, in upper or lower case."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ricordo.text.scripts import has_unspaced

MOST_MENTIONS = 200
"""At most this many entities of one text are linked; a text with more is a list."""

EXACT_CASE = 3
"""Titles this short must match in upper and lower case: IT is not it."""

_WORD = re.compile(r"\w+")


def mentioned(text: str, titles: Iterable[tuple[int, str]]) -> tuple[tuple[int, str], ...]:
    """The numbers and titles of the entities that a text names, in the order given.

    >>> mentioned("Ada Lovelace met Charles.", [(1, "Ada  Lovelace"), (2, "Ada L"), (3, "charles"), (4, "Bob")])
    ((1, 'Ada  Lovelace'), (3, 'charles'))
    """
    found: list[tuple[int, str]] = []
    plain = " ".join(text.split())
    folded = plain.casefold()
    words: frozenset[str] | None = None
    for number, title in titles:
        name = " ".join(title.split())
        short = len(name) <= EXACT_CASE
        wanted = name if short else name.casefold()
        first = _WORD.match(wanted)
        if first is not None and not has_unspaced(wanted):
            if words is None:
                words = frozenset(_WORD.findall(folded))
            if first.group().casefold() not in words:  # cheap, and true of nearly all titles
                continue
        if len(name) > 1 and _stands_in(wanted, plain if short else folded):
            found.append((number, title))
            if len(found) >= MOST_MENTIONS:
                break
    return tuple(found)


def _stands_in(name: str, text: str) -> bool:
    """Whether a text contains a name as a whole word; in scripts without spaces, anywhere counts."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not _joined(text[max(0, at - 1) : at], name[0]) and not _joined(text[end : end + 1], name[-1]):
            return True
        at = text.find(name, at + 1)
    return False


def _joined(beside: str, edge: str) -> bool:
    """Whether the character next to a name makes it part of a longer word."""
    letters = (beside.isalnum() or beside == "_") and (edge.isalnum() or edge == "_")
    return letters and not has_unspaced(edge)
