"""Words notes and hints for an agent: a command is called by the tool that does the same, or is the user's to run."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from ricordo.trust.fence import quoting
from ricordo.verbs.index import all_verbs

_COMMAND = re.compile(r"(?:the user's command )?'ricordo ([^']+)'")
_SAID_BY_US = ("notes", "note", "degraded", "warnings", "reason", "message", "next_action_hint")
"""The parts of an answer that Ricordo itself wrote. Others hold stored texts, which stay as they are."""
_INSTEAD = {"list": "search", "tree": "search", "skills list": "search"}
"""Tools that show what a command shows, where there is no tool of the command's name."""


def for_agents(text: str, tools: Collection[str]) -> str:
    """A text in which commands are called by the tools that do the same; others are said to be the user's.

    >>> for_agents("'ricordo get REF' reads it; run 'ricordo embed'.", ["get"])
    "the tool get reads it; run the user's command 'ricordo embed'."
    """
    if "'ricordo " not in text:
        return text
    names = {row.path: row.name.replace(".", "_") for row in all_verbs()}

    def worded(found: re.Match[str]) -> str:
        words = found.group(1).split()
        for path in (" ".join(words[:2]), words[0]):
            name = next((one for one in (names.get(path), _INSTEAD.get(path)) if one in tools), None)
            if name is not None:
                return f"the tool {name}"
        return f"the user's command 'ricordo {found.group(1)}'"

    return _COMMAND.sub(worded, text)


def answer_for_agents(plain: Mapping[str, Any], tools: Collection[str], words: Collection[str] = ()) -> dict[str, Any]:
    """An answer in which what Ricordo says of its own, of the whole and of each item, is worded for agents.

    In these sentences the refs of the answer and the given words are quoted: they may not be the user's.
    """
    words = [*words, *(ref for ref in (plain.get("ref"),) if isinstance(ref, str))]
    return {name: _worded(name, value, tools, words) for name, value in plain.items()}


def _worded(name: str, value: Any, tools: Collection[str], words: Collection[str]) -> Any:
    if name == "items" and isinstance(value, list):
        return [answer_for_agents(one, tools, words) if isinstance(one, dict) else one for one in value]
    if name in _SAID_BY_US and isinstance(value, str):
        return quoting(for_agents(value, tools), words)
    if name in _SAID_BY_US and isinstance(value, list):
        return [quoting(for_agents(one, tools), words) if isinstance(one, str) else one for one in value]
    return value
