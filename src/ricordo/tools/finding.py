"""How tools are looked for: a task in general words, and tools before resources and prompts.

Ranking itself is the search's. ``bench/tools.py`` measures what each of these is worth.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ricordo.values.tools import ToolEntry

MORE = 3
"""So many times as many as asked for are looked at, because resources and prompts give way afterwards."""
NOT_A_TOOL = 0.6
"""What the score of a resource or a prompt is multiplied by: a task mostly needs something that does something."""
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+", re.IGNORECASE)
_FILE = re.compile(r"(?<![\w/.])(?:~|\.{1,2})?[\w./-]*\w\.[A-Za-z][A-Za-z0-9]{1,4}\b(?![\w/])")


def in_general(task: str) -> str:
    """The task with addresses and names of files put as what they are.

    >>> in_general("rename draft.md, then read https://example.org/news")
    'rename file, then read web page URL'
    """
    return _FILE.sub("file", _ADDRESS.sub("web page URL", task))


def tools_first(found: Sequence[ToolEntry], limit: int) -> tuple[ToolEntry, ...]:
    """The best of them, with resources and prompts further back."""
    return tuple(sorted(found, key=_rank)[:limit])


def _rank(one: ToolEntry) -> float:
    return -(one.score or 0.0) * (1.0 if one.what == "tool" else NOT_A_TOOL)
