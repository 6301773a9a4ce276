"""The bar that undoes a change, offered for ten minutes after it was made; and what should be tidied."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Form, Query, Request, Response

from ricordo.http_api.serving import Here
from ricordo.http_api.web.frame import page, page_router, shows
from ricordo.values.review import FINDING_KINDS

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.values.log import Step

undoing = page_router("write")

OFFERED = timedelta(minutes=10)
LOOKED_AT = 5
STALE = ("contradictions", "expired", "gone", "changed")
"""What the home tells: memories that hold no more, or not both of them."""
MOST_FINDINGS = 100
MOST_SHOWN = 4


def last_step(engine: Ricordo) -> Step | None:
    """The latest change that a person made lately and that can be taken back; an undo is not offered again."""
    since = datetime.now(UTC) - OFFERED
    for one in engine.undo(list=True, limit=LOOKED_AT).steps:
        if one.at >= since and one.provenance.author != "agent" and one.verb != "undo":
            return one if one.can_be_undone else None
    return None


@shows(undoing, "/undo")
async def undo_part(request: Request, here: Here) -> Response:
    """What can be undone now, with its button; nothing if there is nothing."""
    return page(request, "undo_part.html", step=await here.ask(last_step))


@shows(undoing, "/undo", "POST")
async def undo(request: Request, here: Here, step: Annotated[str, Form(min_length=1, max_length=100)]) -> Response:
    """Take a change back."""

    def work(engine: Ricordo) -> Any:
        return engine.undo(step)

    report = await here.ask(work)
    here.service.wake()
    problems = [f"{one.ref}: {one.reason}" for one in report.items if one.status == "skipped"][:3]
    return page(request, "done_part.html", said=f"Undone: {report.undone.words}", problems=problems)


@shows(undoing, "/tidy")
async def tidy_page(request: Request, here: Here, kind: Annotated[str, Query(max_length=40)] = "") -> Response:
    """What should be done about the memory, each finding with its button."""
    kinds = (kind,) if kind in FINDING_KINDS else tuple(FINDING_KINDS)
    report = await here.ask(lambda engine: engine.review(kinds=kinds, limit=MOST_FINDINGS))
    return page(request, "tidy.html", report=report, kind=kind, kinds=FINDING_KINDS)


@shows(undoing, "/tidy", "POST")
async def tidy(request: Request, here: Here, finding: Annotated[str, Form(min_length=1, max_length=100)]) -> Response:
    """Do what is suggested about one finding."""
    report = await here.ask(lambda engine: engine.review(finding, "accept"))
    here.service.wake()
    done = [f"{one.ref} {one.status}" for one in report.done]
    return page(request, "done_part.html", said="; ".join(done or ("Nothing was to be done",)), problems=[])


@shows(undoing, "/tidy/stale")
async def stale_part(request: Request, here: Here) -> Response:
    """For the home: how many memories are stale or contradict each other, and the first ones."""
    report = await here.ask(lambda engine: engine.review(kinds=STALE, limit=MOST_SHOWN))
    return page(request, "stale_part.html", report=report, most=MOST_SHOWN)
