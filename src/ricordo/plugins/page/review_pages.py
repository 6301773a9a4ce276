"""What waits for a decision, one at a time, and what takes the last change back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, cast
from urllib.parse import quote

from fastapi import Form, Query, Request, Response
from fastapi.responses import RedirectResponse
from markupsafe import Markup, escape

from ricordo import registry
from ricordo.engine.review import OWN_KINDS, is_in_force
from ricordo.errors import Error
from ricordo.frozen import frozen
from ricordo.http_api.state import Here
from ricordo.plugins.page.edit_pages import against
from ricordo.plugins.page.formats import changed_words, differing_words, inline_html
from ricordo.plugins.page.layout import Bar, has_page, page, page_router, shows, when, who_is
from ricordo.trust.fence import told_item
from ricordo.values.log import finding_kinds

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo
    from ricordo.values.log import Proposal, ReviewReport, Step


pages = page_router()

RefField = Annotated[str, Form(min_length=1, max_length=4096)]
MOST_FINDINGS = 100
MOST_AT_HOME = 4
LONGEST_TURN = 600


@frozen
class Decision:
    """One thing to decide: under which name, of which sort, and what stands in the list."""

    ref: str
    sort: int
    words: str
    more: str
    picture: str
    what: Any


def decisions(engine: Ricordo, report: ReviewReport) -> list[Decision]:
    """All that waits, by sort: proposals, versions that others wrote, then findings by their kinds."""
    kinds = list(finding_kinds())
    return [
        *(Decision(one.ref, 0, one.text, f"Proposed {one.kind}, {when(one.at)}", "inbox", one)
          for one in report.proposals),
        *(Decision(one.ref, 1, one.title or one.ref, f"{who_is(one.provenance) or 'Somebody'} changed it", "pen", one)
          for one in report.waiting),
        *(Decision(one.id, 2 + kinds.index(one.kind), _title(engine, one.refs), one.why, "warn", one)
          for one in report.findings),
    ]  # fmt: skip


def _title(engine: Ricordo, refs: Sequence[str]) -> str:
    """What is found is called as what it is about; of two memories both are named."""
    return " / ".join(engine.get(ref, track=False).title for ref in refs[:2])


@shows(pages, "/review", scope="admin")
async def review_page(
    request: Request,
    here: Here,
    ref: Annotated[str, Query(max_length=4096)] = "",
    kind: Annotated[str, Query(max_length=40)] = "",
    *,
    edits: bool = False,
) -> Response:
    """What waits for the user's decision, and one of it with all that one must know to decide."""
    kinds = finding_kinds()

    def work(engine: Ricordo) -> dict[str, Any]:
        report = engine.review(kinds=(kind,) if kind in kinds else (), limit=MOST_FINDINGS)
        queue = decisions(engine, report)
        chosen = next((one for one in queue if one.ref == ref), queue[0] if queue else None)
        at = queue.index(chosen) if chosen is not None else 0
        values: dict[str, Any] = {
            "report": report, "queue": queue, "chosen": chosen, "number": at + 1,
            "before": queue[at - 1].ref if at else "", "following": queue[at + 1].ref if at + 1 < len(queue) else "",
        }  # fmt: skip
        return values | (_about(engine, chosen, report) if chosen is not None else {})

    found = await here.ask(work)
    if not kind:
        request.app.state.findings = len(found["report"].findings)
    sorts = ["Proposals", "Written over your words", *(words.capitalize() for words in kinds.values())]
    return page(request, "review.html", kinds=kinds, sorts=sorts, edits=edits, waiting=len(found["queue"]), **found)


def _about(engine: Ricordo, chosen: Decision, report: ReviewReport) -> dict[str, Any]:
    """What one must know to decide: where it was said and what it would cost, what changed, or both memories."""
    one = chosen.what
    if chosen.sort == 0:
        return {"spoken": _spoken(engine, one), "effect": _effect(engine, one, report)}
    if chosen.sort == 1:
        now = engine.get(one.ref, version=one.version, track=False).content
        yours = engine.get(one.ref, version=one.yours, track=False).content if one.yours else ""
        return {"changed": changed_words(yours, now)}
    both = [engine.get(ref, track=False) for ref in one.refs] if one.kind == "contradictions" else []
    texts = [item.content for item in both]
    return {"both": [(item, differing_words(texts[1 - at], item.content)) for at, item in enumerate(both)]}


