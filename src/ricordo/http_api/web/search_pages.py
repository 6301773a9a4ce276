"""The search page, and the part of it that changes while the user types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode

from fastapi import Depends, Query, Request, Response

from ricordo.frozen import frozen
from ricordo.http_api.serving import Here, Who
from ricordo.http_api.web.frame import page, page_router, shows
from ricordo.http_api.web.home import home_of
from ricordo.http_api.web.marking import terms_of
from ricordo.values.hits import Filters, Hit

if TYPE_CHECKING:
    from ricordo.engine import Ricordo

searching = page_router()

PAGE = 20
POOL = 1000
"""How many hits are counted for the facets at most."""
LONGEST_PAUSE = 5.0
"""Seconds that the facets wait for others at most."""
MOST_VALUES = 12
LABELS = {"disk": "files", "url": "web pages", "git": "commits", "agent": "kept texts"}
"""What documents of a drive are called, where the name of the drive does not say it."""
Many = Annotated[list[str] | None, Query(max_length=20)]


@frozen
class Asked:
    """The input of the search page: the query, the chosen facets, the profile."""

    q: str = ""
    kind: tuple[str, ...] = ()
    drive: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    tier: tuple[str, ...] = ()
    profile: str = ""

    def filters(self) -> Filters:
        return Filters(kinds=self.kind, drives=self.drive, tags_any=self.tag, tiers=self.tier)

    def parameters(self) -> list[tuple[str, str]]:
        """The parameters as they are in an address."""
        pairs = [("q", self.q)] if self.q else []
        for name in ("kind", "drive", "tag", "tier"):
            pairs += [(name, value) for value in getattr(self, name)]
        return pairs + ([("profile", self.profile)] if self.profile else [])

    def address(self, path: str = "/", **more: Any) -> str:
        pairs = [*self.parameters(), *((name, str(value)) for name, value in more.items())]
        return path + (f"?{urlencode(pairs)}" if pairs else "")

    def toggled(self, name: str, value: str) -> Asked:
        """The same with one value of a facet added or removed."""
        from dataclasses import replace

        chosen: tuple[str, ...] = getattr(self, name)
        if name in ("kind", "drive"):
            one_of_them: dict[str, Any] = {"kind": (), "drive": ()} | ({} if value in chosen else {name: (value,)})
            return replace(self, **one_of_them)
        now = tuple(one for one in chosen if one != value) if value in chosen else (*chosen, value)
        changes: dict[str, Any] = {name: now}
        return replace(self, **changes)


@frozen
class Facet:
    """One value that the hits can be narrowed to."""

    name: str
    value: str
    label: str
    count: int
    chosen: bool
    address: str
    part: str


def facets_of(asked: Asked, hits: Sequence[Hit]) -> dict[str, list[Facet]]:
    """The values that the hits can be narrowed to, with how many hits have each.

    Most drives hold items of one kind, which is called as they are; so kinds and the drives of documents are one list,
    of which one is chosen at a time.
    """
    counts: Mapping[str, Counter[tuple[str, str]]] = {
        "kind": Counter(kind_or_drive(hit) for hit in hits),
        "tag": Counter(("tag", tag) for hit in hits for tag in hit.tags),
        "tier": Counter(("tier", hit.tier) for hit in hits if hit.tier),
    }
    found: dict[str, list[Facet]] = {}
    for section, counter in counts.items():
        names = ("kind", "drive") if section == "kind" else (section,)
        chosen = [(name, value) for name in names for value in getattr(asked, name)]
        values = dict.fromkeys([*chosen, *(one for one, _ in counter.most_common(MOST_VALUES))])
        if section == "tier" and len(values) < 2 and not chosen:
            continue
        found[section] = [_facet(asked, name, value, counter[name, value]) for name, value in values]
    return found


def kind_or_drive(hit: Hit) -> tuple[str, str]:
    """What a hit is counted as: its kind or, of documents, the drive that it comes from."""
    drive = hit.ref.partition(":")[0]
    return ("drive", drive) if hit.kind == "document" else ("kind", hit.kind)


def _facet(asked: Asked, name: str, value: str, count: int) -> Facet:
    toggled = asked.toggled(name, value)
    label = LABELS.get(value, value) if name == "drive" else value
    is_chosen = value in getattr(asked, name)
    return Facet(name, value, label, count, is_chosen, toggled.address(), toggled.address("/hits"))


def searched(engine: Ricordo, asked: Asked, *, offset: int, track: bool) -> dict[str, Any]:
    """What the results show, without the facets."""
    options: dict[str, Any] = {"filters": asked.filters(), "profile": asked.profile or None, "tool": "page"}
    options["explain"] = bool(asked.q.strip())
    answer = engine.search(asked.q, limit=PAGE, offset=offset, track=track, **options)
    language = engine.config.lexical.language
    return {
        "asked": asked,
        "answer": answer,
        "hits": answer.hits,
        "offset": offset,
        "following": offset + PAGE if len(answer.hits) >= PAGE else None,
        "terms": terms_of(asked.q, language) if asked.q.strip() else frozenset(),
        "language": language,
        "total": engine.count() if not answer.hits else None,
    }


def counted(engine: Ricordo, asked: Asked) -> dict[str, Any]:
    """The facets: all that the question finds is counted, not only what a page shows."""
    options: dict[str, Any] = {"filters": asked.filters(), "profile": asked.profile or None, "tool": "page"}
    pool = engine.search(asked.q, limit=POOL, track=False, evidence=False, **options)
    return {"facets": facets_of(asked, pool.hits), "is_all": len(pool.hits) < POOL}


def asked_from(
    q: Annotated[str, Query(max_length=10_000)] = "",
    kind: Many = None,
    drive: Many = None,
    tag: Many = None,
    tier: Many = None,
    profile: Annotated[str, Query(max_length=100)] = "",
) -> Asked:
    """The parameters of the search page."""
    kinds, drives, tags, tiers = (tuple(values or ()) for values in (kind, drive, tag, tier))
    return Asked(q, kinds, drives, tags, tiers, profile)


AskedHere = Annotated[Asked, Depends(asked_from)]
"""What the address of a page asks for."""


@shows(searching, "/")
async def search_page(request: Request, here: Here, who: Who, asked: AskedHere) -> Response:
    """The page, with the results of the query in its address; without one, the home."""
    is_new = bool(asked.q.strip()) and here.lately.is_new(who.id, asked.q)

    def work(engine: Ricordo) -> dict[str, Any]:
        shown: dict[str, Any] = {"home": None, "asked": asked}
        if asked.parameters():
            shown |= searched(engine, asked, offset=0, track=is_new)
        else:
            shown |= home_of(engine, who)
        return shown | {"profiles": list(engine.profiles()), "current": engine.config.search.profile}

    return page(request, "search.html", **await here.ask(work))


@shows(searching, "/hits")
async def hits(
    request: Request,
    here: Here,
    asked: AskedHere,
    offset: Annotated[int, Query(ge=0, le=1000)] = 0,
) -> Response:
    """Only the results, while the user types; a query that is not finished yet is not recorded."""
    found = await here.ask(lambda engine: searched(engine, asked, offset=offset, track=False))
    answer = page(request, "more_hits.html" if offset else "results.html", **found)
    if not offset:
        answer.headers["HX-Replace-Url"] = asked.address()
    return answer


@shows(searching, "/facets")
async def facets(request: Request, here: Here, asked: AskedHere) -> Response:
    """What the hits can be narrowed to. All that is found must be looked at for it, which takes several times as long
    as the hits; so it is asked for after them, not before one rests from typing, and pages that somebody asked for come
    first.
    """
    await here.threads.when_free(LONGEST_PAUSE)
    if await request.is_disconnected():
        return Response(status_code=204)  # one went on to another page
    return page(request, "facets_part.html", asked=asked, **await here.ask(lambda engine: counted(engine, asked)))


@shows(searching, "/settled")
async def settled(request: Request, here: Here, who: Who, q: Annotated[str, Query(max_length=10_000)] = "") -> Response:
    """Record a query that the user stopped at; what was typed before it is not a query."""
    if q.strip() and here.lately.is_new(who.id, q):
        await here.ask(lambda engine: engine.search(q, limit=PAGE, track=True, tool="page"))
    return Response(status_code=204)
