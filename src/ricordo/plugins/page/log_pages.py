"""The log of use: what was asked, by whom, what was found and opened, what hooks told agents, and figures of it all."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Query, Request, Response

from ricordo.errors import Error, UsageError
from ricordo.http_api.state import Here
from ricordo.plugins.page.layout import by_day, page, page_router, shows
from ricordo.told_log import answers_of_hooks, shown_by_hooks, with_openings

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo
    from ricordo.values.kinds import LogSummary
    from ricordo.values.use import StatsReport

pages = page_router()

MOST = 100
MOST_OPEN = 5
MOST_ASKERS = 12
MOST_SHOWN = 10
"""How many of the items that hooks showed to agents are listed."""
DAYS = 30
SPANS = (7, 30, 90)
VIEWS = {"all": "All questions", "unanswered": "Without an answer", "told": "Told by hooks", "summary": "Summary"}


@shows(pages, "/log")
async def log_page(
    request: Request,
    here: Here,
    view: Annotated[str, Query(max_length=20)] = "all",
    by: Annotated[str, Query(max_length=200)] = "",
    *,
    day: Annotated[str, Query(max_length=10)] = "",
    days: Annotated[int, Query(ge=1, le=366)] = DAYS,
) -> Response:
    """Questions of people and agents, or what hooks told, of one asker, of one day; or a summary of some days."""
    chosen = view if view in VIEWS else "all"

    def work(engine: Ricordo) -> dict[str, Any]:
        logged = {"logged": engine.config.usage.log}
        if chosen == "summary":
            return logged | {"days": days, "spans": SPANS} | _summary(engine, days)
        return logged | {"by": by, "day": day} | _rows(engine, chosen, by, day)

    template = "log_summary.html" if chosen == "summary" else "log.html"
    return page(request, template, view=chosen, views=VIEWS, **await here.ask(work))


@shows(pages, "/log/open")
async def open_part(request: Request, here: Here) -> Response:
    """For the home: the latest questions without an answer. They are asked again, which takes a moment."""
    found = await here.ask(lambda engine: engine.log(since=f"{DAYS}d", unanswered=True, limit=MOST_OPEN))
    return page(request, "open_part.html", questions=found.questions)


def _rows(engine: Ricordo, view: str, by: str, day: str) -> dict[str, Any]:
    """The rows of a view by day, and whose rows and which days there are."""
    everybody = engine.log(since=f"{DAYS}d", limit=1000).questions
    askers = (one.asker for one in everybody)
    names = Counter(asker.name or asker.token or asker.via or asker.author for asker in askers)
    values: dict[str, Any] = {
        "askers": names.most_common(MOST_ASKERS),
        "daily": Counter(one.at.astimezone().date() for one in everybody),
        "store": engine.location,
        "least": engine.config.search.min_fit,
    }
    since, until = _span(day)
    rows: list[Any]
    if view == "told":
        rows, told = _told(engine, by, since, until)
        values |= told
    else:
        found = engine.log(since=since, until=until, by=by, unanswered=view == "unanswered", limit=MOST)
        rows, values["more"] = list(found.questions), found.more
    days = groupby(rows, key=lambda one: one.at.astimezone().date())
    return values | {"days": [(one, list(some)) for one, some in days]}


def _span(day: str) -> tuple[Any, datetime | None]:
    """From when to when: one local day, or the last weeks."""
    if not day:
        return f"{DAYS}d", None
    try:
        start = datetime.combine(date.fromisoformat(day), datetime.min.time()).astimezone()
    except ValueError:
        raise UsageError(f"'{day}' is not a day", hint="Write it as 2026-01-31.") from None
    return start, start + timedelta(days=1)


def _told(engine: Ricordo, by: str, since: Any, until: datetime | None) -> tuple[list[Any], dict[str, Any]]:
    """What hooks told, with the titles of what is still kept."""
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
    return answers[:MOST], {
        "titles": titles,
        "elsewhere": elsewhere,
        "tokens": sum(one.tokens for one in answers),
        "answers": len(answers),
        "more": len(answers) > MOST,
    }


def _summary(engine: Ricordo, days: int) -> dict[str, Any]:
    """The log of some days in figures, charts and tables."""

    def summed(by: LogSummary, limit: int) -> StatsReport:
        summary = engine.log(since=f"{days}d", summary=by, limit=limit).summary
        assert summary is not None
        return summary

    daily, learning, today = summed("day", 366), engine.learn.status(), datetime.now(UTC).date()
    answers, items = shown_by_hooks(engine.location, days)
    return {
        "daily": daily,
        "queries": summed("query", 10),
        "tools": summed("tool", 10).rows,
        "learning": learning,
        "changes": learning.changes[:20],
        "hook_answers": answers,
        "shown": with_openings(engine, items[:MOST_SHOWN]),
        "charts": {
            "asked": by_day({row.name: float(row.count) for row in daily.rows}, days, today),
            "took": by_day({row.name: row.average_ms for row in daily.rows}, days, today),
        },
    }
