"""Pages that change items: adding files, texts and URLs; editing, correcting, verdicts, links, removing, restoring."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, cast

from fastapi import File, Form, Query, Request, Response, UploadFile
from fastapi.responses import RedirectResponse

from ricordo.engine.review import compared_memories
from ricordo.errors import StaleVersion, UsageError
from ricordo.http_api.api import RefParameter
from ricordo.http_api.routes import uploaded
from ricordo.http_api.state import Here
from ricordo.permissions import refuse_files
from ricordo.plugins.page.formats import changed_words, shown
from ricordo.plugins.page.item_pages import told_text
from ricordo.plugins.page.layout import page, page_router, shows
from ricordo.plugins.page.markup import item_address
from ricordo.secrets.find import secret_counts
from ricordo.steps import one_step
from ricordo.values.items import FRESH
from ricordo.values.kinds import REMEMBERED_KINDS

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo
    from ricordo.http_api.state import Tells
    from ricordo.values.items import Item


pages = page_router()

RefField = Annotated[str, Form(min_length=1, max_length=4096)]
Line = Annotated[str, Form(max_length=10_000)]


@shows(pages, "/add", scope="write")
async def add_page(request: Request, here: Here, title: Annotated[str, Query(max_length=1000)] = "") -> Response:
    """The ways to add something, and what is being added."""
    tasks = [task for task in here.tasks.all() if task.verb in ("add", "upload")][:10]
    return page(request, "add.html", tasks=tasks, title=title)


@shows(pages, "/add/sources", "POST", scope="write")
async def add_sources(
    request: Request,
    here: Here,
    sources: Annotated[str, Form(min_length=1, max_length=100_000)],
    depth: Annotated[int, Form(ge=0, le=10)] = 0,
) -> Response:
    """URLs, or files and folders of this machine, one on each line."""
    named = [line.strip() for line in sources.splitlines() if line.strip()]
    if not named:
        raise UsageError("there is nothing to add", hint="Write a URL or a path on each line.")
    refuse_files(named)

    def work(engine: Ricordo, tell: Tells) -> Any:
        return engine.add(*named, depth=depth, progress=tell)

    task = here.start("add", work, about=", ".join(named))
    return page(request, "task_part.html", task=task)


@shows(pages, "/add/files", "POST", scope="write")
async def add_files(request: Request, here: Here, files: Annotated[list[UploadFile], File()]) -> Response:
    """Files that were dropped or chosen."""
    work, about, clear = await uploaded(here, files, "")
    task = here.start("upload", work, about=about, clear=clear)
    return page(request, "task_part.html", task=task)


@shows(pages, "/add/text", "POST", scope="write")
async def add_text(
    request: Request,
    here: Here,
    text: Annotated[str, Form(min_length=1, max_length=20_000_000)],
    title: Annotated[str, Form(max_length=1000)] = "",
    *,
    tags: Annotated[str, Form(max_length=10_000)] = "",
    kind: Annotated[str, Form(max_length=20)] = "note",
    on_duplicate: Annotated[str, Form(max_length=20)] = "",
) -> Response:
    """A text that was written or pasted."""
    fields: dict[str, Any] = {}
    if title.strip():
        fields["title"] = title.strip()
    if tags.strip():
        fields["tags"] = [part.strip() for part in tags.split(",") if part.strip()]
    body = text.replace("\r\n", "\n")

    def work(engine: Ricordo) -> Any:
        return engine.remember(body, kind=kind, on_duplicate=cast("Any", on_duplicate or None), wait=False, **fields)

    saved = await here.ask(work)
    here.service.wake()
    given = {"text": body, "title": title, "tags": tags, "kind": kind}
    return page(request, "saved_part.html", saved=saved, given=given)


@shows(pages, "/task", scope="write")
async def task_part(request: Request, here: Here, id: Annotated[str, Query(max_length=64)]) -> Response:  # noqa: A002
    """One task as it is now."""
    return page(request, "task_part.html", task=here.tasks.get(id))


@shows(pages, "/edit", scope="write")
async def edit_page(
    request: Request, here: Here, ref: RefParameter, how: Annotated[str, Query(max_length=10)] = ""
) -> Response:
    """The form to change an item, or to say what is right instead of it (``how=correct``)."""

    def work(engine: Ricordo) -> dict[str, Any]:
        item = engine.get(ref, track=False)
        fields = item.fields
        values = {"content": item.content, "title": fields.title, "description": fields.description,
                  "tags": ", ".join(fields.tags), "importance": str(fields.importance or ""),
                  "loading": fields.loading or ""}  # fmt: skip
        return {"item": item, "values": values, "see": seen(engine, item, item.content)}

    found = await here.ask(work)
    return page(request, "edit.html", base=found["item"].version, how=how, conflict=None, **found)


def against(engine: Ricordo, text: str) -> list[str]:
    """The memories that say the contrary of a text."""
    compared = compared_memories(engine._context, engine._context.unsynced_store, text)
    return [ref for ref, found in compared if found.why]


def seen(engine: Ricordo, item: Item, text: str) -> dict[str, Any]:
    """What a text would be in place of an item's own: as it reads, what changes, as agents are told it, and checks."""
    told, tokens = told_text(item, text)
    checks = [(f"Cites {one.what}", "", one.state, one.state == FRESH) for one in item.cites]
    if item.kind in REMEMBERED_KINDS and text.strip():
        refs = [ref for ref in against(engine, text) if ref != str(item.ref)]
        checks += [(f"Contradicts {ref}", item_address(ref), "decide after saving", False) for ref in refs]
        checks += [] if refs else [("Contradicts nothing that is known", "", "good", True)]
    secrets = ", ".join(secret_counts(text))
    return {
        "html": shown(replace(item, content=text), {}, None).html, "changed": changed_words(item.content, text),
        "version": item.version, "told": told, "tokens": tokens, "tokens_before": told_text(item, item.content)[1],
        "checks": [*checks, ("Secrets in the text", "", secrets or "none", not secrets)],
    }  # fmt: skip


