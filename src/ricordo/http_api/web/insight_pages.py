"""What the records of use show: what is asked and found, what is not found, what helps, and what was learned."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Query, Request, Response

from ricordo.hooks.shown import shown_by_hooks, with_openings
from ricordo.http_api.serving import Here
from ricordo.http_api.web.drawing import by_day
from ricordo.http_api.web.frame import page, page_router, shows

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.values.use import QueryStats

insight = page_router()

SPANS = (7, 30, 90)
MOST_SHOWN = 10
"""How many of the items that hooks showed to agents, and of the questions that were answered badly, are listed."""
MOST_ASKED_AGAIN = 30
"""How many questions are asked again to see whether anything fits by now."""


def shown(engine: Ricordo, days: int) -> dict[str, Any]:
    """What hooks showed to agents, and which of it was opened afterwards."""
    answers, items = shown_by_hooks(engine.location, days)
    return {"hook_answers": answers, "shown": with_openings(engine, items[:MOST_SHOWN])}


def answered_badly(engine: Ricordo, days: int) -> list[QueryStats]:
    """Of the questions asked most that found something, those for which the store has nothing that fits.

    They are asked again, because what was missing may have been written down since. A list of what passes a filter, or
    of what is similar to an item, is no question.
    """
    found = []
    for row in engine.stats(days=days, by="query", limit=MOST_ASKED_AGAIN).rows:
        if not row.average_results or any(one.tool == "similar" for one in engine.retrievals(query=row.name, limit=1)):
            continue
        fit = engine.search(row.name, limit=3, track=False, rerank="none", snippets=False).meta.fit
        if fit is not None and fit < engine.config.search.min_fit:
            found.append(row)
    return found[:MOST_SHOWN]


@shows(insight, "/insight")
async def insight_page(request: Request, here: Here, days: Annotated[int, Query(ge=1, le=366)] = 30) -> Response:
    """The log of the last days, in pictures and tables."""

    def work(engine: Ricordo) -> dict[str, Any]:
        daily = engine.stats(days=days, by="day", limit=366)
        return {
            "daily": daily,
            "queries": engine.stats(days=days, by="query", limit=10),
            "tools": engine.stats(days=days, by="tool", limit=10).rows,
            "learning": engine.learn.status(),
            "changes": engine.learn.history(20),
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
