"""What an agent can do with a memory: four functions from which every framework can make tools.

A model reads their names, types and docstrings. They return text. An error is returned as text, too, with a hint,
because an exception would end the run of most agents.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ricordo.engine.lending import embed_soon
from ricordo.errors import Error, MissingExtra
from ricordo.speaking import as_agent
from ricordo.trust.fence import as_json, one_line, quoted, told_text
from ricordo.trust.level import is_outside
from ricordo.values.hits import Hit

if TYPE_CHECKING:
    from ricordo import Ricordo

LONGEST = 20_000
"""Characters of an item that are read at once."""


def missing(extra: str, framework: str) -> MissingExtra:
    """The error of an adapter whose framework is not installed."""
    return MissingExtra(extra, f"adapters for {framework}")


def passage_of(hit: Hit) -> str:
    """The passages of a hit that matched, in the order of the text."""
    parts = sorted(hit.evidence, key=lambda one: one.lines)
    return "\n\n".join(one.text for one in parts) or hit.snippet


def facts_of(hit: Hit) -> dict[str, Any]:
    """What a framework may want to know about a hit besides its text."""
    plain: dict[str, Any] = {"ref": hit.ref, "title": hit.title, "kind": hit.kind, "score": round(hit.score, 4)}
    return plain | {"lines": list(hit.lines), "tags": list(hit.tags)}


def answers_errors(function: Callable[..., str]) -> Callable[..., str]:
    """The function, changed so that it returns errors as text."""

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> str:
        try:
            return function(*arguments, **named)
        except Error as error:
            return one_line(f"error: {error.message}" + (f" ({error.hint})" if error.hint else ""), LONGEST)

    return call


def actions(memory: Ricordo) -> tuple[Callable[..., str], ...]:
    """The functions for one open memory: search_memory, read_memory, remember, memory_context."""

    @answers_errors
    def search_memory(query: str, limit: int = 5) -> str:
        """Find what is known by words and meaning. Returns refs with a passage each; read_memory reads a whole item.

        Args:
            query: A question, or the name of a thing.
            limit: How many to find at most.
        """
        hits = memory.search(query, limit=max(1, min(limit, 50)), tool="integration").hits
        rows = [{"ref": hit.ref, "title": hit.title, "text": passage_of(hit)[:1000]} for hit in hits]
        return as_json(rows) if rows else "Nothing is known about this."

    @answers_errors
    def read_memory(ref: str) -> str:
        """Read one thing that is known, by the ref that search_memory gave.

        Args:
            ref: Such as note:/plan or memory:/tea.
        """
        item = memory.get(ref)
        told = told_text(item.content[:LONGEST], outside=is_outside(item))
        size = len(item.content)
        return told if size <= LONGEST else f"{told}\n… ({size:,} characters in all)"

    @answers_errors
    def remember(text: str, tags: list[str] | None = None) -> str:
        """Save a fact, decision, preference or lesson for later: one thought, clear without this conversation.

        Args:
            text: What to keep.
            tags: Words to find it by.
        """
        with as_agent():
            saved = memory.remember(text, source="agent", tags=tuple(tags or ()), wait=False)
        embed_soon(memory)
        if saved.status == "needs_decision" and saved.candidates[0].contradiction:
            return f"{saved.reason}, so nothing was saved; correct that one if this is true now"
        if saved.status == "needs_decision":
            return f"nearly the same is known already, so nothing was saved: {quoted(saved.candidates[0].ref)}"
        return f"{saved.status}: {saved.ref}"

    @answers_errors
    def memory_context(task: str, budget: int = 1000) -> str:
        """What to know before a task: standing rules and the best passages, within a budget of tokens.

        Args:
            task: What is to be done.
            budget: The most tokens to spend.
        """
        return memory.context(task, budget=max(50, min(budget, 20_000))).text or "Nothing is known about this."

    return search_memory, read_memory, remember, memory_context
