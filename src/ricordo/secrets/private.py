"""What an author marked as private, ``<private>…</private>``, which is never stored, logged or looked up."""

from __future__ import annotations

import re

from ricordo.patterns import late

PRIVATE_MARK = "[private]"
"""What stands in a stored text where something private was."""
_TAG = late(r"<\s*(/?)\s*private\s*>", re.IGNORECASE)


def without_private(text: str, mark: str = " ") -> str:
    """The text with ``mark`` in the place of each private part; one that is not closed reaches to the end.

    >>> without_private("Ask Ada <private>on 555-0199</private> first.", "[private]")
    'Ask Ada [private] first.'
    >>> without_private("<private>a <private>b</private> c</private> d <PRIVATE> e")
    '  d  '
    """
    if "<" not in text:
        return text
    pieces: list[str] = []
    depth = at = 0
    for tag in _TAG.finditer(text):
        if not tag[1]:
            if depth == 0:
                pieces += [text[at : tag.start()], mark]
            depth += 1
        elif depth:
            depth -= 1
            at = tag.end()
    if depth == 0:
        pieces.append(text[at:])
    return "".join(pieces)
