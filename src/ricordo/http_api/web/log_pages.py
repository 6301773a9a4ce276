"""The log of use: what was asked, by whom, what was found and opened, what hooks told agents, and what was learned."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Query, Request, Response

from ricordo.errors import Error, UsageError
from ricordo.http_api.state import Here
from ricordo.http_api.web.frame import by_day, page, page_router, shows
from ricordo.told_log import answers_of_hooks, shown_by_hooks, with_openings

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.values.kinds import LogSummary
    from ricordo.values.provenance import Provenance
    from ricordo.values.use import QueryStats, StatsReport


pages = page_router()

MOST = 100
MOST_OPEN = 5
DAYS = 30
VIEWS = {"all": "All questions", "unanswered": "Without an answer", "told": "Told by hooks"}


@shows(pages, "/asked")
async def asked_page(
    request: Request,
    here: Here,
    view: Annotated[str, Query(max_length=20)] = "all",
    by: Annotated[str, Query(max_length=200)] = "",
    day: Annotated[str, Query(max_length=10)] = "",
) -> Response:
    """Questions of people and agents, or what hooks told; of one asker, of one day."""
    chosen = view if view in VIEWS else "all"
    since, until = _span(day)

    def work(engine: Ricordo) -> dict[str, Any]:
        everybody = engine.log(since=f"{DAYS}d", limit=1000).questions
        values: dict[str, Any] = {
            "askers": _askers(one.asker for one in everybody),
            "daily": Counter(one.at.astimezone().date() for one in everybody),
            "store": engine.location,
            "logged": engine.config.usage.log,
            "least": engine.config.search.min_fit,
        }
        if chosen == "told":
            return values | _told(engine, by, since, until)
        found = engine.log(since=since, until=until, by=by, unanswered=chosen == "unanswered", limit=MOST)
        days = groupby(found.questions, key=lambda one: one.at.astimezone().date())
        return values | {"days": [(one, list(rows)) for one, rows in days], "more": found.more}

    found = await here.ask(work)
    return page(request, "asked.html", view=chosen, views=VIEWS, by=by, day=day, **found)


@shows(pages, "/asked/open")
async def open_part(request: Request, here: Here) -> Response:
    """For the home: the latest questions without an answer. They are asked again, which takes a moment."""
    found = await here.ask(lambda engine: engine.log(since=f"{DAYS}d", unanswered=True, limit=MOST_OPEN))
    return page(request, "open_part.html", questions=found.questions)


def _span(day: str) -> tuple[datetime | str, datetime | None]:
    """From when to when: one local day, or the last weeks."""
    if not day:
        return f"{DAYS}d", None
    try:
        start = datetime.combine(date.fromisoformat(day), datetime.min.time()).astimezone()
    except ValueError:
        raise UsageError(f"'{day}' is not a day", hint="Write it as 2026-01-31.") from None
    return start, start + timedelta(days=1)


def asker_name(asker: Provenance) -> str:
    """What tells an asker from others: an agent's program, a person, a door."""
    return asker.name or asker.token or asker.via or asker.author


def _askers(found: Any) -> list[tuple[str, int]]:
    return Counter(asker_name(one) for one in found).most_common(12)


def _told(engine: Ricordo, by: str, since: Any, until: Any) -> dict[str, Any]:
    """What hooks told, by day, with the titles of what is still kept."""
    answers, elsewhere = answers_of_hooks(engine.location, DAYS)
    if by:
        answers = [one for one in answers if by.lower() in str(one.asker.to_dict()).lower()]
    if until is not None:
        answers = [one for one in answers if since <= one.at < until]
    titles: dict[str, str] = {}
    for ref in dict.fromkeys(ref for one in answers[:MOST] for ref in one.refs):
        try:
            titles[ref] = engine.get(ref, track=False).title
        except Error:  # it was removed since
            continue
    days = groupby(answers[:MOST], key=lambda one: one.at.astimezone().date())
    return {
        "days": [(one, list(rows)) for one, rows in days],
        "titles": titles,
        "elsewhere": elsewhere,
        "tokens": sum(one.tokens for one in answers),
        "answers": len(answers),
        "more": len(answers) > MOST,
    }


SPANS = (7, 30, 90)
MOST_SHOWN = 10
"""How many of the items that hooks showed to agents, and of the questions that were answered badly, are listed."""
MOST_UNFIT = 100
MOST_DIFFERENT = 1000
"""How many questions without an answer are looked for, and among how many different ones of the log."""


def shown(engine: Ricordo, days: int) -> dict[str, Any]:
    """What hooks showed to agents, and which of it was opened afterwards."""
    answers, items = shown_by_hooks(engine.location, days)
    return {"hook_answers": answers, "shown": with_openings(engine, items[:MOST_SHOWN])}


def answered_badly(engine: Ricordo, days: int) -> list[QueryStats]:
    """Of the questions that found something, those that nothing fitted when they were asked, and nothing fits now: the
    ones asked most first.
    """
    unfit = {one.text for one in engine.log(since=f"{days}d", unanswered=True, limit=MOST_UNFIT).questions}
    asked = _summary(engine, days, "query", MOST_DIFFERENT).rows if unfit else ()
    return [row for row in asked if row.name in unfit and row.average_results][:MOST_SHOWN]


def _summary(engine: Ricordo, days: int, by: LogSummary, limit: int) -> StatsReport:
    summary = engine.log(since=f"{days}d", summary=by, limit=limit).summary
    assert summary is not None
    return summary


@shows(pages, "/insight")
async def insight_page(request: Request, here: Here, days: Annotated[int, Query(ge=1, le=366)] = 30) -> Response:
    """The log of the last days, in pictures and tables."""

    def work(engine: Ricordo) -> dict[str, Any]:
        daily = _summary(engine, days, "day", 366)
        return {
            "daily": daily,
            "queries": _summary(engine, days, "query", 10),
            "tools": _summary(engine, days, "tool", 10).rows,
            "learning": engine.learn.status(),
            "changes": engine.learn.status().changes[:20],
            "logged": engine.config.usage.log,
            "badly": answered_badly(engine, days),
            **shown(engine, days),
        }

    found = await here.ask(work)
    today = datetime.now(UTC).date()
    rows = found["daily"].rows
    charts = {
        "asked": by_day({row.name: float(row.count) for row in rows}, days, today),
        "took": by_day({row.name: row.average_ms for row in rows}, days, today),
    }
    return page(request, "insight.html", days=days, spans=SPANS, charts=charts, **found)
