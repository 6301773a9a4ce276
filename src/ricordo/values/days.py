"""Days as people say them: yesterday, last week, monday, 3 days ago. Each means the moment at which it begins.

They may be said in other languages, too (``day_words``).
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

from ricordo.errors import UsageError
from ricordo.values.day_words import in_english

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_AGO = re.compile(r"(\d{1,5}) ?(d|day|days|w|week|weeks|h|hour|hours|m|month|months|y|year|years)(?: ago)?")
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
SPOKEN = rf"(?:last|this)[ _-](?:week|month|year|{'|'.join(WEEKDAYS)})|\d{{1,5}}[ ](?:day|week|month|year)s?[ ]ago"
"""The ones that are written with spaces, as a regular expression."""


def spoken_day(text: str, now: datetime) -> datetime | None:
    """The beginning of a day that is named in words, in the time zone of ``now``; None for other text.

    A weekday is the latest one, today included. "last monday" is the latest one before today.

    >>> spoken_day("monday", datetime(2026, 11, 18, 9)).isoformat()
    '2026-11-16T00:00:00'
    """
    words = " ".join(re.split(r"[\s_-]+", in_english(text).strip().lower()))
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    week = today - timedelta(days=today.weekday())
    month = today.replace(day=1)
    named = {
        "now": now,
        "today": today,
        "yesterday": today - timedelta(days=1),
        "tomorrow": today + timedelta(days=1),
        "this week": week,
        "last week": week - timedelta(days=7),
        "this month": month,
        "last month": (month - timedelta(days=1)).replace(day=1),
        "this year": month.replace(month=1),
        "last year": month.replace(month=1, year=max(1, month.year - 1)),
    }
    if words in named:
        return named[words]
    is_last = words.startswith("last ")
    name = words.removeprefix("last ").removeprefix("this ")
    if name in WEEKDAYS:
        days = (today.weekday() - WEEKDAYS.index(name)) % 7
        return today - timedelta(days=days or (7 if is_last else 0))
    ago = _AGO.fullmatch(words)
    if ago is None:
        return None
    count, unit = int(ago[1]), ago[2][0]
    return now - timedelta(hours=count) if unit == "h" else today - timedelta(days=count * _DAYS[unit])


def spoken_days(text: str, now: datetime) -> tuple[datetime, datetime] | None:
    """The beginning and the end of a day, week, month or year that is named in words; None for other text.

    >>> [one.isoformat() for one in spoken_days("last week", datetime(2026, 11, 18, 9))]
    ['2026-11-09T00:00:00', '2026-11-16T00:00:00']
    """
    start = spoken_day(text, now)
    if start is None:
        return None
    words = in_english(text).lower()
    if "month" in words or "year" in words:
        days = 366 if "year" in words else 31
        following = (start + timedelta(days=days)).replace(day=1)  # a year later is still January
        return start, following if start.day == 1 else start + timedelta(days=days)
    return start, start + timedelta(days=7 if "week" in words else 1)


def moment_of(when: str | date) -> datetime:
    """The moment that a text, a day or a time names; a day begins at midnight, and is local as all times without a
    zone.
    """
    if isinstance(when, str):
        return parse_time(when)
    if not isinstance(when, date):
        raise UsageError(f"{when!r} is not a date", hint="Give a datetime, a date, or a text such as 2026-11-15.")
    return parse_time(when.isoformat())


def parse_time(text: str) -> datetime:
    """A date or time as people write it (``2026-11-15``, ``2026-11-15T10:00``, ``...Z``); local unless marked.

    Days may be named in words, too: yesterday, last week, monday, 3 days ago.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        spoken = _spoken(text)
        if spoken is None:
            raise UsageError(
                f"'{text}' is not a date",
                hint="Write 2026-11-15 or 2026-11-15T10:30 (with Z or +02:00 for a time zone), yesterday or last week.",
            ) from None
        moment = spoken
    try:
        return moment.astimezone(UTC)
    except (OverflowError, OSError, ValueError):
        raise UsageError(f"'{text}' is out of range", hint="Use a date between the years 1970 and 9998.") from None


def _spoken(text: str) -> datetime | None:
    try:
        return spoken_day(text, datetime.now())  # local time, as for all times without a time zone
    except OverflowError:
        return None
