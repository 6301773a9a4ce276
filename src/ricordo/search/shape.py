"""How much a passage says by its shape: prose answers, while lists of links, tables and bare code seldom do.

Which passage of a page is shown is decided by words and meaning; a list of further pages or an acknowledgement often
has all the words of a question, and answers nothing. Pure functions; they change neither the order of hits nor scores.
"""

from __future__ import annotations

import re

from ricordo.patterns import late

ENOUGH = 300
"""So many characters of prose are as good as more."""
WITHOUT_PROSE = 0.1
"""The part of its value that a passage without any prose loses."""
ASIDE = 0.2
"""The part that a passage loses which leads elsewhere or stands at the end for form's sake."""

_LINK = late(r"\[[^\]]*\]\([^)]*\)|`[^`]*<[^>]*>`__?|https?://\S+")
_FIELD = late(r"[A-Z][A-Za-z-]+: ")
_MARKS = "[`*:"
"""A line that is not all prose has one of these; no other needs a closer look."""
_FENCE = ("```", "~~~")
_NO_PROSE = frozenset("#|<{+=-~^.:")
"""What a line begins with that is a heading, a row of a table, a tag or a mark."""
_ASIDES = {
    r"what.?s ?next": ("s next", "snext"),
    "see also": ("see also",),
    "further reading": ("further reading",),
    "references": ("references",),
    "footnotes": ("footnotes",),
    r"acknowledge?ments?": ("acknowledg",),
    "copyright": ("copyright",),
    "change ?log|change history": ("change log", "changelog", "change history"),
    "table of contents": ("table of contents",),
    "previous discussion": ("previous discussion",),
}
"""Headings above passages that lead elsewhere, as patterns. Every match has one of the pieces behind its pattern."""
_ASIDE = "|".join(_ASIDES)
_PIECES = tuple(piece for pieces in _ASIDES.values() for piece in pieces)
_HEADED_ASIDE = late(rf"(?:{_ASIDE})", re.IGNORECASE)
_LINE_ASIDE = late(rf"^(?:#+ )?[\W_]*(?:heading )?[\W_]*(?:{_ASIDE})[\W_]*$", re.IGNORECASE | re.MULTILINE)


def kept_beside(heading: str, text: str) -> float:
    """The part of its value that a passage keeps when it is compared with others of its item, by what it is about.

    >>> kept_beside("Usage", "## What's next\\n\\n* [Pods](/pods)\\n"), kept_beside("Usage", "It runs.")
    (0.8, 1.0)
    """
    return 1.0 - ASIDE if _leads_elsewhere(heading.rpartition(" › ")[2], text) else 1.0


def kept_by_prose(text: str) -> float:
    """The part of its value that a passage keeps when it is compared with others of its item, by its sentences.

    >>> kept_by_prose("* [Pods](/pods)\\n* [Nodes](/nodes)\\n"), kept_by_prose("They match. " * 40)
    (0.9, 1.0)
    """
    return 1.0 - WITHOUT_PROSE * (1.0 - min(1.0, prose_in(text) / ENOUGH))


def _leads_elsewhere(heading: str, text: str) -> bool:
    lowered = f"{heading}\n{text}".lower()
    for piece in _PIECES:  # few have one, and looking for them in a plain loop is far faster than the patterns
        if piece in lowered:
            return _HEADED_ASIDE.search(heading) is not None or _LINE_ASIDE.search(text) is not None
    return False


def prose_in(text: str) -> int:
    """How many characters of sentences a text has, without links, headings, tables and code; it stops at ``ENOUGH``.

    >>> prose_in("Patterns\\n~~~~~~~~\\nThey match."), prose_in("~~~\\nThey match.\\n~~~\\n")
    (19, 0)
    """
    size = 0
    fenced = False
    before = ""
    for line in text.splitlines():
        bare = line.strip()
        if bare[:3] in _FENCE and not (before and not fenced and not bare.strip("~")):  # a heading is underlined so
            fenced = not fenced
        elif bare and not fenced and bare[0] not in _NO_PROSE and line[:4] != "    " and line[0] != "\t":
            size += _sentence_in(bare) if any(map(bare.__contains__, _MARKS)) else len(bare)
            if size >= ENOUGH:
                break
        before = bare
    return size


def _sentence_in(line: str) -> int:
    """How many characters a line has without its links and signs; none if it is a field with its value."""
    return 0 if _FIELD.match(line) else len(_LINK.sub("", line).strip("* "))
