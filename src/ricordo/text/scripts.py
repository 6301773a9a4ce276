"""The tables of scripts: which are written without spaces, which marks belong to words, and whose words have a stemmer.

Text in them is searched by pairs of characters instead of words, and a name may be anywhere in it. Korean has spaces,
but its words have endings, so pairs of characters work better for it, too.
"""

from __future__ import annotations

import re
from functools import cache

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9d"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\uac00-\ud7a3\u1100-\u11ff"  # Hangul
    "\U00020000-\U0003ffff"  # rare Han
)
"""The ranges, to be put inside ``[…]`` in a regular expression."""

JOINING = (
    "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # accents, Hebrew points
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"  # Arabic marks
    "\u0900-\u0963\u0966-\u096f\u0971-\u0dff"  # the scripts of India: vowels are marks there
    "\u200c\u200d"  # joiners inside Persian and Indian words
)
"""Characters that belong to a word although ``\\w`` does not match them, to be put inside ``[…]``."""
_STEMMERS = (
    ("\u0370", "\u03ff", "greek"), ("\u0400", "\u052f", "russian"), ("\u0530", "\u058f", "armenian"),
    ("\u0600", "\u06ff", "arabic"), ("\u0900", "\u097f", "hindi"), ("\u0b80", "\u0bff", "tamil"),
)  # fmt: skip
"""From which letter to which a word is in a script, and the algorithm that finds its stem."""


def stemmer_of(word: str) -> str:
    """The algorithm for a word that is not in Latin letters, by its first letter; "" where there is none.

    >>> stemmer_of("книги"), stemmer_of("größe")
    ('russian', '')
    """
    first = word[:1]
    return next((name for low, high, name in _STEMMERS if low <= first <= high), "") if first > "\u036f" else ""


@cache
def unspaced_runs() -> re.Pattern[str]:
    """An expression that finds runs of such characters; compiled when first needed, because most stores have none."""
    return re.compile(f"[{UNSPACED}]+")


def has_unspaced(text: str) -> bool:
    """Whether a text holds any such character.

    >>> has_unspaced("Tokyo"), has_unspaced("東京")
    (False, True)
    """
    if text.isascii() or max(text) < UNSPACED[0]:  # for most texts the expression need not be compiled
        return False
    return unspaced_runs().search(text) is not None
