"""Short marks of lines, by which a line is known again after it was formatted or moved, without its text being kept.

The mark of a line is a hash of 24 bits of its letters and signs, without what formatters change: spaces, quotes,
commas, semicolons and round brackets. A statement of several lines has a mark of its own, which is the same however it
is wrapped. A change is kept as one text: a sign and a mark for each line (``+`` written, ``-`` taken out, a
space for one that was there), and ``*`` with the mark of a statement behind its last line.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

from ricordo.patterns import late

WRITTEN, TAKEN_OUT, THERE, STATEMENT, WHOLE = "+", "-", " ", "*", "="
"""``WHOLE`` begins the change of a tool that wrote a whole file: some of its lines may have been there before."""
SIZE = 7
"""A sign and six digits."""
MOST = 3_000
"""How many lines of one change are kept."""
_LONGEST_STATEMENT = 12
_FORMATTING = late(r"[\s\"'`,;()]+")


def bare(line: str) -> str:
    """What formatters leave of a line."""
    return _FORMATTING.sub("", line)


def mark(line: str) -> str:
    """The mark of a line or statement; empty if nothing is in it that could tell it from others."""
    left = bare(line)
    return hashlib.blake2b(left.encode("utf-8", "replace"), digest_size=3).hexdigest() if left else ""


def statements(lines: Sequence[str]) -> list[tuple[int, int]]:
    """The statements that are wrapped into several lines: their first line and the one behind their last."""
    found = []
    first, depth = 0, 0
    for at, line in enumerate(lines):
        if depth <= 0 and not line.lstrip().startswith("."):
            first, depth = at, 0
        depth += line.count("(") + line.count("[") - line.count(")") - line.count("]")
        goes_on = depth > 0 or (at + 1 < len(lines) and lines[at + 1].lstrip().startswith("."))
        if at - first >= _LONGEST_STATEMENT:
            first, depth = at + 1, 0
        elif not goes_on and at > first:
            found.append((first, at + 1))
    return found


def marks_of_lines(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """The marks of the lines of a file, and for each line that of the statement it is a part of."""
    whole = [""] * len(lines)
    for first, end in statements(lines):
        whole[first:end] = [mark("".join(lines[first:end]))] * (end - first)
    return [mark(line) for line in lines], whole


def marks_of_change(signed: Sequence[tuple[str, str]], *, is_whole: bool = False) -> str:
    """A change as it is kept, given its lines with their signs. A line that it takes out here and writes there was
    there before.
    """
    signed = signed[:MOST]
    marks = [mark(line) for _, line in signed]
    moved = Counter(one for (sign, _), one in zip(signed, marks, strict=True) if sign == TAKEN_OUT)
    after = [at for at, (sign, _) in enumerate(signed) if sign != TAKEN_OUT]
    ends = {}
    for first, end in statements([signed[at][1] for at in after]):
        places = after[first:end]
        if any(signed[at][0] == WRITTEN for at in places):
            ends[places[-1]] = mark("".join(signed[at][1] for at in places))
    kept = []
    for at, ((sign, _), one) in enumerate(zip(signed, marks, strict=True)):
        if sign == WRITTEN and moved[one]:
            moved[one] -= 1
            sign = THERE
        kept.append(f"{sign}{one}" if one else "")
        kept.append(f"{STATEMENT}{ends[at]}" if ends.get(at) else "")
    return (WHOLE if is_whole else "") + "".join(kept)


def changed_lines(old: str, new: str) -> list[tuple[str, str]]:
    """The lines of two texts with their signs."""
    before, after = old.splitlines(), new.splitlines()
    signed: list[tuple[str, str]] = []
    for how, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if how == "equal":
            signed += [(THERE, line) for line in after[c:d]]
        else:
            signed += [(TAKEN_OUT, line) for line in before[a:b]] + [(WRITTEN, line) for line in after[c:d]]
    return signed


def signs_and_marks(kept: str) -> list[tuple[str, str]]:
    """The lines of a change that was kept: sign and mark of each."""
    text = kept.removeprefix(WHOLE)
    return [(text[at], text[at + 1 : at + SIZE]) for at in range(0, len(text) - SIZE + 1, SIZE)]
