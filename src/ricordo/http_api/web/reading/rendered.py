"""A text as it is shown: its HTML, its headings, and one passage of it marked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markupsafe import Markup

from ricordo.frozen import frozen

ANCHOR = "passage"
"""The name of the place in a page where the passage begins."""
MARKED = "in-passage"
_AT = re.compile(
    r'<(?P<tag>[a-z0-9]+)(?P<before>[^<>]*?) data-at="(?P<first>\d+)(?:-(?P<last>\d+))?"(?P<after>[^<>]*)>'
)
_CLASS = re.compile(r'class="')
_SIGNS = re.compile(r"[^\w\s-]")
_GAPS = re.compile(r"[\s_-]+")


@frozen
class Heading:
    """A heading of a text: how deep it is (1 for the first level), its words, the id of its element, and its line."""

    level: int
    text: str
    id: str
    line: int


@frozen
class Rendered:
    """What became of a text. HTML that was made here and cleaned, so that it is put into a page as it is."""

    html: Markup
    outline: tuple[Heading, ...] = ()
    classes: str = "prose"


def heading_id(text: str) -> str:
    """The id of a heading; the beginning keeps it apart from the names of the page's own parts.

    >>> heading_id("What it costs, & why?")
    'h-what-it-costs-why'
    """
    return "h-" + _GAPS.sub("-", _SIGNS.sub("", text.casefold()).strip())[:80]


class HeadingIds:
    """Gives each heading of one text an id of its own."""

    def __init__(self) -> None:
        self._given: dict[str, int] = {}

    def of(self, text: str) -> str:
        id_ = heading_id(text)
        count = self._given.get(id_, 0)
        self._given[id_] = count + 1
        return f"{id_}-{count}" if count else id_


class HeadingLevels:
    """The levels of headings without gaps: what follows a heading is at most one level below it."""

    def __init__(self) -> None:
        self._above: list[int] = []

    def of(self, written: int) -> int:
        while self._above and self._above[-1] >= written:
            self._above.pop()
        self._above.append(written)
        return min(5, len(self._above))


def with_passage(html: str, lines: tuple[int, int] | None) -> Markup:
    """The HTML with the blocks of some lines marked; the first of them is where the page opens.

    A block that holds others is not marked if it begins before the passage: a list of which one point is meant.
    """
    if lines is None:
        return Markup(html)  # made and cleaned by us
    first, last = lines
    begin = _first_within(html, first, last)
    is_anchored = False

    def mark(found: re.Match[str]) -> str:
        nonlocal is_anchored
        if not begin <= int(found["first"]) <= last:
            return found[0]
        attributes = found["before"] + found["after"]
        attributes, count = _CLASS.subn(f'class="{MARKED} ', attributes, count=1)
        attributes += "" if count else f' class="{MARKED}"'
        if not is_anchored:
            is_anchored = True
            # A heading has a name of its own already, to which links lead.
            anchor = f'<span id="{ANCHOR}" class="anchor"></span>'
            if found["tag"] in ("tr", "table", "tbody", "ul", "ol"):
                attributes += f' id="{ANCHOR}"'
                anchor = ""
            return f'<{found["tag"]}{attributes} data-at="{found["first"]}">{anchor}'
        return f"<{found['tag']}{attributes}>"

    return Markup(_AT.sub(mark, html))  # made and cleaned by us; what is added here holds no text


def _first_within(html: str, first: int, last: int) -> int:
    """The line at which marking begins: the passage's own, or that of the block in which it begins."""
    starts = [(int(found["first"]), int(found["last"] or found["first"])) for found in _AT.finditer(html)]
    if any(first <= start <= last for start, _ in starts):
        return first
    return max((start for start, end in starts if start <= first), default=first)


def current_heading(outline: Sequence[Heading], line: int) -> str:
    """The id of the heading under which a line stands; empty before the first."""
    above = [one.id for one in outline if one.line <= line]
    return above[-1] if above else ""
