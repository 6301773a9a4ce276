"""Whether a text holds a phrase or a word that begins in a given way; case, accents and what stands between ignored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ricordo.text.scripts import has_unspaced
from ricordo.text.words import fold, folded_words


def holds_phrase(sources: Iterable[str], phrase: str) -> bool:
    """Whether one of the texts holds the words of a phrase one after another, whatever stands between them."""
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
    """Whether one of the texts holds a word that begins so; in scripts without spaces, whether it stands anywhere."""
    start = fold(prefix)
    return any(word.startswith(start) for source in sources for word in folded_words(source)) or any(
        start in fold(source) for source in sources
    )
