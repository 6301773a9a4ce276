"""Spans of time as people write them (``90d``, ``12w``, ``6m``, ``1y``), and as servers do (``Retry-After``)."""

from __future__ import annotations

import re
import time
from datetime import UTC, date, datetime, timedelta

from ricordo.errors import UsageError
from ricordo.values.days import moment_of, parse_time

UNIT_DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0, "m": 30.0, "y": 365.0}
"""A month counts 30 days and a year 365: these are ages, not dates in a calendar."""

LONGEST_DAYS = 36_500
_DURATION = re.compile(r"\s*(\d{1,6}(?:\.\d{1,6})?)\s*([hdwmy])[a-z]*\s*", re.IGNORECASE)
_SPAN = re.compile(r"\s*[\d.]+\s*[a-zA-Z]+\s*")


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


def parse_retry_after(text: str) -> float | None:
    """How many seconds a server asks to wait in its header ``Retry-After``: a number or a date; None for other text.

    >>> parse_retry_after("120"), parse_retry_after("soon")
    (120.0, None)
    """
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text)
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def moment_since(text: str | date | timedelta | None) -> datetime | None:
    """The moment that ``7d``, ``36h``, a span or a date names."""
    if text is None:
        return None
    if isinstance(text, timedelta):
        return datetime.now(UTC) - text
    if not isinstance(text, str):
        return moment_of(text)
    if _SPAN.fullmatch(text):
        return datetime.now(UTC) - parse_duration(text)
    try:
        return parse_time(text)
    except UsageError as error:
        raise UsageError(error.message, hint="Write a span such as 36h, 7d or 2w, or a date: 2026-11-15.") from None
