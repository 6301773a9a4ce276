"""What a store does for sessions: the turns of a thread, what happened when, and items kept apart from all searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from ricordo.values.items import Item, Ref, Saved

if TYPE_CHECKING:
    from ricordo.store.base import Array, Backlog, PreparedItem
    from ricordo.values.sessions import Happening, ThreadSpan


class ThreadStore(Protocol):
    """The part of a store behind sessions, timelines and checkpoints."""

    def thread_keys(self, thread: str) -> dict[str, int]:
        """The ``key`` in the metadata of each item of a thread, with its place; whatever became of the item."""
        ...

    def thread_items(self, thread: str, first: int, last: int) -> list[Item]:
        """The live items of a thread between two places, in order, with their content."""
        ...

    def said_after(self, thread: str, place: int, count: int) -> list[Mapping[str, Any]]:
        """The metadata of the next things that a person said in a thread after a place."""
        ...

    def thread_spans(self, threads: Sequence[str]) -> dict[str, ThreadSpan]:
        """How many live items with a place each thread has, and from when to when."""
        ...

    def happenings(
        self, *, since: datetime | None, thread: str | None, kinds: Sequence[str], limit: int
    ) -> list[Happening]:
        """What was said, made, changed and put away, the latest first."""
        ...

    def save_apart(self, prepared: Sequence[PreparedItem], *, backlog: Backlog | None = None) -> list[Saved]:
        """Write items that count in no search: archived from the start, so that only ``current_chunks`` finds them."""
        ...

    def archived_below(self, drive: str, prefix: str) -> list[tuple[int, Ref]]:
        """Archived items below a path."""
        ...

    def current_chunks(self, numbers: Array) -> Array:
        """Ids of the chunks that the current versions of some items hold, searchable or not."""
        ...
