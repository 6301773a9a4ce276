"""Pages to look around: by drive and folder, along time and sessions, and along links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode

from fastapi import Query, Request, Response

from ricordo.frozen import frozen
from ricordo.http_api.serving import Here
from ricordo.http_api.web.frame import page, page_router, shows
from ricordo.values.kinds import KINDS

if TYPE_CHECKING:
    from ricordo.engine import Ricordo
    from ricordo.values.sessions import Happening

browsing = page_router()

MOST_CHILDREN = 300
MOST_EVENTS = 400
MOST_SESSIONS = 200
MOST_NODES = 5000
MOST_LISTED = 200
SPANS = {"1d": "a day", "7d": "7 days", "30d": "30 days", "365d": "a year"}


@shows(browsing, "/browse")
async def browse(request: Request, here: Here, prefix: Annotated[str, Query(max_length=4096)] = "") -> Response:
    """Drives, folders and items below one place; a folder that holds only one folder is skipped."""

    def work(engine: Ricordo) -> Any:
        node = engine.tree(prefix or None, depth=1)
        while len(node.children) == 1 and node.children[0].ref is None and node.children[0].items == node.items:
            node = engine.tree(node.children[0].path, depth=1)
        return node

    node = await here.ask(work)
    children = sorted(node.children, key=lambda one: (one.ref is not None, one.name.casefold()))
    return page(
        request,
        "browse.html",
        node=node,
        children=children[:MOST_CHILDREN],
        left_out=max(0, len(children) - MOST_CHILDREN),
        trail=_trail("" if node.path == "/" else node.path),
    )


def _trail(path: str) -> list[tuple[str, str]]:
    """The folders above a place, by name and address."""
    if not path:
        return []
    drive, _, rest = path.partition(":")
    trail = [(f"{drive}:", f"{drive}:/")]
    at = f"{drive}:"
    for part in filter(None, rest.split("/")):
        at += f"/{part}"
        trail.append((part, at))
    return trail


@shows(browsing, "/timeline")
async def timeline(
    request: Request,
    here: Here,
    since: Annotated[str, Query(max_length=40)] = "30d",
    kind: Annotated[str, Query(max_length=40)] = "",
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


@shows(browsing, "/graph")
async def graph(request: Request, here: Here, ref: Annotated[str, Query(max_length=4096)] = "") -> Response:
    """Items and their links: around one, or all that are linked. A script draws what the API answers."""

    def work(engine: Ricordo) -> Any:
        return engine.graph(ref=ref or None, limit=MOST_NODES), str(engine.resolve(ref)) if ref else ""

    found, centre = await here.ask(work)
    degrees = Counter(end for edge in found.edges for end in (edge.source, edge.target))
    listed = [(one, degrees[at]) for at, one in enumerate(found.nodes[:MOST_LISTED])]
    source = f"/api/v1/graph?{urlencode({'limit': MOST_NODES} | ({'item': centre} if centre else {}))}"
    return page(request, "graph.html", graph=found, listed=listed, centre=centre, source=source)
