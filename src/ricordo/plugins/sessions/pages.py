"""The page of a session: its turns as what they are, opened at one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import Query, Request, Response
from markupsafe import Markup

from ricordo.http_api.state import Here
from ricordo.plugins.page.layout import page, page_router, shows
from ricordo.plugins.page.markdown import rendered
from ricordo.plugins.page.markup import code_html, mark_html, terms_of

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo
    from ricordo.plugins.sessions.values import Turn
    from ricordo.values.items import Item

pages = page_router()
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
