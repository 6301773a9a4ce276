"""The page of one item: its text, passages, versions and differences, links, similar items, fields; and previews."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse

from ricordo.errors import NotFound, Unavailable
from ricordo.http_api.api import RefParameter
from ricordo.http_api.state import Here
from ricordo.plugin import ask
from ricordo.plugins.page.formats import shown
from ricordo.plugins.page.layout import page, page_router, shows
from ricordo.plugins.page.markup import (
    PassagePlace,
    Rendered,
    current_heading,
    lines_of,
    mark_html,
    passage_address,
    place_of,
    terms_of,
    with_passage,
)

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo
    from ricordo.values.hits import Evidence, Link
    from ricordo.values.items import Item


pages = page_router()

VIEWS = ("text", "source", "passages", "versions", "links", "similar", "fields")
PART = "X-Ricordo-Part"
"""Names a part of a page, so that a pane takes in nothing but its own: no whole page, no sign-in, no error.

Of an item that is put in the place of the hits, ``near`` asks for what is around its passage, and then ``rest`` for all
of it, which is not another opening of the item.
"""
Lines = Annotated[str, Query(max_length=20)]
NEVER_SHOWN = ("content", "title", "tags", "metadata")


@shows(pages, "/item")
async def item_page(
    request: Request,
    here: Here,
    ref: RefParameter,
    view: Annotated[str, Query(max_length=20)] = "text",
    *,
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
        if shown == "text" and (address := next(filter(None, ask("page_of", item, q)), "")):
            return {"elsewhere": address}
        values: dict[str, Any] = _VIEWS[shown](engine, item, q=q, old=old, new=new, lines=lines, is_near=part == "near")
        return values | {"item": item, "ref": str(item.ref)}

    found = await here.ask(work)
    if "elsewhere" in found:
        return RedirectResponse(found["elsewhere"], 303)
    values = {"view": shown, "views": VIEWS, "q": q, "asked_version": version, "said": said, "lines": lines}
    return page(request, "item.html", **values, **found)


@shows(pages, "/peek")
async def peek(
    request: Request,
    here: Here,
    ref: RefParameter,
    q: Annotated[str, Query(max_length=10_000)] = "",
    *,
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


MOST_BACKLINKS = 50
SHORT = 4_000
"""Characters of a text that a preview shows whole."""
AT_ONCE = 16_000
"""Characters of a text that a hit opens whole; of a longer one the passage and those around it come first."""
MARKED_UP_TO = 400_000
"""Characters of HTML in which the words of the question are marked."""


def text_view(
    engine: Ricordo, item: Item, *, q: str = "", lines: str = "", is_near: bool = False, **_: Any
) -> dict[str, Any]:
    """The text as what it is, the place in it that was asked for, the outline, and which items lead here.

    With ``is_near``, of a long text only what is around the passage: that is there at once, whatever the length.
    """
    links = linked(engine, item)
    passages = engine.get(item.ref, version=item.version, passages=True, track=False).passages if lines else ()
    place = place_of(lines_of(lines), passages)
    wanted = place.lines if place else None
    is_part = is_near and place is not None and len(item.content) > AT_ONCE
    part = shown(_around(item, passages, place, 2) if is_part else item, targets(links), wanted)
    return {
        **_marked(engine, item, part, wanted, q=q),
        "outline": part.outline if len(part.outline) > 1 and not is_part else (),
        "place": place,
        "current_heading": current_heading(part.outline, wanted[0]) if wanted else "",
        "backlinks": () if is_part else [one for one in links if one.direction == "in"][:MOST_BACKLINKS],
        "is_part": is_part,
        "has_headings": bool(part.outline) or len({one.heading for one in passages}) > 1,
    }


def _around(item: Item, passages: Sequence[Evidence], place: PassagePlace | None, beside: int) -> Item:
    """The item with nothing but a passage, or its first one, and some on both sides of it."""
    at = place.number - 1 if place else 0
    near = passages[max(0, at - beside) : at + beside + 1]
    return replace(item, content="".join(one.text for one in near), first_line=near[0].lines[0])


def linked(engine: Ricordo, item: Item) -> tuple[Link, ...]:
    """The links from and to an item; one that is not live, or is kept by another tier, has none here."""
    if item.state != "live":
        return ()
    try:
        return engine.links(item.ref, depth=1).links
    except NotFound:
        return ()


def targets(links: tuple[Link, ...]) -> dict[str, str]:
    """Which item each link in the text leads to."""
    return {one.text: one.ref for one in links if one.direction == "out" and one.text}


def peek_view(engine: Ricordo, item: Item, *, q: str = "", lines: str = "", is_small: bool = False) -> dict[str, Any]:
    """A short look at an item: the passage that was asked for and its neighbours, or the beginning."""
    passages = engine.get(item.ref, version=item.version, passages=True, track=False).passages
    place = place_of(lines_of(lines), passages)
    wanted = place.lines if place else None
    if len(item.content) > SHORT and passages:
        item = _around(item, passages, place, 0 if is_small else 1)
    part = shown(item, targets(linked(engine, item)), wanted)
    return {**_marked(engine, item, part, wanted, q=q), "place": place}


def _marked(engine: Ricordo, item: Item, part: Rendered, lines: tuple[int, int] | None, *, q: str) -> dict[str, Any]:
    """The HTML of a text with a passage and the words of a question marked; None if there is no text."""
    html, language = with_passage(part.html, lines), engine.config.lexical.language
    if q.strip() and len(html) <= MARKED_UP_TO:
        html = mark_html(html, terms_of(q, language), language)
    return {"html": html if item.content.strip() else None, "text_class": part.classes}


_VIEWS: dict[str, Any] = {
    "text": text_view,
    "source": _source,
    "passages": _passages,
    "versions": _versions,
    "links": _links,
    "similar": _similar,
    "fields": _fields,
}
