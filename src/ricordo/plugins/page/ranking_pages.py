"""Ranking: profiles and their weights, tried on recent queries; two profiles side by side; why an item has its rank."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Form, Query, Request, Response
from fastapi.responses import RedirectResponse

from ricordo.engine.setting_changes import change_setting
from ricordo.errors import Forbidden, NotFound, UsageError
from ricordo.frozen import frozen
from ricordo.http_api.state import Here, Who
from ricordo.plugins.page.layout import page, page_router, shows
from ricordo.plugins.page.search_pages import PAGE, fit_limits

if TYPE_CHECKING:
    from ricordo.engine.ricordo import Ricordo
    from ricordo.values.hits import Answer, Hit

pages = page_router()

QUERIES = 5
HITS = 5
COMPARED = 10
_WEIGHT = "w."
_NAME = re.compile(r"^[a-z][a-z0-9_-]{0,40}$")


@frozen
class Moved:
    """A hit, and its place in the other answer (None if it was not in it)."""

    hit: Hit
    rank: int
    before: int | None

    @property
    def words(self) -> str:
        if self.before is None:
            return "new here"
        if self.before == self.rank:
            return ""
        return f"up {self.before - self.rank}" if self.before > self.rank else f"down {self.rank - self.before}"


def moved(answer: Answer, other: Answer) -> list[Moved]:
    """The hits of an answer with their places in another."""
    places = {hit.ref: rank for rank, hit in enumerate(other.hits, 1)}
    return [Moved(hit, rank, places.get(hit.ref)) for rank, hit in enumerate(answer.hits, 1)]


@shows(pages, "/profiles")
async def profiles_page(
    request: Request, here: Here, name: Annotated[str, Query(max_length=100)] = "", said: str = ""
) -> Response:
    """The profiles, and the weights of one to try out."""

    def work(engine: Ricordo) -> dict[str, Any]:
        known = engine.profiles()
        chosen = known.get(name) or known[engine.config.search.profile]
        vectors = engine.config.embedding.provider != "none"
        preview = previewed(engine, chosen.name, {})
        own = {label: round(weight, 4) for label, weight in chosen.weights(vectors=vectors).items()}
        return {
            "profiles": known,
            "chosen": chosen,
            "weights": own,
            "in_force": engine.config.search.profile,
            **preview,
        }

    return page(request, "profiles.html", said=said, **await here.ask(work))


@shows(pages, "/profiles/preview")
async def preview(request: Request, here: Here, base: Annotated[str, Query(max_length=100)]) -> Response:
    """What the weights would change in the answers to recent queries."""
    weights = _weights(list(request.query_params.multi_items()))
    found = await here.ask(lambda engine: previewed(engine, base, weights))
    return page(request, "preview_part.html", **found)


def previewed(engine: Ricordo, profile: str, weights: dict[str, float]) -> dict[str, Any]:
    """Recent queries, answered as now and with the weights."""
    asked = engine.log(since="90d", summary="query", limit=QUERIES).summary
    recent = [row.name for row in asked.rows if row.name.strip()] if asked is not None else []
    shown = []
    for query in recent:
        now = engine.search(query, limit=HITS, track=False)
        then = engine.search(query, limit=HITS, track=False, profile=profile, weights=weights or None)
        shown.append((query, moved(now, then), moved(then, now)))
    return {"preview": shown}


def _weights(pairs: Sequence[tuple[str, Any]]) -> dict[str, float]:
    weights = {}
    for name, value in pairs:
        if name.startswith(_WEIGHT):
            try:
                weights[name.removeprefix(_WEIGHT)] = float(str(value))
            except ValueError:
                raise UsageError(f"'{value}' is not a weight", hint="Give a number of 0 or more.") from None
    return weights


@shows(pages, "/profiles", "POST")
async def save_profile(
    request: Request,
    here: Here,
    who: Who,
    base: Annotated[str, Form(max_length=100)],
    *,
    name: Annotated[str, Form(max_length=41)],
    use: Annotated[bool, Form()] = False,
) -> Response:
    """Save the weights as a profile of the user's own, and rank with it if asked."""
    if not who.may("admin"):
        raise Forbidden("changing settings needs the scope 'admin'")
    if not _NAME.match(name):
        raise UsageError(f"'{name}' cannot be the name of a profile", hint="Letters, digits, - and _, such as mine.")
    weights = _weights(list((await request.form()).multi_items()))

    def work(engine: Ricordo) -> None:
        if name in engine.profiles() and name not in engine.config.profiles:
            raise UsageError(f"'{name}' is built in", hint="Choose another name, such as mine.")
        engine.profiles()[base].with_weights(weights)
        change_setting(f"profiles.{name}.base", base)
        for label, weight in weights.items():
            change_setting(f"profiles.{name}.weights.{label}", str(weight))
        if use:
            change_setting("search.profile", name)

    await here.ask(work)
    return RedirectResponse(f"/profiles?name={name}&said=saved", 303)


@shows(pages, "/compare")
async def compare(
    request: Request,
    here: Here,
    q: Annotated[str, Query(max_length=10_000)] = "",
    left: Annotated[str, Query(max_length=100)] = "",
    *,
    right: Annotated[str, Query(max_length=100)] = "",
) -> Response:
    """One query, answered by two profiles side by side."""

    def work(engine: Ricordo) -> dict[str, Any]:
        known = list(engine.profiles())
        first = left if left in known else engine.config.search.profile
        second = right if right in known else next(name for name in ("bm25", *known) if name != first)
        found: dict[str, Any] = {"profiles": known, "left": first, "right": second, "columns": []}
        if q.strip():
            answers = [
                engine.search(q, limit=COMPARED, profile=name, explain=True, track=False) for name in (first, second)
            ]
            found["columns"] = [
                (first, answers[0], moved(answers[0], answers[1])),
                (second, answers[1], moved(answers[1], answers[0])),
            ]
        return found

    return page(request, "compare.html", q=q, **await here.ask(work))


@shows(pages, "/why")
async def why_page(
    request: Request,
    here: Here,
    q: Annotated[str, Query(max_length=10_000)] = "",
    ref: Annotated[str, Query(max_length=4096)] = "",
) -> Response:
    """Why an item has its rank for a question, or is not found."""

    def work(engine: Ricordo) -> dict[str, Any]:
        asked: dict[str, Any] = {"found": None, "problem": None, "limits": fit_limits(engine)}
        if not q.strip() or not ref.strip():
            return asked
        try:
            return asked | {"found": engine.explain(q, ref)}
        except NotFound as problem:
            return asked | {"problem": problem}

    return page(request, "why.html", q=q, ref=ref, page_size=PAGE, **await here.ask(work))
