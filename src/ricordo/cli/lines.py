"""Line numbers as people write them: ``8`` or ``8-12``, alone or behind a ref."""

from __future__ import annotations

import re

from ricordo.errors import UsageError

Lines = tuple[int, int]

_LINES = re.compile(r"(\d+)(?:-(\d+))?")


def lines_from(text: str) -> Lines:
    """The first and the last line."""
    found = _LINES.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"'{text}' is not a range of lines", hint="Write one line (8) or a range (8-12).")
    first, last = int(found[1]), int(found[2] or found[1])
    if not 1 <= first <= last:
        raise UsageError(f"there are no lines {text}", hint="Lines count from 1, and the first is not after the last.")
    return first, last


def lines_behind(ref: str) -> tuple[str, Lines] | None:
    """A ref and the lines behind it (``notes/a.md:8-12``); None if there are none.

    >>> lines_behind("notes/a.md:8-12")
    ('notes/a.md', (8, 12))
    """
    before, _, text = ref.rpartition(":")
    if not before or not _LINES.fullmatch(text):
        return None
    return before, lines_from(text)
