"""The one table of scripts that are written without spaces between words.

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


@cache
def unspaced_runs() -> re.Pattern[str]:
    """An expression that finds runs of such characters; compiled when first needed, because most stores have none."""
    return re.compile(f"[{UNSPACED}]+")


def has_unspaced(text: str) -> bool:
    """Whether a text holds any such character.

    >>> has_unspaced("Tokyo"), has_unspaced("東京")
    (False, True)
    """
    return not text.isascii() and unspaced_runs().search(text) is not None
