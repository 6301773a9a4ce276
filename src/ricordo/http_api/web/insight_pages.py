"""What the records of use show: what is asked and found, what is not found, what helps, and what was learned."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Query, Request, Response

from ricordo.http_api.serving import Here
from ricordo.http_api.web.drawing import by_day
from ricordo.http_api.web.frame import page, page_router, shows
from ricordo.told_log import shown_by_hooks, with_openings

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.values.kinds import LogSummary
    from ricordo.values.use import QueryStats, StatsReport

insight = page_router()

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


@shows(insight, "/insight")
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
