"""How tools are found: the task is put in general words, and tools come before resources and prompts.

The search does the ranking. ``bench/tools.py`` measures how much each of these helps.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ricordo.values.tools import ToolEntry

MORE = 3
"""How many times more hits than asked for are fetched, because resources and prompts are moved back afterwards."""
NOT_A_TOOL = 0.6
"""The score of a resource or a prompt is multiplied by this, because a task mostly needs a tool."""
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+", re.IGNORECASE)
_FILE = re.compile(r"(?<![\w/.])(?:~|\.{1,2})?[\w./-]*\w\.[A-Za-z][A-Za-z0-9]{1,4}\b(?![\w/])")


def in_general(task: str) -> str:
    """The task with addresses and file names replaced by general words.

    >>> in_general("rename draft.md, then read https://example.org/news")
    'rename file, then read web page URL'
    """
    return _FILE.sub("file", _ADDRESS.sub("web page URL", task))


def tools_first(found: Sequence[ToolEntry], limit: int) -> tuple[ToolEntry, ...]:
    """The best hits, with resources and prompts moved back."""
    return tuple(sorted(found, key=_rank)[:limit])


def _rank(one: ToolEntry) -> float:
    return -(one.score or 0.0) * (1.0 if one.what == "tool" else NOT_A_TOOL)
