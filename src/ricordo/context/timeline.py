"""Makes a timeline: which happenings it shows, from when on, and in which order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from ricordo.errors import UsageError
from ricordo.store.base import Store
from ricordo.text.durations import parse_duration
from ricordo.values.days import parse_time
from ricordo.values.kinds import KINDS
from ricordo.values.sessions import Timeline

MOST_EVENTS = 10_000
_SPAN = re.compile(r"\s*[\d.]+\s*[a-zA-Z]+\s*")


def moment_since(text: str | datetime | None) -> datetime | None:
    """The moment that ``7d``, ``36h`` or a date names."""
    if text is None or isinstance(text, datetime):
        return text
    if _SPAN.fullmatch(text):
        return datetime.now(UTC) - parse_duration(text)
    try:
        return parse_time(text)
    except UsageError as error:
        raise UsageError(error.message, hint="Write a span such as 36h, 7d or 2w, or a date: 2026-11-15.") from None


def timeline_of(
    store: Store,
    *,
    since: str | datetime | None,
    thread: str | None,
    kinds: Sequence[str],
    limit: int,
    newest_first: bool,
) -> Timeline:
    """The latest happenings of the kinds that were asked for."""
    if not 1 <= limit <= MOST_EVENTS:
        raise UsageError("the limit is at least 1", hint=f"And at most {MOST_EVENTS:,}.")
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"kind cannot be '{kind}'", hint=f"One of: {', '.join(KINDS)}.")
    moment = moment_since(since)
    found = store.threads.happenings(since=moment, thread=thread, kinds=tuple(kinds), limit=limit + 1)
    events = found[:limit]
    return Timeline(tuple(events if newest_first else reversed(events)), moment, more=len(found) > limit)
