"""Makes a timeline: which happenings it shows, from when on, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ricordo.errors import UsageError
from ricordo.store.base import Store
from ricordo.text.durations import moment_since
from ricordo.values.kinds import KINDS
from ricordo.values.sessions import Timeline

MOST_EVENTS = 10_000


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
