"""The page of a file's lines: beside each, its commit, the turn that wrote it, and what was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import Request, Response

from ricordo.http_api.api import RefParameter
from ricordo.http_api.state import Here
from ricordo.plugins.page.layout import page, page_router, shows
from ricordo.plugins.page.markup import code_html, language_of

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo

pages = page_router()
MOST = 200
"""Causes that are shown; a file that more turns and commits wrote is better asked about line by line."""


@shows(pages, "/lines", scope="admin")
async def lines_page(request: Request, here: Here, ref: RefParameter) -> Response:
    """Why the lines of a stored file are there, from its first line to its last."""

    def work(engine: Ricordo) -> dict[str, Any]:
        item = engine.get(ref, track=False)
        report = engine.blame(f"disk:{item.ref.path}")
        language = language_of(item.ref.path)
        rows = [(one, code_html(one.text, language, one.first)) for one in report.causes[:MOST]]
        return {"item": item, "ref": str(item.ref), "rows": rows, "count": len(report.causes), "notes": report.notes}

    return page(request, "lines.html", **await here.ask(work))
