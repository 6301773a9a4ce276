"""What both stores look at in texts to check whether a passage holds what was asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ricordo.store.asking import Ask, Phrase
from ricordo.text.words import fold, holds_phrase, holds_prefix
from ricordo.values.items import Item

RESPELLED = 0.7
"""The weight of a word that is searched in place of one that occurs nowhere."""
MOST_TIES = 500
"""Chunks that tie with the last one are returned, too, so that refs can break the tie; at most this many."""


def item_texts(item: Item) -> tuple[str, ...]:
    """The texts that all passages of an item share."""
    fields = item.fields
    return fields.title, item.ref.path, fields.description, "\n".join(fields.tags), fields.context


def holds_all(sources: Sequence[str], phrases: Sequence[Phrase], prefixes: Sequence[str]) -> bool:
    """Whether texts hold every phrase and, where prefixes are given, a word that begins with one of these."""
    return all(holds_phrase(sources, phrase.text) for phrase in phrases) and (
        not prefixes or any(holds_prefix(sources, prefix) for prefix in prefixes)
    )


class SpelledWords:
    """The words of an ask whose stem another word may have, too.

    A word counts as the one asked for when it agrees with it but for the last three letters: for productivity,
    productive does and product does not.
    """

    def __init__(self, ask: Ask) -> None:
        self._starts = [
            (word.term, re.compile(rf"\b{re.escape(word.spelled[: max(len(word.spelled) - 3, 1)])}"))
            for word in ask.words
            if word.spelled
        ]

    def __bool__(self) -> bool:
        return bool(self._starts)

    def terms_of_others(self, heading: str, text: str) -> set[str]:
        """The terms that a passage holds only as the stem of another word, if it holds them."""
        folded = fold(f"{heading}\n{text}")
        return {term for term, start in self._starts if not start.search(folded)}
