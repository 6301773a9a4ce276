"""The verbs of the API that give agents what they need, and show what agents did."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from ricordo.http_api import bodies, shapes
from ricordo.http_api.routing import reads, router
from ricordo.http_api.serving import Here

agents = router("agents")

Since = Annotated[str | None, Query(max_length=40, description="A date, or a span such as 7d.", examples=["7d"])]
Task = Annotated[str, Query(max_length=100_000, description="What is to be done.", examples=["rotate the keys"])]


@reads(agents, "/context", shapes.ContextShape)
async def context(
    here: Here,
    task: Task = "",
    budget: Annotated[int, Query(ge=1, le=100_000)] = 2000,
    recent: bool = False,
    skills: bool = True,
    always: bool = True,
) -> Response:
    """What an agent should know for a task, in at most so many tokens."""
    return await here.answer(
        lambda engine: engine.context(task, budget=budget, recent=recent, skills=skills, always=always)
    )


@reads(agents, "/skills", shapes.SkillsShape)
async def skills_list(here: Here) -> Response:
    """All skills, by name."""
    return await here.answer(lambda engine: {"skills": list(engine.skills())})


@reads(agents, "/skills/search", shapes.SkillsShape)
async def skills_search(here: Here, task: Task, limit: bodies.Limit = 5) -> Response:
    """The skills that fit a task best."""
    return await here.answer(lambda engine: {"skills": list(engine.skills_search(task, limit))})


@reads(agents, "/skills/show", shapes.ItemShape)
async def skill(here: Here, name: Annotated[str, Query(min_length=1, max_length=1000)]) -> Response:
    """A skill with its text; this counts as opening it."""
    return await here.answer(lambda engine: engine.skill(name))


@reads(agents, "/sessions", shapes.SessionsShape)
async def sessions(here: Here, limit: bodies.Limit = 50, offset: bodies.Offset = 0) -> Response:
    """The sessions that are kept, the latest first, without their turns."""
    return await here.answer(
        lambda engine: {
            "sessions": [one.to_dict(with_turns=False) for one in engine.sessions(limit=limit, offset=offset)]
        }
    )


@reads(agents, "/sessions/show", shapes.SessionShape)
async def session(
    here: Here,
    id: Annotated[str, Query(min_length=1, max_length=1000, description="The id, or its beginning.")],  # noqa: A002
    first: Annotated[int, Query(ge=1, le=10_000_000)] = 1,
    limit: bodies.Limit = 200,
) -> Response:
    """A session, with its turns from a given one on."""
    return await here.answer(lambda engine: engine.session(id, first=first, limit=limit))


@reads(agents, "/timeline", shapes.TimelineShape)
async def timeline(
    here: Here,
    since: Since = None,
    thread: Annotated[str | None, Query(max_length=1000)] = None,
    kind: Annotated[list[str] | None, Query(max_length=20)] = None,
    limit: bodies.Limit = 50,
) -> Response:
    """What happened since a time, in order."""
    return await here.answer(
        lambda engine: engine.timeline(since=since, thread=thread, kinds=tuple(kind or ()), limit=limit)
    )


@reads(agents, "/recent", shapes.TimelineShape)
async def recent(
    here: Here,
    since: Since = None,
    thread: Annotated[str | None, Query(max_length=1000)] = None,
    kind: Annotated[list[str] | None, Query(max_length=20)] = None,
    limit: bodies.Limit = 20,
) -> Response:
    """The latest happenings, the newest first."""
    return await here.answer(lambda engine: engine.recent(limit, since=since, thread=thread, kinds=tuple(kind or ())))


@reads(agents, "/route", shapes.RoutesShape)
async def route(here: Here, task: Task, limit: bodies.Limit = 5) -> Response:
    """Checkpoints: points in sessions to fork from for a task."""
    return await here.answer(lambda engine: engine.route(task, limit))
