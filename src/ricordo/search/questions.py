"""Takes a query apart that asks for several things, so that each of them can be looked for by its own meaning.

One vector of "Will it rain tomorrow? Also, suggest a museum" lies between the two questions, and what answers only one
of them is far from it. Nothing here computes vectors; ``refine`` says how the parts count.
"""

from __future__ import annotations

import re

MOST_QUESTIONS = 4
"""Questions that are looked for separately; a long text begins with what it is about."""
FEWEST_WORDS = 3
"""A part with fewer words says too little by itself."""

_BETWEEN = re.compile(
    r"""(?<=[.!?;\n])\s+ | \n+
    | ,\s+(?=(?:and|but|then|also|or)\b)
    | \s+(?=and\s(?:also|then|I|can|could|how|what|who|when|where)\b)""",
    re.VERBOSE,
)


def questions_in(text: str) -> tuple[str, ...]:
    """The separate things that a query asks for, at most ``MOST_QUESTIONS``; nothing if it asks for one thing only.

    >>> questions_in("Will it rain in London? Also, suggest a museum there.")
    ('Will it rain in London?', 'Also, suggest a museum there.')
    >>> questions_in("how do I rotate the keys of a server and its clients")
    ()
    """
    parts = [part.strip() for part in _BETWEEN.split(text) if len(part.split()) >= FEWEST_WORDS]
    return tuple(parts[:MOST_QUESTIONS]) if len(parts) > 1 else ()
