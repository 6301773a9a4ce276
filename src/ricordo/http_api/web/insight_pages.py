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
MOST_LOOKED_AT = 50
"""How many questions are looked at for bad answers."""


def shown(engine: Ricordo, days: int) -> dict[str, Any]:
    """What hooks showed to agents, and which of it was opened afterwards."""
    answers, items = shown_by_hooks(engine.location, days)
    return {"hook_answers": answers, "shown": with_openings(engine, items[:MOST_SHOWN])}


def answered_badly(engine: Ricordo, days: int) -> list[QueryStats]:
    """Of the questions asked most, those whose best hit scored too low for a hook to show it."""
    found = []
    for row in engine.stats(days=days, by="query", limit=MOST_LOOKED_AT).rows:
        scores = [one.score for one in engine.retrievals(query=row.name, limit=20) if one.score is not None]
        if row.name.strip() and scores and max(scores) < engine.config.hooks.min_score:
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
