"""Asks the agent what it learned, once per session, when it has answered and something happened; and counts the cost.

A program that goes on because a hook asked it to says so when it stops again. Then it is never asked a second time;
what the answer cost is read from the transcript.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.values.proposals import Spent

if TYPE_CHECKING:
    from ricordo.engine import Ricordo

PURPOSE = "agent"
MARK = "Ricordo asks once per session"
QUESTION = (
    f"{MARK}: is there something in this session that later sessions should know, such as a decision and its reason, a"
    " correction, or a fix that worked? If so, save at most three lessons with Ricordo's tool `remember`, one sentence"
    " each, clear without this conversation, without secrets, and nothing that is obvious or known. Then stop, without"
    " a further word to the user."
)
ENOUGH_REQUESTS = 4
"""So many requests of the user are enough for something to have happened, even if no file was changed."""
LARGEST_TAIL = 2_000_000
"""How many bytes of a transcript's end are read."""
CHARACTERS_PER_TOKEN = 4
_CHANGING = ("Edit", "MultiEdit", "Write", "NotebookEdit")


def question_for(engine: Ricordo, session: str, transcript: Path) -> str:
    """What to ask the agent now; empty if it was asked before, or if nothing happened. That it was asked is noted
    first, so that nobody is asked twice whatever goes wrong.
    """
    if not session or engine.store.spending.has(PURPOSE, session) or not _something_happened(transcript):
        return ""
    engine.store.spending.add(Spent(PURPOSE, 1, len(QUESTION) // CHARACTERS_PER_TOKEN, 0), session)
    return QUESTION


def note_cost(engine: Ricordo, session: str, transcript: Path) -> None:
    """Note, once, what the agent's answer to the question cost."""
    answered = f"{session} answered"
    if not session or not engine.store.spending.has(PURPOSE, session) or engine.store.spending.has(PURPOSE, answered):
        return
    read, written = _cost_since_asked(transcript)
    engine.store.spending.add(Spent(PURPOSE, 0, read, written), answered)


def _something_happened(transcript: Path) -> bool:
    requests = 0
    for line in _lines(transcript):
        blocks = _blocks(line)
        if any(block.get("type") == "tool_use" and block.get("name") in _CHANGING for block in blocks):
            return True
        is_result = any(block.get("type") == "tool_result" for block in blocks)
        requests += line.get("type") == "user" and line.get("isMeta") is not True and not is_result
    return requests >= ENOUGH_REQUESTS


def _cost_since_asked(transcript: Path) -> tuple[int, int]:
    """Tokens read and written since the question; an answer that spans several lines says its cost in each."""
    costs: dict[str, tuple[int, int]] = {}
    is_asked = False
    for line in _lines(transcript):
        if line.get("type") == "user" and MARK in json.dumps(line.get("message"), ensure_ascii=False):
            is_asked, costs = True, {}
        message = line.get("message")
        usage = message.get("usage") if isinstance(message, Mapping) else None
        if is_asked and line.get("type") == "assistant" and isinstance(message, Mapping) and isinstance(usage, Mapping):
            read = sum(_whole(usage.get(name)) for name in _READ)
            costs[str(message.get("id") or line.get("uuid"))] = read, _whole(usage.get("output_tokens"))
    return sum(read for read, _ in costs.values()), sum(written for _, written in costs.values())


_READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _lines(transcript: Path) -> Iterator[Mapping[str, Any]]:
    """The lines at the end of a transcript that can be read, in order."""
    with transcript.open("rb") as file:
        file.seek(max(0, transcript.stat().st_size - LARGEST_TAIL))
        for line in file.read(LARGEST_TAIL).splitlines():
            try:
                found = json.loads(line)
            except ValueError:  # the first line may be cut
                continue
            if isinstance(found, Mapping):
                yield found


def _blocks(line: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    message = line.get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