Text = Annotated[str, Form(max_length=20_000_000)]


@shows(pages, "/edit/preview", "POST", scope="write")
async def edit_preview(request: Request, here: Here, ref: RefField, *, content: Text = "") -> Response:
    """The same while one types; nothing is written."""
    text = content.replace("\r\n", "\n")
    see = await here.ask(lambda engine: seen(engine, engine.get(ref, track=False), text))
    return page(request, "see_part.html", see=see)


@shows(pages, "/edit", "POST", scope="write")
async def save_edit(
    request: Request,
    here: Here,
    ref: RefField,
    base: Annotated[int, Form(ge=1, le=2**31)],
    *,
    content: Text = "",
    title: Line = "",
    description: Line = "",
    tags: Line = "",
    importance: Annotated[str, Form(max_length=1)] = "",
    loading: Annotated[str | None, Form(max_length=20)] = None,
    how: Annotated[str, Form(max_length=10)] = "",
) -> Response:
    """Save a change, or what is right instead; if the item was changed meanwhile, show both and let people decide."""
    text = content.replace("\r\n", "\n")
    values = {"content": text, "title": title, "description": description, "tags": tags, "importance": importance,
              "loading": loading or ""}  # fmt: skip

    def work(engine: Ricordo) -> Any:
        if how == "correct":
            return engine.correct(ref, text, wait=False)
        before = engine.get(ref, track=False)
        fields: dict[str, Any] = {"title": title, "description": description, "tags": tags}
        fields["importance"] = int(importance) if importance.isdigit() else None
        fields["loading"] = before.fields.loading if loading is None else loading or None
        kept = before.fields.to_dict() | {"tags": ", ".join(before.fields.tags)}
        changed = {name: value for name, value in fields.items() if value != kept[name]}
        new_text = text if text != before.content else None
        if new_text is None and not changed:
            return None
        return engine.edit(ref, new_text, changed or None, base=base, wait=False)

    try:
        saved = await here.ask(work)
    except StaleVersion as problem:

        def both(engine: Ricordo) -> dict[str, Any]:
            item = engine.get(ref, track=False)
            return {"item": item, "see": seen(engine, item, text)}

        now = await here.ask(both)
        conflict = {"error": problem, "diff": now["see"]["changed"]}
        base = now["item"].version
        return page(request, "edit.html", 409, values=values, base=base, how=how, conflict=conflict, **now)
    here.service.wake()
    is_written = saved is not None and saved.status != "skipped"
    said = "unchanged" if not is_written else "corrected" if how == "correct" else "saved"
    return RedirectResponse(item_address(saved.ref if saved is not None else ref, said=said), 303)


@shows(pages, "/feedback", "POST", scope="write")
async def give_feedback(
    request: Request,
    here: Here,
    ref: RefField,
    q: Annotated[str, Form(min_length=1, max_length=10_000)],
    *,
    verdict: Annotated[str, Form(max_length=20)],
) -> Response:
    """Give a verdict on an item that a query found."""
    report = await here.ask(lambda engine: engine.feedback(q, ref, cast("Any", verdict)))
    return page(request, "feedback_part.html", ref=ref, q=q, given=report)


@shows(pages, "/link", "POST", scope="write")
async def make_link(
    request: Request,
    here: Here,
    ref: RefField,
    target: RefField,
    *,
    type: Annotated[str, Form(max_length=100)] = "mentions",  # noqa: A002 - the field's name
) -> Response:
    """Link an item to another."""
    await here.ask(lambda engine: engine.link(ref, target, type or "mentions"))
    return RedirectResponse(item_address(ref, said="linked"), 303)


@shows(pages, "/unlink", "POST", scope="write")
async def take_link(
    request: Request,
    here: Here,
    ref: RefField,
    source: RefField,
    *,
    target: RefField,
    type: Annotated[str, Form(max_length=100)] = "",  # noqa: A002 - the field's name
) -> Response:
    """Remove a link."""
    await here.ask(lambda engine: engine.unlink(source, target, type or None))
    return RedirectResponse(item_address(ref, said="unlinked"), 303)


@shows(pages, "/put-away", "POST", scope="write")
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


@shows(pages, "/both-true", "POST", scope="write")
async def keep_both(request: Request, here: Here, ref: RefField, other: RefField) -> Response:
    """Keep two memories that seem to contradict each other, for good."""

    def work(engine: Ricordo) -> None:
        findings = engine.review(kinds=("contradictions",)).findings
        links = [one for one in engine.links(ref, depth=1).links if (one.ref, one.type) == (other, "contradicts")]
        with one_step("review"):
            for found in findings:
                if {ref, other} <= set(found.refs):
                    engine.review(found.id, "refuse")
            for link in links:
                engine.unlink(link.source, link.target, link.type)

    await here.ask(work)
    return RedirectResponse(item_address(ref, said="both"), 303)


@shows(pages, "/restore", "POST", scope="write")
async def restore(
    request: Request, here: Here, ref: RefField, version: Annotated[int | None, Form(ge=1, le=2**31)] = None
) -> Response:
    """Bring an item or an earlier version back."""
    saved = await here.ask(lambda engine: engine.restore(ref, version))
    return RedirectResponse(item_address(saved.ref, said="restored"), 303)
