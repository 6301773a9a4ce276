"""The verbs of the API that find and show."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Response

from ricordo.http_api import bodies, shapes
from ricordo.http_api.bodies import RefParameter
from ricordo.http_api.routing import reads, router
from ricordo.http_api.serving import Here

find = router("find")


@reads(find, "/search", shapes.AnswerShape)
async def search(here: Here, asked: Annotated[bodies.SearchParameters, Query()]) -> Response:
    """Ranked items for a query, by words and meaning."""
    options = asked.options()
    return await here.answer(lambda engine: engine.search(asked.q, tool="api", **options))


@reads(find, "/semantic", shapes.AnswerShape)
async def semantic(here: Here, asked: Annotated[bodies.SemanticParameters, Query()]) -> Response:
    """Ranked items by meaning alone."""
    same = ("limit", "offset", "min_score", "as_of", "explain", "track")
    options = {name: getattr(asked, name) for name in same} | {"filters": asked.filters()}
    return await here.answer(lambda engine: engine.semantic(asked.q, **options))


@reads(find, "/similar", shapes.AnswerShape)
async def similar(here: Here, ref: RefParameter, limit: bodies.Limit = 10) -> Response:
    """The items nearest in meaning to one."""
    return await here.answer(lambda engine: engine.similar(ref, limit=limit))


@reads(find, "/explain", shapes.ExplanationShape)
async def explain(
    here: Here, q: Annotated[str, Query(max_length=100_000)], ref: RefParameter, profile: str | None = None
) -> Response:
    """Why an item is where it is in the answer to a query, or why it is not there."""
    return await here.answer(lambda engine: engine.explain(q, ref, profile=profile))


@reads(find, "/grep", shapes.MatchesShape)
async def grep(here: Here, asked: Annotated[bodies.GrepParameters, Query()]) -> Response:
    """Lines of stored texts that match a regular expression."""

    def work(engine: Any) -> dict[str, Any]:
        found = engine.grep(
            asked.pattern,
            context=asked.context,
            globs=asked.glob,
            drives=asked.drive,
            ignore_case=asked.ignore_case,
            fixed=asked.fixed,
            limit=asked.limit,
        )
        return {"matches": found}

    return await here.answer(work)


@reads(find, "/get", shapes.ItemShape)
async def get(
    here: Here,
    ref: RefParameter,
    version: Annotated[int | None, Query(ge=1, le=2**31)] = None,
    as_of: Annotated[str | None, Query(max_length=40)] = None,
    track: bool | None = None,
) -> Response:
    """An item with its content: now, in one version, or as it was at a time. This counts as opening it."""
    return await here.answer(lambda engine: engine.get(ref, version=version, as_of=as_of, track=track))


@reads(
    find,
    "/original",
    shapes.Shape,
    responses={200: {"content": {"application/octet-stream": {}}, "description": "The bytes.", "model": None}},
)
async def original(
    here: Here, ref: RefParameter, version: Annotated[int | None, Query(ge=1, le=2**31)] = None
) -> Response:
    """The bytes of an item that is kept without text; for any other, its text. Always as a download."""
    content = await here.ask(lambda engine: engine.original(ref, version=version))
    headers = {"Content-Disposition": "attachment"}
    return Response(content, media_type="application/octet-stream", headers=headers)


@reads(find, "/passages", shapes.PassagesShape)
async def passages(
    here: Here, ref: RefParameter, version: Annotated[int | None, Query(ge=1, le=2**31)] = None
) -> Response:
    """The passages that an item is cut into, with their lines."""
    return await here.answer(lambda engine: {"passages": engine.passages(ref, version=version)})


@reads(find, "/list", shapes.ItemsShape)
async def list_items(here: Here, asked: Annotated[bodies.ListParameters, Query()]) -> Response:
    """Items without their content, newest first."""

    def work(engine: Any) -> dict[str, Any]:
        filters = asked.filters()
        found = engine.list(filters=filters, limit=asked.limit, offset=asked.offset)
        items = [item.to_dict(with_content=False) for item in found]
        return {"items": items, "total": engine.count(filters), "limit": asked.limit, "offset": asked.offset}

    return await here.answer(work)


@reads(find, "/tree", shapes.NodeShape)
async def tree(
    here: Here,
    prefix: Annotated[str | None, Query(max_length=4096, examples=["disk:/notes"])] = None,
    depth: Annotated[int, Query(ge=1, le=20)] = 2,
) -> Response:
    """Refs as folders, from all drives or below one ref."""
    return await here.answer(lambda engine: engine.tree(prefix, depth=depth))


@reads(find, "/history", shapes.HistoryShape)
async def history(here: Here, ref: RefParameter) -> Response:
    """An item's versions, the newest first."""
    return await here.answer(lambda engine: {"versions": list(engine.history(ref))})


@reads(find, "/diff", shapes.DiffShape)
async def diff(
    here: Here,
    ref: RefParameter,
    old: Annotated[int | None, Query(ge=1, le=2**31)] = None,
    new: Annotated[int | None, Query(ge=1, le=2**31)] = None,
) -> Response:
    """What changed between two versions, as a unified diff; by default the last change."""
    return await here.answer(lambda engine: {"diff": engine.diff(ref, old, new)})


@reads(find, "/links", shapes.LinksShape)
async def links(here: Here, ref: RefParameter, depth: Annotated[int, Query(ge=1, le=5)] = 2) -> Response:
    """The links around an item, both ways."""
    return await here.answer(lambda engine: engine.links(ref, depth=depth))


@reads(find, "/suggest-links", shapes.AnswerShape)
async def suggest_links(here: Here, ref: RefParameter, limit: bodies.Limit = 10) -> Response:
    """Items that are like one but not linked with it."""
    return await here.answer(lambda engine: engine.suggest_links(ref, limit=limit))
