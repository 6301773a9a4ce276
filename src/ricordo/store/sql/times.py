"""Times in the store: whole microseconds since 1970, UTC."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

DAY = 86_400_000_000
_START = datetime(1970, 1, 1, tzinfo=UTC)


def micros(moment: datetime) -> int:
    """A moment as the store writes it."""
    return (moment.astimezone(UTC) - _START) // timedelta(microseconds=1)


def moment(value: int) -> datetime:
    """A stored time as a value."""
    return _START + timedelta(microseconds=value)


def optional_moment(value: int | None) -> datetime | None:
    """A stored time that may be missing."""
    return None if value is None else moment(value)


def now_micros() -> int:
    """The present."""
    return time.time_ns() // 1000
