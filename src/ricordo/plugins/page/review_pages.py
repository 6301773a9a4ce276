"""What waits for a decision, what should be tidied, and the bar that undoes a change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, cast

from fastapi import Form, Query, Request, Response

from ricordo.http_api.state import Here
from ricordo.plugins.page.item_pages import diff_line
from ricordo.plugins.page.layout import page, page_router, shows
from ricordo.values.log import finding_kinds

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo
    from ricordo.values.log import Step


pages = page_router()

RefField = Annotated[str, Form(min_length=1, max_length=4096)]


@shows(pages, "/review", scope="admin")
async def review_page(request: Request, here: Here, kind: Annotated[str, Query(max_length=40)] = "") -> Response:
    """What waits for the user's decision, one under the other, and what should be tidied; of one kind, or all."""
    kinds = finding_kinds()
    chosen = (kind,) if kind in kinds else ()
    report = await here.ask(lambda engine: engine.review(kinds=chosen, limit=MOST_FINDINGS))
    diffs = {one.ref: [diff_line(line) for line in one.diff.splitlines()] for one in report.waiting}
    return page(request, "review.html", report=report, diffs=diffs, kinds=kinds)


@shows(pages, "/review", "POST", scope="admin")
async def decide(
    request: Request,
    here: Here,
    ref: RefField,
    decision: Annotated[str, Form(max_length=20)],
    *,
    text: Annotated[str, Form(max_length=10_000)] = "",
    proposed: Annotated[str, Form(max_length=10_000)] = "",
) -> Response:
    """Take the new version or the proposed sentence (as it was changed here), do what is suggested, or not."""
    is_changed = decision in ("accept", "always") and text.strip() not in ("", proposed.strip())
    own = text.strip() if is_changed else None
    report = await here.ask(lambda engine: engine.review(ref, cast("Any", decision), text=own))
    here.service.wake()
    done = "; ".join(f"{one.ref} {one.status}" for one in report.done)
    return page(request, "done_part.html", said=report.decided or done or "Nothing was to be done", problems=[])


OFFERED = timedelta(minutes=10)
LOOKED_AT = 50
MOST_FINDINGS = 100


def last_step(engine: Ricordo) -> Step | None:
    """The latest change that a person made on a page lately and did not take back; older ones follow when it is.

    One that cannot be taken back ends the row: what was done before it may have been done for its sake.
    """
    since = datetime.now(UTC) - OFFERED
    for one in engine.undo(list=True, limit=LOOKED_AT).steps:
        is_of_page = one.provenance.via == "page" and one.provenance.author != "agent"
        if one.at >= since and is_of_page and one.verb != "undo" and not one.is_undone:
            return one if one.can_be_undone else None
    return None


@shows(pages, "/undo", scope="write")
async def undo_part(request: Request, here: Here) -> Response:
    """What can be undone now, with its button; nothing if there is nothing."""
    return page(request, "undo_part.html", step=await here.ask(last_step))


@shows(pages, "/undo", "POST", scope="write")
async def undo(request: Request, here: Here, step: Annotated[str, Form(min_length=1, max_length=100)]) -> Response:
    """Take a change back."""

    def work(engine: Ricordo) -> Any:
        return engine.undo(step)

    report = await here.ask(work)
    here.service.wake()
    problems = [f"{one.ref}: {one.reason}" for one in report.items if one.status == "skipped"][:3]
    return page(request, "done_part.html", said=f"Undone: {report.undone.words}", problems=problems)
