"""Spans of time as people write them: ``90d``, ``12w``, ``6m``, ``1y``."""

from __future__ import annotations

import re
from datetime import timedelta

from ricordo.errors import UsageError

UNIT_DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0, "m": 30.0, "y": 365.0}
"""A month counts 30 days and a year 365: these are ages, not dates in a calendar."""

LONGEST_DAYS = 36_500
_DURATION = re.compile(r"\s*(\d{1,6}(?:\.\d{1,6})?)\s*([hdwmy])[a-z]*\s*", re.IGNORECASE)


def parse_duration(text: str) -> timedelta:
    """The span that a text names; hours, days, weeks, months or years, by their first letter.

    >>> parse_duration("12w").days, parse_duration("6m").days, parse_duration("36h").total_seconds()
    (84, 180, 129600.0)
    """
    match = _DURATION.fullmatch(text)
    days = float(match[1]) * UNIT_DAYS[match[2].lower()] if match else -1.0
    if not 0 <= days <= LONGEST_DAYS:
        raise UsageError(f"'{text}' is not a span of time", hint="Write 36h, 90d, 12w, 6m or 1y; at most 100 years.")
    return timedelta(days=days)
