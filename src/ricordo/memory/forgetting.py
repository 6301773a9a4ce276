"""Says which items ``forget`` and ``rm`` select by age, last use, kind and tag; protected items are never selected.

These are rules over items alone; the store archives or removes them.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from ricordo.errors import UsageError
from ricordo.frozen import frozen
from ricordo.text.durations import parse_duration
from ricordo.values.hits import Filters
from ricordo.values.items import Item


@frozen
class Criteria:
    """The conditions under which an item is forgotten; empty if none were given."""

    older_than: timedelta | None = None
    unused_since: timedelta | None = None
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        older_than: str | timedelta | None,
        unused_since: str | timedelta | None,
        kinds: tuple[str, ...],
        tags: tuple[str, ...],
    ) -> Criteria:
        """Criteria from values, or from texts as people write them."""
        return cls(_span(older_than), _span(unused_since), kinds, tags)

    def is_empty(self) -> bool:
        return self == Criteria()

    def filters(self, now: datetime) -> Filters:
        """The conditions that the store can check."""
        age = max(self.older_than or timedelta(0), self.unused_since or timedelta(0))
        return Filters(kinds=self.kinds, tags_any=self.tags, before=now - age)

    def meets(self, item: Item, now: datetime) -> bool:
        """Whether an item that passed the filters was also unused for long enough."""
        return self.unused_since is None or last_use(item) <= now - self.unused_since


def last_use(item: Item) -> datetime:
    """When an item was last found, opened or changed."""
    moments = (item.created_at, item.updated_at, item.last_retrieved_at, item.last_accessed_at)
    return max(moment for moment in moments if moment is not None)


def is_protected(item: Item) -> bool:
    """Whether an item is selected only if it is named."""
    return item.fields.immutable or item.fields.decay_protected


def check_selection(names: tuple[object, ...], criteria: Criteria) -> None:
    """Refuse a call with neither names nor criteria, because it must not mean all items."""
    if not names and criteria.is_empty():
        raise UsageError(
            "nothing was named", hint="Name refs, or say which: ‹older_than=90d›, ‹unused_since=30d›, ‹kind›, ‹tag›."
        )


def _span(value: str | timedelta | None) -> timedelta | None:
    span = parse_duration(value) if isinstance(value, str) else value
    if span is not None and not isinstance(span, timedelta):
        raise UsageError(f"an age cannot be {type(span).__name__} ({span})", hint="Give 90d, 2w or a timedelta.")
    if span is not None and span < timedelta(0):
        raise UsageError("an age cannot be negative", hint="Nothing would be spared; give 90d, 2w or a timedelta.")
    return span
