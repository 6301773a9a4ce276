"""Which texts name nothing that one could look for: "yes, go on", "thanks, that works"."""

from __future__ import annotations

import re
from functools import cache

from ricordo.text.scripts import unspaced_runs
from ricordo.text.stopwords import STOP_WORDS

_WORD = re.compile(r"\w+")
_UNSPACED_ENOUGH = 4
"""This many characters of a script without spaces are as good as a word."""
_CHATTER = """
    again ahead alright awesome bad better bit carry clear continue cool correct else even exactly explain
    fine go going good got great hello hey hi hmm hurry idea indeed know let lets lgtm like look looks lot
    maybe mean meant mind moment need never next nice nope ok okay perfect please proceed really right said
    say see show sorry sounds sure tell thank thanks thing things think thx try understand wait want way weird
    well works wrong yeah yep yes yet
"""


def has_content(text: str) -> bool:
    """Whether a text has a word with any content; what fits that word is for a search to find.

    >>> has_content("are we done?"), has_content("yes, go on please")
    (True, False)
    """
    unspaced = unspaced_runs()
    if sum(map(len, unspaced.findall(text))) >= _UNSPACED_ENOUGH:
        return True
    words = _WORD.findall(unspaced.sub(" ", text).lower())
    return any(len(word) > 1 and word not in _empty_words() for word in words)


@cache
def _empty_words() -> frozenset[str]:
    return STOP_WORDS["english"] | set(_CHATTER.split())
