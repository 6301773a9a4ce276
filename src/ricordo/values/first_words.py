"""How a text without a title is called: by its first words."""

from __future__ import annotations

import re

LONGEST_TITLE = 70
"""A title that is made of a text's first words has at most this many characters."""
_MARKS = re.compile(r"^[\s#>*+\-`]+")


def first_words(text: str) -> str:
    """The first line of a text that holds words, without Markdown's marks, cut between words.

    >>> first_words("# Keys\\nRotate them."), first_words("- a list")
    ('Keys', 'a list')
    """
    lines = (" ".join(_MARKS.sub("", line).split()) for line in text[:2000].splitlines())
    line = next((line for line in lines if any(map(str.isalnum, line))), "")
    if len(line) <= LONGEST_TITLE:
        return line
    head = line[: LONGEST_TITLE - 1]
    return (head.rpartition(" ")[0] or head).rstrip(" ,;:.") + "…"
