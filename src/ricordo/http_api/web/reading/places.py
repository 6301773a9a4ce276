"""Where one is in a text: the passage that is shown, the ones before and after it, and the headings above it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ricordo.frozen import frozen
from ricordo.http_api.web.markdown import item_address
from ricordo.http_api.web.reading.rendered import ANCHOR

if TYPE_CHECKING:
    from ricordo.values.hits import Evidence

_LINES = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


@frozen
class PassagePlace:
    """A passage among those of its text; ``number`` counts from 1."""

    lines: tuple[int, int]
    heading: str
    number: int
    count: int
    before: tuple[int, int] | None
    after: tuple[int, int] | None


def lines_of(text: str) -> tuple[int, int] | None:
    """The lines that an address names, ``12-15`` or ``12``; None if it names none."""
    found = _LINES.fullmatch(text)
    if found is None:
        return None
    first, last = int(found[1]), int(found[2] or found[1])
    return (first, last) if 0 < first <= last else None


def lines_text(lines: tuple[int, int]) -> str:
    """Lines as people say them.

    >>> lines_text((11, 11)), lines_text((3, 5))
    ('line 11', 'lines 3–5')
    """
    return f"line {lines[0]}" if lines[0] == lines[1] else f"lines {lines[0]}–{lines[1]}"


def passage_address(ref: str, lines: tuple[int, int] | None, q: str = "") -> str:
    """The address of an item's page, opened at a passage."""
    if not lines or not lines[0]:
        return item_address(ref, q=q)
    return item_address(ref, q=q, lines=f"{lines[0]}-{lines[1]}") + f"#{ANCHOR}"


def place_of(lines: tuple[int, int] | None, passages: Sequence[Evidence]) -> PassagePlace | None:
    """The passage that shares most lines with those asked for, and its neighbours; None if it is all there is."""
    if lines is None or len(passages) < 2:
        return None
    shared = [min(lines[1], one.lines[1]) - max(lines[0], one.lines[0]) for one in passages]
    at = max(range(len(passages)), key=lambda n: (shared[n], -abs(passages[n].lines[0] - lines[0])))
    here = passages[at].lines
    # Passages of one long line have the same lines, and are shown as one.
    before = next((one.lines for one in reversed(passages[:at]) if one.lines != here), None)
    after = next((one.lines for one in passages[at + 1 :] if one.lines != here), None)
    return PassagePlace(here, passages[at].heading, at + 1, len(passages), before, after)