def _spoken(engine: Ricordo, one: Proposal) -> list[dict[str, Any]]:
    """The turn that a proposal comes from, between its neighbours; nothing if the session is not kept."""
    if not has_page("/session"):
        return []
    try:
        turns = engine.session(one.session, first=max(1, one.turn - 1), limit=3 if one.turn > 1 else 2).turns
    except Error:
        return []
    spoken = []
    for turn in turns:
        before, quoted, after = turn.text.partition(one.text if one.text in turn.text else one.quote)
        is_quoted = turn.seq == one.turn and bool(quoted)
        html = (
            escape(before[-LONGEST_TURN:]) + Markup("<mark>{}</mark>").format(quoted) + escape(after[:LONGEST_TURN])
            if is_quoted
            else inline_html(turn.text[:LONGEST_TURN])
        )
        spoken.append({"seq": turn.seq, "role": turn.role, "html": html})
    return spoken


def _effect(engine: Ricordo, one: Proposal, report: ReviewReport) -> dict[str, Any]:
    """When a proposal will be told, in how many tokens of a start's budget, and what says the contrary."""
    [tokens] = registry.token_counter().count_tokens([told_item("memory:/x", "", "", one.text, outside=False)])
    effect: dict[str, Any] = {"tokens": tokens, "at_start": is_in_force(one), "bars": ()}
    effect["against"] = against(engine, one.text)
    if report.start is not None and is_in_force(one):
        share = 100 / max(1, report.start.budget)
        taken = min(100.0, report.start.tokens * share)
        effect["bars"] = (Bar("", "", 0, taken), Bar("", "", taken, min(100 - taken, tokens * share)))
    return effect


@shows(pages, "/review/waiting", scope="admin")
async def waiting_part(request: Request, here: Here) -> Response:
    """For the home: the first of what waits. Pairs of memories are compared for it, which takes a moment."""
    queue = await here.ask(lambda engine: decisions(engine, engine.review(limit=MOST_FINDINGS)))
    request.app.state.findings = sum(1 for one in queue if one.sort > 1)
    return page(request, "waiting_part.html", queue=queue[:MOST_AT_HOME], count=len(queue))


@shows(pages, "/review/count", scope="admin")
async def count_part(request: Request, here: Here) -> Response:
    """How much waits, for the menu; of findings, as many as there were when they were last looked for."""
    report = await here.ask(lambda engine: engine.review(kinds=OWN_KINDS))
    request.app.state.waiting = len(report.proposals) + len(report.waiting) + request.app.state.findings
    return Response(str(request.app.state.waiting or ""), media_type="text/plain")


@shows(pages, "/review", "POST", scope="admin")
async def decide(
    request: Request,
    here: Here,
    ref: RefField,
    decision: Annotated[str, Form(max_length=20)] = "",
    *,
    text: Annotated[str, Form(max_length=10_000)] = "",
    proposed: Annotated[str, Form(max_length=10_000)] = "",
    archive: Annotated[str, Form(max_length=4096)] = "",
    next: Annotated[str, Form(max_length=4096)] = "",  # noqa: A002 - the field's name
) -> Response:
    """Take the new version or the proposed sentence (as it was changed here), do what is suggested, or not; of two
    memories that contradict each other, archive one. Then the next one is asked.
    """
    is_changed = decision in ("accept", "always") and text.strip() not in ("", proposed.strip())
    own = text.strip() if is_changed else None

    def work(engine: Ricordo) -> Any:
        return engine.forget(archive) if archive else engine.review(ref, cast("Any", decision), text=own)

    await here.ask(work)
    here.service.wake()
    return RedirectResponse(f"/review?ref={quote(next, safe='')}" if next else "/review", 303)


OFFERED = timedelta(minutes=10)
LOOKED_AT = 50


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
