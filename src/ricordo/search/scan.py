"""Looking at everything: regular expressions over stored text, and refs as a tree."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ricordo.errors import UsageError
from ricordo.store.base import Store
from ricordo.values.hits import Filters, GrepMatch
from ricordo.values.items import Ref, TreeNode


def grep_texts(
    store: Store, pattern: str, filters: Filters, *, context: int, ignore_case: bool, fixed: bool, limit: int
) -> list[GrepMatch]:
    """Matching lines with their numbers in the original, newest items first."""
    expression = _compiled(pattern, ignore_case=ignore_case, fixed=fixed)
    allowed = None if filters.is_empty() else store.index.allowed(filters)
    wanted = None if allowed is None else set(allowed.tolist())
    matches: list[GrepMatch] = []
    for n, ref, text, first_line in store.items.texts():
        if wanted is None or n in wanted:
            for match in _matches(ref, text, first_line, expression, context):
                matches.append(match)
                if len(matches) >= limit:
                    return matches
    return matches


def _compiled(pattern: str, *, ignore_case: bool, fixed: bool) -> re.Pattern[str]:
    try:
        return re.compile(re.escape(pattern) if fixed else pattern, re.IGNORECASE if ignore_case else 0)
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(
            f"'{pattern[:80]}' is not a regular expression: {error}", hint="Use --fixed to look for the text itself."
        ) from None


def _matches(ref: Ref, text: str, first_line: int, expression: re.Pattern[str], context: int) -> Iterator[GrepMatch]:
    if not expression.search(text):
        return
    lines = text.split("\n")
    for index, line in enumerate(lines):
        if expression.search(line):
            yield GrepMatch(
                str(ref),
                first_line + index,
                line,
                tuple(lines[max(0, index - context) : index]),
                tuple(lines[index + 1 : index + 1 + context]),
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
            Ref(drive, "/")  # refuses what cannot be a drive
    root: dict[str, dict[str, object]] = {}
    leaves: dict[tuple[str, ...], tuple[str, str]] = {}
    for _, ref, title in store.items.refs_below(drive, path):
        parts = (f"{ref.drive}:", *ref.path.strip("/").split("/"))
        leaves[parts] = (str(ref), title)
        level: dict[str, object] = root  # type: ignore[assignment]
        for part in parts:
            level = level.setdefault(part, {})  # type: ignore[assignment]
    start: tuple[str, ...] = ()
    name = prefix or ""
    if drive is not None:
        start = (f"{drive}:", *(part for part in path.strip("/").split("/") if part))
    tree: dict[str, object] = root  # type: ignore[assignment]
    for part in start:
        tree = tree.get(part, {})  # type: ignore[assignment]
    return _node(name or "/", start, tree, leaves, depth)


def _node(
    name: str,
    parts: tuple[str, ...],
    below: dict[str, object],
    leaves: dict[tuple[str, ...], tuple[str, str]],
    depth: int | None,
) -> TreeNode:
    children = tuple(
        _node(child, (*parts, child), inner, leaves, None if depth is None else depth - 1)  # type: ignore[arg-type]
        for child, inner in below.items()
    )
    ref, title = leaves.get(parts, (None, ""))
    items = sum(child.items for child in children) + (ref is not None)
    path = f"{parts[0]}/{'/'.join(parts[1:])}" if parts else "/"
    return TreeNode(name, path, items, ref, title, children if depth is None or depth > 0 else ())
