"""Pages that put something right: correcting a memory, why something is not found, and what waits for a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

from fastapi import Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from ricordo.errors import NotFound
from ricordo.http_api.routing import RefParameter
from ricordo.http_api.serving import Here
from ricordo.http_api.web.frame import page, page_router, shows
from ricordo.http_api.web.item_pages import diff_line
from ricordo.http_api.web.markdown import item_address
from ricordo.http_api.web.search_pages import PAGE

if TYPE_CHECKING:
    from ricordo.engine import Ricordo

explaining = page_router()
mending = page_router("write")
deciding = page_router("admin")

RefField = Annotated[str, Form(min_length=1, max_length=4096)]


@shows(mending, "/correct")
async def correct_page(request: Request, here: Here, ref: RefParameter) -> Response:
    """The form to say what is right instead."""
    item = await here.ask(lambda engine: engine.get(ref, track=False))
    return page(request, "correct.html", item=item, ref=str(item.ref))


@shows(mending, "/correct", "POST")
async def correct(
    request: Request, here: Here, ref: RefField, text: Annotated[str, Form(min_length=1, max_length=20_000_000)]
) -> Response:
    """Save the right text; the wrong one is archived and says what corrected it."""
    right = text.replace("\r\n", "\n")
    saved = await here.ask(lambda engine: engine.correct(ref, right, wait=False))
    here.service.wake()
    return RedirectResponse(
        item_address(saved.ref, said="unchanged" if saved.status == "skipped" else "corrected"), 303
    )


@shows(explaining, "/why")
async def why_page(
    request: Request,
    here: Here,
    q: Annotated[str, Query(max_length=10_000)] = "",
    ref: Annotated[str, Query(max_length=4096)] = "",
) -> Response:
    """Why an item has its rank for a question, or is not found."""

    def work(engine: Ricordo) -> dict[str, Any]:
        if not q.strip() or not ref.strip():
            return {"found": None, "problem": None}
        try:
            return {"found": engine.explain(q, ref), "problem": None}
        except NotFound as problem:
            return {"found": None, "problem": problem}

    return page(request, "why.html", q=q, ref=ref, page_size=PAGE, **await here.ask(work))


@shows(deciding, "/review")
async def review_page(request: Request, here: Here) -> Response:
    """What waits for the user's decision, one under the other."""
    return page(request, "review.html", **await here.ask(_waiting))


@shows(deciding, "/review", "POST")
async def decide(
    request: Request,
    here: Here,
    ref: RefField,
    decision: Annotated[str, Form(max_length=20)],
    text: Annotated[str, Form(max_length=10_000)] = "",
    proposed: Annotated[str, Form(max_length=10_000)] = "",
) -> Response:
    """Take the new version or the proposed sentence (as it was changed here), or not."""
    is_changed = decision in ("accept", "always") and text.strip() not in ("", proposed.strip())
    own = text.strip() if is_changed else None
    report = await here.ask(lambda engine: engine.review(ref, cast("Any", decision), text=own))
    here.service.wake()
    return page(request, "done_part.html", said=report.decided, problems=[])


def _waiting(engine: Ricordo) -> dict[str, Any]:
    report = engine.review()
    diffs = {one.ref: [diff_line(line) for line in one.diff.splitlines()] for one in report.waiting}
    return {"waiting": report.waiting, "proposals": report.proposals, "rules": report.rules, "diffs": diffs}
