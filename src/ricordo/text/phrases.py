"""Finds out whether a text contains a phrase, or a word with a given beginning; case and accents are ignored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ricordo.text.scripts import has_unspaced
from ricordo.text.words import fold, folded_words


def holds_phrase(sources: Iterable[str], phrase: str) -> bool:
    """Whether one of the texts contains the words of a phrase in a row; spaces and punctuation between them are
    ignored.
    """
    words = folded_words(phrase)
    if not words:
        needle = fold(phrase)
        return any(needle in fold(source) for source in sources)
    if not phrase.isascii() and any(has_unspaced(word) for word in words):
        needle = "".join(words)
        return any(needle in "".join(folded_words(source)) for source in sources)
    needle = f" {' '.join(words)} "
    return any(needle in f" {' '.join(folded_words(source))} " for source in sources)


def holds_prefix(sources: Sequence[str], prefix: str) -> bool:
    """Whether one of the texts contains a word with this beginning; in scripts without spaces, anywhere in the text."""
    start = fold(prefix)
    return any(word.startswith(start) for source in sources for word in folded_words(source)) or any(
        start in fold(source) for source in sources
    )
