"""Which words of a question both sides look for."""

from __future__ import annotations

import re

from ricordo.text.words import Analyzer

_WORD = re.compile(r"[^\W_]+")


def query_words(question: str, analyzer: Analyzer) -> list[str]:
    """Plain letters and digits without stop words: nothing that one side would treat as a phrase."""
    words = dict.fromkeys(word.lower() for word in _WORD.findall(question))
    kept = [word for word in words if not analyzer.is_stop_word(word)]
    return kept or list(words)
