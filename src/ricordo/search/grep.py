"""Goes through the whole store: regular expressions over stored text, and refs as a tree."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ricordo.errors import UsageError
from ricordo.store.base import Store
from ricordo.values.hits import Filters, GrepMatch
from ricordo.values.items import Ref, TreeNode

if TYPE_CHECKING:
    import regex


PATTERN_SECONDS = 10.0
"""How long a regular expression may search."""
_SIGNS = frozenset(r".^$*+?{}[]\|()")
LONGEST_PATTERN = 5_000
"""The most characters of a pattern, because compiling one cannot be interrupted."""


def grep_texts(
    store: Store,
    pattern: str,
    filters: Filters,
    *,
    context: int,
    ignore_case: bool,
    fixed: bool,
    limit: int,
) -> list[GrepMatch]:
    """Matching lines with their numbers in the original, newest items first.

    It ends after ``PATTERN_SECONDS``: some patterns would take years even on a short text.
    """
    expression = Expression(pattern, ignore_case=ignore_case, fixed=fixed)
    matches: list[GrepMatch] = []
    for _, ref, text, first_line in store.items.texts(filters):
        for at, lines in expression.lines(text):
            before, after = lines[max(0, at - context) : at], lines[at + 1 : at + 1 + context]
            matches.append(GrepMatch(str(ref), first_line + at, lines[at], tuple(before), tuple(after)))
            if len(matches) >= limit:
                return matches
    return matches


class Expression:
    """A regular expression from outside, and how much longer it may search.

    Python's own ``re`` cannot be interrupted and holds up every thread of a server meanwhile; ``regex`` can.
    """

    def __init__(self, pattern: str, *, ignore_case: bool, fixed: bool) -> None:
        import regex

        if len(pattern) > LONGEST_PATTERN:
            raise UsageError(f"a pattern has at most {LONGEST_PATTERN:,} characters", hint="Look for a part of it.")
        flags = regex.IGNORECASE if ignore_case else 0
        self._pattern = pattern
        self._deadline = time.monotonic() + PATTERN_SECONDS
        # A long text of few letters would hold up ``regex`` far beyond its time.
        self._is_plain = not ignore_case and (fixed or not _SIGNS.intersection(pattern))
        try:
            self._compiled = regex.compile(regex.escape(pattern) if fixed else pattern, flags)
            # Searching the whole text first saves searching each line, if a match in a line is one in the text, too.
            same_in_lines = fixed or not any(sign in pattern for sign in ("\\A", "\\Z", "(?"))
            self._in_text: regex.Pattern[str] | None = (
                regex.compile(self._compiled.pattern, flags | regex.MULTILINE) if same_in_lines else None
            )
        except (regex.error, RecursionError, OverflowError, MemoryError, ValueError) as error:
            raise UsageError(
                f"'{pattern[:80]}' is not a regular expression: {error}",
                hint="Use ‹fixed› to look for the text itself.",
            ) from None

    def lines(self, text: str) -> Iterator[tuple[int, list[str]]]:
        """The place of each line that matches, among all lines of the text."""
        if self._in_text is None or self._search(self._in_text, text):
            lines = text.removesuffix("\n").split("\n")
            yield from ((at, lines) for at, line in enumerate(lines) if self._search(self._compiled, line))

    def _search(self, compiled: regex.Pattern[str], text: str) -> bool:
        left = self._deadline - time.monotonic()
        try:
            if left > 0 and self._is_plain:
                return self._pattern in text
            if left > 0:
                return compiled.search(text, timeout=left, concurrent=True) is not None
        except TimeoutError:
            pass
        raise UsageError(
            f"searching for '{self._pattern[:80]}' took longer than {PATTERN_SECONDS:g} s and was ended",
            hint="Use a simpler pattern, ‹fixed› for plain text, or a narrower filter.",
        )


def tree_of(store: Store, prefix: str | None, depth: int | None) -> TreeNode:
    """All refs, or those below a prefix (``disk:/notes`` or a drive's name), as nested folders."""
    drive, path = None, "/"
    if prefix:
        if Ref.looks_like(prefix):
            ref = Ref.parse(prefix)
            drive, path = ref.drive, ref.path
        else:
            drive = prefix.removesuffix(":")
            Ref(drive, "/")  # an error if it cannot be a drive
    leaves = {
        (f"{ref.drive}:", *ref.path.strip("/").split("/")): (str(ref), title)
        for _, ref, title in store.items.refs_below(drive, path)
    }
    start = (f"{drive}:", *(part for part in path.strip("/").split("/") if part)) if drive is not None else ()
    return _node(prefix or "/", start, leaves, depth)


def _node(
    name: str, parts: tuple[str, ...], leaves: Mapping[tuple[str, ...], tuple[str, str]], depth: int | None
) -> TreeNode:
    """The folder at some parts of a path, with the refs below it."""
    size = len(parts)
    below: dict[str, dict[tuple[str, ...], tuple[str, str]]] = {}
    for place, leaf in leaves.items():
        if len(place) > size and place[:size] == parts:
            below.setdefault(place[size], {})[place] = leaf
    deeper = None if depth is None else depth - 1
    children = tuple(_node(child, (*parts, child), inner, deeper) for child, inner in below.items())
    ref, title = leaves.get(parts, (None, ""))
    items = sum(child.items for child in children) + (ref is not None)
    path = f"{parts[0]}/{'/'.join(parts[1:])}" if parts else "/"
    return TreeNode(name, path, items, ref, title, children if depth is None or depth > 0 else ())
