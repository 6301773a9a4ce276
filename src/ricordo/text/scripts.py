"""Which scripts are written without spaces between words: the one table that all who ask use.

Text in them is searched by pairs of characters instead of words, and a name in it may stand anywhere. Korean has
spaces, but its words carry endings, so that pairs of characters serve it better too.
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
"""The ranges, as they stand inside ``[…]`` in a regular expression."""


@cache
def unspaced_runs() -> re.Pattern[str]:
    """Finds runs of such characters; compiled when the first text needs it, for most stores have none."""
    return re.compile(f"[{UNSPACED}]+")


def has_unspaced(text: str) -> bool:
    """Whether a text holds any such character.

    >>> has_unspaced("Tokyo"), has_unspaced("東京")
    (False, True)
    """
    return not text.isascii() and unspaced_runs().search(text) is not None
