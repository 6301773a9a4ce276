"""What the page of an item and its preview show of the text: rendered, with its links, at one passage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ricordo.errors import NotFound
from ricordo.http_api.web.marking import mark_html, terms_of
from ricordo.http_api.web.reading.formats import shown
from ricordo.http_api.web.reading.places import PassagePlace, lines_of, place_of
from ricordo.http_api.web.reading.rendered import current_heading, with_passage

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.values.hits import Evidence, Link
    from ricordo.values.items import Item

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
    html = with_passage(part.html, wanted)
    language = engine.config.lexical.language
    if q.strip() and len(html) <= MARKED_UP_TO:
        html = mark_html(html, terms_of(q, language), language)
    return {
        "html": html if item.content.strip() else None,
        "text_class": part.classes,
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
    language = engine.config.lexical.language
    html = with_passage(part.html, wanted)
    if q.strip():
        html = mark_html(html, terms_of(q, language), language)
    return {"html": html if item.content.strip() else None, "text_class": part.classes, "place": place}
