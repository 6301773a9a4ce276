"""Pages along time: what happened day by day, and a session, its turns as what they are, opened at one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import Query, Request, Response
from markupsafe import Markup

from ricordo.frozen import frozen
from ricordo.http_api.state import Here
from ricordo.plugins.page.layout import page, page_router, shows
from ricordo.plugins.page.markdown import rendered
from ricordo.plugins.page.markup import code_html, mark_html, terms_of
from ricordo.values.kinds import KINDS

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo
    from ricordo.plugins.sessions.values import Turn
    from ricordo.values.items import Item
    from ricordo.values.log import Happening

pages = page_router()
NAVIGATION = {"/add": ("/timeline", "Timeline", "t")}

MOST_EVENTS = 400
MOST_SESSIONS = 200
SPANS = {"1d": "a day", "7d": "7 days", "30d": "30 days", "365d": "a year"}
PAGE = 100
BEFORE = 20
"""How many turns are shown before the one at which a session opens."""
LONGEST = 20_000
"""Characters of a turn that are shown."""


@shows(pages, "/session")
async def session_page(
    request: Request,
    here: Here,
    id: Annotated[str, Query(min_length=1, max_length=1000)],  # noqa: A002 - the name in the address
    first: Annotated[int | None, Query(ge=1, le=10_000_000)] = None,
    *,
    turn: Annotated[int | None, Query(ge=1, le=10_000_000)] = None,
    q: Annotated[str, Query(max_length=10_000)] = "",
) -> Response:
    """One session, turn by turn: from ``first`` on, or around one ``turn``."""
    start = first or max(1, (turn or 1) - BEFORE)

    def work(engine: Ricordo) -> dict[str, Any]:
        session = engine.session(id, first=start, limit=PAGE)
        language = engine.config.lexical.language
        terms = terms_of(q, language) if q.strip() else frozenset()
        turns = [(one, mark_html(turn_html(one), terms, language)) for one in session.turns]
        return {"session": session, "turns": turns}

    return page(request, "session.html", first=start, turn=turn, q=q, **await here.ask(work))


def turn_html(turn: Turn) -> Markup:
    """A turn as what it is: what was said as prose, calls of tools and what they gave as code."""
    text = turn.text[:LONGEST]
    if turn.tool or turn.role == "tool":
        return Markup(code_html(text, "json" if text.lstrip()[:1] in "{[" else ""))  # escaped there
    return rendered(text).html


def turn_address(item: Item, q: str = "") -> str:
    """The address of a turn in its session; empty for other items."""
    if not item.is_untitled_turn or item.state != "live":
        return ""
    seq = item.fields.seq or 1
    asked = f"&q={quote(q, safe='')}" if q else ""
    return f"/session?id={quote(item.fields.thread or '', safe='')}&turn={seq}{asked}#turn-{seq}"


@shows(pages, "/timeline")
async def timeline(
    request: Request,
    here: Here,
    since: Annotated[str, Query(max_length=40)] = "30d",
    kind: Annotated[str, Query(max_length=40)] = "",
    *,
    thread: Annotated[str, Query(max_length=1000)] = "",
) -> Response:
    """What happened, day by day, the newest first, beside the sessions of agents."""
    span = since if since in SPANS else "30d"

    def work(engine: Ricordo) -> tuple[Any, Any]:
        recent = engine.timeline(
            since=span, thread=thread or None, kinds=(kind,) if kind else (), limit=MOST_EVENTS, newest_first=True
        )
        return recent, engine.sessions(limit=MOST_SESSIONS)

    recent, sessions = await here.ask(work)
    titles = {one.id: one.facets.title or one.id for one in sessions}
    by_day = groupby(recent.events, key=lambda one: one.at.astimezone().date())
    days = [(day, grouped_by_session(list(events), titles)) for day, events in by_day]
    return page(
        request,
        "timeline.html",
        days=days,
        more=recent.more,
        sessions=sessions[:20],
        since=span,
        spans=SPANS,
        kind=kind,
        kinds=KINDS,
        thread=thread,
    )


@frozen
class Stretch:
    """Events of a timeline that belong together: those of one session on one day, or a single one."""

    events: tuple[Happening, ...]
    session: str = ""
    title: str = ""


def grouped_by_session(events: Sequence[Happening], titles: Mapping[str, str]) -> list[Stretch]:
    """The events in their order, with those of each session together where its latest one stands."""
    together: dict[str, list[Happening]] = {}
    for one in events:
        thread = one.thread or ""
        together.setdefault(thread if thread in titles else f"{one.ref} {one.at} {one.what}", []).append(one)
    return [
        Stretch(tuple(some), name, titles[name]) if name in titles else Stretch(tuple(some))
        for name, some in together.items()
    ]
