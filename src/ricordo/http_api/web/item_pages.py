"""The page of one item: its text, passages, versions and differences, links, similar items, and fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Query, Request, Response
from markupsafe import Markup

from ricordo.errors import Unavailable
from ricordo.http_api.routing import RefParameter
from ricordo.http_api.serving import Here
from ricordo.http_api.web.frame import page, page_router, shows
from ricordo.http_api.web.markdown import render
from ricordo.http_api.web.marking import terms_of
from ricordo.values.kinds import KNOWLEDGE_FOLDERS, REMEMBERED_KINDS

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.values.items import Item

items = page_router()

VIEWS = ("text", "source", "passages", "versions", "links", "similar", "fields")
RENDERED = ("text/markdown", "text/x-markdown")
NEVER_SHOWN = ("content", "title", "tags", "metadata")


@shows(items, "/item")
async def item_page(
    request: Request,
    here: Here,
    ref: RefParameter,
    view: Annotated[str, Query(max_length=20)] = "text",
    q: Annotated[str, Query(max_length=10_000)] = "",
    version: Annotated[int | None, Query(ge=1, le=2**31)] = None,
    old: Annotated[int | None, Query(ge=1, le=2**31)] = None,
    new: Annotated[int | None, Query(ge=1, le=2**31)] = None,
    said: Annotated[str, Query(max_length=40)] = "",
) -> Response:
    """One item, in one of its views."""
    shown = view if view in VIEWS else "text"

    def work(engine: Ricordo) -> dict[str, Any]:
        item = engine.get(ref, version=version, track=None if shown == "text" else False)
        values: dict[str, Any] = _VIEWS[shown](engine, item, q=q, old=old, new=new)
        return values | {"item": item, "ref": str(item.ref)}

    found = await here.ask(work)
    return page(request, "item.html", view=shown, views=VIEWS, q=q, asked_version=version, said=said, **found)


def _text(engine: Ricordo, item: Item, *, q: str, **_: Any) -> dict[str, Any]:
    is_markdown = item.fields.mime_type in RENDERED or item.ref.path.lower().endswith((".md", ".markdown"))
    is_markdown = is_markdown or (item.fields.mime_type is None and item.ref.drive != "disk")
    is_markdown = is_markdown or item.kind in REMEMBERED_KINDS or item.kind in KNOWLEDGE_FOLDERS
    html = Markup(render(item.content, str(item.ref))) if is_markdown and item.content.strip() else None
    return {"html": html, "terms": terms_of(q, engine.config.lexical.language) if q.strip() else frozenset()}


def _source(engine: Ricordo, item: Item, **_: Any) -> dict[str, Any]:
    return {"lines": list(enumerate(item.content.splitlines(), item.first_line))}


def _passages(engine: Ricordo, item: Item, *, q: str, **_: Any) -> dict[str, Any]:
    language = engine.config.lexical.language
    terms = terms_of(q, language) if q.strip() else frozenset()
    return {"passages": engine.passages(item.ref, version=item.version), "terms": terms, "language": language}


def _versions(engine: Ricordo, item: Item, *, old: int | None, new: int | None, **_: Any) -> dict[str, Any]:
    everything = engine.history(item.ref)
    history = [one for one in everything if not one.commit]
    commits = [one for one in everything if one.commit]
    numbers = [one.number for one in history]
    newer = new if new in numbers else numbers[0]
    earlier = [number for number in numbers if number < newer]
    older = old if old in numbers else (earlier[0] if earlier else newer)
    diff = engine.diff(item.ref, older, newer) if older != newer else ""
    lines = [diff_line(line) for line in diff.splitlines()]
    return {"history": history, "commits": commits, "old": older, "new": newer, "diff": lines}


def diff_line(line: str) -> tuple[str, str]:
    """A line of a diff and what it is, for its colour."""
    kinds = {"+": "added", "-": "removed", "@": "place"}
    kind = "" if line.startswith(("+++", "---")) else kinds.get(line[:1], "")
    return kind, line


def _links(engine: Ricordo, item: Item, **_: Any) -> dict[str, Any]:
    report = engine.links(item.ref, depth=1)
    try:
        suggested = engine.suggest_links(item.ref, limit=5).hits
    except Unavailable:
        suggested = ()
    return {"report": report, "suggested": suggested}


def _similar(engine: Ricordo, item: Item, **_: Any) -> dict[str, Any]:
    return {"answer": engine.similar(item.ref, limit=10, track=False)}


def _fields(engine: Ricordo, item: Item, **_: Any) -> dict[str, Any]:
    plain = item.to_dict(with_content=False)
    shown = {name: value for name, value in plain.items() if name not in NEVER_SHOWN and value not in (None, "", [])}
    return {"fields": shown, "metadata": plain["metadata"]}


_VIEWS: dict[str, Any] = {
    "text": _text,
    "source": _source,
    "passages": _passages,
    "versions": _versions,
    "links": _links,
    "similar": _similar,
    "fields": _fields,
}
