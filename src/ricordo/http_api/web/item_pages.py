"""The page of one item: its text, passages, versions and differences, links, similar items, and fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse

from ricordo.errors import Unavailable
from ricordo.http_api.routing import RefParameter
from ricordo.http_api.serving import Here
from ricordo.http_api.web.frame import page, page_router, shows
from ricordo.http_api.web.marking import terms_of
from ricordo.http_api.web.reading.pages import peek_view, text_view
from ricordo.http_api.web.reading.places import lines_of, passage_address
from ricordo.http_api.web.session_pages import turn_address

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.values.items import Item

items = page_router()

VIEWS = ("text", "source", "passages", "versions", "links", "similar", "fields")
PART = "X-Ricordo-Part"
"""Names a part of a page, so that a pane takes in nothing but its own: no whole page, no sign-in, no error.

Of an item that is put in the place of the hits, ``near`` asks for what is around its passage, and then ``rest`` for all
of it, which is not another opening of the item.
"""
Lines = Annotated[str, Query(max_length=20)]
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
    lines: Lines = "",
) -> Response:
    """One item, in one of its views; ``lines`` are those of the passage at which its text opens."""
    shown = view if view in VIEWS else "text"
    part = request.headers.get(PART)

    def work(engine: Ricordo) -> dict[str, Any]:
        item = engine.get(ref, version=version, track=None if shown == "text" and part != "rest" else False)
        if shown == "text" and item.is_untitled_turn and item.state == "live":
            return {"session": turn_address(item, q)}
        values: dict[str, Any] = _VIEWS[shown](engine, item, q=q, old=old, new=new, lines=lines, is_near=part == "near")
        return values | {"item": item, "ref": str(item.ref)}

    found = await here.ask(work)
    if "session" in found:
        return RedirectResponse(found["session"], 303)
    values = {"view": shown, "views": VIEWS, "q": q, "asked_version": version, "said": said, "lines": lines}
    return page(request, "item.html", **values, **found)


@shows(items, "/peek")
async def peek(
    request: Request,
    here: Here,
    ref: RefParameter,
    q: Annotated[str, Query(max_length=10_000)] = "",
    lines: Lines = "",
    small: bool = False,
) -> Response:
    """A short look at an item, beside the hits or over a link; that does not count as opening it."""
    if "HX-Request" not in request.headers:
        return RedirectResponse(passage_address(ref, lines_of(lines), q), 303)

    def work(engine: Ricordo) -> dict[str, Any]:
        item = engine.get(ref, track=False)
        return {"item": item, "ref": str(item.ref), **peek_view(engine, item, q=q, lines=lines, is_small=small)}

    answer = page(request, "peek.html", q=q, small=small, **await here.ask(work))
    answer.headers[PART] = "peek"
    return answer


def _source(engine: Ricordo, item: Item, **_: Any) -> dict[str, Any]:
    return {"rows": list(enumerate(item.content.split("\n"), item.first_line))}


def _passages(engine: Ricordo, item: Item, *, q: str, **_: Any) -> dict[str, Any]:
    language = engine.config.lexical.language
    terms = terms_of(q, language) if q.strip() else frozenset()
    return {
        "passages": engine.get(item.ref, version=item.version, passages=True, track=False).passages,
        "terms": terms,
        "language": language,
    }


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
        suggested = engine.similar(item.ref, limit=5, unlinked=True, track=False).hits
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
    "text": text_view,
    "source": _source,
    "passages": _passages,
    "versions": _versions,
    "links": _links,
    "similar": _similar,
    "fields": _fields,
}
