"""What can be done with an item on its page: editing (conflicts are shown), verdicts, links, removing, restoring."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Annotated, Any, cast

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse

from ricordo.errors import StaleVersion, UsageError
from ricordo.http_api.routing import RefParameter
from ricordo.http_api.serving import Here
from ricordo.http_api.web.frame import page, page_router, shows
from ricordo.http_api.web.item_pages import diff_line
from ricordo.http_api.web.markdown import item_address

if TYPE_CHECKING:
    from ricordo.engine import Ricordo

changing = page_router("write")

RefField = Annotated[str, Form(min_length=1, max_length=4096)]
Line = Annotated[str, Form(max_length=10_000)]


@shows(changing, "/edit")
async def edit_page(request: Request, here: Here, ref: RefParameter) -> Response:
    """The form to change an item."""
    item = await here.ask(lambda engine: engine.get(ref, track=False))
    values = {
        "content": item.content,
        "title": item.fields.title,
        "description": item.fields.description,
        "tags": ", ".join(item.fields.tags),
        "importance": str(item.fields.importance or ""),
    }
    return page(request, "edit.html", item=item, values=values, base=item.version, conflict=None)


@shows(changing, "/edit", "POST")
async def save_edit(
    request: Request,
    here: Here,
    ref: RefField,
    base: Annotated[int, Form(ge=1, le=2**31)],
    content: Annotated[str, Form(max_length=20_000_000)] = "",
    title: Line = "",
    description: Line = "",
    tags: Line = "",
    importance: Annotated[str, Form(max_length=1)] = "",
) -> Response:
    """Save a change; if the item was changed meanwhile, show both and let the person decide."""
    text = content.replace("\r\n", "\n")
    values = {"content": text, "title": title, "description": description, "tags": tags, "importance": importance}

    def work(engine: Ricordo) -> Any:
        fields: dict[str, Any] = {"title": title, "description": description, "tags": tags}
        fields["importance"] = int(importance) if importance.isdigit() else None
        before = engine.get(ref, track=False)
        kept = before.fields.to_dict()
        kept["tags"] = ", ".join(before.fields.tags)
        changed = {name: value for name, value in fields.items() if value != kept[name]}
        new_text = text if text != before.content else None
        if new_text is None and not changed:
            return None
        return engine.edit(ref, new_text, changed or None, base=base, wait=False)

    try:
        saved = await here.ask(work)
    except StaleVersion as problem:
        item = await here.ask(lambda engine: engine.get(ref, track=False))
        lines = difflib.unified_diff(
            item.content.splitlines(), text.splitlines(), f"version {item.version}, in the store", "yours", lineterm=""
        )
        conflict = {"error": problem, "diff": [diff_line(line) for line in lines]}
        return page(request, "edit.html", 409, item=item, values=values, base=item.version, conflict=conflict)
    here.service.wake()
    said = "saved" if saved is not None and saved.status == "updated" else "unchanged"
    return RedirectResponse(item_address(saved.ref if saved is not None else ref, said=said), 303)


@shows(changing, "/feedback", "POST")
async def give_feedback(
    request: Request,
    here: Here,
    ref: RefField,
    q: Annotated[str, Form(min_length=1, max_length=10_000)],
    verdict: Annotated[str, Form(max_length=20)],
) -> Response:
    """Give a verdict on an item that a query found."""
    report = await here.ask(lambda engine: engine.feedback(q, ref, cast("Any", verdict)))
    return page(request, "feedback_part.html", ref=ref, q=q, given=report)


@shows(changing, "/link", "POST")
async def make_link(
    request: Request,
    here: Here,
    ref: RefField,
    target: RefField,
    type: Annotated[str, Form(max_length=100)] = "mentions",  # noqa: A002 - the field's name
) -> Response:
    """Link an item to another."""
    await here.ask(lambda engine: engine.link(ref, target, type or "mentions"))
    return RedirectResponse(item_address(ref, view="links", said="linked"), 303)


@shows(changing, "/unlink", "POST")
async def take_link(
    request: Request,
    here: Here,
    ref: RefField,
    source: RefField,
    target: RefField,
    type: Annotated[str, Form(max_length=100)] = "",  # noqa: A002 - the field's name
) -> Response:
    """Remove a link."""
    await here.ask(lambda engine: engine.unlink(source, target, type or None))
    return RedirectResponse(item_address(ref, view="links", said="unlinked"), 303)


@shows(changing, "/put-away", "POST")
async def put_away(
    request: Request, here: Here, ref: RefField, how: Annotated[str, Form(max_length=20)] = "forget"
) -> Response:
    """Archive an item, or put it into the bin."""

    def work(engine: Ricordo) -> Any:
        report = engine.forget(ref) if how == "forget" else engine.rm(ref)
        failed = next((one for one in report.items if one.error), None)
        if failed is not None and failed.error is not None:
            raise UsageError(failed.error["message"], hint=failed.error.get("hint", ""))
        return report

    await here.ask(work)
    return page(request, "put_away.html", ref=ref, how=how)


@shows(changing, "/restore", "POST")
async def restore(
    request: Request, here: Here, ref: RefField, version: Annotated[int | None, Form(ge=1, le=2**31)] = None
) -> Response:
    """Bring an item or an earlier version back."""
    saved = await here.ask(lambda engine: engine.restore(ref, version))
    return RedirectResponse(item_address(saved.ref, said="restored"), 303)
