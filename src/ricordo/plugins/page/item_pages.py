"""The page of one item, with what is around it, its source, passages, versions and fields; and previews."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse
from markupsafe import Markup

from ricordo import registry
from ricordo.errors import Error, NotFound
from ricordo.http_api.api import RefParameter
from ricordo.http_api.state import Here
from ricordo.plugin import ask
from ricordo.plugins.page.formats import changed_lines, changed_words, differing_words, inline_html, shown
from ricordo.plugins.page.layout import PART, has_page, page, page_router, shows
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
from ricordo.told_log import answers_of_hooks
from ricordo.trust.fence import clean, told_item
from ricordo.trust.level import is_outside

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo
    from ricordo.values.hits import Evidence, Link
    from ricordo.values.items import Item, Version


pages = page_router()

VIEWS = ("text", "source", "passages", "versions", "fields")
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

    def work(engine: Ricordo) -> dict[str, Any]:
        item = engine.get(ref, version=version, track=None if shown == "text" else False)
        if shown == "text" and (address := next(filter(None, ask("page_of", item, q)), "")):
            return {"elsewhere": address}
        values: dict[str, Any] = _VIEWS[shown](engine, item, q=q, old=old, new=new, lines=lines)
        return values | {"item": item, "ref": str(item.ref)}

    found = await here.ask(work)
    if "elsewhere" in found:
        return RedirectResponse(found["elsewhere"], 303)
    values = {"view": shown, "q": q, "asked_version": version, "said": said, "lines": lines}
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
    if PART not in request.headers:
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
    texts = [engine.get(item.ref, version=number, track=False).content for number in (older, newer)]
    return {"history": history, "commits": commits, "old": older, "new": newer, "diff": changed_words(*texts)}


@shows(pages, "/around")
async def around(request: Request, here: Here, ref: RefParameter) -> Response:
    """What an item is linked with, and what is like it: a part of its page that takes a moment."""

    def work(engine: Ricordo) -> dict[str, Any]:
        item = engine.get(ref, track=False)
        report = engine.links(item.ref, depth=1) if item.state == "live" else None
        try:
            similar = engine.similar(item.ref, limit=MOST_SIMILAR, track=False).hits
        except Error:  # it has no vector, or is kept by another tier
            similar = ()
        joined = {one.ref for one in report.links} if report is not None else set()
        return {"ref": str(item.ref), "report": report, "similar": similar, "joined": joined}

    return page(request, "around_part.html", **await here.ask(work))


@shows(pages, "/cited")
async def cited_part(request: Request, here: Here, ref: RefParameter) -> Response:
    """Which lines changed in what an item cites, since it was cited."""

    def work(engine: Ricordo) -> dict[str, Any]:
        item = engine.get(ref, track=False)
        found = [one for some in ask("cited_texts", engine._context.store, item) for one in some]
        return {
            "cited": [(what, old and changed_lines(old.text, old.line, now.text, now.line)) for what, old, now in found]
        }

    return page(request, "cited_part.html", ref=ref, **await here.ask(work))


def _fields(engine: Ricordo, item: Item, **_: Any) -> dict[str, Any]:
    plain = item.to_dict(with_content=False)
    shown = {name: value for name, value in plain.items() if name not in NEVER_SHOWN and value not in (None, "", [])}
    return {"fields": shown, "metadata": plain["metadata"]}


MOST_SIMILAR = 4
MOST_VERSIONS = 4
"""Versions that are listed with the words that changed."""
SHORT = 4_000
"""Characters of a text that a preview shows whole, and of one memory that is headed by its words."""
MARKED_UP_TO = 400_000
"""Characters of HTML in which the words of the question are marked."""


def text_view(engine: Ricordo, item: Item, *, q: str = "", lines: str = "", **_: Any) -> dict[str, Any]:
    """The text as what it is, the place in it that was asked for, the outline, and what is known about it."""
    links = linked(engine, item)
    passages = engine.get(item.ref, version=item.version, passages=True, track=False).passages if lines else ()
    place = place_of(lines_of(lines), passages)
    wanted = place.lines if place else None
    part = shown(item, targets(links), wanted)
    terms = terms_of(q, engine.config.lexical.language) if q.strip() else ()
    is_memory = item.kind == "memory" and len(item.content) <= SHORT // 8 and "\n" not in item.content.strip()
    return {
        **_marked(engine, item, part, wanted, q=q),
        "outline": part.outline if len(part.outline) > 1 else (),
        "place": place,
        "current_heading": current_heading(part.outline, wanted[0]) if wanted else "",
        "is_memory": is_memory,
        "words": inline_html(item.content, terms, engine.config.lexical.language) if is_memory else "",
        "told": _told(engine, item),
        "from_turn": _from_turn(item),
        "against": _against(engine, item, links),
        "versions": _latest_versions(engine, item) if len(item.content) <= SHORT else (),
    }


def told_text(item: Item, text: str) -> tuple[str, int]:
    """How a text is told to agents as that of an item, and how many tokens that takes."""
    fields, outside = item.fields, is_outside(item)
    told = told_item(str(item.ref), fields.title, fields.description, clean(text), outside=outside)
    [tokens] = registry.token_counter().count_tokens([told])
    return str(told), tokens


def _told(engine: Ricordo, item: Item) -> dict[str, Any] | None:
    """To whom an item is told that every agent gets: at which cost, how often, and when last; None for others."""
    if item.fields.loading != "always" or item.state != "live":
        return None
    answers = [one for one in answers_of_hooks(engine.location, DAYS_TOLD)[0] if str(item.ref) in one.refs]
    values: dict[str, Any] = {"tokens": told_text(item, item.content)[1], "count": len(answers)}
    return values | ({"first": answers[-1].at, "last": answers[0].at, "by": answers[0].asker} if answers else {})


DAYS_TOLD = 365


def _from_turn(item: Item) -> dict[str, str] | None:
    """What somebody said in a session that a memory was made of; None for others."""
    origin = item.fields.metadata.get("proposal")
    if not isinstance(origin, Mapping) or not origin.get("session") or not has_page("/session"):
        return None
    turn = origin.get("turn") or 1
    address = f"/session?id={quote(str(origin['session']), safe='')}&turn={turn}#turn-{turn}"
    return {"address": address, "quote": str(origin.get("quote", ""))}


def _against(engine: Ricordo, item: Item, links: Sequence[Link]) -> list[tuple[Item, Markup, Markup]]:
    """The memories that say the contrary, each with both texts and the words that differ."""
    pairs = []
    for ref in dict.fromkeys(one.ref for one in links if one.type == "contradicts"):
        other = engine.get(ref, track=False)
        if other.state == "live":
            both = item.content, other.content
            pairs.append((other, differing_words(both[1], both[0]), differing_words(*both)))
    return pairs


def _latest_versions(engine: Ricordo, item: Item) -> list[tuple[Version, Markup]]:
    """The latest versions, each with the words that changed in it."""
    versions = [one for one in engine.history(item.ref) if not one.commit][: MOST_VERSIONS + 1]
    texts = [engine.get(item.ref, version=one.number, track=False).content for one in versions]
    changes = [changed_words(before, text) for text, before in pairwise(texts)]
    return list(zip(versions, [*changes, Markup("")], strict=True))[:MOST_VERSIONS]


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
    "fields": _fields,
}
