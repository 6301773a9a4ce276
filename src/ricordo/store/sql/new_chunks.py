"""A chunk that was just written and is to be indexed, and the states that chunks are in."""

from __future__ import annotations

from ricordo.frozen import frozen
from ricordo.store.values import TermCounts

FIELDS = ("title", "path", "description", "tags", "context", "body")
"""The fields of a chunk whose words are indexed; ``counts`` and lengths are in this order."""
LIVE, SUPERSEDED, DELETED = 0, 1, 2


@frozen
class NewChunk:
    """A chunk that was just inserted, with what is indexed of it."""

    chunk: int
    item: int
    counts: TermCounts
    state: int = LIVE

    def lengths(self) -> list[int]:
        return [sum(field.values()) for field in self.counts]
