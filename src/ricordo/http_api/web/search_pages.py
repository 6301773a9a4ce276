"""The search page, and the part of it that changes while the user types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode

from fastapi import Query, Request, Response

from ricordo.frozen import frozen
from ricordo.http_api.serving import Here, Who
from ricordo.http_api.web.frame import page, page_router, shows
from ricordo.http_api.web.home import home_of
from ricordo.http_api.web.marking import terms_of
from ricordo.values.hits import Answer, Filters

if TYPE_CHECKING:
    from ricordo.engine import Ricordo

searching = page_router()

PAGE = 20
POOL = 50
"""How many hits are counted for the facets."""
MOST_TAGS = 10
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
        now = tuple(one for one in chosen if one != value) if value in chosen else (*chosen, value)
        changes: dict[str, Any] = {name: now}
        return replace(self, **changes)


@frozen
class Facet:
    """One value that the hits can be narrowed to."""

    name: str
    value: str
    count: int
    chosen: bool
    address: str
    part: str


def facets_of(asked: Asked, answer: Answer) -> dict[str, list[Facet]]:
    """The values that the hits can be narrowed to, with how many of the first hits have each."""
    counted: Mapping[str, Counter[str]] = {
        "kind": Counter(hit.kind for hit in answer.hits),
        "drive": Counter(hit.ref.partition(":")[0] for hit in answer.hits),
        "tag": Counter(tag for hit in answer.hits for tag in hit.tags),
        "tier": Counter(hit.tier for hit in answer.hits if hit.tier),
    }
    found: dict[str, list[Facet]] = {}
    for name, counts in counted.items():
        chosen: tuple[str, ...] = getattr(asked, name)
        most = MOST_TAGS if name == "tag" else 12
        values = dict.fromkeys([*chosen, *(value for value, _ in counts.most_common(most))])
        if name in ("tier", "drive") and len(values) < 2 and not chosen:
            continue
        found[name] = [
            Facet(
                name,
                value,
                counts[value],
                value in chosen,
                asked.toggled(name, value).address(),
                asked.toggled(name, value).address("/hits"),
            )
            for value in values
        ]
    return found


def searched(engine: Ricordo, asked: Asked, *, offset: int, track: bool) -> dict[str, Any]:
    """What the results show.

    While somebody types, one search gives both hits and facets. A search that is recorded asks for one page only,
    because every hit it returns counts as found; its facets come from a second search.
    """
    options: dict[str, Any] = {"filters": asked.filters(), "profile": asked.profile or None, "tool": "page"}
    options["explain"] = bool(asked.q.strip())
    limit = PAGE if track or offset else POOL
    answer = engine.search(asked.q, limit=limit, offset=offset, track=track, **options)
    pool = answer
    if track and len(answer.hits) == PAGE:
        pool = engine.search(asked.q, limit=POOL, track=False, **options)
    language = engine.config.lexical.language
    return {
        "asked": asked,
        "answer": answer,
        "hits": answer.hits[:PAGE],
        "facets": facets_of(asked, pool) if not offset else {},
        "pool": len(pool.hits),
        "offset": offset,
        "following": offset + PAGE if len(answer.hits) >= PAGE else None,
        "terms": terms_of(asked.q, language) if asked.q.strip() else frozenset(),
        "language": language,
        "total": engine.count() if not answer.hits else None,
    }


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


@shows(searching, "/")
async def search_page(
    request: Request,
    here: Here,
    who: Who,
    q: Annotated[str, Query(max_length=10_000)] = "",
    kind: Many = None,
    drive: Many = None,
    tag: Many = None,
    tier: Many = None,
    profile: Annotated[str, Query(max_length=100)] = "",
) -> Response:
    """The page, with the results of the query in its address; without one, the home."""
    asked = asked_from(q, kind, drive, tag, tier, profile)

    is_new = bool(asked.q.strip()) and here.lately.is_new(who.id, asked.q)

    def work(engine: Ricordo) -> dict[str, Any]:
        shown: dict[str, Any] = {"home": None, "asked": asked}
        shown |= searched(engine, asked, offset=0, track=is_new) if asked.parameters() else home_of(engine, who)
        return shown | {"profiles": list(engine.profiles()), "current": engine.config.search.profile}

    return page(request, "search.html", **await here.ask(work))


@shows(searching, "/hits")
async def hits(
    request: Request,
    here: Here,
    q: Annotated[str, Query(max_length=10_000)] = "",
    kind: Many = None,
    drive: Many = None,
    tag: Many = None,
    tier: Many = None,
    profile: Annotated[str, Query(max_length=100)] = "",
    offset: Annotated[int, Query(ge=0, le=1000)] = 0,
) -> Response:
    """Only the results, while the user types; a query that is not finished yet is not recorded."""
    asked = asked_from(q, kind, drive, tag, tier, profile)
    found = await here.ask(lambda engine: searched(engine, asked, offset=offset, track=False))
    answer = page(request, "more_hits.html" if offset else "results.html", **found)
    if not offset:
        answer.headers["HX-Replace-Url"] = asked.address()
    return answer


@shows(searching, "/settled")
async def settled(request: Request, here: Here, who: Who, q: Annotated[str, Query(max_length=10_000)] = "") -> Response:
    """Record a query that the user stopped at; what was typed before it is not a query."""
    if q.strip() and here.lately.is_new(who.id, q):
        await here.ask(lambda engine: engine.search(q, limit=PAGE, track=True, tool="page"))
    return Response(status_code=204)
