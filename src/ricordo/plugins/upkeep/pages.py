"""The part of the first page that lists memories which are out of date or contradict each other."""

from __future__ import annotations

from fastapi import Request, Response

from ricordo.http_api.state import Here
from ricordo.plugins.page.layout import page, page_router, shows

pages = page_router()

STALE = ("contradictions", "expired", "gone", "changed")
MOST_SHOWN = 4


@shows(pages, "/review/stale", scope="admin")
async def stale_part(request: Request, here: Here) -> Response:
    """The first of the memories that hold no more, or not both of them."""
    report = await here.ask(lambda engine: engine.review(kinds=STALE, limit=MOST_SHOWN))
    return page(request, "stale_part.html", report=report, most=MOST_SHOWN)
