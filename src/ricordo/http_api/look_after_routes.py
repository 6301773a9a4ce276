"""The routes that no verb of the engine has: settings, tokens, tasks, the graph, and what hooks showed; and three of
learning and the doctor that are called otherwise than their verbs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from ricordo.errors import Forbidden
from ricordo.http_api import shapes
from ricordo.http_api.generated import Parameters, given_by, parameters_of
from ricordo.http_api.routing import WaitParameter, begins, reads, router, writes
from ricordo.http_api.serving import Here
from ricordo.http_api.setting_changes import changed_setting, settings_in_force
from ricordo.verbs.index import verb_named
from ricordo.verbs.rows import call, plain_answer

if TYPE_CHECKING:
    from ricordo.engine import Ricordo

look_after = router("look after")
MOST_SHOWN = 100
"""How many of the items that hooks showed to agents are listed."""
TASK_EVENTS = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": "Events.", "model": None}
}
ROLLBACK = verb_named("learn rollback")
ROLLBACK_PARAMETERS: Any = Annotated[parameters_of(ROLLBACK), Query()]


class SettingBody(Parameters):
    """A setting, or a part of a profile, to be written to the user's file; null removes it."""

    name: str = Field(min_length=1, max_length=200, examples=["search.limit"])
    value: str | None = Field(max_length=10_000, examples=["20"])


class TokenBody(Parameters):
    """A token to make."""

    name: str = Field(min_length=1, max_length=100, examples=["laptop script"])
    scope: Literal["read", "write", "admin"] = "read"
    days: float | None = Field(default=None, gt=0, le=36_500)


@reads(look_after, "/stats/shown", shapes.ListOf)
async def shown(here: Here, days: Annotated[float, Query(gt=0, le=36_500)] = 30) -> Response:
    """What hooks showed to agents: how many answers, the items in them, and whether each was opened afterwards."""

    def work(engine: Ricordo) -> dict[str, Any]:
        from ricordo.told_log import shown_by_hooks, with_openings

        answers, items = shown_by_hooks(engine.location, days)
        return {"answers": answers, "items": with_openings(engine, items[:MOST_SHOWN])}

    return await here.answer(work)


@reads(look_after, "/graph", shapes.ListOf)
async def graph(
    here: Here,
    item: Annotated[str | None, Query(min_length=1, max_length=4096)] = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> Response:
    """Items and the links between them, which the page draws: all, or what is at most two links away from one."""
    return await here.answer(lambda engine: engine.graph(ref=item, limit=limit).to_dict())


@reads(look_after, "/learn", shapes.ListOf)
async def learn(here: Here, limit: Annotated[int, Query(ge=1, le=1000)] = 50) -> Response:
    """What feedback did to the ranking, and every change of weights."""
    return await here.answer(
        lambda engine: engine.learn.status().to_dict() | {"history": engine.learn.status().changes[:limit]}
    )


@writes(look_after, "/learn/rollback", shapes.ListOf, scope="admin")
async def rollback(here: Here, asked: ROLLBACK_PARAMETERS) -> Response:
    """Undo what was learned: all of it, or one change."""
    given = given_by(ROLLBACK, asked)
    return await here.answer(lambda engine: plain_answer(ROLLBACK, call(engine, ROLLBACK, given)))


@begins(look_after, "/doctor/repair", scope="admin")
async def repair(here: Here, wait: WaitParameter = 0) -> Response:
    """Check the store, and repair what can be rebuilt."""
    return await here.begin("doctor", lambda engine, tell: engine.doctor(repair=True), about="repair", wait=wait)


@reads(look_after, "/config", shapes.ListOf)
async def config(here: Here) -> Response:
    """All settings in force and where each came from; secrets are masked."""
    return await here.answer(lambda engine: {"settings": settings_in_force(engine.config)})


@writes(look_after, "/config", shapes.ListOf, scope="admin")
async def set_config(here: Here, body: SettingBody) -> Response:
    """Change one setting in the user's file, or remove it."""
    return await here.answer(lambda engine: changed_setting(body.name, body.value))


@reads(look_after, "/tasks", shapes.TasksShape)
async def tasks(here: Here) -> Response:
    """Long work since the server began, the newest first."""
    return await here.answer(lambda engine: {"tasks": here.tasks.all()})


@reads(look_after, "/tasks/{id}", shapes.TaskShape)
async def task(here: Here, id: str) -> Response:  # noqa: A002 - the name in the path
    """One piece of long work."""
    found = here.tasks.get(id)
    return await here.answer(lambda engine: found)


@reads(look_after, "/tasks/{id}/events", shapes.Shape, responses=TASK_EVENTS)
async def task_events(here: Here, id: str) -> Response:  # noqa: A002 - the name in the path
    """The same as server-sent events: progress whenever it went on, done or failed at the end."""
    return StreamingResponse(here.tasks.events(here.tasks.get(id)), media_type="text/event-stream")


@writes(look_after, "/sign-in-links", shapes.ListOf, scope="admin")
async def sign_in_link(request: Request, here: Here) -> Response:
    """A link that signs one browser in, once, within ten minutes. Whoever opens it counts as the user, so that a token
    gets none.
    """
    if request.state.caller.way not in ("local", "session"):
        raise Forbidden(
            "a token gets no link, because whoever opens one counts as the user", hint="‹:serve link› makes one."
        )
    link = f"{here.address}/sign-in?code={here.codes.new()}"
    return await here.answer(lambda engine: {"link": link})


@reads(look_after, "/tokens", shapes.TokensShape, scope="admin")
async def list_tokens(here: Here) -> Response:
    """Tokens and signed-in browsers, without their secrets."""
    return await here.answer(lambda engine: {"tokens": here.credentials.all()})


@writes(look_after, "/tokens", shapes.TokenShape, scope="admin")
async def add_token(here: Here, body: TokenBody) -> Response:
    """Make a token; its secret is shown only now."""

    def work(engine: Ricordo) -> dict[str, Any]:
        secret, made = here.credentials.add(body.name, body.scope, days=body.days)
        return made.to_dict() | {"token": secret}

    return await here.answer(work)


@writes(look_after, "/tokens/{name}/remove", shapes.CountShape, scope="admin")
async def remove_token(here: Here, name: str) -> Response:
    """Remove a token by its id or name; requests with it are refused from then on."""
    return await here.answer(lambda engine: {"count": len(here.credentials.remove(name))})
